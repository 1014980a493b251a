//! The accuracy of one count in each trust model.
//!
//! The same count of the same rows with the same ε, in every trust model. Nothing is drawn and nothing is spent.
//!
//! | whom you must trust | standard deviation, ε about 1 or less |
//! |---|---|
//! | a curator | √2/ε |
//! | a curator whose memory may be seized | 2/ε |
//! | organisations, of which at most t of m pool what they know | √(2m/(m−t))/ε |
//! | no other organisation | √(2m)/ε |
//! | no one at all | about √n/ε, for n people |
//!
//! With m = 1 the organisation is the curator; with one for each row, no one trusts anyone, and the error is that of
//! the local model, except for the factor by which randomised response is better than noise on a single bit.

use serde::{Serialize, Serializer};

use super::plan::{Plan, Sums};
use super::protocol::Protocol;
use crate::continual::{CounterKind, Shape, Stream};
use crate::error::{Error, Result};
use crate::local::{Estimator, RandomisedResponse};
use crate::numeric::laplace_sum::LaplaceSum;
use crate::privacy::{Epsilon, Guarantee};
use crate::release::LEVEL;

/// Up to this many parties, every number of colluders is shown; beyond, some of them.
pub const EVERY_NUMBER: u32 = 16;

/// The maximum number of rows: what a count can be without leaving the range.
pub const MOST_ROWS: u64 = 1 << 40;

/// Who sees rows, and whom you must trust with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "model")]
pub enum Trust {
    /// One server has all rows.
    Curator,
    /// One server reads all rows and stores none; its memory may be seized once.
    PanPrivate,
    /// Parties with their own rows, a number of which may collude.
    Masked {
        /// t.
        colluders: u32,
    },
    /// Parties with their own rows, against collusion of all others.
    Broadcast,
    /// Every person answers for themselves.
    Local,
}

/// The cost of a count in one trust model.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// The model.
    pub trust: Trust,
    /// The number of parties; 1 with a curator, one for each row in the local model.
    pub parties: u64,
    /// The standard deviation of the count; in the local model the largest, over all true counts.
    pub standard_deviation: f64,
    /// The count lies within this of the truth with probability 95 %.
    pub half_width: f64,
    /// The ε that is left to a party if all others collude; `None` where there are no others.
    pub against_all_others: Option<Epsilon>,
}

impl Cost {
    /// The model's name.
    pub fn name(&self) -> String {
        match self.trust {
            Trust::Curator => "curator".into(),
            Trust::PanPrivate => "pan-private".into(),
            Trust::Masked { colluders } => format!("masked, t = {colluders}"),
            Trust::Broadcast => "broadcast".into(),
            Trust::Local => "local".into(),
        }
    }

    /// Who must be trusted, in one plain sentence.
    pub fn sentence(&self) -> String {
        let others = self.parties.saturating_sub(1);
        match self.trust {
            Trust::Curator => "You trust one server with every row, now and for as long as it keeps them.".into(),
            Trust::PanPrivate => {
                "You trust one server while it counts; an attacker who seizes its memory once, even unnoticed, learns no more than ε allows."
                    .into()
            }
            Trust::Masked { colluders: 0 } => {
                "You trust each party with its own rows, and that no parties collude.".into()
            }
            Trust::Masked { colluders: 1 } if others > 1 => {
                "You trust each party with its own rows, and that at most one party colludes with an observer.".into()
            }
            Trust::Masked { colluders } if u64::from(colluders) >= others => {
                "You trust each party with its own rows and nobody else; masks gain nothing over broadcast.".into()
            }
            Trust::Masked { colluders } => {
                format!(
                    "You trust each party with its own rows, and that at most {colluders} of the {} collude.",
                    self.parties
                )
            }
            Trust::Broadcast => "You trust each party with its own rows and nobody else.".into(),
            Trust::Local => "You trust nobody: every answer is randomised before it leaves the person's device.".into(),
        }
    }
}

/// For programs: with the model's name and sentence, and ε as a number.
impl Serialize for Cost {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown {
            #[serde(flatten)]
            trust: Trust,
            name: String,
            parties: u64,
            standard_deviation: f64,
            half_width: f64,
            against_all_others: Option<f64>,
            sentence: String,
        }
        Shown {
            trust: self.trust,
            name: self.name(),
            parties: self.parties,
            standard_deviation: self.standard_deviation,
            half_width: self.half_width,
            against_all_others: self.against_all_others.as_ref().map(Epsilon::to_f64),
            sentence: self.sentence(),
        }
        .serialize(serializer)
    }
}

/// The costs of one count of `rows` rows in every trust model, from the most trust to the least.
///
/// # Accuracy
/// Standard deviations are exact. Half-widths come from the exact laws of the noise, as those of releases do. In the
/// local model the law depends slightly on the true count; the half-width is for a count of 0. (The error bar of an
/// estimate from real reports is wider, because it is proved for every count: [`Estimator::half_width`].)
///
/// # Errors
/// If there are no rows or more than 2^40, if there are no parties or more than rows, or if ε is out of range.
///
/// # Example
/// ```
/// use reticent::multiparty::trust::{self, Trust};
///
/// let costs = trust::of_one_count(100_000, 10, &"1".parse()?)?;
/// let error = |trust| costs.iter().find(|cost| cost.trust == trust).unwrap().standard_deviation;
/// assert!((error(Trust::Broadcast) / error(Trust::Curator) - 10f64.sqrt()).abs() < 1e-12);
/// assert!((error(Trust::Masked { colluders: 5 }) / error(Trust::Curator) - 2f64.sqrt()).abs() < 1e-12);
/// assert!(error(Trust::Local) > 100.0 * error(Trust::Curator));
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn of_one_count(rows: u64, parties: u32, epsilon: &Epsilon) -> Result<Vec<Cost>> {
    of_one_count_against(rows, parties, epsilon, &numbers_of_colluders(parties))
}

/// [`of_one_count`], with the masked protocol against each of these numbers of colluders.
///
/// # Errors
/// As for [`of_one_count`], or if all parties may collude.
pub fn of_one_count_against(rows: u64, parties: u32, epsilon: &Epsilon, colluders: &[u32]) -> Result<Vec<Cost>> {
    if rows == 0 || rows > MOST_ROWS {
        return Err(Error::parameter("rows", rows, "from 1 to 2^40"));
    }
    if u64::from(parties) > rows {
        return Err(Error::parameter(
            "parties",
            parties,
            "at most the number of rows: one row each is the local model",
        ));
    }
    let mut costs = vec![curator(epsilon)?, pan_private(epsilon)?];
    for &colluders in colluders {
        costs.push(of_parties(Trust::Masked { colluders }, Protocol::Masked { colluders }, rows, parties, epsilon)?);
    }
    costs.push(of_parties(Trust::Broadcast, Protocol::Broadcast, rows, parties, epsilon)?);
    costs.push(local(rows, epsilon)?);
    Ok(costs)
}

/// The numbers of colluders to show: all of them, or 0, powers of two, half and all but one.
fn numbers_of_colluders(parties: u32) -> Vec<u32> {
    if parties <= EVERY_NUMBER {
        return (0..parties).collect();
    }
    let powers = (0..u32::BITS).map(|power| 1 << power).take_while(|&power| power < parties);
    let mut numbers: Vec<u32> = std::iter::once(0).chain(powers).chain([parties / 2, parties - 1]).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

fn curator(epsilon: &Epsilon) -> Result<Cost> {
    of_parties(Trust::Curator, Protocol::Broadcast, MOST_ROWS, 1, epsilon)
}

/// One step of a counter that survives one seizure of its memory: noise before the first row and noise at the end.
fn pan_private(epsilon: &Epsilon) -> Result<Cost> {
    let counter = CounterKind::PanPrivateSurviving.plan(Stream::bits().until(1)?, Guarantee::Pure(epsilon.clone()))?;
    let Shape::Sum { law, terms } = counter.shape(1) else { unreachable!("its releases are sums of equal draws") };
    let half_width = LaplaceSum::new(law.approximate_scale(), terms).reach(1.0 - LEVEL);
    Ok(Cost {
        trust: Trust::PanPrivate,
        parties: 1,
        standard_deviation: libm::sqrt(counter.variance(1)),
        half_width,
        against_all_others: None,
    })
}

fn of_parties(trust: Trust, protocol: Protocol, rows: u64, parties: u32, epsilon: &Epsilon) -> Result<Cost> {
    let plan = Plan::new(
        protocol,
        parties,
        Sums { cells: 1, bound: (rows / u64::from(parties.max(1))) as i64 + 1, sensitivity: 1 },
        epsilon,
    )?;
    Ok(Cost {
        trust,
        parties: parties.into(),
        standard_deviation: plan.standard_deviation(),
        half_width: plan.error_bar().half_width(),
        against_all_others: if parties > 1 { Some(plan.loss_against(parties - 1)?) } else { None },
    })
}

fn local(rows: u64, epsilon: &Epsilon) -> Result<Cost> {
    let response = RandomisedResponse::with_epsilon(epsilon)?;
    let estimator = response.estimator();
    let n = rows as f64;
    Ok(Cost {
        trust: Trust::Local,
        parties: rows,
        standard_deviation: n * libm::sqrt(estimator.worst_variance(rows)),
        half_width: n * local_half_width(estimator, rows),
        against_all_others: Some(epsilon.clone()),
    })
}

/// A half-width of the fraction at 95 %, by the exact law if no one holds the value (or everyone, by symmetry).
///
/// The number of yes-answers is then binomial. Its masses are computed outwards from the largest, up to where the rest
/// is less than 10^−20, and removed again starting from the farthest, until 5 % are outside.
fn local_half_width(estimator: &Estimator, rows: u64) -> f64 {
    let (p, q) = (estimator.p(), estimator.q());
    let n = rows as f64;
    let (mean, odds) = (n * q, q / (1.0 - q));
    let mode = libm::floor((n + 1.0) * q).min(n);
    let reach = 12.0 * libm::sqrt(n * q * (1.0 - q)) + 60.0;
    let next_above =
        |(k, mass): &(f64, f64)| (*k < n && *k - mode < reach).then(|| (*k + 1.0, mass * (n - k) / (k + 1.0) * odds));
    let next_below = |(k, mass): &(f64, f64)| {
        (*k > 0.0 && mode - *k < reach).then(|| (*k - 1.0, mass * *k / ((n - k + 1.0) * odds)))
    };
    let mut above: Vec<(f64, f64)> = std::iter::successors(Some((mode, 1.0)), next_above).collect();
    let mut below: Vec<(f64, f64)> = std::iter::successors(Some((mode, 1.0)), next_below).skip(1).collect();
    let whole: f64 = above.iter().chain(&below).map(|(_, mass)| mass).sum();
    let mut outside = 0.0;
    loop {
        let distance = |side: &[(f64, f64)]| side.last().map_or(-1.0, |(k, _)| libm::fabs(k - mean));
        let (up, down) = (distance(&above), distance(&below));
        let farthest = if up >= down { above.pop() } else { below.pop() };
        outside += farthest.map_or(whole, |(_, mass)| mass);
        if outside > (1.0 - LEVEL) * whole {
            // It is a whole number of answers: it must stay within when it is divided and multiplied again.
            return up.max(down) / (n * (p - q)) * (1.0 + 1e-12);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(rows: u64, parties: u32, epsilon: &str) -> Vec<Cost> {
        of_one_count(rows, parties, &epsilon.parse().unwrap()).unwrap()
    }

    fn of(costs: &[Cost], trust: Trust) -> &Cost {
        costs.iter().find(|cost| cost.trust == trust).unwrap()
    }

    /// From 1/ε with one party to √m/ε with m, to √n/ε with one for each row, which is the local model.
    #[test]
    fn from_the_curator_to_the_local_model() {
        let (rows, epsilon) = (10_000, 0.1);
        let alone = costs(rows, 1, "0.1");
        let curator = of(&alone, Trust::Curator).standard_deviation;
        assert!((curator * epsilon / 2f64.sqrt() - 1.0).abs() < 1e-3);
        for one in [Trust::Broadcast, Trust::Masked { colluders: 0 }] {
            assert_eq!(of(&alone, one).standard_deviation, curator, "one party is the curator");
            assert_eq!(of(&alone, one).half_width, of(&alone, Trust::Curator).half_width);
        }
        for parties in [4, 100, rows as u32] {
            let all = costs(rows, parties, "0.1");
            let broadcast = of(&all, Trust::Broadcast).standard_deviation;
            assert!((broadcast / curator / f64::from(parties).sqrt() - 1.0).abs() < 1e-12);
            let masked = of(&all, Trust::Masked { colluders: 0 }).standard_deviation;
            assert!((masked / curator - 1.0).abs() < 1e-12, "without colluders as good as the curator");
            let masked = of(&all, Trust::Masked { colluders: parties - 1 }).standard_deviation;
            assert!((masked / broadcast - 1.0).abs() < 1e-12, "trusting nobody, no better than broadcast");
        }
        // √n·e^(ε/2)/(e^ε − 1): √2 better than one noisy bit for each row.
        let local = of(&alone, Trust::Local).standard_deviation;
        assert!((local * epsilon / (rows as f64).sqrt() - 1.0).abs() < 1e-2, "{local}");
        assert!(
            (2f64.sqrt() * local / of(&costs(rows, rows as u32, "0.1"), Trust::Broadcast).standard_deviation - 1.0)
                .abs()
                < 1e-2
        );
    }

    #[test]
    fn less_trust_costs_more() {
        for (parties, epsilon) in [(10, "1"), (16, "0.3"), (1000, "2")] {
            let all = costs(100_000, parties, epsilon);
            for pair in all.windows(2).filter(|pair| pair[0].trust != Trust::PanPrivate) {
                assert!(pair[0].standard_deviation <= pair[1].standard_deviation * (1.0 + 1e-12), "{pair:?}");
                assert!(pair[0].half_width <= pair[1].half_width, "{pair:?}");
            }
            assert!(all.len() <= 22, "few enough for a table");
        }
        let all = costs(100_000, 10, "1");
        let pan_private = of(&all, Trust::PanPrivate);
        assert!((pan_private.standard_deviation / all[0].standard_deviation - 2f64.sqrt()).abs() < 1e-12);
        assert_eq!(of(&all, Trust::Broadcast).against_all_others, Some("1".parse().unwrap()));
        let worst = of(&all, Trust::Masked { colluders: 0 }).against_all_others.clone().unwrap();
        assert!((worst.to_f64() - 3.296).abs() < 1e-3);
    }

    /// P(|estimate − truth| > half-width) by the exact law, for few and many people who hold the value.
    #[test]
    fn the_local_half_width_is_that_of_the_exact_law() {
        let (rows, epsilon) = (3000usize, "2");
        let cost = local(rows as u64, &epsilon.parse().unwrap()).unwrap();
        let p = 1.0 / (1.0 + (-2f64).exp());
        let binomial = |n: usize, p: f64| {
            let mut law = vec![0.0; n + 1];
            let mut ln = n as f64 * (1.0 - p).ln();
            for (k, mass) in law.iter_mut().enumerate() {
                *mass = ln.exp();
                ln += ((n - k) as f64 / (k as f64 + 1.0) * p / (1.0 - p)).ln();
            }
            law
        };
        for holders in [0, 10, rows / 2, rows] {
            let (yes, no) = (binomial(holders, p), binomial(rows - holders, 1.0 - p));
            let mean = holders as f64 * p + (rows - holders) as f64 * (1.0 - p);
            let reach = cost.half_width * (2.0 * p - 1.0);
            let mut outside = 0.0;
            for (i, left) in yes.iter().enumerate().filter(|(_, mass)| **mass > 1e-12) {
                for (j, right) in no.iter().enumerate().filter(|(_, mass)| **mass > 1e-12) {
                    outside += if ((i + j) as f64 - mean).abs() > reach { left * right } else { 0.0 };
                }
            }
            // Exactly at 0 and all; in between slightly more or less.
            let most = if holders % rows == 0 { 0.05 } else { 0.052 };
            assert!(outside <= most && outside > 0.045, "{holders}: {outside}");
        }
    }

    #[test]
    fn what_means_nothing_is_refused() {
        let refused = |rows, parties| of_one_count(rows, parties, &"1".parse().unwrap()).unwrap_err().is_parameter();
        assert!(refused(0, 0) && refused(10, 11) && refused(10, 0) && refused(u64::MAX, 3));
    }
}
