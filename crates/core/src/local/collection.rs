//! The aggregator: from reports to estimates.

use std::collections::HashSet;

use serde::Serialize;

use super::admission::{Admission, Rejection};
use super::report::{Payload, Report, ReportId};
use super::task::{Domain, Randomiser, Task};
use super::{
    Estimate, Estimator, FoundText, MeanEstimate, OracleResponse, OracleTally, PrefixReport, ValueSet, ValueTally,
    consistent,
};
use crate::error::{Error, Result};
use crate::release::{ErrorBar, LEVEL};
use crate::statistic::Grid;

/// The reports of one task, as they come in.
///
/// # Privacy
/// All of it was randomised on the devices: nothing here needs protection beyond theirs. The minimum batch is a
/// courtesy, not part of the proof; it counts reports.
///
/// # Accuracy
/// Standard errors and intervals hold for independent responses, one from each person. They are given only if the task
/// lets a device report [once](Task::one_report_each): the same response sent ten times is ten reports, but carries no
/// more information than one, and it is not known how often each device sent its own. Estimates are then of reports,
/// not of people. A person with two devices, or who cleared the device's memory, counts as two people in every
/// statement.
///
/// # Example
/// ```
/// use reticent::local::{Answers, Collection, Device, ShortMemory, Task};
/// use reticent::noise::Entropy;
///
/// let json = r#"{"question": "Tea?", "domain": {"choices": ["yes", "no"]}, "epsilon": "2", "minimum-batch": 1000,
///     "expires": "2030-01-01"}"#;
/// let task: Task = serde_json::from_str(json).unwrap();
/// let (mut entropy, now) = (Entropy::from_os()?, 1_800_000_000);
/// let mut collection = Collection::new(task.clone());
/// for person in 0..10_000 {
///     let mut device = Device::new(Device::new_key(&mut entropy)?, ShortMemory::default());
///     let answer = task.domain().answer(if person % 4 == 0 { "yes" } else { "no" })?;
///     let report = device.respond(&task, &answer, now, &mut entropy)?;
///     collection.add(&report, now).expect("a report of this task");
/// }
/// let Answers::Choices(rows) = collection.estimate()? else { panic!("choices were asked for") };
/// assert_eq!(rows[0].answer, "yes");
/// assert!((rows[0].count - 2_500.0).abs() < 500.0);
/// let (lower, upper) = rows[0].interval.expect("each device reports once");
/// assert!(lower < rows[0].count && rows[0].count < upper);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug)]
pub struct Collection {
    admission: Admission,
    /// Hashed with a key of this process, because senders of reports choose their ids.
    seen: HashSet<ReportId>,
    tally: Tally,
}

#[derive(Debug)]
enum Tally {
    Oracle(OracleTally),
    Ones { ones: u64, n: u64 },
    Prefixes(Vec<PrefixReport>),
}

/// How common an answer is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The choice.
    pub answer: String,
    /// The estimated number of people, unbiased; it may be negative. It counts reports, unless every device [reports
    /// once](Task::one_report_each).
    pub count: f64,
    /// Its standard error, if every device reports once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standard_error: Option<f64>,
    /// A 95 % interval for it, by [`Estimator::interval`], if every device reports once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
    /// The estimated number after [`consistent`]: not negative, and adding up to the number of reports.
    pub consistent: f64,
}

/// The mean of the numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeanAnswer {
    /// The estimated mean, as [`MeanEstimate::mean`].
    pub mean: f64,
    /// Its [standard error](MeanEstimate::standard_error), if every device [reports once](Task::one_report_each).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standard_error: Option<f64>,
    /// Its [error bar](MeanEstimate::error_bar), if every device reports once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBar>,
}

/// A common text.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TextAnswer {
    /// The text.
    pub text: String,
    /// The estimated share of people who hold it, from the reports of whole texts alone. It is a share of reports,
    /// unless every device [reports once](Task::one_report_each).
    pub share: f64,
    /// The number of reports of whole texts.
    pub reports: u64,
    /// The standard error of the share, if every device reports once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standard_error: Option<f64>,
    /// An interval for the share that holds jointly for all listed texts with probability at least 95 %, if every
    /// device reports once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
}

/// The estimate from all reports.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answers {
    /// A row for each choice, in the task's order.
    Choices(Vec<Row>),
    /// The mean of the numbers.
    Mean(MeanAnswer),
    /// The common texts, the most common first. If devices may report more than once, the list may contain texts that
    /// no one holds.
    Texts(Vec<TextAnswer>),
}

/// The number of prefixes that are extended from length to length.
const KEPT_PREFIXES: usize = 64;
/// With more choices than this, intervals are the wider ones that are cheap to compute.
const MOST_EXACT_INTERVALS: usize = 20_000;

impl Collection {
    /// An empty collection.
    pub fn new(task: Task) -> Self {
        let admission = Admission::new(task);
        let tally = match admission.randomiser() {
            Randomiser::Coins(_) => Tally::Oracle(OracleTally::Values(ValueTally::new(2))),
            Randomiser::Choices(oracle) => Tally::Oracle(oracle.tally()),
            Randomiser::Mean(_) => Tally::Ones { ones: 0, n: 0 },
            Randomiser::Texts(_) => Tally::Prefixes(Vec::new()),
        };
        Self { admission, seen: HashSet::new(), tally }
    }

    /// The task.
    pub fn task(&self) -> &Task {
        self.admission.task()
    }

    /// The number of reports that count.
    pub fn n(&self) -> u64 {
        match &self.tally {
            Tally::Oracle(tally) => tally.n(),
            Tally::Ones { n, .. } => *n,
            Tally::Prefixes(reports) => reports.len() as u64,
        }
    }

    /// Counts a report that arrived `now` seconds after the beginning of 1970, unless there is a reason not to.
    ///
    /// # Errors
    /// The reason.
    pub fn add(&mut self, report: &Report, now: u64) -> Result<(), Rejection> {
        self.admission.check(report, now)?;
        if self.seen.contains(&report.id) {
            return Err(Rejection::Duplicate);
        }
        self.recount(&report.response)?;
        self.seen.insert(report.id);
        Ok(())
    }

    /// Counts the response of a report that was [admitted](Admission::check) before, from a store that keeps each id
    /// once: neither is checked again.
    ///
    /// # Errors
    /// [`Rejection::WrongShape`] if the task's mechanism cannot have made it.
    pub fn recount(&mut self, response: &Payload) -> Result<(), Rejection> {
        self.count(response).ok_or(Rejection::WrongShape)
    }

    fn count(&mut self, response: &Payload) -> Option<()> {
        match (&mut self.tally, response, self.admission.randomiser()) {
            (Tally::Oracle(tally @ OracleTally::Values(_)), Payload::Value(value), _) => {
                tally.add(&OracleResponse::Value(*value)).ok()
            }
            (Tally::Oracle(tally @ OracleTally::Sets(_)), Payload::Set(bytes), Randomiser::Choices(oracle)) => {
                let set = ValueSet::from_bytes(u32::try_from(oracle.values()).ok()?, bytes)?;
                tally.add(&OracleResponse::Set(set)).ok()
            }
            (Tally::Ones { ones, n }, Payload::Bit(bit), _) => {
                *ones += u64::from(*bit);
                *n += 1;
                Some(())
            }
            (Tally::Prefixes(reports), Payload::Prefix(report), Randomiser::Texts(texts)) => {
                texts.can_be(report).then(|| reports.push(*report))
            }
            _ => None,
        }
    }

    /// The estimate from all reports.
    ///
    /// # Errors
    /// If there are fewer reports than the minimum batch, or more than the mechanism can decode.
    pub fn estimate(&mut self) -> Result<Answers> {
        let n = self.n();
        let task = self.admission.task();
        let once = task.one_report_each();
        if n < task.minimum_batch() {
            return Err(Error::parameter("number of reports", n, "at least the task's minimum batch; collect more"));
        }
        match (self.admission.randomiser(), &mut self.tally) {
            (Randomiser::Coins(coins), Tally::Oracle(OracleTally::Values(tally))) => {
                rows(task, coins.estimator(), tally.counts(), n).map(Answers::Choices)
            }
            (Randomiser::Choices(oracle), Tally::Oracle(tally)) => {
                rows(task, oracle.estimator(), &oracle.supports(tally)?, n).map(Answers::Choices)
            }
            (Randomiser::Mean(mean), Tally::Ones { ones, n }) => {
                let unit = match task.domain() {
                    Domain::Numbers(bounds) => Grid::new(bounds).step(),
                    _ => 1.0,
                };
                Ok(Answers::Mean(MeanAnswer::new(mean.estimate(*ones, *n)?.scaled(unit), once)))
            }
            (Randomiser::Texts(texts), Tally::Prefixes(reports)) => {
                let found = texts.find(reports, KEPT_PREFIXES)?;
                Ok(Answers::Texts(found.into_iter().map(|found| TextAnswer::new(found, once)).collect()))
            }
            _ => unreachable!("the tally is the mechanism's"),
        }
    }
}

impl MeanAnswer {
    fn new(estimate: MeanEstimate, once: bool) -> Self {
        Self {
            mean: estimate.mean(),
            standard_error: once.then(|| estimate.standard_error()),
            error: once.then(|| estimate.error_bar()),
        }
    }
}

impl TextAnswer {
    fn new(found: FoundText, once: bool) -> Self {
        Self {
            text: found.text,
            share: found.estimate.fraction(),
            reports: found.estimate.n(),
            standard_error: once.then(|| found.estimate.standard_error()),
            interval: once.then_some(found.interval),
        }
    }
}

fn rows(task: &Task, estimator: &Estimator, supports: &[u64], n: u64) -> Result<Vec<Row>> {
    let Domain::Choices(choices) = task.domain() else { unreachable!("rows are of choices") };
    let estimates: Vec<Estimate> =
        supports.iter().map(|&supporting| estimator.estimate(supporting, n)).collect::<Result<_>>()?;
    let fractions: Vec<f64> = estimates.iter().map(Estimate::fraction).collect();
    let reports = n as f64;
    let once = task.one_report_each();
    let interval = |supporting: u64, estimate: &Estimate| -> Result<(f64, f64)> {
        let (lower, upper) = if choices.len() <= MOST_EXACT_INTERVALS {
            estimator.interval(supporting, n, LEVEL)?
        } else {
            let half_width = estimate.error_bar().half_width();
            (estimate.fraction() - half_width, estimate.fraction() + half_width)
        };
        Ok((lower * reports, upper * reports))
    };
    let row = |(((answer, &supporting), estimate), consistent): (((&String, &u64), &Estimate), f64)| {
        Ok(Row {
            answer: answer.clone(),
            count: estimate.count(),
            standard_error: once.then(|| estimate.count_standard_error()),
            interval: once.then(|| interval(supporting, estimate)).transpose()?,
            consistent: consistent * reports,
        })
    };
    choices.iter().zip(supports).zip(&estimates).zip(consistent(&fractions)).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::{Device, ShortMemory};
    use crate::noise::Entropy;

    const NOW: u64 = 1_800_000_000;

    fn task(domain: &str, more: &str) -> Task {
        let json = format!(
            r#"{{"question": "?", "domain": {domain}, "epsilon": "2", "minimum-batch": 10, "expires": "2030-01-01"{more}}}"#
        );
        serde_json::from_str(&json).unwrap()
    }

    fn fair_coin() -> Task {
        let json = r#"{"question": "?", "domain": {"choices": ["yes", "no"]}, "epsilon": "1.0986122886681096914",
            "mechanism": "fair-coin", "minimum-batch": 10, "expires": "2030-01-01"}"#;
        serde_json::from_str(json).unwrap()
    }

    fn report(task: &Task, answer: &str, entropy: &mut Entropy) -> Report {
        let mut device = Device::new(Device::new_key(entropy).unwrap(), ShortMemory::default());
        device.respond(task, &task.domain().answer(answer).unwrap(), NOW, entropy).unwrap()
    }

    fn collected(task: &Task, answer: impl Fn(usize) -> String, people: usize) -> Answers {
        let mut entropy = Entropy::seeded(6);
        let mut collection = Collection::new(task.clone());
        for person in 0..people {
            collection.add(&report(task, &answer(person), &mut entropy), NOW).unwrap();
        }
        assert_eq!(collection.n(), people as u64);
        collection.estimate().unwrap()
    }

    /// From devices to estimates, with every mechanism.
    #[test]
    fn what_people_hold_is_found() {
        const PEOPLE: usize = 4_000;
        let list = r#"{"choices": ["a", "b", "c", "d"]}"#;
        let mechanisms =
            ["k-ary", "unary", "projective"].map(|name| task(list, &format!(r#", "mechanism": "{name}""#)));
        for task in &mechanisms {
            let Answers::Choices(rows) = collected(task, |person| ["a", "b", "b", "b"][person % 4].into(), PEOPLE)
            else {
                panic!("choices were asked for")
            };
            for (row, share) in rows.iter().zip([0.25, 0.75, 0.0, 0.0]) {
                let truth = share * PEOPLE as f64;
                let (standard_error, interval) = (row.standard_error.unwrap(), row.interval.unwrap());
                assert!((row.count - truth).abs() < 5.0 * standard_error, "{}: {row:?}", task.mechanism());
                assert!(interval.0 <= row.count && row.count <= interval.1);
            }
            let total: f64 = rows.iter().map(|row| row.consistent).sum();
            assert!((total - PEOPLE as f64).abs() < 1e-6 && rows.iter().all(|row| row.consistent >= 0.0));
        }
        let Answers::Choices(coins) =
            collected(&fair_coin(), |person| ["yes", "no"][usize::from(person % 4 > 0)].into(), PEOPLE)
        else {
            panic!("choices were asked for")
        };
        assert!((coins[0].count - 1000.0).abs() < 5.0 * coins[0].standard_error.unwrap(), "{coins:?}");
        for (domain, truth) in [(r#"{"integers": {"lower": 0, "upper": 20}}"#, 6.0), (r#"{"numbers": "-10..20"}"#, 6.0)]
        {
            let Answers::Mean(mean) = collected(&task(domain, ""), |person| (5 + person % 3).to_string(), PEOPLE)
            else {
                panic!("a mean was asked for")
            };
            assert!((mean.mean - truth).abs() < 5.0 * mean.standard_error.unwrap(), "{mean:?}");
        }
        let texts = task(r#"{"texts": {"alphabet": "abc", "longest": 5}}"#, "");
        let Answers::Texts(found) = collected(&texts, |person| ["abc", "cab"][person % 2].into(), PEOPLE) else {
            panic!("texts were asked for")
        };
        let names: std::collections::BTreeSet<&str> = found.iter().map(|found| found.text.as_str()).collect();
        assert!(names.contains("abc") && names.contains("cab"), "{found:?}");
        assert!(found.iter().all(|found| found.interval.unwrap().0 > 0.0 && found.standard_error.is_some()));
    }

    /// Ten reports from a device are not ten people: statements about people are omitted for every kind of answer.
    #[test]
    fn nothing_is_stated_about_people_where_a_device_may_report_more_than_once() {
        const PEOPLE: usize = 1_000;
        let list = r#"{"choices": ["a", "b"]}"#;
        for (memoisation, lifetime) in [("first", "2"), ("per-answer", "2"), ("never", "4")] {
            let more = format!(r#", "memoisation": "{memoisation}", "lifetime-epsilon": "{lifetime}""#);
            let answers = [
                (list, "a"),
                (r#"{"integers": {"lower": 0, "upper": 20}}"#, "3"),
                (r#"{"texts": {"alphabet": "abc", "longest": 3}}"#, "ab"),
            ];
            for (domain, answer) in answers {
                let answers = collected(&task(domain, &more), |_| answer.into(), PEOPLE);
                match &answers {
                    Answers::Choices(rows) => {
                        assert!(rows.iter().all(|row| row.standard_error.is_none() && row.interval.is_none()));
                    }
                    Answers::Mean(mean) => assert!(mean.standard_error.is_none() && mean.error.is_none()),
                    Answers::Texts(texts) => {
                        assert!(texts.iter().any(|found| found.text == "ab"), "{texts:?}");
                        assert!(texts.iter().all(|found| found.standard_error.is_none() && found.interval.is_none()));
                    }
                }
                let json = serde_json::to_string(&answers).unwrap();
                assert!(!["null", "error", "interval"].iter().any(|word| json.contains(word)), "{json}");
            }
        }
    }

    #[test]
    fn what_does_not_count_is_rejected_with_its_reason() {
        let task = task(r#"{"choices": ["a", "b", "c"]}"#, r#", "time-precision": "day""#);
        let mut entropy = Entropy::seeded(2);
        let mut collection = Collection::new(task.clone());
        let good = report(&task, "a", &mut entropy);
        let other = Collection::new(fair_coin()).add(&good, NOW);
        assert_eq!(other, Err(Rejection::OtherTask));
        assert_eq!(collection.add(&good, task.expires().begins()), Err(Rejection::Expired));
        for period in [None, Some(NOW / 86_400 + 2)] {
            assert_eq!(collection.add(&Report { period, ..good.clone() }, NOW), Err(Rejection::WrongPeriod));
        }
        for response in [Payload::Value(3), Payload::Bit(true), Payload::Set(vec![1])] {
            assert_eq!(collection.add(&Report { response, ..good.clone() }, NOW), Err(Rejection::WrongShape));
        }
        // The rejected reports left no trace: the same id counts once, and only once.
        assert_eq!((collection.add(&good, NOW), collection.n()), (Ok(()), 1));
        assert_eq!((collection.add(&good, NOW), collection.n()), (Err(Rejection::Duplicate), 1));
        let error = collection.estimate().unwrap_err().to_string();
        assert!(error.starts_with("number of reports is 1"), "{error}");
    }

    #[test]
    fn sets_of_the_wrong_size_do_not_count() {
        let task = task(r#"{"choices": ["a", "b", "c"]}"#, r#", "mechanism": "unary""#);
        let mut entropy = Entropy::seeded(2);
        let good = report(&task, "a", &mut entropy);
        let mut collection = Collection::new(task);
        for set in [vec![], vec![8], vec![1, 0]] {
            let wrong = Report { response: Payload::Set(set), ..good.clone() };
            assert_eq!(collection.add(&wrong, NOW), Err(Rejection::WrongShape));
        }
        assert_eq!(collection.add(&good, NOW), Ok(()));
    }
}
