//! What all parties agree on.

use zeroize::Zeroizing;

use super::loss;
use super::mask::{self, MaskSeed};
use super::protocol::Protocol;
use super::share::Share;
use super::transcript::Transcript;
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::ledger::Accounting;
use crate::noise::{DiscreteLaplace, NegativeBinomial};
use crate::numeric::laplace_sum::LaplaceSum;
use crate::permit::Permit;
use crate::privacy::{Epsilon, Guarantee};
use crate::release::{ErrorBar, LEVEL, Release};
use rand_core::CryptoRng;

/// The maximum number of cells in a plan.
pub const MOST_CELLS: usize = 1 << 24;

/// −ln of the maximum probability that any sum leaves the range of 64 bits and comes out wrong: 2^−64.
const LOG_ODDS_OF_OVERFLOW: f64 = 64.0 * std::f64::consts::LN_2;

/// How m parties release the sums of their numbers, cell by cell.
///
/// # Privacy
/// The unit, whose rows lie with one party, moves the numbers of that party by at most Δ in the L1 norm; ε holds in the
/// adjacency that Δ was derived for. It holds against an adversary that sees every message and holds any t parties:
/// their rows, their noise, their masks.
/// - *Broadcast*: t = m − 1. An honest party sends its numbers with discrete Laplace noise of scale Δ/ε, which alone
///   gives ε, and nothing else depends on its rows.
/// - *Masked*: the adversary learns the sum of the honest parties' shares and nothing else ([`MaskSeed`],
///   computationally). Its noise is a sum of at least m − t differences of two negative binomial draws of shape
///   1/(m−t). Shapes add up: it is discrete Laplace noise of scale Δ/ε, and perhaps more noise that is independent. If
///   more than t collude, ε is larger: [`Plan::loss_against`].
///
/// Arithmetic is modulo 2^64: noise is exact, and reducing it is post-processing.
///
/// # Accuracy
/// The noise of the sum has m/(m−t) times the variance of one curator's; error bars come from its exact law. This is
/// the total noise if all parties follow the protocol: colluders know their part of it, readers of only the result do
/// not.
///
/// # Algorithm
/// Sums under pairwise masks \[BIKMMPRSS17\], noise in shares \[GX17\].
///
/// # Errors
/// [`Plan::new`] refuses noise that cannot be drawn (Δ/ε outside 0.001 to 2^50) and anything that may leave the range:
/// m·bound and the noise together must stay below 2^63, except with a probability of 2^−64 for all cells together.
///
/// # Example
/// Three clinics, at most one of which pools what it knows with the world:
/// ```
/// use reticent::Permit;
/// use reticent::multiparty::{MaskSeed, Plan, Protocol, Sums};
///
/// let plan = Plan::new(Protocol::Masked { colluders: 1 }, 3, Sums { cells: 1, bound: 1_000_000, sensitivity: 1 }, &"1".parse()?)?;
/// // Seeds come from a key agreement; here they are written down.
/// let seed = |me: u32, peer: u32| MaskSeed::new(peer, &mut [(10 * me.min(peer) + me.max(peer)) as u8; 32]);
/// let mut messages = vec![];
/// for (me, count) in [(0, 120), (1, 80), (2, 200)] {
///     let mut permit = Permit::unaccounted()?; // each party has its own, from its own ledger
///     let share = plan.share(&[count], &mut permit)?;
///     let seeds = (0..3).filter(|&peer| peer != me).map(|peer| seed(me, peer)).collect();
///     messages.push(plan.mask(share, me, seeds)?);
/// }
/// let total = plan.sum(&messages)?[0];
/// println!("{total} ± {}", plan.error_bar().half_width());
/// assert!((total - 400).abs() < 100);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Plan {
    protocol: Protocol,
    parties: u32,
    cells: usize,
    bound: i64,
    sensitivity: u64,
    guarantee: Guarantee,
    noise: Noise,
    law: LaplaceSum,
    error: ErrorBar,
}

/// What one party adds to each of its numbers.
#[derive(Debug, Clone)]
enum Noise {
    /// All of it.
    Whole(Box<DiscreteLaplace>),
    /// The difference of two such draws.
    Part(NegativeBinomial),
}

impl Noise {
    fn fill<R: CryptoRng + ?Sized>(&self, rng: &mut R, noise: &mut [i64]) {
        match self {
            Self::Whole(law) => law.fill(rng, noise),
            Self::Part(law) => noise.iter_mut().for_each(|cell| {
                let (more, less) = (law.sample(rng), law.sample(rng));
                *cell = more.wrapping_sub(less);
            }),
        }
    }
}

/// What the parties add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sums {
    /// How many numbers each party has.
    pub cells: usize,
    /// The largest size of a number; larger ones are clamped.
    pub bound: i64,
    /// How far one unit can move all of them together, in the L1 norm.
    pub sensitivity: u64,
}

impl Plan {
    /// For `parties` parties that add up their numbers.
    ///
    /// # Errors
    /// If a parameter is out of range; see the type.
    pub fn new(protocol: Protocol, parties: u32, sums: Sums, epsilon: &Epsilon) -> Result<Self> {
        let Sums { cells, bound, sensitivity } = sums;
        let shape = protocol.shape(parties)?;
        if cells == 0 || cells > MOST_CELLS {
            return Err(Error::parameter("number of cells", cells, "from 1 to 16777216"));
        }
        if bound < 1 {
            return Err(Error::parameter("bound", bound, "at least 1: the largest number that one party may have"));
        }
        if sensitivity == 0 {
            return Err(Error::parameter("sensitivity", 0, "at least 1: what no unit can move needs no noise"));
        }
        let scale = &Rational::from(sensitivity) / epsilon.value();
        let noise = if shape == Rational::ONE {
            DiscreteLaplace::new(&scale).map(|law| Noise::Whole(Box::new(law)))
        } else {
            NegativeBinomial::new(&shape, &scale).map(Noise::Part)
        };
        let noise = noise.map_err(|_| {
            let allowed = "such that the sensitivity over epsilon, the scale of the noise, is from 0.001 to 2^50";
            Error::parameter("epsilon", epsilon, allowed)
        })?;
        let law = LaplaceSum::of_shares(scale.to_f64(), parties, protocol.honest(parties)?);
        let noise_reach = law.chernoff_reach(LOG_ODDS_OF_OVERFLOW + libm::log(2.0 * cells as f64));
        // Floats above 2^53 are rounded; one part in 2^20 covers this.
        let reach = f64::from(parties) * bound as f64 + noise_reach;
        if reach * (1.0 + libm::exp2(-20.0)) >= libm::exp2(63.0) {
            let allowed = "smaller: the sum of all parties' numbers and the noise must stay below 2^63";
            return Err(Error::parameter("bound", bound, allowed));
        }
        let error = ErrorBar::new(law.reach(1.0 - LEVEL), LEVEL)?;
        let guarantee = Guarantee::Pure(epsilon.clone());
        Ok(Self { protocol, parties, cells, bound, sensitivity, guarantee, noise, law, error })
    }

    /// The protocol.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// m.
    pub fn parties(&self) -> u32 {
        self.parties
    }

    /// The number of cells, the same for each party.
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// The size to which each party's numbers are clamped.
    pub fn bound(&self) -> i64 {
        self.bound
    }

    /// Δ, in the L1 norm.
    pub fn sensitivity(&self) -> u64 {
        self.sensitivity
    }

    /// The guarantee for the units of each party against up to t colluders (broadcast: all others), and the charge to
    /// each party's own ledger.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// How far the noise may have moved each sum, individually.
    pub fn error_bar(&self) -> ErrorBar {
        self.error
    }

    /// How far the noise moves each sum, individually, with at least this probability.
    ///
    /// # Errors
    /// If the level lies outside 0 < level < 1.
    pub fn half_width(&self, level: &Rational) -> Result<u64> {
        let level = level.to_f64_up();
        // As for every error bar; this also checks the level.
        Ok(ErrorBar::new(self.law.reach(1.0 - level), level)?.half_width() as u64)
    }

    /// The standard deviation of each sum's noise.
    pub fn standard_deviation(&self) -> f64 {
        libm::sqrt(self.law.variance())
    }

    fn epsilon(&self) -> &Epsilon {
        self.guarantee.epsilon().expect("a plan promises a pure ε")
    }

    /// The ε that holds against this many colluders, from 0 to m − 1: the plan's own up to t, larger beyond (rounded up
    /// to six digits).
    ///
    /// # Errors
    /// If no party would be left to protect.
    ///
    /// # Example
    /// ```
    /// use reticent::multiparty::{Plan, Protocol, Sums};
    ///
    /// let plan = Plan::new(Protocol::Masked { colluders: 0 }, 10, Sums { cells: 1, bound: 1000, sensitivity: 1 }, &"1".parse()?)?;
    /// assert_eq!(plan.loss_against(0)?.to_string(), "1");
    /// assert!((plan.loss_against(5)?.to_f64() - 1.675).abs() < 1e-3);
    /// assert!((plan.loss_against(9)?.to_f64() - 3.296).abs() < 1e-3);
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn loss_against(&self, colluders: u32) -> Result<Epsilon> {
        if colluders >= self.parties {
            let allowed = "less than the number of parties: if all parties collude, no rows are left to protect";
            return Err(Error::parameter("number of colluders", colluders, allowed));
        }
        Ok(self.loss(colluders))
    }

    /// [`Plan::loss_against`] 0, 1, …, m − 1 colluders.
    pub fn losses(&self) -> Vec<Epsilon> {
        (0..self.parties).map(|colluders| self.loss(colluders)).collect()
    }

    /// [`Plan::loss_against`] fewer colluders than parties.
    fn loss(&self, colluders: u32) -> Epsilon {
        if colluders <= self.protocol.colluders(self.parties) {
            return self.epsilon().clone();
        }
        let honest = f64::from(self.protocol.honest(self.parties).expect("checked by `Plan::new`"));
        let shape = f64::from(self.parties - colluders) / honest;
        loss::residual(self.epsilon(), self.sensitivity, self.cells as u64, shape)
    }

    /// One party's numbers, clamped, with its share of the noise. Deducts ε from the permit.
    ///
    /// # Errors
    /// If the number of values differs from the number of cells, or if the permit does not cover ε.
    pub fn share(&self, statistic: &[i64], permit: &mut Permit) -> Result<Share> {
        self.check_cells(statistic.len())?;
        let mut draw = permit.spend(&self.guarantee)?;
        let noise = Zeroizing::new(self.noise(&mut draw));
        let words = Self::add(&self.clamp(statistic), &noise);
        Ok(Share { words, accounting: draw.accounting().clone() })
    }

    /// One party's share of the noise alone, and where it was charged: for a protocol that hides the parties' numbers
    /// by other means than masks (secret shares of reports). Deducts ε from the permit.
    ///
    /// # Privacy
    /// On its own it protects nothing: it must be added to a number that is indistinguishable from a random one before
    /// all shares are added up.
    ///
    /// # Errors
    /// If the permit does not cover ε.
    pub fn noise_alone(&self, permit: &mut Permit) -> Result<(Zeroizing<Vec<i64>>, Accounting)> {
        let mut draw = permit.spend(&self.guarantee)?;
        Ok((Zeroizing::new(self.noise(&mut draw)), draw.accounting().clone()))
    }

    /// Numbers and noise, modulo 2^64.
    pub(super) fn add(values: &[i64], noise: &[i64]) -> Zeroizing<Vec<u64>> {
        let sums = values.iter().zip(noise).map(|(value, noise)| value.wrapping_add(*noise).cast_unsigned());
        Zeroizing::new(sums.collect())
    }

    /// The numbers clamped to the bound.
    pub(super) fn clamp(&self, statistic: &[i64]) -> Zeroizing<Vec<i64>> {
        Zeroizing::new(statistic.iter().map(|&value| value.clamp(-self.bound, self.bound)).collect())
    }

    /// One party's noise.
    pub(super) fn noise<R: CryptoRng + ?Sized>(&self, rng: &mut R) -> Vec<i64> {
        let mut noise = vec![0; self.cells];
        self.noise.fill(rng, &mut noise);
        noise
    }

    /// The message of party `me` (counted from 0): its share, under its masks in the masked protocol. Consumes the
    /// seeds.
    ///
    /// # Errors
    /// Unless there is exactly one seed for each other party in the masked protocol, and none in broadcast.
    pub fn mask(&self, share: Share, me: u32, seeds: Vec<MaskSeed>) -> Result<Vec<u64>> {
        let mut words = share.words;
        self.check_cells(words.len())?;
        match self.protocol {
            Protocol::Broadcast if seeds.is_empty() => (),
            Protocol::Broadcast => {
                return Err(Error::parameter("number of mask seeds", seeds.len(), "0: broadcast has no masks"));
            }
            Protocol::Masked { .. } => mask::apply(&mut words, me, self.parties, &seeds)?,
        }
        Ok(std::mem::take(&mut *words))
    }

    /// The noisy sums, from the messages of all parties: for any reader of a transcript.
    ///
    /// # Errors
    /// Unless there is one message for each party, and one word in it for each cell.
    pub fn sum(&self, messages: &[impl AsRef<[u64]>]) -> Result<Vec<i64>> {
        if messages.len() != self.parties as usize {
            return Err(Error::parameter("number of messages", messages.len(), "that of the parties"));
        }
        let mut sums = vec![0u64; self.cells];
        for message in messages {
            let message = message.as_ref();
            self.check_cells(message.len())?;
            sums.iter_mut().zip(message).for_each(|(sum, &word)| *sum = sum.wrapping_add(word));
        }
        Ok(sums.into_iter().map(u64::cast_signed).collect())
    }

    /// The result as a function of the transcript: [`Plan::sum`] of its one round.
    ///
    /// # Errors
    /// As for [`Plan::sum`], and unless there is exactly one round.
    pub fn output(&self, transcript: &Transcript) -> Result<Vec<i64>> {
        match transcript.rounds() {
            [messages] => self.sum(messages),
            rounds => Err(Error::parameter("number of rounds", rounds.len(), "1")),
        }
    }

    /// The noisy sums as the release of a party, whose [`Share::accounting`] says where it was charged; the error bar
    /// holds for each sum individually.
    ///
    /// # Errors
    /// As for [`Plan::sum`].
    pub fn combine(&self, messages: &[impl AsRef<[u64]>], accounting: &Accounting) -> Result<Release<Vec<i64>>> {
        self.release(self.sum(messages)?, accounting)
    }

    /// Sums that were added up elsewhere, with every party's [share of the noise](Plan::noise_alone) in them, as a release.
    ///
    /// # Errors
    /// Unless there is one for each cell.
    pub fn release(&self, sums: Vec<i64>, accounting: &Accounting) -> Result<Release<Vec<i64>>> {
        self.check_cells(sums.len())?;
        Ok(Release::new(sums, self.error, self.guarantee.clone(), accounting.clone()))
    }

    pub(super) fn check_cells(&self, cells: usize) -> Result<()> {
        if cells == self.cells {
            return Ok(());
        }
        Err(Error::parameter("number of values", cells, "that of the plan's cells"))
    }
}
