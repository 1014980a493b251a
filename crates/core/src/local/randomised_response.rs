//! One yes/no answer, randomised on the device of the person who gives it.

use std::fmt;
use std::ops::RangeInclusive;

use dashu_int::UBig;
use rand_core::CryptoRng;

use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::exact::enclosure::{Enclosure, exp_neg};
use crate::exact::logarithm::neg_ln;
use crate::local::{Estimate, Estimator, Response, range as epsilon_range};
use crate::noise::Coin;
use crate::permit::Permit;
use crate::privacy::{Epsilon, Guarantee};

/// Digits of an irrational ε, which is rounded up.
const DIGITS: u32 = 20;

/// Answers yes or no, and sometimes lies.
///
/// | form | the truth is reported with probability | ε |
/// |---|---|---|
/// | [`fair_coin`](Self::fair_coin): heads the truth; tails a second toss says yes or no | ¾ | ln 3 ≈ 1.0986 |
/// | [`with_epsilon`](Self::with_epsilon): the most accurate one for a given ε | e^ε/(1+e^ε) | ε |
/// | [`with_bias`](Self::with_bias) b: right by b more often than wrong | (1+b)/2 | ln((1+b)/(1−b)), which is more than 2b |
///
/// # Privacy
/// ε-differential privacy for one person's one answer against everyone, the aggregator included: a response has at most
/// e^ε times the probability under one answer that it has under the other, and this is attained. A person who is asked
/// the same question again spends ε again. The bias of the third form is sometimes called ε; it is not: b = ½ gives ε =
/// ln 3.
///
/// A response reads one 64-bit random word, whatever the answer and the response (except for one in 2^63).
///
/// # Accuracy
/// The fraction of yes among n responses is not an estimate of the fraction of people (if no one would say yes, at ε =
/// 1 still 27 % do): [`estimate`](Self::estimate) corrects for the lies. The standard error of the estimated count is
/// then √n·√(p(1−p))/(2p−1), at ε = 1 0.96·√n, where a trusted curator needs an error of about 1/ε: this is the price
/// of not trusting anyone, and no other way of answering avoids it.
///
/// # Algorithm
/// \[W65\]; the local model \[KLNRS11\]. The lie is a [`Coin`].
///
/// # Errors
/// If the parameter is out of range or (when responding) if the permit does not cover ε.
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::local::RandomisedResponse;
///
/// // On a person's device.
/// let question = RandomisedResponse::with_epsilon(&"1".parse()?)?;
/// let mut permit = Permit::unaccounted()?; // unless the device keeps a ledger
/// let response = question.respond(true, &mut permit)?;
/// println!("sent: {}, at a cost of {}", response.value(), response.guarantee());
///
/// // At the collector: 4,300 of 10,000 said yes.
/// let estimate = question.estimate(4_300, 10_000)?;
/// assert_eq!(estimate.count().round(), 3485.0);
/// assert_eq!(estimate.count_standard_error().round(), 96.0);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct RandomisedResponse {
    form: Form,
    guarantee: Guarantee,
    lie: Coin,
    estimator: Estimator,
}

/// How the probability of a lie is specified.
#[derive(Debug, Clone)]
enum Form {
    /// (1−b)/2, for a rational b.
    Bias(Rational),
    /// 1/(1+e^ε).
    Logistic(Epsilon),
}

impl RandomisedResponse {
    /// Two tosses of a fair coin: if the first shows heads, the truth; if not, the second says yes or no.
    ///
    /// The same as a bias of ½. ε = ln 3.
    pub fn fair_coin() -> Self {
        let half = Rational::from_big(UBig::ONE, UBig::from(2u8));
        Self::with_bias(&half).expect("one half is a bias within the range")
    }

    /// The truth with probability e^ε/(1+e^ε).
    ///
    /// # Errors
    /// If ε lies outside 2^−50 to 1000.
    pub fn with_epsilon(epsilon: &Epsilon) -> Result<Self> {
        epsilon_range::check(epsilon)?;
        Self::new(Form::Logistic(epsilon.clone()), epsilon.clone(), Coin::lie(epsilon))
    }

    /// The truth with probability (1+b)/2: as answers ±1, a response has mean b times the truth.
    ///
    /// # Errors
    /// Unless 0 < b < 1 and ln((1+b)/(1−b)) lies from 2^−50 to 1000.
    ///
    /// # Example
    /// ```
    /// use reticent::local::RandomisedResponse;
    ///
    /// let question = RandomisedResponse::with_bias(&"0.1".parse()?)?;
    /// assert_eq!(question.guarantee().to_string(), "ε = 0.20067069546215116128"); // not 0.1
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn with_bias(bias: &Rational) -> Result<Self> {
        const ALLOWED: &str = "greater than 0 and less than 1, and ln((1+b)/(1-b)) from 2^-50 to 1000";
        let refused = || Error::parameter("bias", bias, ALLOWED);
        if !bias.is_positive() || *bias >= Rational::ONE {
            return Err(refused());
        }
        let epsilon = Epsilon::new(bias_epsilon(bias).end().round_up(DIGITS))?;
        if !epsilon_range::contains(&epsilon) {
            return Err(refused());
        }
        let lie = Coin::ratio(&bias_lie(bias))?;
        Self::new(Form::Bias(bias.clone()), epsilon, lie)
    }

    fn new(form: Form, epsilon: Epsilon, lie: Coin) -> Result<Self> {
        let lies = form.lie();
        // An irrational probability is known far more precisely than a float can represent.
        let estimator = Estimator::new(&(&Rational::ONE - lies.end()), lies.end())?;
        Ok(Self { form, guarantee: Guarantee::Pure(epsilon), lie, estimator })
    }

    /// The guarantee of a response, and its cost: the true ε, rounded up at its twentieth digit if it is irrational.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// Two fractions that enclose the true ε: the logarithm of the largest ratio of probabilities. They are equal if ε
    /// is rational, and agree in more than thirty digits if it is not.
    pub fn true_epsilon(&self) -> RangeInclusive<Rational> {
        match &self.form {
            Form::Bias(bias) => bias_epsilon(bias),
            Form::Logistic(epsilon) => epsilon.value().clone()..=epsilon.value().clone(),
        }
    }

    /// Two fractions that enclose P(`response` | `answer`): the whole law of the mechanism is four of these. They are
    /// equal if the probability is rational, and agree in more than thirty digits if it is not.
    ///
    /// # Example
    /// ```
    /// use reticent::local::RandomisedResponse;
    ///
    /// let coins = RandomisedResponse::fair_coin();
    /// assert_eq!(coins.probability(true, true), "3/4".parse()?..="3/4".parse()?);
    /// assert_eq!(coins.probability(false, true), "1/4".parse()?..="1/4".parse()?);
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn probability(&self, answer: bool, response: bool) -> RangeInclusive<Rational> {
        let lie = self.form.lie();
        if answer == response { &Rational::ONE - lie.end()..=&Rational::ONE - lie.start() } else { lie }
    }

    /// Randomises one answer.
    ///
    /// # Errors
    /// If the permit does not cover ε.
    pub fn respond(&self, answer: bool, permit: &mut Permit) -> Result<Response<bool>> {
        let mut draw = permit.spend(&self.guarantee)?;
        let response = self.sample(answer, &mut draw);
        Ok(Response::new(response, self.guarantee.clone(), draw.accounting().clone()))
    }

    /// A response from any generator, for simulations and audits: nothing is charged, and the result does not say so.
    #[inline]
    pub fn sample<R: CryptoRng + ?Sized>(&self, answer: bool, rng: &mut R) -> bool {
        answer ^ self.lie.toss(rng)
    }

    /// How many of n people would truly say yes if `yes` of their responses do.
    ///
    /// # Errors
    /// If there are no responses, or more yes than responses.
    pub fn estimate(&self, yes: u64, n: u64) -> Result<Estimate> {
        self.estimator.estimate(yes, n)
    }

    /// The estimator with p* = P(yes | yes) and q* = P(yes | no), for its variances and bounds.
    pub fn estimator(&self) -> &Estimator {
        &self.estimator
    }
}

impl Form {
    /// Two fractions that enclose the probability of a lie.
    fn lie(&self) -> RangeInclusive<Rational> {
        match self {
            Self::Bias(bias) => {
                let lie = bias_lie(bias);
                lie.clone()..=lie
            }
            Self::Logistic(epsilon) => {
                // e^−ε > 2^−1.5ε keeps 128 bits, and so does 1 − 2·lie > ε/4 ≥ 2^−52.
                let whole = usize::try_from(&epsilon.value().ceil()).unwrap_or(epsilon_range::LARGEST as usize);
                let bits = 192 + whole * 3 / 2;
                let small = exp_neg(epsilon.value(), bits);
                let lie = small.over(&small.add(&Enclosure::one(bits)), bits);
                range(&lie, bits)
            }
        }
    }
}

/// (1−b)/2.
fn bias_lie(bias: &Rational) -> Rational {
    (&Rational::ONE - bias) / Rational::from(2)
}

/// ln((1+b)/(1−b)) between two fractions.
fn bias_epsilon(bias: &Rational) -> RangeInclusive<Rational> {
    use dashu_int::ops::BitTest;
    let ratio = (&Rational::ONE - bias) / (&Rational::ONE + bias);
    // ε > 2b: as many bits more as b begins with zeros.
    let zeros = bias.denominator().bit_len() - bias.numerator().bit_len();
    let bits = 128 + zeros;
    range(&neg_ln(&ratio, bits), bits)
}

fn range(enclosure: &Enclosure, bits: usize) -> RangeInclusive<Rational> {
    let real = |end: &UBig| Rational::from_big(end.clone(), UBig::ONE << bits);
    real(&enclosure.lo)..=real(&enclosure.hi)
}

impl fmt::Display for RandomisedResponse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [truth, epsilon] = [self.probability(true, true), self.true_epsilon()].map(|range| range.end().to_f64());
        write!(formatter, "the truth with probability {truth:.6}: ε = {epsilon:.6}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Receipt;
    use crate::noise::Entropy;

    fn rational(text: &str) -> Rational {
        text.parse().unwrap()
    }

    fn forms() -> Vec<RandomisedResponse> {
        let mut forms = vec![RandomisedResponse::fair_coin()];
        for epsilon in ["0.001", "0.5", "1", "ln 3", "10", "200", "1000"] {
            let epsilon = epsilon.replace("ln 3", "1.0986122886681098");
            forms.push(RandomisedResponse::with_epsilon(&epsilon.parse().unwrap()).unwrap());
        }
        for bias in ["1e-12", "0.1", "1/3", "0.5", "0.9", "0.999999", "0.99999999999999999999999999999999"] {
            forms.push(RandomisedResponse::with_bias(&rational(bias)).unwrap());
        }
        forms
    }

    fn width(range: &RangeInclusive<Rational>) -> Rational {
        range.end() - range.start()
    }

    /// All four probabilities: they add up to 1, and their largest ratio is exactly e^ε.
    #[test]
    fn the_largest_ratio_is_exactly_what_is_promised() {
        let hair = rational("1e-18");
        for form in forms() {
            let mut largest: Option<(Rational, Rational)> = None;
            for response in [false, true] {
                let [no, yes] = [false, true].map(|answer| form.probability(answer, response));
                assert!(no.start() + yes.start() <= Rational::ONE && no.end() + yes.end() >= Rational::ONE, "{form}");
                for (likely, unlikely) in [(&yes, &no), (&no, &yes)] {
                    let bounds = (likely.start() / unlikely.end(), likely.end() / unlikely.start());
                    if largest.as_ref().is_none_or(|(lower, _)| bounds.0 > *lower) {
                        largest = Some(bounds);
                    }
                }
            }
            let (lower, upper) = largest.unwrap();
            let claim = form.guarantee().epsilon().unwrap().value().clone();
            let bits = 192 + 1500;
            let shrink = |epsilon: &Rational| range(&exp_neg(epsilon, bits), bits);
            match &form.form {
                // The stated ε is rounded up, so that the ratio lies strictly below e^ε: proved.
                Form::Bias(_) => {
                    assert_eq!(lower, upper);
                    assert!(&upper * shrink(&claim).end() <= Rational::ONE, "{form}: more than e^ε");
                }
                // The ratio *is* e^ε, as closely as the tight bounds can tell.
                Form::Logistic(_) => {
                    assert!(&lower * shrink(&claim).start() <= Rational::ONE, "{form}: more than e^ε");
                    assert!(&upper / &lower <= Rational::ONE + rational("1e-36"), "{form}: the bounds are loose");
                }
            }
            let less = &claim * &(&Rational::ONE - &hair);
            assert!(&upper * shrink(&less).start() > Rational::ONE, "{form}: promises less than it keeps");
        }
    }

    #[test]
    fn the_true_epsilon_of_each_form() {
        let ln_3 = rational("1.0986122886681096914");
        let coins = RandomisedResponse::fair_coin();
        assert_eq!(coins.guarantee().epsilon().unwrap().value(), &ln_3);
        let range = coins.true_epsilon();
        assert!(range.start() < &ln_3 && range.end() <= &ln_3 && width(&range) < rational("1e-37"));
        let sign = RandomisedResponse::with_bias(&rational("0.5")).unwrap();
        assert_eq!(sign.true_epsilon(), coins.true_epsilon());
        let one = RandomisedResponse::with_epsilon(&"1".parse().unwrap()).unwrap();
        assert_eq!(one.true_epsilon(), Rational::ONE..=Rational::ONE);
        for bias in ["1e-10", "0.1", "0.5", "0.99"] {
            let bias = rational(bias);
            let form = RandomisedResponse::with_bias(&bias).unwrap();
            // Not b, and not 2b either.
            assert!(*form.true_epsilon().start() > &bias + &bias);
            let (found, b) = (form.true_epsilon().end().to_f64(), bias.to_f64());
            assert!((found / (2.0 * libm::atanh(b)) - 1.0).abs() < 1e-14, "{found}");
            let claim = form.guarantee().epsilon().unwrap().value();
            assert!(form.true_epsilon().end() <= claim && claim.to_f64() / found - 1.0 < 1e-15);
        }
        assert_eq!(coins.to_string(), "the truth with probability 0.750000: ε = 1.098612");
    }

    #[test]
    fn what_is_out_of_range_is_refused() {
        for bias in ["0", "1", "-0.5", "2", "1e-17", "1e-400"] {
            let error = RandomisedResponse::with_bias(&rational(bias)).unwrap_err();
            assert!(error.to_string().starts_with("bias is "), "{error}");
        }
        let almost_one = Rational::ONE - Rational::from_big(UBig::ONE, UBig::from(10u8).pow(500));
        assert!(RandomisedResponse::with_bias(&almost_one).is_err(), "ε = 1152");
        for epsilon in ["1e-16", "1000.1", "1e300"] {
            assert!(RandomisedResponse::with_epsilon(&epsilon.parse().unwrap()).unwrap_err().is_parameter());
        }
    }

    /// A response is the answer or its opposite, by a toss that does not depend on the answer.
    #[test]
    fn the_lie_does_not_depend_on_the_answer() {
        for form in forms() {
            let (mut one, mut two) = (Entropy::seeded(5), Entropy::seeded(5));
            let (mut one, mut two) = (one.draw().unwrap(), two.draw().unwrap());
            assert!((0..1000).all(|_| form.sample(true, &mut one) != form.sample(false, &mut two)));
        }
    }

    #[test]
    fn every_response_is_paid_for() {
        let question = RandomisedResponse::fair_coin();
        let receipt = Receipt { dataset: "device".into(), request: "q".into(), entry: 1 };
        let mut permit = Permit::from_durable_charge(receipt.clone(), question.guarantee(), Entropy::seeded(1));
        let response = question.respond(true, &mut permit).unwrap();
        assert_eq!(response.guarantee(), question.guarantee());
        assert_eq!(response.accounting(), &crate::ledger::Accounting::Charged(receipt));
        assert!(question.respond(true, &mut permit).unwrap_err().is_not_permitted());
    }

    #[test]
    fn estimates_take_the_lies_out() {
        let coins = RandomisedResponse::fair_coin();
        // E[fraction that says yes] = f/2 + 1/4.
        for (yes, fraction) in [(250, 0.0), (400, 0.3), (750, 1.0)] {
            assert!((coins.estimate(yes, 1000).unwrap().fraction() - fraction).abs() < 1e-12);
        }
        // Nearly random answers: the difference of the probabilities keeps its digits.
        let weak = RandomisedResponse::with_epsilon(&"1e-12".parse().unwrap()).unwrap();
        let found = weak.estimate(1, 1).unwrap().fraction() - weak.estimate(0, 1).unwrap().fraction();
        assert!((found / 2e12 - 1.0).abs() < 1e-12, "1/tanh(ε/2) = {found}");
    }
}
