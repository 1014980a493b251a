//! Privacy guarantees and their composition.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Adjacency, Delta, Epsilon, Rho};
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::exact::enclosure::{Enclosure, exp_neg};

/// A guarantee about every unit's privacy.
///
/// # Privacy
/// Let M be the mechanism and D, D′ neighbours in the stated [`Adjacency`].
/// - `Pure(ε)`: P(M(D) ∈ S) ≤ e^ε·P(M(D′) ∈ S) for every event S.
/// - `Approx(ε, δ)`: P(M(D) ∈ S) ≤ e^ε·P(M(D′) ∈ S) + δ.
/// - `Zcdp(ρ)`: the Rényi divergence of order α is at most ρα, for every α > 1 \[BS16\].
///
/// Post-processing is free: anything computed from a release carries the release's guarantee
/// ([`Release::map`](crate::Release::map)).
///
/// # Example
/// ```
/// use reticent::privacy::Guarantee;
///
/// let query = Guarantee::Pure("0.1".parse()?);
/// let ten_queries = Guarantee::sequential(vec![query; 10])?.expect("ten queries promise something");
/// assert_eq!(ten_queries, Guarantee::Pure("1".parse()?));
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Guarantee {
    /// ε-differential privacy.
    Pure(Epsilon),
    /// (ε, δ)-differential privacy.
    Approx(Epsilon, Delta),
    /// ρ-zero-concentrated differential privacy.
    Zcdp(Rho),
}

impl fmt::Display for Guarantee {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pure(epsilon) => write!(formatter, "ε = {epsilon}"),
            Self::Approx(epsilon, delta) => write!(formatter, "ε = {epsilon}, δ = {delta}"),
            Self::Zcdp(rho) => write!(formatter, "ρ = {rho}"),
        }
    }
}

impl Guarantee {
    /// The guarantee that users write as ε, as ε and δ, or as ρ; `None` if neither ε nor ρ is given. ρ beside ε is ignored.
    ///
    /// # Errors
    /// If a number is out of range.
    pub fn written(epsilon: Option<&str>, delta: Option<&str>, rho: Option<&str>) -> Result<Option<Self>> {
        Ok(match (epsilon, delta, rho) {
            (Some(epsilon), None, _) => Some(Self::Pure(epsilon.parse()?)),
            (Some(epsilon), Some(delta), _) => Some(Self::Approx(epsilon.parse()?, delta.parse()?)),
            (None, _, Some(rho)) => Some(Self::Zcdp(rho.parse()?)),
            (None, _, None) => None,
        })
    }

    /// Both guarantees about the same data: ε, δ and ρ add up, even if the second query was chosen after seeing the
    /// first answer.
    ///
    /// # Errors
    /// [`Error::KindsDiffer`] if one is zCDP and the other is not; a parameter error if δ reaches 1.
    pub fn and(&self, other: &Self) -> Result<Self> {
        match (self.balance(), other.balance()) {
            (Balance::EpsilonDelta(epsilon, delta), Balance::EpsilonDelta(more, also)) => {
                Self::from_epsilon_delta(epsilon + more, delta + also)
            }
            (Balance::Rho(rho), Balance::Rho(more)) => Ok(Self::Zcdp(Rho::new(rho + more)?)),
            _ => Err(self.differs_from(other)),
        }
    }

    /// All guarantees about the same data combined; `None` if the iterator is empty.
    ///
    /// # Errors
    /// As for [`Guarantee::and`].
    pub fn sequential(parts: impl IntoIterator<Item = Self>) -> Result<Option<Self>> {
        let mut parts = parts.into_iter();
        let Some(first) = parts.next() else { return Ok(None) };
        parts.try_fold(first, |total, part| total.and(&part)).map(Some)
    }

    /// Guarantees about disjoint parts of the data, where each unit's value decides which part it belongs to.
    ///
    /// Under [`Adjacency::AddRemove`] a unit touches one part: the largest ε, δ, ρ. Under [`Adjacency::Replace`] it
    /// may leave one part and enter another: the sum of the two largest.
    ///
    /// # Errors
    /// As for [`Guarantee::and`].
    ///
    /// # Example
    /// ```
    /// use reticent::privacy::{Adjacency, Guarantee};
    ///
    /// let parts = || ["1", "0.5", "0.25"].map(|epsilon| Guarantee::Pure(epsilon.parse().unwrap()));
    /// let add_remove = Guarantee::parallel(parts(), Adjacency::AddRemove)?.unwrap();
    /// let replace = Guarantee::parallel(parts(), Adjacency::Replace)?.unwrap();
    /// assert_eq!((add_remove.to_string(), replace.to_string()), ("ε = 1".into(), "ε = 1.5".into()));
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn parallel(parts: impl IntoIterator<Item = Self>, adjacency: Adjacency) -> Result<Option<Self>> {
        let parts: Vec<Self> = parts.into_iter().collect();
        let Some(first) = parts.first() else { return Ok(None) };
        let touched = match adjacency {
            Adjacency::AddRemove => 1,
            Adjacency::Replace => 2,
        };
        let largest = |mut values: Vec<Rational>| -> Rational {
            values.sort_unstable_by(|left, right| right.cmp(left));
            values.into_iter().take(touched).sum()
        };
        let (mut epsilons, mut deltas, mut rhos) = (Vec::new(), Vec::new(), Vec::new());
        for part in &parts {
            match part.balance() {
                Balance::EpsilonDelta(epsilon, delta) => {
                    epsilons.push(epsilon);
                    deltas.push(delta);
                }
                Balance::Rho(rho) => rhos.push(rho),
            }
            if !epsilons.is_empty() && !rhos.is_empty() {
                return Err(first.differs_from(part));
            }
        }
        if rhos.is_empty() {
            Self::from_epsilon_delta(largest(epsilons), largest(deltas)).map(Some)
        } else {
            Ok(Some(Self::Zcdp(Rho::new(largest(rhos))?)))
        }
    }

    /// The guarantee for any k units together.
    ///
    /// ε becomes kε, δ becomes δ·(e^{kε}−1)/(e^ε−1) (rounded up to 20 digits from a proved enclosure), ρ becomes
    /// k²ρ.
    ///
    /// # Errors
    /// If k is 0, or if δ reaches 1 and nothing is guaranteed any more.
    ///
    /// # Example
    /// ```
    /// use reticent::privacy::Guarantee;
    ///
    /// let household = Guarantee::Pure("0.5".parse()?).group(4)?;
    /// assert_eq!(household.to_string(), "ε = 2");
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn group(&self, k: u64) -> Result<Self> {
        if k == 0 {
            return Err(Error::parameter("group size", k, "at least 1"));
        }
        if k == 1 {
            return Ok(self.clone());
        }
        let k_exact = Rational::from(k);
        match self {
            Self::Pure(epsilon) => Ok(Self::Pure(Epsilon::new(epsilon.value() * &k_exact)?)),
            Self::Zcdp(rho) => Ok(Self::Zcdp(Rho::new(rho.value() * &k_exact.square())?)),
            Self::Approx(epsilon, delta) => {
                let group_delta = group_delta(epsilon.value(), delta.value(), k)?;
                Ok(Self::Approx(Epsilon::new(epsilon.value() * &k_exact)?, Delta::new(group_delta)?))
            }
        }
    }

    /// ε, if the guarantee is stated in ε.
    pub fn epsilon(&self) -> Option<&Epsilon> {
        match self {
            Self::Pure(epsilon) | Self::Approx(epsilon, _) => Some(epsilon),
            Self::Zcdp(_) => None,
        }
    }

    /// δ, if the guarantee is approximate.
    pub fn delta(&self) -> Option<&Delta> {
        match self {
            Self::Approx(_, delta) => Some(delta),
            _ => None,
        }
    }

    pub(crate) fn balance(&self) -> Balance {
        match self {
            Self::Pure(epsilon) => Balance::EpsilonDelta(epsilon.value().clone(), Rational::ZERO),
            Self::Approx(epsilon, delta) => Balance::EpsilonDelta(epsilon.value().clone(), delta.value().clone()),
            Self::Zcdp(rho) => Balance::Rho(rho.value().clone()),
        }
    }

    fn from_epsilon_delta(epsilon: Rational, delta: Rational) -> Result<Self> {
        let epsilon = Epsilon::new(epsilon)?;
        if delta.is_zero() { Ok(Self::Pure(epsilon)) } else { Ok(Self::Approx(epsilon, Delta::new(delta)?)) }
    }

    fn differs_from(&self, other: &Self) -> Error {
        Error::KindsDiffer { left: self.to_string(), right: other.to_string() }
    }
}

/// δ·(e^{kε}−1)/(e^ε−1) = δ·e^{(k−1)ε}·(1−e^{−kε})/(1−e^{−ε}), rounded up to 20 digits.
fn group_delta(epsilon: &Rational, delta: &Rational, k: u64) -> Result<Rational> {
    use dashu_int::ops::BitTest;
    let nothing_left = || Error::parameter("group size", k, "smaller: at this size delta reaches 1");
    let last = epsilon * &Rational::from(k - 1);
    // Beyond e^4096 no δ of practical use is left; this also bounds the precision below.
    if last > Rational::from(4096) {
        return Err(nothing_left());
    }
    // 1 − e^−ε must not vanish: ε is at least one over its denominator.
    let bits = 8192 + epsilon.denominator().bit_len();
    let grown = Enclosure::one(bits).over(&exp_neg(&last, bits), bits);
    let above = Enclosure::one(bits).minus(&exp_neg(&(epsilon * &Rational::from(k)), bits));
    let below = Enclosure::one(bits).minus(&exp_neg(epsilon, bits));
    let factor = grown.times(&above.over(&below, bits), bits).hi;
    let upper = (delta * &Rational::from_big(factor, dashu_int::UBig::ONE << bits)).round_up(20);
    if upper < Rational::ONE { Ok(upper) } else { Err(nothing_left()) }
}

/// How much of a budget is left, possibly zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Balance {
    EpsilonDelta(Rational, Rational),
    Rho(Rational),
}

impl Balance {
    /// Covers nothing, of either kind.
    pub const NOTHING: Self = Self::EpsilonDelta(Rational::ZERO, Rational::ZERO);

    /// What is left after `cost`; `None` if there is not enough or the kinds differ.
    pub fn minus(&self, cost: &Self) -> Option<Self> {
        match (self, cost) {
            (Self::EpsilonDelta(epsilon, delta), Self::EpsilonDelta(less, also)) => {
                (less <= epsilon && also <= delta).then(|| Self::EpsilonDelta(epsilon - less, delta - also))
            }
            (Self::Rho(rho), Self::Rho(less)) => (less <= rho).then(|| Self::Rho(rho - less)),
            _ => None,
        }
    }
}

impl fmt::Display for Balance {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EpsilonDelta(epsilon, delta) if delta.is_zero() => write!(formatter, "ε = {epsilon}"),
            Self::EpsilonDelta(epsilon, delta) => write!(formatter, "ε = {epsilon}, δ = {delta}"),
            Self::Rho(rho) => write!(formatter, "ρ = {rho}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pure(epsilon: &str) -> Guarantee {
        Guarantee::Pure(epsilon.parse().unwrap())
    }

    fn approx(epsilon: &str, delta: &str) -> Guarantee {
        Guarantee::Approx(epsilon.parse().unwrap(), delta.parse().unwrap())
    }

    fn zcdp(rho: &str) -> Guarantee {
        Guarantee::Zcdp(rho.parse().unwrap())
    }

    #[test]
    fn sequential_composition_is_exact() {
        assert_eq!(Guarantee::sequential(vec![pure("0.1"); 10]).unwrap(), Some(pure("1")));
        assert_eq!(pure("1").and(&approx("0.5", "1e-8")).unwrap(), approx("1.5", "1e-8"));
        assert_eq!(Guarantee::sequential(vec![zcdp("0.1"); 3]).unwrap(), Some(zcdp("0.3")));
        assert_eq!(Guarantee::sequential([]).unwrap(), None);
        assert!(matches!(pure("1").and(&zcdp("1")), Err(Error::KindsDiffer { .. })));
        assert!(approx("1", "0.6").and(&approx("1", "0.4")).is_err(), "δ = 1 promises nothing");
    }

    #[test]
    fn parallel_composition_depends_on_adjacency() {
        let parts = [approx("1", "1e-9"), approx("3", "1e-10"), pure("2")];
        let add_remove = Guarantee::parallel(parts.clone(), Adjacency::AddRemove).unwrap();
        assert_eq!(add_remove, Some(approx("3", "1e-9")));
        let replace = Guarantee::parallel(parts, Adjacency::Replace).unwrap();
        assert_eq!(replace, Some(approx("5", "1.1e-9")));
        assert!(Guarantee::parallel([pure("1"), zcdp("1")], Adjacency::Replace).is_err());
    }

    #[test]
    fn group_delta_is_never_below_the_formula() {
        let (epsilon, delta, k) = (0.5_f64, 1e-9_f64, 7.0);
        let Guarantee::Approx(group_epsilon, group_delta) = approx("0.5", "1e-9").group(7).unwrap() else {
            panic!("a group of an approximate promise is approximate");
        };
        assert_eq!(group_epsilon.to_string(), "3.5");
        let formula = delta * ((k * epsilon).exp() - 1.0) / (epsilon.exp() - 1.0);
        assert!((group_delta.to_f64() / formula - 1.0).abs() < 1e-12);
        assert!(approx("5", "1e-9").group(6).is_err(), "δ′ = 1e-9·(e^30−1)/(e^5−1) exceeds 1");
        assert!(approx("1", "1e-9").group(1 << 40).is_err());
        let tiny = Guarantee::Approx(
            Epsilon::new("1e-400".parse::<Rational>().unwrap().square()).unwrap(),
            "1e-9".parse().unwrap(),
        );
        let pair = tiny.group(2).unwrap().delta().unwrap().to_f64();
        assert!((2e-9..2.001e-9).contains(&pair), "{pair}");
        assert_eq!(zcdp("0.5").group(3).unwrap(), zcdp("4.5"));
        assert!(pure("1").group(0).is_err());
    }

    #[test]
    fn json_reads_back() {
        for guarantee in [pure("0.1"), approx("1", "1e-8"), zcdp("1/3")] {
            let json = serde_json::to_string(&guarantee).unwrap();
            assert_eq!(serde_json::from_str::<Guarantee>(&json).unwrap(), guarantee);
        }
        assert!(serde_json::from_str::<Guarantee>(r#"{"pure":"-1"}"#).is_err());
    }
}
