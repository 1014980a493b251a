//! One of many values, as a point of a projective space.
//!
//! | module | holds |
//! |---|---|
//! | `geometry` | points, their numbers and products |
//! | `field` | the choice of the field |
//! | `decode` | how many responses support each value, for all values at once |

pub(super) mod decode;
pub(super) mod field;
pub(crate) mod geometry;

use std::ops::RangeInclusive;

use rand_core::CryptoRng;

use self::geometry::Geometry;
use super::{Estimator, Response, ValueTally, range};
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::exact::exp_fraction::ExpFraction;
use crate::noise::Coin;
use crate::noise::bits::{BitSource, always};
use crate::noise::uniform::below_wide;
use crate::permit::Permit;
use crate::privacy::{Epsilon, Guarantee};

/// Projective geometry response (PGR): values and responses are points of a projective space over a field of q ≈ e^ε + 1
/// elements, and a response supports the values that it is orthogonal to.
///
/// # Privacy
/// ε-differential privacy for one person's one answer against everyone. A response has probability e^ε·ρ if it is orthogonal to the
/// answer and ρ if it is not, with the same ρ = 1/((e^ε−1)·c_s + K) for all, where K is the number of points and c_s that of the
/// points orthogonal to one: the largest ratio is e^ε, exactly. Time and random bits do not depend on the answer.
///
/// # Accuracy
/// With c_i points orthogonal to two, p* = e^ε·c_s·ρ and q* = ρ·(e^ε·c_i + c_s − c_i). In a large space n times the variance of a
/// rare value's fraction is (e^ε−1+q)²/((e^ε−1)²·(q−1)): at q = e^ε + 1 that of [one bit per
/// value](super::UnaryEncoding), and for the primes that are chosen a few per cent more. A report has log₂ K bits,
/// instead of k.
///
/// # Algorithm
/// \[FNNT22\]. Value v is the v-th point. A coin decides with probability (e^ε−1)·c_s·ρ that a point orthogonal to the
/// answer is drawn, uniformly; else any point is, uniformly. The two together give e^ε·ρ to the orthogonal ones. Both
/// points are always drawn. From the responses the supports of all values are counted together
/// ([`ProjectiveResponse::supports`]) in time (t−1)·q^(t+1).
///
/// # Errors
/// Unless k ≥ 2, ε lies from 2^−50 to 11 and the space has at most 2^27 vectors; when responding, if the answer is not below k or
/// the permit does not cover ε.
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::local::ProjectiveResponse;
///
/// let question = ProjectiveResponse::new(1_000_000, &"1".parse()?)?;
/// let response = question.respond(123_456, &mut Permit::unaccounted()?)?;
/// println!("the point {} of {}", response.value(), question.points()); // 22 bits
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ProjectiveResponse {
    k: u64,
    channel: Channel,
}

/// The maximum number of vectors of the space: decoding builds tables of as many 32-bit numbers.
const MOST_VECTORS: u128 = 1 << 27;
/// Above this ε the field would be large, and k-ary response is better up to 180,000 values.
const LARGEST_EPSILON: u64 = 11;
/// Counts are `u32`.
const MOST_RESPONSES: u64 = u32::MAX as u64;

impl ProjectiveResponse {
    /// For k values, over a field that suits ε and k.
    ///
    /// # Errors
    /// As described for the type.
    pub fn new(k: u64, epsilon: &Epsilon) -> Result<Self> {
        check(k, epsilon)?;
        let q = field::suitable(k, epsilon.to_f64(), MOST_VECTORS).ok_or_else(|| too_many(k))?;
        Self::over_field(k, epsilon, q)
    }

    /// For k values, over the field of q elements: for an aggregator that must use the same field as the devices.
    ///
    /// # Errors
    /// As described for the type, and unless q is a prime from 2 to 65521.
    pub fn over_field(k: u64, epsilon: &Epsilon, q: u32) -> Result<Self> {
        check(k, epsilon)?;
        if !field::is_field(q) {
            return Err(Error::parameter("field", q, "a prime from 2 to 65521"));
        }
        let space = Geometry::with_points(q, k.into()).filter(|space| space.power(space.t()) <= MOST_VECTORS);
        Ok(Self { k, channel: Channel::new(space.ok_or_else(|| too_many(k))?, epsilon)? })
    }

    /// The number of values.
    pub fn values(&self) -> u64 {
        self.k
    }

    /// The number of points: responses are below it.
    pub fn points(&self) -> u64 {
        self.channel.space.points() as u64
    }

    /// q, the number of the field's elements.
    pub fn field(&self) -> u32 {
        self.channel.space.q()
    }

    /// The guarantee of a response, and its cost.
    pub fn guarantee(&self) -> &Guarantee {
        &self.channel.guarantee
    }

    /// The estimator of each value's fraction, from the responses that [support](Self::supports) it.
    pub fn estimator(&self) -> &Estimator {
        &self.channel.estimator
    }

    /// Two fractions that enclose P(`response` | `answer`); they agree in more than thirty digits.
    pub fn probability(&self, answer: u64, response: u64) -> RangeInclusive<Rational> {
        self.channel.probability(answer.into(), response.into())
    }

    /// Randomises one answer.
    ///
    /// # Errors
    /// If the answer is not below k, or the permit does not cover ε.
    pub fn respond(&self, answer: u64, permit: &mut Permit) -> Result<Response<u64>> {
        if answer >= self.k {
            return Err(range::foreign_answer());
        }
        let guarantee = self.guarantee();
        let mut draw = permit.spend(guarantee)?;
        let response = self.sample(answer, &mut draw);
        Ok(Response::new(response, guarantee.clone(), draw.accounting().clone()))
    }

    /// A response from any generator, for simulations and audits: nothing is charged, and the result does not say so.
    pub fn sample<R: CryptoRng + ?Sized>(&self, answer: u64, rng: &mut R) -> u64 {
        debug_assert!(answer < self.k);
        self.channel.sample(answer.into(), rng) as u64
    }

    /// The number of responses that support each value: those orthogonal to it.
    ///
    /// Takes (t−1)·q^(t+1) additions and eight bytes for each of q^t vectors: for a million values at ε = 1 some 200 million and
    /// 40 MB.
    ///
    /// # Errors
    /// If the tally is not over the points, or has 2^32 responses or more.
    pub fn supports(&self, responses: &ValueTally) -> Result<Vec<u64>> {
        if responses.counts().len() as u64 != self.points() {
            return Err(Error::parameter("tally", responses.counts().len(), "one count for each point of the space"));
        }
        if responses.n() > MOST_RESPONSES {
            return Err(Error::parameter("number of reports", responses.n(), "less than 2^32 for projective geometry"));
        }
        let mut supports = decode::supports(&self.channel.space, responses.counts());
        supports.truncate(self.k as usize);
        Ok(supports)
    }
}

fn check(k: u64, epsilon: &Epsilon) -> Result<()> {
    range::check(epsilon)?;
    if *epsilon.value() > Rational::from(LARGEST_EPSILON) {
        let allowed = "from 2^-50 to 11 for projective geometry; k-ary response suits larger ones";
        return Err(Error::parameter("epsilon", epsilon, allowed));
    }
    if k < 2 {
        return Err(Error::parameter("number of values", k, "at least 2"));
    }
    Ok(())
}

fn too_many(k: u64) -> Error {
    let allowed =
        "so few that the space has at most 2^27 vectors; find common values of larger domains by their prefixes";
    Error::parameter("number of values", k, allowed)
}

/// The randomisation itself, for spaces of any size.
#[derive(Debug, Clone)]
pub(crate) struct Channel {
    space: Geometry,
    epsilon: Epsilon,
    guarantee: Guarantee,
    orthogonal: Coin,
    estimator: Estimator,
}

impl Channel {
    pub fn new(space: Geometry, epsilon: &Epsilon) -> Result<Self> {
        let (support, both) = (space.support() as i128, space.intersection() as i128);
        let fraction = |top| fraction(&space, epsilon, top);
        let estimator = Estimator::new(
            fraction((support as u128, 0)).range().end(),
            fraction((both as u128, support - both)).range().end(),
        )?;
        let orthogonal = Coin::exp_fraction(fraction((support as u128, -support)));
        let (epsilon, guarantee) = (epsilon.clone(), Guarantee::Pure(epsilon.clone()));
        Ok(Self { space, epsilon, guarantee, orthogonal, estimator })
    }

    pub fn space(&self) -> &Geometry {
        &self.space
    }

    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    pub fn estimator(&self) -> &Estimator {
        &self.estimator
    }

    pub fn probability(&self, answer: u128, response: u128) -> RangeInclusive<Rational> {
        let product = self.space.product(&self.space.vector(answer), &self.space.vector(response));
        fraction(&self.space, &self.epsilon, if product == 0 { (1, 0) } else { (0, 1) }).range()
    }

    pub fn sample<R: CryptoRng + ?Sized>(&self, answer: u128, rng: &mut R) -> u128 {
        let is_orthogonal = self.orthogonal.toss(rng);
        always(self.choose(is_orthogonal, answer, rng))
    }

    /// A point orthogonal to the answer, or any point; both are drawn in either case.
    fn choose<B: BitSource + ?Sized>(
        &self,
        is_orthogonal: bool,
        answer: u128,
        source: &mut B,
    ) -> Result<u128, B::Error> {
        let digits = 1 + below_wide(self.space.power(self.space.t() - 1) - 1, source)?;
        let orthogonal = self.space.orthogonal(&self.space.vector(answer), digits);
        let any = below_wide(self.space.points(), source)?;
        Ok(if is_orthogonal { orthogonal } else { any })
    }
}

/// (a·e^ε + b)/((e^ε−1)·c_s + K), as (a + b·e^−ε)/(c_s + (K−c_s)·e^−ε).
fn fraction(space: &Geometry, epsilon: &Epsilon, top: (u128, i128)) -> ExpFraction {
    ExpFraction::new(epsilon.value(), top, (space.support(), space.points() - space.support()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::enumerate::enumerate;
    use crate::local::evidence::{Law, assert_tight, largest_ratio_holds};
    use crate::noise::Entropy;

    const SPACES: [(u32, u64); 6] = [(2, 3), (2, 15), (3, 4), (3, 40), (5, 31), (7, 57)];

    fn mechanism(q: u32, k: u64, epsilon: &str) -> ProjectiveResponse {
        ProjectiveResponse::over_field(k, &epsilon.parse().unwrap(), q).unwrap()
    }

    #[test]
    fn the_largest_ratio_is_exactly_what_is_promised() {
        for (q, k) in SPACES {
            for epsilon in ["0.01", "1", "2.5", "11"] {
                let mechanism = mechanism(q, k, epsilon);
                let points = mechanism.points() as usize;
                assert_eq!(points as u64, k, "these fill their spaces");
                let law = Law::of(points.min(7), points, |answer, response| {
                    mechanism.probability(answer as u64, response as u64)
                });
                assert!(law.adds_up());
                assert_tight(&law, &epsilon.parse().unwrap());
            }
        }
    }

    /// P(y|x) of the code: its coin, and what it does on either side of the coin, enumerated branch by branch.
    fn law(mechanism: &ProjectiveResponse, with_zero: bool) -> Law {
        const BITS: usize = 256;
        let channel = &mechanism.channel;
        let coin = Law::range(&channel.orthogonal.enclosure(BITS), BITS);
        let points = mechanism.points() as usize;
        let branches: Vec<_> = (0..points as u128)
            .map(|answer| {
                [true, false].map(|side| {
                    enumerate(20, |tape| match with_zero {
                        false => channel.choose(side, answer, tape),
                        // The mutant: an orthogonal vector whose point was not made canonical, in effect the answer's own
                        // number now and then.
                        true if side && tape.bits(2)? == 0 => Ok(answer),
                        true => channel.choose(side, answer, tape),
                    })
                })
            })
            .collect();
        Law::of(points, points, |answer, response| {
            let [yes, no] = &branches[answer];
            let mass = |law: &crate::audit::enumerate::Law<u128>| law.mass(&(response as u128));
            let mixed = |truth: &Rational, slack: bool| {
                let rest = |law: &crate::audit::enumerate::Law<u128>| match slack {
                    true => law.unresolved().clone(),
                    false => Rational::ZERO,
                };
                let (yes, no) = (mass(yes) + rest(yes), mass(no) + rest(no));
                &no + &(truth * &(&yes - &no))
            };
            let lower = mixed(coin.start(), false).min(mixed(coin.end(), false));
            let upper = mixed(coin.start(), true).max(mixed(coin.end(), true));
            lower..=upper
        })
    }

    #[test]
    fn the_code_has_the_law_that_is_written_down() {
        for (q, k, epsilon) in [(2, 3, "1"), (2, 7, "0.5"), (3, 4, "1"), (3, 13, "2"), (5, 6, "1.5")] {
            let mechanism = mechanism(q, k, epsilon);
            let found = law(&mechanism, false);
            for answer in 0..k {
                for response in 0..k {
                    let exact = mechanism.probability(answer, response);
                    assert!(found.admits(answer as u32, response as u32, &exact), "{q} {k}: {answer} → {response}");
                }
            }
        }
    }

    #[test]
    fn a_response_that_is_now_and_then_the_answer_is_seen() {
        let epsilon = "1".parse().unwrap();
        let mechanism = mechanism(3, 13, "1");
        assert!(largest_ratio_holds(&law(&mechanism, false), &epsilon));
        assert!(!largest_ratio_holds(&law(&mechanism, true), &epsilon), "the mutant was not caught");
    }

    /// p* and q*, added up over the law.
    #[test]
    fn supports_have_the_probabilities_of_the_estimator() {
        for (q, k) in SPACES {
            let mechanism = mechanism(q, k, "1.3");
            let space = &mechanism.channel.space;
            for value in [0, k - 1] {
                let supporting = |answer: u64| -> f64 {
                    let orthogonal = |response: &u64| {
                        space.product(&space.vector(value.into()), &space.vector((*response).into())) == 0
                    };
                    let responses = (0..mechanism.points()).filter(orthogonal);
                    responses.map(|response| mechanism.probability(answer, response).end().to_f64()).sum()
                };
                let estimator = mechanism.estimator();
                assert!((supporting(value) - estimator.p()).abs() < 1e-12, "q = {q}");
                assert!((supporting((value + 1) % k) - estimator.q()).abs() < 1e-12, "q = {q}");
            }
        }
    }

    /// A common value is found among others, from responses to decoded counts.
    #[test]
    fn a_common_value_stands_out() {
        const PEOPLE: u64 = 40_000;
        let mechanism = ProjectiveResponse::new(300, &"1".parse().unwrap()).unwrap();
        let mut entropy = Entropy::seeded(8);
        let mut rng = entropy.draw().unwrap();
        let mut tally = ValueTally::new(mechanism.points() as usize);
        for person in 0..PEOPLE {
            let answer = if person % 4 == 0 { 123 } else { person % 300 };
            tally.add(mechanism.sample(answer, &mut rng)).unwrap();
        }
        let supports = mechanism.supports(&tally).unwrap();
        assert_eq!(supports.len(), 300);
        for (value, &support) in supports.iter().enumerate() {
            let share = if value == 123 { 0.25 + 0.75 / 300.0 } else { 0.75 / 300.0 };
            let estimate = mechanism.estimator().estimate(support, PEOPLE).unwrap();
            // 5.5 standard errors for each of 300: 10^−5 in all.
            let error = mechanism.estimator().variance(share, PEOPLE).sqrt();
            assert!((estimate.fraction() - share).abs() < 5.5 * error, "{value}: {}", estimate.fraction());
        }
        assert!(mechanism.supports(&ValueTally::new(3)).is_err());
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let one: Epsilon = "1".parse().unwrap();
        assert!(ProjectiveResponse::new(1, &one).is_err());
        assert!(ProjectiveResponse::new(10, &"11.5".parse().unwrap()).is_err());
        assert!(ProjectiveResponse::over_field(10, &one, 4).unwrap_err().to_string().starts_with("field is 4"));
        let error = ProjectiveResponse::new(1 << 40, &one).unwrap_err().to_string();
        assert!(error.contains("by their prefixes"), "{error}");
    }
}
