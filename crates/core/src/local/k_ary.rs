//! One of k answers, reported truthfully or replaced by a random one.

use std::ops::RangeInclusive;

use rand_core::CryptoRng;

use super::{Estimator, Response, range};
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::exact::exp_fraction::ExpFraction;
use crate::noise::Coin;
use crate::noise::bits::{BitSource, always};
use crate::noise::uniform::{below, scaled};
use crate::permit::Permit;
use crate::privacy::{Epsilon, Guarantee};

/// k-ary randomised response: one of k values, true with probability e^ε/(e^ε+k−1) and any other with 1/(e^ε+k−1) each.
///
/// # Privacy
/// ε-differential privacy for one person's one answer against everyone. A response has probability e^ε·w if it is the
/// answer and w if it is not, with the same w = 1/(e^ε+k−1) for all: the largest ratio is e^ε, exactly. Time and random
/// bits do not depend on the answer, nor on whether it was reported truthfully.
///
/// # Accuracy
/// p* = e^ε/(e^ε+k−1), q* = 1/(e^ε+k−1), so that n times the variance of a rare value's fraction is (e^ε+k−2)/(e^ε−1)²: the least of
/// all oracles for k < 3e^ε + 2, and growing with k beyond.
///
/// # Algorithm
/// \[W65, KBR16\]: a coin decides with probability (e^ε−1)/(e^ε+k−1) that the truth is reported; if not, a value is
/// drawn that is uniform over all k, the true one included. The two together give e^ε/(e^ε+k−1) to the true value. Both
/// are always drawn. The coin's probability is irrational and realised exactly, as by every [`Coin`].
///
/// # Errors
/// Unless 2 ≤ k ≤ 2^32 − 1 and ε lies from 2^−50 to 1000; when responding, if the answer is not below k or the permit does not
/// cover ε.
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::local::KaryResponse;
///
/// let colours = ["red", "green", "blue"];
/// let question = KaryResponse::new(colours.len() as u64, &"1".parse()?)?;
/// let response = question.respond(2, &mut Permit::unaccounted()?)?;
/// println!("sent: {}, at a cost of {}", colours[*response.value() as usize], response.guarantee());
/// assert!((question.estimator().p() - 0.5761).abs() < 1e-4); // e/(e+2)
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct KaryResponse {
    k: u32,
    epsilon: Epsilon,
    guarantee: Guarantee,
    truth: Coin,
    estimator: Estimator,
}

/// Answers randomised between two refills of the buffer of random bytes.
const BLOCK: usize = 256;
/// Random bytes of one answer: a word for the coin, half a word for the other value.
const BYTES: usize = 12;

impl KaryResponse {
    /// For k values.
    ///
    /// # Errors
    /// As described for the type.
    pub fn new(k: u64, epsilon: &Epsilon) -> Result<Self> {
        let Some(k) = u32::try_from(k).ok().filter(|&k| k >= 2) else {
            return Err(Error::parameter("number of values", k, "from 2 to 4294967295"));
        };
        range::check(epsilon)?;
        let [p, q] = [(1, 0), (0, 1)].map(|top| fraction(epsilon, k, top).range());
        Ok(Self {
            k,
            epsilon: epsilon.clone(),
            guarantee: Guarantee::Pure(epsilon.clone()),
            truth: Coin::exp_fraction(fraction(epsilon, k, (1, -1))),
            estimator: Estimator::new(p.end(), q.end())?,
        })
    }

    /// The number of values.
    pub fn values(&self) -> u32 {
        self.k
    }

    /// The guarantee of a response, and its cost.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// The estimator of each value's fraction.
    pub fn estimator(&self) -> &Estimator {
        &self.estimator
    }

    /// Two fractions that enclose P(`response` | `answer`); they agree in more than thirty digits.
    pub fn probability(&self, answer: u32, response: u32) -> RangeInclusive<Rational> {
        fraction(&self.epsilon, self.k, if answer == response { (1, 0) } else { (0, 1) }).range()
    }

    /// Randomises one answer.
    ///
    /// # Errors
    /// If the answer is not below k, or the permit does not cover ε.
    pub fn respond(&self, answer: u32, permit: &mut Permit) -> Result<Response<u32>> {
        if answer >= self.k {
            return Err(range::foreign_answer());
        }
        let mut draw = permit.spend(&self.guarantee)?;
        let response = self.sample(answer, &mut draw);
        Ok(Response::new(response, self.guarantee.clone(), draw.accounting().clone()))
    }

    /// A response from any generator, for simulations and audits: nothing is charged, and the result does not say so.
    #[inline]
    pub fn sample<R: CryptoRng + ?Sized>(&self, answer: u32, rng: &mut R) -> u32 {
        debug_assert!(answer < self.k);
        let is_true = self.truth.toss(rng);
        always(self.choose(is_true, answer, rng))
    }

    /// The answer if the truth is to be reported, else a uniform value; it is drawn in either case.
    #[inline]
    fn choose<B: BitSource + ?Sized>(&self, is_true: bool, answer: u32, source: &mut B) -> Result<u32, B::Error> {
        let other = below(self.k.into(), source)? as u32;
        Ok(if is_true { answer } else { other })
    }

    /// [`KaryResponse::sample`] for many answers at once.
    ///
    /// # Panics
    /// If the numbers of answers and of places for responses differ.
    pub fn sample_all<R: CryptoRng + ?Sized>(&self, answers: &[u32], rng: &mut R, responses: &mut [u32]) {
        assert_eq!(answers.len(), responses.len(), "a place for every response");
        let mut bytes = [0; BYTES * BLOCK];
        for (answers, responses) in answers.chunks(BLOCK).zip(responses.chunks_mut(BLOCK)) {
            let bytes = &mut bytes[..BYTES * answers.len()];
            rng.fill_bytes(bytes);
            for ((answer, response), random) in answers.iter().zip(responses).zip(bytes.chunks_exact(BYTES)) {
                let (coin, other) = random.split_at(8);
                let coin = u64::from_le_bytes(coin.try_into().expect("eight bytes"));
                let other = u32::from_le_bytes(other.try_into().expect("four bytes"));
                let is_true = self.truth.decide(coin).unwrap_or_else(|| self.truth.decide_further(coin, rng));
                *response = match scaled(other.into(), 32, self.k.into()) {
                    Some(other) if !is_true => other as u32,
                    Some(_) => *answer,
                    // Whether the truth is reported does not depend on the rejected word.
                    None => always(self.choose(is_true, *answer, rng)),
                };
            }
        }
    }
}

/// (a + b·e^−ε)/(1 + (k−1)·e^−ε).
fn fraction(epsilon: &Epsilon, k: u32, top: (u128, i128)) -> ExpFraction {
    ExpFraction::new(epsilon.value(), top, (1, u128::from(k - 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::enumerate::enumerate;
    use crate::local::evidence::{Law, assert_tight, largest_ratio_holds};
    use crate::noise::Entropy;

    /// P(y|x) of the code: its coin, and what it does on either side of the coin, enumerated branch by branch.
    fn law(mechanism: &KaryResponse, unbiased: bool) -> Law {
        const BITS: usize = 256;
        let truth = Law::range(&mechanism.truth.enclosure(BITS), BITS);
        let k = mechanism.k;
        Law::of(k as usize, k as usize, |answer, response| {
            let mass = |is_true: bool| {
                let law = enumerate(24, |tape| match unbiased {
                    true => mechanism.choose(is_true, answer as u32, tape),
                    // The mutant: a uniform value of too few.
                    false if is_true => Ok(answer as u32),
                    false => Ok(below(u64::from(k) - 1, tape)? as u32),
                });
                let mass = law.mass(&(response as u32));
                mass.clone()..=mass + law.unresolved().clone()
            };
            let (yes, no) = (mass(true), mass(false));
            let mixed = |yes: &Rational, no: &Rational, truth: &Rational| no + &(truth * &(yes - no));
            let ends = [
                mixed(yes.start(), no.start(), truth.start()),
                mixed(yes.start(), no.start(), truth.end()),
                mixed(yes.end(), no.end(), truth.start()),
                mixed(yes.end(), no.end(), truth.end()),
            ];
            ends.iter().min().unwrap().clone()..=ends.iter().max().unwrap().clone()
        })
    }

    /// Powers of two end the enumeration without a rest, others with a small one.
    #[test]
    fn the_code_has_the_law_that_is_written_down() {
        for (k, epsilon) in [(2, "1"), (4, "0.1"), (8, "3"), (3, "1"), (5, "0.5")] {
            let mechanism = KaryResponse::new(k, &epsilon.parse().unwrap()).unwrap();
            let found = law(&mechanism, true);
            for answer in 0..k as u32 {
                for response in 0..k as u32 {
                    let exact = mechanism.probability(answer, response);
                    assert!(found.admits(answer, response, &exact), "k = {k}, ε = {epsilon}: {answer} → {response}");
                }
            }
        }
    }

    #[test]
    fn the_largest_ratio_is_exactly_what_is_promised() {
        for k in [2u64, 3, 10, 57, 1000] {
            for epsilon in ["0.001", "0.5", "1", "3", "10", "200"] {
                let mechanism = KaryResponse::new(k, &epsilon.parse().unwrap()).unwrap();
                // By symmetry three answers and four responses cover every case.
                let size = k.min(4) as usize;
                let law = Law::of(size.min(3), size, |answer, response| {
                    mechanism.probability(answer as u32, response as u32)
                });
                assert_tight(&law, &epsilon.parse().unwrap());
                let [own, other] = [0, 1].map(|answer| mechanism.probability(answer, 0));
                let whole = |own: &Rational, other: &Rational| own + &(other * &Rational::from(k - 1));
                assert!(whole(own.start(), other.start()) <= Rational::ONE);
                assert!(whole(own.end(), other.end()) >= Rational::ONE);
            }
        }
    }

    /// The mutant draws the other value from k − 1 values, as if the coin were that of the k − 1 others.
    #[test]
    fn too_few_other_values_are_seen() {
        let epsilon = "1".parse().unwrap();
        let mechanism = KaryResponse::new(4, &epsilon).unwrap();
        assert!(largest_ratio_holds(&law(&mechanism, true), &epsilon));
        assert!(!largest_ratio_holds(&law(&mechanism, false), &epsilon), "the mutant was not caught");
    }

    #[test]
    fn many_at_once_have_the_law_of_one() {
        const N: usize = 200_000;
        let mechanism = KaryResponse::new(3, &"1".parse().unwrap()).unwrap();
        let mut entropy = Entropy::seeded(11);
        let mut responses = vec![0; N];
        mechanism.sample_all(&vec![1; N], &mut entropy.draw().unwrap(), &mut responses);
        for value in 0..3 {
            let share = responses.iter().filter(|&&response| response == value).count() as f64 / N as f64;
            let exact = mechanism.probability(1, value).end().to_f64();
            // Five and a half standard deviations: once in 10^7 for each of three.
            assert!((share - exact).abs() < 5.5 * (exact * (1.0 - exact) / N as f64).sqrt(), "{value}: {share}");
        }
    }

    #[test]
    fn what_means_nothing_is_refused() {
        let one = "1".parse().unwrap();
        assert!(KaryResponse::new(1, &one).is_err() && KaryResponse::new(1 << 32, &one).is_err());
        assert!(KaryResponse::new(2, &"1001".parse().unwrap()).is_err());
        let mut permit = Permit::unaccounted_from(Entropy::seeded(1));
        let error = KaryResponse::new(3, &one).unwrap().respond(7, &mut permit).unwrap_err().to_string();
        assert!(error.starts_with("answer is outside the domain") && !error.contains('7'), "{error}");
    }
}
