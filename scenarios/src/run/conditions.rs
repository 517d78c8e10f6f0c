//! The conditions under which a run's cases are played.

use relay_simulator::wire::Wire;
use std::time::Duration;

/// What all cases of a run have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct Conditions {
    /// Where every random choice comes from.
    pub seed: u64,
    /// What carries the bytes.
    pub wire: Wire,
    /// Which clock.
    pub clock: Clock,
}

/// Which clock a case is played on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Clock {
    /// It stands still while there is work, and jumps when there is none.
    Virtual,
    /// The machine's. For clients in other processes.
    Real {
        /// Real time for a unit of the scenario's time: 0.02 makes 30 s last 600 ms.
        scale: f64,
    },
}

impl Clock {
    /// Its word in records.
    pub fn word(self) -> &'static str {
        match self {
            Self::Virtual => "virtual",
            Self::Real { .. } => "real",
        }
    }

    /// A length of the scenario's time on this clock. What was more than nothing stays so.
    pub fn scaled(self, time: Duration) -> Duration {
        match self {
            Self::Virtual => time,
            Self::Real { scale } => {
                let scaled = time.mul_f64(scale);
                if time.is_zero() { scaled } else { scaled.max(Duration::from_millis(1)) }
            }
        }
    }
}

/// The seed of one case: the run's, and the case's own name, so that a case plays alike whatever
/// else is run beside it.
pub(crate) fn case_seed(run: u64, case: &str) -> u64 {
    fold(run ^ OFFSET, case)
}

/// A number for a name, for telling names apart. The same everywhere and for ever.
pub fn name_hash(name: &str) -> u32 {
    let wide = fold(OFFSET, name);
    (wide ^ (wide >> 32)) as u32
}

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a: small, fixed for ever, and good enough to tell names apart.
fn fold(start: u64, text: &str) -> u64 {
    text.bytes()
        .fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scaled_time_is_never_nothing_by_accident() {
        let clock = Clock::Real { scale: 0.02 };
        assert_eq!(clock.scaled(Duration::from_secs(30)), Duration::from_millis(600));
        assert_eq!(clock.scaled(Duration::from_millis(2)), Duration::from_millis(1));
        assert_eq!(clock.scaled(Duration::ZERO), Duration::ZERO);
        assert_eq!(Clock::Virtual.scaled(Duration::from_secs(30)), Duration::from_secs(30));
    }

    #[test]
    fn cases_draw_from_different_seeds() {
        assert_ne!(case_seed(1, "a"), case_seed(1, "b"));
        assert_ne!(case_seed(1, "a"), case_seed(2, "a"));
        assert_eq!(case_seed(1, "a"), case_seed(1, "a"));
    }
}
