//! Where random ids and nonces come from.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use rand::rngs::SysRng;
use rand::{Rng, TryRng};

/// The source of every id and nonce of a client: attachment ids, client ids, request ids, the
/// nonce of each framed result.
///
/// The operating system's by default. A testbed hands in a seeded generator, and then one seed
/// gives one conversation, byte for byte. A seeded source makes nonces guessable, so it belongs in
/// tests alone (GUARD-2).
#[derive(Clone)]
pub struct Entropy(Source);

#[derive(Clone)]
enum Source {
    System,
    Given(Arc<Mutex<dyn Rng + Send>>),
}

/// The operating system gave no random bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the operating system gave no random bytes, and an id that can be guessed is none")]
pub struct NoEntropy;

impl Entropy {
    /// The operating system's generator. Each draw is its own, so two workers forked from one
    /// process do not draw the same ids.
    #[must_use]
    pub fn os() -> Self {
        Self(Source::System)
    }

    /// A given generator, for runs that must repeat.
    pub fn from_rng(rng: impl Rng + Send + 'static) -> Self {
        Self(Source::Given(Arc::new(Mutex::new(rng))))
    }

    /// `N` random bytes.
    pub(crate) fn bytes<const N: usize>(&self) -> Result<[u8; N], NoEntropy> {
        let mut bytes = [0; N];
        match &self.0 {
            Source::System => SysRng.try_fill_bytes(&mut bytes).map_err(|_| NoEntropy)?,
            // A generator has no state that a panic of another holder could have torn.
            Source::Given(rng) => {
                rng.lock().unwrap_or_else(PoisonError::into_inner).fill_bytes(&mut bytes);
            }
        }
        Ok(bytes)
    }

    /// `2 * N` lower-case hex digits.
    pub(crate) fn hex<const N: usize>(&self) -> Result<String, NoEntropy> {
        Ok(hex::encode(self.bytes::<N>()?))
    }
}

impl Default for Entropy {
    fn default() -> Self {
        Self::os()
    }
}

impl fmt::Debug for Entropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Source::System => "Entropy::os()",
            Source::Given(_) => "Entropy::from_rng(..)",
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn one_seed_gives_one_sequence() {
        let draw = |seed| {
            let entropy = Entropy::from_rng(ChaCha8Rng::seed_from_u64(seed));
            [entropy.hex::<8>().unwrap(), entropy.hex::<8>().unwrap()]
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        assert_ne!(draw(7)[0], draw(7)[1]);
    }

    #[test]
    fn the_system_never_draws_the_same_twice() {
        let entropy = Entropy::os();
        assert_ne!(entropy.bytes::<16>().unwrap(), entropy.clone().bytes::<16>().unwrap());
    }
}
