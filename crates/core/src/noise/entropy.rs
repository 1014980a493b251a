//! Where randomness comes from.

use std::convert::Infallible;
use std::fmt;

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng, TryCryptoRng, TryRng};
use zeroize::Zeroizing;

use crate::error::Result;

/// 64-byte blocks after which fresh entropy is mixed in, at the next draw: 64 MiB.
const RESEED_AFTER_BLOCKS: u128 = 1 << 20;
const WORDS_PER_BLOCK: u128 = 16;

/// A source of seeds: the operating system, or anything the caller can vouch for (a browser's `crypto`, a hardware
/// generator).
pub trait EntropySource: Send + Sync {
    /// 32 unpredictable bytes.
    ///
    /// # Errors
    /// [`Error::Entropy`](crate::Error::Entropy) if none are available; no release is made then.
    fn seed(&mut self) -> Result<[u8; 32]>;
}

/// Seeds from the operating system.
#[cfg(feature = "os-entropy")]
#[derive(Debug, Default, Clone, Copy)]
pub struct OsEntropy;

#[cfg(feature = "os-entropy")]
impl EntropySource for OsEntropy {
    fn seed(&mut self) -> Result<[u8; 32]> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| crate::Error::Entropy(error.to_string()))?;
        Ok(seed)
    }
}

/// A buffered cryptographic generator (ChaCha20) that reseeds itself and detects a `fork`.
///
/// Numbers are drawn through [`Entropy::draw`], which mixes in a fresh seed if the process was forked or 64 MiB were
/// used. A parent and its child therefore never draw the same noise, provided the draw is opened after the fork.
///
/// With the feature `os-entropy`, on Unix, a fork is detected however it was made, as the crate `reticent-fork`
/// explains: on Linux also a `clone` that bypasses the C library, and a child that has its parent's process id in
/// another PID namespace. Without the feature it is detected by the process id.
///
/// # Example
/// ```
/// use rand_core::Rng;
/// use reticent::noise::Entropy;
///
/// let mut entropy = Entropy::from_os()?;
/// let mut rng = entropy.draw()?;
/// assert_ne!(rng.next_u64(), rng.next_u64());
/// # Ok::<(), reticent::Error>(())
/// ```
pub struct Entropy {
    source: Box<dyn EntropySource>,
    generator: ChaCha20Rng,
    /// The process in which it was seeded.
    process: u64,
}

impl Entropy {
    /// Seeded by the operating system.
    ///
    /// # Errors
    /// [`Error::Entropy`](crate::Error::Entropy) if the system provides none.
    #[cfg(feature = "os-entropy")]
    pub fn from_os() -> Result<Self> {
        Self::from_source(OsEntropy)
    }

    /// Seeded by the caller's own source.
    ///
    /// # Errors
    /// Those of the source.
    pub fn from_source(mut source: impl EntropySource + 'static) -> Result<Self> {
        let process = process_mark()?;
        let generator = ChaCha20Rng::from_seed(source.seed()?);
        Ok(Self { source: Box::new(source), generator, process })
    }

    /// The same numbers every time, for tests: a known seed gives no privacy.
    #[cfg(any(test, feature = "test-util"))]
    pub fn seeded(seed: u64) -> Self {
        struct Counting(u64, u64);
        impl EntropySource for Counting {
            fn seed(&mut self) -> Result<[u8; 32]> {
                let mut bytes = [0; 32];
                bytes[..8].copy_from_slice(&self.0.to_le_bytes());
                bytes[8..16].copy_from_slice(&self.1.to_le_bytes());
                self.1 += 1;
                Ok(bytes)
            }
        }
        Self::from_source(Counting(seed, 0)).expect("a counter never fails")
    }

    /// Opens the generator for one release.
    ///
    /// # Errors
    /// [`Error::Entropy`](crate::Error::Entropy) if a fresh seed is due and none is available.
    pub fn draw(&mut self) -> Result<Draw<'_>> {
        let process = process_mark()?;
        let worn = self.generator.get_word_pos() / WORDS_PER_BLOCK >= RESEED_AFTER_BLOCKS;
        if worn || process != self.process {
            return self.draw_afresh();
        }
        Ok(Draw { generator: &mut self.generator })
    }

    /// [`Entropy::draw`] with a fresh seed mixed in first: knowing the generator's earlier state does not help to
    /// predict what is drawn now.
    ///
    /// # Errors
    /// [`Error::Entropy`](crate::Error::Entropy) if no fresh seed is available.
    pub fn draw_afresh(&mut self) -> Result<Draw<'_>> {
        // Read before the seed: if a source forks, its child takes its own seed at the next draw.
        let process = process_mark()?;
        // The old stream is mixed in: a weak seed cannot make the state more predictable than it was.
        let mut seed = Zeroizing::new(self.source.seed()?);
        for byte in seed.chunks_exact_mut(8) {
            let old = self.generator.next_u64().to_le_bytes();
            byte.iter_mut().zip(old).for_each(|(new, old)| *new ^= old);
        }
        self.generator = ChaCha20Rng::from_seed(*seed);
        self.process = process;
        Ok(Draw { generator: &mut self.generator })
    }

    /// Replaces the generator by one that is seeded with its own output: its state from now on does not reveal what was
    /// drawn before. (With its key, ChaCha20 can be run backwards as easily as forwards.)
    pub fn forget(&mut self) {
        let mut seed = Zeroizing::new([0; 32]);
        self.generator.fill_bytes(&mut *seed);
        self.generator = ChaCha20Rng::from_seed(*seed);
    }
}

impl fmt::Debug for Entropy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Entropy(…)")
    }
}

/// A number that a process does not share with any process forked from it. It is read at every draw, so it must not
/// take a system call.
#[cfg(all(unix, not(target_family = "wasm"), feature = "os-entropy"))]
#[inline]
fn process_mark() -> Result<u64> {
    reticent_fork::mark().map_err(|error| crate::Error::Entropy(error.to_string()))
}

/// Without the system's entropy there may be no system to ask for more than the process id.
#[cfg(all(not(target_family = "wasm"), not(all(unix, feature = "os-entropy"))))]
fn process_mark() -> Result<u64> {
    Ok(std::process::id().into())
}

/// WebAssembly has neither processes nor forks.
#[cfg(target_family = "wasm")]
fn process_mark() -> Result<u64> {
    Ok(0)
}

/// The generator while one release draws from it; a `rand_core` cryptographic generator.
pub struct Draw<'entropy> {
    generator: &'entropy mut ChaCha20Rng,
}

impl fmt::Debug for Draw<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Draw(…)")
    }
}

impl TryRng for Draw<'_> {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.generator.next_u32())
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.generator.next_u64())
    }

    #[inline]
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.generator.fill_bytes(bytes);
        Ok(())
    }
}

impl TryCryptoRng for Draw<'_> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn a_failing_source_is_an_error_and_not_noise() {
        struct Broken;
        impl EntropySource for Broken {
            fn seed(&mut self) -> Result<[u8; 32]> {
                Err(Error::Entropy("no device".into()))
            }
        }
        let error = Entropy::from_source(Broken).unwrap_err();
        assert_eq!(error.to_string(), "the entropy source failed: no device; nothing was released");
    }

    #[test]
    fn fresh_entropy_is_mixed_in_after_64_mebibytes() {
        let mut entropy = Entropy::seeded(1);
        let mut bytes = vec![0; 1 << 20];
        for _ in 0..65 {
            entropy.draw().unwrap().fill_bytes(&mut bytes);
        }
        let used = entropy.generator.get_word_pos() * 4;
        assert!(used <= 2 << 20, "the generator should have been replaced, {used} bytes ago");
    }

    #[test]
    fn another_process_means_another_stream() {
        let mut parent = Entropy::seeded(7);
        let mut child = Entropy::seeded(7);
        child.process = child.process.wrapping_add(1);
        assert_ne!(parent.draw().unwrap().next_u64(), child.draw().unwrap().next_u64());
    }

    /// What an intruder can do with a generator: set it to any word of its stream, backwards or forwards.
    fn can_be_made_from(generator: &ChaCha20Rng, drawn: u64) -> bool {
        let mut rewound = ChaCha20Rng::from_seed(generator.get_seed());
        (0..1000).any(|_| rewound.next_u64() == drawn)
    }

    #[test]
    fn what_was_drawn_is_forgotten_and_what_will_be_is_not_known() {
        let mut entropy = Entropy::seeded(3);
        let before = entropy.draw().unwrap().next_u64();
        // The intruder does find it in a generator that has not called `forget`.
        assert!(can_be_made_from(&entropy.generator, before));
        entropy.forget();
        assert!(!can_be_made_from(&entropy.generator, before));

        let known = ChaCha20Rng::from_seed(entropy.generator.get_seed());
        let after = entropy.draw().unwrap().next_u64();
        assert!(can_be_made_from(&known, after));
        let afresh = entropy.draw_afresh().unwrap().next_u64();
        assert!(!can_be_made_from(&known, afresh));
    }

    #[test]
    fn debug_output_shows_no_state() {
        let mut entropy = Entropy::seeded(1);
        assert_eq!(format!("{entropy:?}"), "Entropy(…)");
        assert_eq!(format!("{:?}", entropy.draw().unwrap()), "Draw(…)");
    }
}
