//! The frequency oracles behind one interface, and the choice among them.

use rand_core::CryptoRng;

use super::{Estimator, KaryResponse, ProjectiveResponse, SetTally, UnaryEncoding, ValueSet, ValueTally};
use crate::error::{Error, Result};
use crate::privacy::{Epsilon, Guarantee};

/// How common each of k values is, by one of three mechanisms.
///
/// | oracle | good for | bits of a report |
/// |---|---|---|
/// | [`KaryResponse`] | small k: below 3e^ε + 2 it beats one bit per value | log₂ k |
/// | [`UnaryEncoding`] | k up to a few hundred | k |
/// | [`ProjectiveResponse`] | larger k, and smaller ones that happen to fill a space | log₂ k + log₂ q at most |
///
/// # Example
/// ```
/// use reticent::local::FrequencyOracle;
///
/// let one = "1".parse()?;
/// assert_eq!(FrequencyOracle::auto(5, &one)?.name(), "k-ary");
/// assert_eq!(FrequencyOracle::auto(300, &one)?.name(), "unary");
/// assert_eq!(FrequencyOracle::auto(100_000, &one)?.name(), "projective-3");
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub enum FrequencyOracle {
    /// One of a few values.
    Kary(KaryResponse),
    /// A bit for each value.
    Unary(UnaryEncoding),
    /// A point of a projective space.
    Projective(ProjectiveResponse),
}

/// The longest report that [`FrequencyOracle::auto`] asks of a device, in bits.
const LONGEST_REPORT: u64 = 512;
/// Variances whose ratio is below this count as equal: the shorter report wins.
const SLACK: f64 = 1.01;

impl FrequencyOracle {
    /// The oracle with the least variance for rare values among those whose report has at most 64 bytes, where variances
    /// within 1 % count as equal and the shorter report wins.
    ///
    /// # Errors
    /// If no oracle supports k and ε.
    pub fn auto(k: u64, epsilon: &Epsilon) -> Result<Self> {
        let k_ary = KaryResponse::new(k, epsilon).map(Self::Kary);
        let unary = if k <= LONGEST_REPORT { UnaryEncoding::new(k, epsilon).map(Self::Unary).ok() } else { None };
        let projective = ProjectiveResponse::new(k, epsilon).map(Self::Projective).ok();
        let fitting: Vec<Self> = [k_ary.as_ref().ok().cloned(), unary, projective].into_iter().flatten().collect();
        let variance = |oracle: &Self| oracle.estimator().variance(0.0, 1);
        let least = fitting.iter().map(variance).fold(f64::INFINITY, f64::min);
        let good = fitting.into_iter().filter(|oracle| variance(oracle) <= SLACK * least);
        good.min_by_key(Self::report_bits).map_or(k_ary, Ok)
    }

    /// The oracle of this name: `auto`, `k-ary`, `unary`, `projective`, or `projective-q` over the field of q elements.
    ///
    /// # Errors
    /// If there is no oracle of this name, or it does not support k and ε.
    pub fn named(name: &str, k: u64, epsilon: &Epsilon) -> Result<Self> {
        const ALLOWED: &str = "auto, k-ary, unary or projective for a list of choices";
        match name {
            "auto" => Self::auto(k, epsilon),
            "k-ary" => KaryResponse::new(k, epsilon).map(Self::Kary),
            "unary" => UnaryEncoding::new(k, epsilon).map(Self::Unary),
            "projective" => ProjectiveResponse::new(k, epsilon).map(Self::Projective),
            _ => {
                let field = name.strip_prefix("projective-").and_then(|q| q.parse().ok());
                let field = field.ok_or_else(|| Error::parameter("mechanism", name, ALLOWED))?;
                ProjectiveResponse::over_field(k, epsilon, field).map(Self::Projective)
            }
        }
    }

    /// The name with which [`FrequencyOracle::named`] returns the same oracle.
    pub fn name(&self) -> String {
        match self {
            Self::Kary(_) => "k-ary".into(),
            Self::Unary(_) => "unary".into(),
            Self::Projective(mechanism) => format!("projective-{}", mechanism.field()),
        }
    }

    /// The number of values.
    pub fn values(&self) -> u64 {
        match self {
            Self::Kary(mechanism) => mechanism.values().into(),
            Self::Unary(mechanism) => mechanism.values().into(),
            Self::Projective(mechanism) => mechanism.values(),
        }
    }

    /// Bits of a response.
    pub fn report_bits(&self) -> u64 {
        let bits = |numbers: u64| u64::from(64 - (numbers - 1).leading_zeros());
        match self {
            Self::Kary(mechanism) => bits(mechanism.values().into()),
            Self::Unary(mechanism) => mechanism.values().into(),
            Self::Projective(mechanism) => bits(mechanism.points()),
        }
    }

    /// The guarantee of a response, and its cost.
    pub fn guarantee(&self) -> &Guarantee {
        match self {
            Self::Kary(mechanism) => mechanism.guarantee(),
            Self::Unary(mechanism) => mechanism.guarantee(),
            Self::Projective(mechanism) => mechanism.guarantee(),
        }
    }

    /// The estimator of each value's fraction.
    pub fn estimator(&self) -> &Estimator {
        match self {
            Self::Kary(mechanism) => mechanism.estimator(),
            Self::Unary(mechanism) => mechanism.estimator(),
            Self::Projective(mechanism) => mechanism.estimator(),
        }
    }

    /// A response to the answer, which must be below k, from any generator: nothing is charged, and the result does not
    /// say so.
    pub fn sample<R: CryptoRng + ?Sized>(&self, answer: u64, rng: &mut R) -> OracleResponse {
        match self {
            Self::Kary(mechanism) => OracleResponse::Value(mechanism.sample(answer as u32, rng).into()),
            Self::Unary(mechanism) => OracleResponse::Set(mechanism.sample(answer as u32, rng)),
            Self::Projective(mechanism) => OracleResponse::Value(mechanism.sample(answer, rng)),
        }
    }

    /// An empty tally for this oracle's responses.
    pub fn tally(&self) -> OracleTally {
        match self {
            Self::Kary(mechanism) => OracleTally::Values(ValueTally::new(mechanism.values() as usize)),
            Self::Unary(mechanism) => OracleTally::Sets(SetTally::new(mechanism.values())),
            Self::Projective(mechanism) => OracleTally::Values(ValueTally::new(mechanism.points() as usize)),
        }
    }

    /// The number of responses that support each value.
    ///
    /// # Errors
    /// If the tally belongs to another oracle, or is too large to be decoded.
    pub fn supports(&self, tally: &mut OracleTally) -> Result<Vec<u64>> {
        match (self, tally) {
            (Self::Kary(_), OracleTally::Values(tally)) => Ok(tally.counts().to_vec()),
            (Self::Unary(_), OracleTally::Sets(tally)) => Ok(tally.counts().to_vec()),
            (Self::Projective(mechanism), OracleTally::Values(tally)) => mechanism.supports(tally),
            _ => Err(Error::parameter("tally", "of another oracle", "one that this oracle made")),
        }
    }
}

/// A response of any of the oracles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OracleResponse {
    /// A value, or a point.
    Value(u64),
    /// A set of values.
    Set(ValueSet),
}

/// Responses of any of the oracles, counted.
#[derive(Debug, Clone)]
pub enum OracleTally {
    /// Values, or points.
    Values(ValueTally),
    /// Sets of values.
    Sets(SetTally),
}

impl OracleTally {
    /// Counts a response.
    ///
    /// # Errors
    /// If it is not one of the oracle's; it is not counted then.
    pub fn add(&mut self, response: &OracleResponse) -> Result<()> {
        match (self, response) {
            (Self::Values(tally), OracleResponse::Value(value)) => tally.add(*value),
            (Self::Sets(tally), OracleResponse::Set(set)) => tally.add(set),
            _ => Err(Error::parameter("response", "of another oracle", "one of the oracle that made the tally")),
        }
    }

    /// The number of responses counted.
    pub fn n(&self) -> u64 {
        match self {
            Self::Values(tally) => tally.n(),
            Self::Sets(tally) => tally.n(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Entropy;

    #[test]
    fn auto_takes_the_least_variance_and_then_the_shortest_report() {
        for epsilon in ["0.2", "1", "2", "4"] {
            let epsilon: Epsilon = epsilon.parse().unwrap();
            for k in [2u64, 3, 9, 11, 60, 170, 300, 512, 513, 20_000] {
                let chosen = FrequencyOracle::auto(k, &epsilon).unwrap();
                let variance = |oracle: &FrequencyOracle| oracle.estimator().variance(0.0, 1);
                for name in ["k-ary", "unary", "projective"] {
                    let other = FrequencyOracle::named(name, k, &epsilon).unwrap();
                    if other.report_bits() <= LONGEST_REPORT {
                        assert!(variance(&chosen) <= SLACK * variance(&other), "ε = {epsilon}, k = {k}: not {name}");
                    }
                }
                let beats_unary = (k as f64) < 3.0 * epsilon.to_f64().exp() + 2.0;
                let unwanted = if beats_unary { "unary" } else { "k-ary" };
                assert_ne!(chosen.name(), unwanted, "ε = {epsilon}, k = {k}");
                assert_eq!(FrequencyOracle::named(&chosen.name(), k, &epsilon).unwrap().name(), chosen.name());
            }
        }
    }

    #[test]
    fn every_oracle_finds_the_common_value() {
        const PEOPLE: u64 = 20_000;
        let epsilon: Epsilon = "1.5".parse().unwrap();
        let mut entropy = Entropy::seeded(4);
        let mut rng = entropy.draw().unwrap();
        for name in ["k-ary", "unary", "projective"] {
            let oracle = FrequencyOracle::named(name, 20, &epsilon).unwrap();
            let mut tally = oracle.tally();
            for person in 0..PEOPLE {
                let answer = if person % 2 == 0 { 7 } else { person % 20 };
                tally.add(&oracle.sample(answer, &mut rng)).unwrap();
            }
            assert_eq!(tally.n(), PEOPLE);
            for (value, support) in oracle.supports(&mut tally).unwrap().into_iter().enumerate() {
                // Half of the people hold 7; the others are odd.
                let share = if value % 2 == 0 { 0.0 } else { 0.05 } + if value == 7 { 0.5 } else { 0.0 };
                let error = oracle.estimator().variance(share, PEOPLE).sqrt();
                let found = oracle.estimator().estimate(support, PEOPLE).unwrap().fraction();
                assert!((found - share).abs() < 5.5 * error, "{name}, {value}: {found} against {share}");
            }
        }
    }

    #[test]
    fn what_does_not_belong_together_is_refused() {
        let one = "1".parse().unwrap();
        assert!(FrequencyOracle::named("olh", 10, &one).unwrap_err().to_string().starts_with("mechanism is olh"));
        let unary = FrequencyOracle::named("unary", 10, &one).unwrap();
        let k_ary = FrequencyOracle::named("k-ary", 10, &one).unwrap();
        assert!(unary.supports(&mut k_ary.tally()).is_err());
        assert!(unary.tally().add(&OracleResponse::Value(1)).is_err());
        assert!(FrequencyOracle::auto(1, &one).is_err());
    }
}
