//! How many keys may wait for admission.

use rand_core::CryptoRng;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::exact::Rational;
use crate::noise::DiscreteLaplace;
use crate::privacy::Epsilon;

/// When keys that were not admitted are forgotten: in the step in which the number of new keys since the last time,
/// admitted or not, reaches about [`Crowd::MOST`]. Nothing counts for such keys in that step, and none is admitted at
/// its end. Admitted keys stay. A forgotten key that comes again in a later step starts from zero.
///
/// Without this, an attacker could fill the memory by sending enough keys. A limit on the number of keys itself would
/// not do: whether one key is counted would depend on others.
///
/// # Privacy
/// ε₀ of the guarantee's ε pays for it, with ε₀ = min(k/256, ε/16) for a unit that touches k keys; the noise of the
/// sums gets the rest. Call the steps between two such resets an *era*. At each step the number of keys that are new in
/// the era by the step's end is compared with the limit by the sparse vector technique (AboveThreshold): discrete
/// Laplace noise of scale 2k/ε₀ on the limit, drawn once per era, and of scale 4k/ε₀ on the number, drawn when the step
/// opens.
///
/// *Within a step.* The number only grows, and its noise is known, so the answer is known as soon as it is reached:
/// from then on keys that are not admitted need not be kept, and new ones can be ignored, since nothing of them counts
/// in this step. The moment within the step affects nothing that is released, or kept for later steps. So memory is
/// bounded at all times, by a function of the numbers at the ends of steps.
///
/// *Proof.* Given the earlier releases, each event is counted by at most one counter: the one of its key that began in
/// the event's own era, or, if the key was admitted in an earlier era, the one that began there; in an era's last step,
/// by that of an admitted key or by none. So a unit's influence is divided among eras and counters. If it touches k_e
/// of its k keys in era e, the number of new keys changes by at most k_e, and revealing when the era ends costs
/// ε₀·k_e/k. If c_j of its c events go to counter j, the noise there costs (ε − ε₀)·c_j/c. All together: ε. As for δ, a
/// key that is examined in several eras has fresh noise in each, but the bound of [`Admission`](super::Admission) adds
/// up P(m + N_t ≥ τ_t) over the steps, whatever the joint law of the N_t. ∎
///
/// # Accuracy
/// A forgotten key loses its sum, so keys that many others crowd out may never be admitted. The scale of the noise on
/// the number is at most a twentieth of the limit, which is larger than [`Crowd::MOST`] where ε₀ requires it.
#[derive(Debug, Clone)]
pub struct Crowd {
    most: u64,
    limit: DiscreteLaplace,
    number: DiscreteLaplace,
}

/// An era.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Era {
    /// How many keys there were when it began: known and admitted ones.
    pub known: u32,
    /// The limit with its noise.
    limit: i64,
    /// How many new keys are too many in the open step: the noisy limit minus the noise on the number.
    room: i64,
    /// Whether there were too many in the open step.
    pub over: bool,
}

impl Era {
    /// Whether the era ends with the open step, given the number of keys.
    pub fn ends(&self, keys: usize) -> bool {
        self.over || keys as i64 - i64::from(self.known) >= self.room
    }
}

impl Crowd {
    /// How many new keys may come, or more where the noise requires it, before those not admitted are forgotten.
    pub const MOST: u64 = 1 << 17;
    /// The scale of the noise is at most 1/N of the limit.
    const PRECISION: u64 = 20;

    /// For a unit that touches this many keys; also returns the rest of ε.
    pub(super) fn new(keys: u64, epsilon: &Epsilon) -> Result<(Self, Epsilon)> {
        let share = |part: Rational, of: u64| Ok::<_, crate::Error>(&part * &Rational::from(of).recip()?);
        let cost = share(Rational::from(keys), 256)?.min(share(epsilon.value().clone(), 16)?);
        let scale = &Rational::from(4u64) * &(&Rational::from(keys) * &cost.recip()?);
        let most = libm::ceil(Self::PRECISION as f64 * scale.to_f64_up()) as u64;
        let (number, limit) = (DiscreteLaplace::new(&scale)?, DiscreteLaplace::new(&share(scale, 2)?)?);
        Ok((Self { most: most.max(Self::MOST), limit, number }, Epsilon::new(epsilon.value() - &cost)?))
    }

    /// How many new keys may come.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// Starts an era with this many keys.
    pub(super) fn era<R: CryptoRng + ?Sized>(&self, known: usize, rng: &mut R) -> Era {
        let limit = (self.most as i64).saturating_add(self.limit.sample(rng));
        let era = Era { known: u32::try_from(known).unwrap_or(u32::MAX), limit, room: limit, over: false };
        self.next_step(era, rng)
    }

    /// Opens another step of the era.
    pub(super) fn next_step<R: CryptoRng + ?Sized>(&self, era: Era, rng: &mut R) -> Era {
        Era { room: era.limit.saturating_sub(self.number.sample(rng)), ..era }
    }
}
