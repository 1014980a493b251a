//! Keys found from the data, without counts: as many as privacy allows.

use std::collections::{BTreeMap, BTreeSet};

use dashu_int::UBig;

use super::threshold::{check_delta, touched_keys};
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::exact::enclosure::{Enclosure, exp_neg};
use crate::noise::bernoulli::{Prefix, is_below};
use crate::noise::bits::{BitSource, always};
use crate::numeric::search::smallest_near;
use crate::permit::Permit;
use crate::privacy::{Adjacency, Delta, Epsilon, Guarantee};
use crate::release::{ErrorBar, LEVEL, Release};

/// Releases keys that come from the data, without counts, each with the largest probability that privacy allows.
///
/// # Privacy
/// (ε, δ)-differential privacy for units with at most g keys each (`max_groups`; the caller must ensure this). A key
/// that n units have is kept with probability π(n), independently of the others, where π(0) = 0 and
///
/// > π(n) = min( e^ε′·π(n−1) + δ′, 1 − e^−ε′·(1 − π(n−1) − δ′), 1 ).
///
/// The first bound says that "kept" is at most e^ε′ times as likely plus δ′ with one unit more, the second the same of
/// "left out" with one unit less; the other two inequalities hold because π grows. So one key whose count changes by 1 is
/// (ε′, δ′)-private. A unit changes at most m counts by 1: m = g under add/remove and m = 2g under replace, where it may
/// leave g keys and enter g others. With ε′ = ε/m and δ′ = δ/m, m independent keys together cost (ε, δ). (Both the keys
/// that are left and those that are entered can cost δ′ in the *same* direction, the former by being kept, the latter by
/// being left out: under replace 2g is needed here, unlike for [`Threshold`](super::Threshold).)
///
/// # Accuracy
/// For g = 1 under add/remove π(n) is the largest that any (ε, δ)-private selection reaches, at every n \[DVGM22\]; in
/// particular it is never below that of a threshold. The error bar counts units: a key that more units have than
/// its half-width is kept with probability at least 95 %. From [`Selection::certain_from`] on keys are always kept.
///
/// # Algorithm
/// Up to n₁ the first bound is the smaller one, and π(n) = δ′·(e^(nε′) − 1)/(e^ε′ − 1). The bounds cross where π(n−1) =
/// (1−δ′)/(e^ε′+1): n₁ is the largest n with π(n−1) below that. Beyond, r = 1 − π obeys r(n) = e^−ε′·(r(n−1) − δ′) until
/// it is 0, which gives r(n₁+m) = e^(−mε′)·r(n₁) − δ′·e^−ε′·(1 − e^(−mε′))/(1 − e^−ε′).
/// A key is kept if a uniform real number, drawn bit by bit, is below π(n), itself enclosed as closely as it takes: exact,
/// without floats. (As e^ε′ is transcendental, the comparison that defines n₁ is never a tie and ends.)
///
/// Counts of the keys that were kept can be released by [`Laplace`](super::Laplace) with a separate share of ε and
/// sensitivity g (replace: 2g).
///
/// # Errors
/// If `max_groups` is 0, δ is below 10^−300, ε/m lies outside 2^−50 to 1000, or (when releasing) the permit does not
/// cover (ε, δ).
///
/// # Example
/// ```
/// use std::collections::BTreeMap;
///
/// use reticent::Permit;
/// use reticent::mechanism::{Laplace, Selection};
/// use reticent::privacy::Adjacency;
///
/// let mut people = BTreeMap::from([("asthma", 912), ("flu", 1530), ("kuru", 1)]);
/// let mut permit = Permit::unaccounted()?;
/// let selection = Selection::new(1, Adjacency::AddRemove, &"0.5".parse()?, &"1e-6".parse()?)?;
/// let keys = selection.release(people.clone(), &mut permit)?;
/// assert!(keys.value().contains("flu"), "1530 units are certain to be seen");
///
/// people.retain(|key, _| keys.value().contains(key));
/// let exact = people.into_values().map(|count| count as i64).collect();
/// let counts = Laplace::new(1, &"0.5".parse()?)?.release_all(exact, &mut permit)?;
/// assert_eq!(counts.value().len(), keys.value().len());
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Selection {
    guarantee: Guarantee,
    keep: Keep,
    error: ErrorBar,
}

impl Selection {
    /// For units with at most `max_groups` keys each.
    ///
    /// # Errors
    /// If `max_groups` is 0, δ is below 10^−300 or ε's share for one key lies outside 2^−50 to 1000.
    pub fn new(max_groups: u64, adjacency: Adjacency, epsilon: &Epsilon, delta: &Delta) -> Result<Self> {
        let keys = touched_keys(max_groups, adjacency)?;
        check_delta(delta)?;
        let share = epsilon.value() / &keys;
        if share > Rational::from(1000) || share < Rational::from_big(UBig::ONE, UBig::ONE << 50) {
            return Err(Error::parameter("epsilon for one key", share, "from 2^-50 to 1000"));
        }
        let keep = Keep::new(share, delta.value() / &keys);
        let likely = keep.first_at_least(&Rational::try_from(LEVEL)?);
        let error = ErrorBar::new((likely - 1) as f64, LEVEL)?;
        Ok(Self { guarantee: Guarantee::Approx(epsilon.clone(), delta.clone()), keep, error })
    }

    /// The guarantee of a release, and its cost.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// π(n), for printing.
    pub fn keep_probability(&self, units: u64) -> f64 {
        let real = |bound: UBig| Rational::from_big(bound, UBig::ONE << 1100).to_f64();
        real(self.keep.probability(units, 1100).lo)
    }

    /// The same, enclosed.
    pub(crate) fn keep(&self, units: u64, bits: usize) -> Enclosure {
        self.keep.probability(units, bits)
    }

    /// The smallest number of units from which on a key is always kept.
    pub fn certain_from(&self) -> u64 {
        self.keep.certain
    }

    /// Releases the keys that were kept, in key order.
    ///
    /// # Errors
    /// If the permit does not cover (ε, δ).
    pub fn release<K: Ord>(&self, counts: BTreeMap<K, u64>, permit: &mut Permit) -> Result<Release<BTreeSet<K>>> {
        let numbers: Vec<u64> = counts.values().copied().collect();
        let kept = self.select(&numbers, permit)?;
        Ok(kept.map(
            |kept| counts.into_keys().zip(kept).filter_map(|(key, kept)| kept.then_some(key)).collect(),
            |bar| bar,
        ))
    }

    /// [`Selection::release`] for keys identified by their index: which of them are kept. The order of the counts must
    /// not depend on the data beyond the keys themselves.
    ///
    /// # Errors
    /// If the permit does not cover (ε, δ).
    pub fn select(&self, counts: &[u64], permit: &mut Permit) -> Result<Release<Vec<bool>>> {
        let mut draw = permit.spend(&self.guarantee)?;
        // Counts repeat: 64 bits of each probability are computed once.
        let mut words = BTreeMap::new();
        let mut kept = |&count: &u64| {
            if count >= self.keep.certain {
                return true;
            }
            let word = words.entry(count).or_insert_with(|| self.keep.probability(count, WORD));
            always(self.keep.keeps(count, word, &mut draw))
        };
        let kept = counts.iter().map(&mut kept).collect();
        Ok(Release::new(kept, self.error, self.guarantee.clone(), draw.accounting().clone()))
    }
}

/// Bits of a probability that are precomputed.
const WORD: usize = 64;

/// π, for one key.
#[derive(Debug, Clone)]
struct Keep {
    epsilon: Rational,
    delta: Rational,
    /// n₁: up to here the first bound is the smaller one.
    rising: u64,
    /// The smallest n with π(n) = 1.
    certain: u64,
    /// Bits that the formulas may lose: e^(n₁ε) ≤ 1/δ, 1/(1 − e^−ε) ≤ 2^51, and δ·e^−ε > 0 must be separated from 0.
    guard: usize,
}

impl Keep {
    fn new(epsilon: Rational, delta: Rational) -> Self {
        use dashu_int::ops::BitTest;
        let unit = usize::try_from(&epsilon.ceil()).expect("at most 1000");
        let guard = 2 * delta.denominator().bit_len() + 2 * unit + 192;
        let mut keep = Self { epsilon, delta, rising: u64::MAX, certain: u64::MAX, guard };
        // n₁ + 1 is the smallest n with π(n−1) > (1−δ)/(e^ε+1).
        let guess = keep.guess();
        keep.rising = smallest_near(guess.crossing(), |n| keep.has_crossed(n - 1)) - 1;
        let falls = guess.falls_to(0.0, keep.rising);
        keep.certain = keep.rising + smallest_near(falls, |m| keep.is_certain(keep.rising + m));
        keep
    }

    /// Is δ·(e^(nε) − 1)/(e^ε − 1) > (1−δ)/(e^ε + 1)? Uses more bits until it is decided; see the note on ties above.
    fn has_crossed(&self, n: u64) -> bool {
        if n == 0 {
            return false;
        }
        let mut bits = 64;
        loop {
            let work = bits + self.guard;
            let small = exp_neg(&self.epsilon, work);
            // (1−δ)/(e^ε+1) = (1−δ)·e^−ε/(1+e^−ε)
            let rest = Enclosure::rational(&(Rational::ONE - self.delta.clone()), work);
            let crossing = rest.times(&small, work).over(&Enclosure::one(work).add(&small), work);
            match self.first_bound(n, work) {
                // e^−nε is below 2^−work: its inverse exceeds everything.
                None => return true,
                Some(bound) if bound.lo > crossing.hi => return true,
                Some(bound) if bound.hi < crossing.lo => return false,
                Some(_) => bits *= 2,
            }
        }
    }

    /// δ·e^((n−1)ε)·(1 − e^(−nε))/(1 − e^−ε) for n ≥ 1; `None` if it is too large for the precision.
    fn first_bound(&self, n: u64, work: usize) -> Option<Enclosure> {
        let one = Enclosure::one(work);
        let power = |n: u64| exp_neg(&(&self.epsilon * &Rational::from(n)), work);
        let inverse = power(n - 1);
        if inverse.lo == UBig::ZERO {
            return None;
        }
        let series = one.minus(&power(n)).over(&one.minus(&power(1)), work);
        let delta = Enclosure::rational(&self.delta, work);
        // δ first, so that the small factor meets the large one before rounding.
        Some(delta.over(&inverse, work).times(&series, work))
    }

    /// 1 − π(n₁ + m) for m ≥ 0.
    fn left_out(&self, m: u64, work: usize) -> Enclosure {
        let one = Enclosure::one(work);
        let at_crossing = one.minus(&self.first_bound(self.rising, work).expect("the guard bits cover 1/δ"));
        let (step, power) = (exp_neg(&self.epsilon, work), exp_neg(&(&self.epsilon * &Rational::from(m)), work));
        let series = step.times(&one.minus(&power), work).over(&one.minus(&step), work);
        let delta = Enclosure::rational(&self.delta, work);
        power.times(&at_crossing, work).minus(&delta.times(&series, work))
    }

    /// Is π(n) = 1 for certain? (If it is barely so, the answer may be no, and a draw then gives the same result.)
    fn is_certain(&self, n: u64) -> bool {
        self.left_out(n - self.rising, 256 + self.guard).hi == UBig::ZERO
    }

    /// π(n).
    fn probability(&self, n: u64, bits: usize) -> Enclosure {
        if n == 0 {
            return Enclosure { lo: UBig::ZERO, hi: UBig::ZERO };
        }
        if n >= self.certain {
            return Enclosure::one(bits);
        }
        let work = bits + self.guard;
        let probability = if n <= self.rising {
            self.first_bound(n, work).expect("the guard bits cover 1/δ")
        } else {
            Enclosure::one(work).minus(&self.left_out(n - self.rising, work))
        };
        probability.coarsen(work, bits)
    }

    /// Draws whether a key with n units is kept; `word` is π(n) to [`WORD`] bits.
    fn keeps<B: BitSource + ?Sized>(&self, n: u64, word: &Enclosure, source: &mut B) -> Result<bool, B::Error> {
        is_below(Prefix::empty(), source, |bits| {
            if bits <= WORD { word.coarsen(WORD, bits) } else { self.probability(n, bits) }
        })
    }

    /// The smallest n whose π(n) is certainly at least `level`.
    fn first_at_least(&self, level: &Rational) -> u64 {
        let (guess, real) = (self.guess(), level.to_f64());
        let rises = guess.rises_to(real);
        let near = match rises <= self.rising as f64 {
            true => rises,
            false => self.rising as f64 + guess.falls_to(1.0 - real, self.rising),
        };
        let level = Enclosure::rational(level, WORD).hi;
        smallest_near(near, |n| self.probability(n, WORD).lo >= level)
    }

    fn guess(&self) -> Guess {
        Guess { epsilon: self.epsilon.to_f64(), delta: self.delta.to_f64() }
    }
}

/// The same formulas in floats: only a starting point for searches, so nothing depends on their accuracy.
struct Guess {
    epsilon: f64,
    delta: f64,
}

impl Guess {
    /// n₁ + 1.
    fn crossing(&self) -> f64 {
        let ratio = (1.0 - self.delta) / self.delta * libm::tanh(self.epsilon / 2.0);
        (libm::log1p(ratio) / self.epsilon).floor() + 2.0
    }

    /// The n at which the first bound reaches a level.
    fn rises_to(&self, level: f64) -> f64 {
        (libm::log1p(level * libm::expm1(self.epsilon) / self.delta) / self.epsilon).ceil()
    }

    /// The m at which 1 − π(n₁ + m) has fallen to `left`.
    fn falls_to(&self, left: f64, rising: u64) -> f64 {
        let step = libm::expm1(self.epsilon);
        let at_crossing = 1.0 - self.delta * libm::expm1(rising as f64 * self.epsilon) / step;
        let lost = self.delta / step;
        (libm::log((at_crossing + lost) / (left + lost)) / self.epsilon).ceil()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::enumerate::enumerate;
    use crate::mechanism::Threshold;
    use crate::mechanism::divergence::{self, BITS, Law, hair, neighbours, product};
    use crate::noise::Entropy;

    fn selection(max_groups: u64, epsilon: &str, delta: &str, adjacency: Adjacency) -> Selection {
        Selection::new(max_groups, adjacency, &epsilon.parse().unwrap(), &delta.parse().unwrap()).unwrap()
    }

    fn real(bound: &UBig) -> Rational {
        Rational::from_big(bound.clone(), UBig::ONE << BITS)
    }

    const BUDGETS: [(&str, &str); 8] = [
        ("1", "1e-6"),
        ("0.1", "1e-5"),
        ("0.05", "0.01"),
        ("3", "0.1"),
        ("1", "0.5"),
        ("20", "1e-12"),
        ("0.7", "0.9"),
        ("1/3", "1/7"),
    ];

    /// The closed form against the recurrence, both enclosed: they overlap, and are close.
    #[test]
    fn the_closed_form_solves_the_recurrence() {
        for (epsilon, delta) in BUDGETS {
            let keep = selection(1, epsilon, delta, Adjacency::AddRemove).keep;
            let (one, step) = (Enclosure::one(BITS), exp_neg(&keep.epsilon, BITS));
            let delta = Enclosure::rational(&keep.delta, BITS);
            let mut pi = Enclosure { lo: UBig::ZERO, hi: UBig::ZERO };
            for n in 0..keep.certain + 3 {
                let closed = keep.probability(n, BITS);
                assert!(closed.lo <= pi.hi && pi.lo <= closed.hi, "{epsilon} {delta:?} {n}");
                assert!(&real(&closed.hi) - &real(&closed.lo) <= hair());
                let first = pi.over(&step, BITS).add(&delta);
                let second = one.minus(&one.minus(&pi).minus(&delta).times(&step, BITS));
                pi = Enclosure {
                    lo: first.lo.min(second.lo).min(one.lo.clone()),
                    hi: first.hi.min(second.hi).min(one.hi.clone()),
                };
            }
            assert_eq!(keep.probability(keep.certain, BITS), one);
            assert!(keep.probability(keep.certain - 1, BITS).lo < one.lo);
        }
    }

    fn law(keep: &Keep, n: u64) -> Law {
        let kept = keep.probability(n, BITS);
        vec![Enclosure::one(BITS).minus(&kept), kept]
    }

    /// One key: the exact δ is δ, neither more nor less; with ε or δ slightly smaller the guarantee fails.
    #[test]
    fn one_key_costs_exactly_what_is_promised() {
        for (epsilon, delta) in BUDGETS {
            let keep = selection(1, epsilon, delta, Adjacency::AddRemove).keep;
            let laws: Vec<Law> = (0..keep.certain + 2).map(|n| law(&keep, n)).collect();
            let (least, most) = divergence::worst(&keep.epsilon, laws.iter().zip(&laws[1..]));
            assert!(most <= &keep.delta + &hair() && least >= &keep.delta - &hair(), "{epsilon} {delta}");
        }
    }

    /// Several keys, both adjacencies; the budget of the other adjacency, or of fewer keys, would be exceeded.
    #[test]
    fn several_keys_cost_no_more_than_is_promised() {
        let exact = |keep: &Keep, epsilon: &Rational, keys, g, adjacency| {
            let most = keep.certain.min(4);
            let laws: Vec<Law> = (0..=most).map(|n| law(keep, n)).collect();
            let joint = |counts: &[u64]| product(&counts.iter().map(|&n| laws[n as usize].clone()).collect::<Vec<_>>());
            let pairs: Vec<(Law, Law)> = neighbours(keys, most, g, adjacency == Adjacency::Replace)
                .iter()
                .map(|(left, right)| (joint(left), joint(right)))
                .collect();
            divergence::worst(epsilon, pairs.iter().map(|(left, right)| (left, right)))
        };
        for (g, epsilon, delta, adjacency, keys) in [
            (2, "2", "0.2", Adjacency::AddRemove, 2),
            (2, "4", "0.4", Adjacency::AddRemove, 3),
            (1, "2", "0.4", Adjacency::Replace, 2),
            (1, "4", "0.2", Adjacency::Replace, 3),
            (2, "8", "0.4", Adjacency::Replace, 4),
        ] {
            let right = selection(g, epsilon, delta, adjacency).keep;
            let (epsilon, delta): (Rational, Rational) = (epsilon.parse().unwrap(), delta.parse().unwrap());
            let (_, most) = exact(&right, &epsilon, keys, g as u32, adjacency);
            assert!(most <= &delta + &hair(), "{g} {epsilon} {delta} {adjacency}: {}", most.to_f64());
            // Mutant: the whole budget for every key.
            let whole = Keep::new(epsilon.clone(), delta.clone());
            let (least, _) = exact(&whole, &epsilon, keys, g as u32, adjacency);
            assert!(least > delta, "{g} {epsilon} {delta} {adjacency}: {}", least.to_f64());
        }
    }

    #[test]
    fn no_threshold_keeps_more() {
        for (g, epsilon, delta) in
            [(1, "1", "1e-6"), (1, "0.1", "1e-3"), (1, "3", "0.1"), (3, "1", "1e-8"), (10, "20", "1e-5")]
        {
            let selection = selection(g, epsilon, delta, Adjacency::AddRemove);
            let (epsilon, delta) = (epsilon.parse().unwrap(), delta.parse().unwrap());
            let threshold = Threshold::laplace(g, Adjacency::AddRemove, &epsilon, &delta).unwrap();
            let crate::noise::Law::Laplace(noise) = threshold.noise() else { panic!("{}", threshold.noise()) };
            let mut gained = 0.0;
            for n in 1..selection.certain_from() + 5 {
                let kept = real(&selection.keep.probability(n, BITS).hi);
                // P(n + K ≥ τ), and 1 − P(K ≥ n − τ + 1) where n ≥ τ.
                let tau = threshold.threshold();
                let shown =
                    if n < tau { noise.upper_tail(tau - n) } else { Rational::ONE - noise.upper_tail(n - tau + 1) };
                assert!(kept >= shown, "{g} {n}: {} < {}", kept.to_f64(), shown.to_f64());
                gained += kept.to_f64() - shown.to_f64();
            }
            assert!(gained > 0.0);
        }
    }

    #[test]
    fn draws_follow_pi() {
        for (epsilon, delta) in [("1", "0.1"), ("0.7", "0.9"), ("1/3", "1/7")] {
            let keep = selection(1, epsilon, delta, Adjacency::AddRemove).keep;
            for n in 0..keep.certain + 2 {
                let word = keep.probability(n, WORD);
                let drawn = enumerate(12, |tape| keep.keeps(n, &word, tape));
                assert!(drawn.admits_enclosure(&true, &keep.probability(n, 60), 60), "{epsilon} {delta} {n}");
                assert!(drawn.unresolved() <= &"0.001".parse().unwrap());
            }
        }
    }

    /// If 64 bits do not decide, the next ones do.
    #[test]
    fn undecided_words_are_refined() {
        /// The bits of a number, the most significant first.
        struct Bits {
            number: UBig,
            left: usize,
        }
        impl BitSource for Bits {
            type Error = ();
            fn bits(&mut self, count: u32) -> Result<u64, ()> {
                assert_eq!(count, 1);
                self.left = self.left.checked_sub(1).ok_or(())?;
                Ok(u64::from((&self.number >> self.left) & 1u8))
            }
        }
        let keep = selection(1, "1", "0.1", Adjacency::AddRemove).keep;
        let (word, fine) = (keep.probability(2, WORD), keep.probability(2, 100));
        // 100 bits a little below and a little above π(2), of which the first 80 are those of π(2) itself.
        for (number, expected) in [(&fine.lo - 8u8, true), (&fine.hi + 8u8, false)] {
            let first = Bits { number: &number >> 20, left: 80 };
            assert_eq!(keep.keeps(2, &word, &mut { first }), Err(()));
            assert_eq!(keep.keeps(2, &word, &mut Bits { number, left: 100 }), Ok(expected));
        }
    }

    #[test]
    fn keys_come_in_their_own_order() {
        let selection = selection(2, "1", "1e-9", Adjacency::Replace);
        let counts: BTreeMap<u32, u64> = (0..1000).map(|key| (key, [0, 1, u64::MAX][key as usize % 3])).collect();
        let mut permit = Permit::unaccounted_from(Entropy::seeded(6));
        let kept = selection.release(counts, &mut permit).unwrap();
        assert_eq!(kept.value().iter().copied().collect::<Vec<u32>>(), (2..1000).step_by(3).collect::<Vec<u32>>());
        let half_width = kept.error_bar().half_width() as u64;
        assert!(selection.keep_probability(half_width + 1) >= 0.95 && selection.keep_probability(half_width) < 0.95);
    }

    #[test]
    fn parameters_are_checked() {
        let new = |g, epsilon: &str, delta: &str| {
            Selection::new(g, Adjacency::Replace, &epsilon.parse().unwrap(), &delta.parse().unwrap())
        };
        for (g, epsilon, delta) in [(0, "1", "0.1"), (1, "1", "1e-301"), (1, "1e-16", "0.1"), (1, "2001", "0.1")] {
            assert!(new(g, epsilon, delta).unwrap_err().is_parameter(), "{g} {epsilon} {delta}");
        }
        // The widest, and the narrowest.
        assert!(new(1 << 49, "1", "1e-300").unwrap().certain_from() > 1 << 59);
        assert_eq!(new(1, "2000", "0.5").unwrap().certain_from(), 3);
    }
}
