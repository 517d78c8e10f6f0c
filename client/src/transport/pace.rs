//! When the next poll may start (POLL-3), as pure arithmetic.

use std::time::Duration;

/// The first pause behind a fast and empty poll. A relay that ignores `wait` is asked ten times
/// in its first second, at most.
const FIRST: Duration = Duration::from_millis(100);

/// The longest pause, which is what an answer may be late by on a relay that ignores `wait`.
const LONGEST: Duration = Duration::from_secs(1);

/// Polls that brought something may follow each other without a pause this many times: a backlog
/// is read at once, a relay that repeats itself for ever is not a hot loop.
const UNPACED_MAX: u32 = 32;

/// Paces polls, measured from start to start: a poll that took its time has paced itself.
#[derive(Debug)]
pub(super) struct Pace {
    interval: Duration,
    longest: Duration,
    unpaced: u32,
}

/// What a poll came back with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Brought {
    /// Nothing, or the same as the poll before it.
    Nothing,
    /// Frames, of which none was the answer.
    Frames,
}

impl Pace {
    /// Paces polls that ask the relay to hold for `wait`. No pause outgrows it, so that a relay
    /// that honours a short `wait` is never delayed.
    pub(super) fn new(wait: Duration) -> Self {
        let longest = if wait.is_zero() { LONGEST } else { wait.min(LONGEST) };
        Self { interval: FIRST.min(longest), longest, unpaced: 0 }
    }

    /// How long to pause behind a poll that took `took`.
    pub(super) fn pause_after(&mut self, took: Duration, brought: Brought) -> Duration {
        if brought == Brought::Frames && self.unpaced < UNPACED_MAX {
            self.unpaced += 1;
            return Duration::ZERO;
        }
        let Some(pause) = self.interval.checked_sub(took).filter(|pause| !pause.is_zero()) else {
            self.interval = FIRST.min(self.longest);
            self.unpaced = 0;
            return Duration::ZERO;
        };
        self.interval = (self.interval * 2).min(self.longest);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn fast_and_empty_polls_come_ever_slower() {
        let mut pace = Pace::new(ms(5000));
        let pauses: Vec<_> =
            (0..6).map(|_| pace.pause_after(Duration::ZERO, Brought::Nothing)).collect();
        assert_eq!(pauses, [ms(100), ms(200), ms(400), ms(800), ms(1000), ms(1000)]);
    }

    #[test]
    fn a_poll_that_took_its_time_is_not_delayed_and_forgives_the_fast_ones() {
        let mut pace = Pace::new(ms(5000));
        pace.pause_after(ms(1), Brought::Nothing);
        assert_eq!(pace.pause_after(ms(60), Brought::Nothing), ms(140));
        assert_eq!(pace.pause_after(ms(5000), Brought::Nothing), Duration::ZERO);
        assert_eq!(pace.pause_after(ms(60), Brought::Nothing), ms(40));
    }

    #[test]
    fn no_honoured_wait_is_ever_delayed() {
        for wait in [ms(20), ms(100), ms(250), ms(5000)] {
            let mut pace = Pace::new(wait);
            for _ in 0..9 {
                pace.pause_after(Duration::ZERO, Brought::Nothing);
            }
            assert_eq!(pace.pause_after(wait, Brought::Nothing), Duration::ZERO, "{wait:?}");
        }
    }

    #[test]
    fn a_backlog_is_read_at_once_and_a_parrot_is_not_a_hot_loop() {
        let mut pace = Pace::new(ms(5000));
        for _ in 0..UNPACED_MAX {
            assert_eq!(pace.pause_after(Duration::ZERO, Brought::Frames), Duration::ZERO);
        }
        assert_eq!(pace.pause_after(Duration::ZERO, Brought::Frames), ms(100));
    }
}
