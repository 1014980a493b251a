//! The same tasks and the same channels in a few kilobytes, for browsers.
//!
//! A page should not have to load arbitrary-precision arithmetic for one answer. Here every number has at most 128
//! bits, and nothing is prepared that one answer does not need. [`Task`](super::Task) is the reference: the tests of
//! this folder compare hashes, and check the enumerated probabilities of every mechanism against those that it states.
//!
//! | module | holds |
//! |---|---|
//! | `amount` | ε as a quotient of two small whole numbers, and coins of e^−ε |
//! | `domain` | the possible answers |
//! | `mechanism` | the randomisation of answers |
//!
//! # What it does not support
//! Tasks with omitted fields: the publisher of the task resolves `auto` and fills in defaults. An ε or bounds with more
//! than fifteen digits, or written as a fraction or a power.

mod amount;
mod domain;
mod mechanism;

use rand_core::CryptoRng;

use self::amount::Amount;
pub use self::domain::LightDomain;
use self::mechanism::Mechanism;
use super::question::Question;
use super::report::Payload;
use super::task::{Answer, Canonical, Day, Memoisation, TaskId, TimePrecision, rules};
use crate::error::{Error, Result};
use crate::noise::bits::always;
use crate::privacy::weak::{LARGE_EPSILON, LARGEST_EPSILON};

/// A complete task, field by field.
#[derive(Debug, Clone)]
pub struct Fields<'text> {
    /// The question that people are asked.
    pub question: &'text str,
    /// The possible answers.
    pub domain: LightDomain,
    /// The mechanism's name; not `auto`.
    pub mechanism: &'text str,
    /// ε of one randomised answer.
    pub epsilon: &'text str,
    /// `first`, `per-answer` or `never`.
    pub memoisation: &'text str,
    /// ε of everything that a device ever sends.
    pub lifetime_epsilon: &'text str,
    /// Confirms a lifetime ε above 10, which protects next to nothing.
    pub allow_large_epsilon: bool,
    /// The minimum number of reports for an estimate.
    pub minimum_batch: u64,
    /// `none`, `hour`, `day` or `week`.
    pub time_precision: &'text str,
    /// The day from which on nothing is reported.
    pub expires: &'text str,
}

/// A task that a device can answer, with no other purpose.
///
/// # Privacy
/// As for [`Task`](super::Task): the channels are the same, probability for probability. Time and random bits on their
/// own do not depend on the answer: responses are drawn until one is accepted, which has the same probability for every
/// answer. Together with the response they may reveal more than the response does: some rounds can only end in one that
/// supports the answer. Only the page itself, which knows the answer, sees them separately from everything else that it
/// does.
///
/// # Errors
/// If a field is invalid, or outside the supported range.
///
/// # Example
/// ```
/// use reticent::local::light::{Fields, LightDomain};
/// use reticent::local::{Device, LightTask, ShortMemory};
/// use reticent::noise::Entropy;
///
/// let task = LightTask::new(&Fields {
///     question: "Tea?",
///     domain: LightDomain::Choices(vec!["yes".into(), "no".into()]),
///     mechanism: "k-ary",
///     epsilon: "1",
///     memoisation: "never",
///     lifetime_epsilon: "1",
///     allow_large_epsilon: false,
///     minimum_batch: 100,
///     time_precision: "none",
///     expires: "2030-01-01",
/// })?;
/// let mut entropy = Entropy::from_os()?;
/// let mut device = Device::new(Device::new_key(&mut entropy)?, ShortMemory::default());
/// let report = device.respond(&task, &task.answer("yes")?, 1_800_000_000, &mut entropy)?;
/// println!("{:?}", report.response);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct LightTask {
    id: TaskId,
    domain: LightDomain,
    epsilon: Amount,
    mechanism: Mechanism,
    memoisation: Memoisation,
    lifetime_answers: u64,
    time_precision: TimePrecision,
    expires: Day,
}

impl LightTask {
    /// Reads the fields.
    ///
    /// # Errors
    /// As described for the type.
    pub fn new(fields: &Fields<'_>) -> Result<Self> {
        rules::check(fields.question, fields.domain.choices(), fields.minimum_batch)?;
        let (mechanism, epsilon, lifetime_answers) =
            match Mechanism::coins(fields.mechanism, &fields.domain, fields.epsilon) {
                // The coins themselves use no ε.
                Some(coins) => {
                    (coins, Amount { top: 0, bottom: 1 }, amount::answers_of_coins(fields.lifetime_epsilon)?)
                }
                None => {
                    let epsilon = Amount::read("epsilon", fields.epsilon)?;
                    if epsilon.is_zero() {
                        return Err(Error::parameter("epsilon", fields.epsilon, "greater than 0"));
                    }
                    let answers = Amount::read("lifetime-epsilon", fields.lifetime_epsilon)?.over(&epsilon)?;
                    (Mechanism::new(fields.mechanism, &fields.domain, &epsilon)?, epsilon, answers)
                }
            };
        let unknown = |name, value: &str, allowed| Error::parameter(name, value, allowed);
        let memoisation: Memoisation = fields.memoisation.parse()?;
        // Every number is written in exactly one way.
        if memoisation == Memoisation::First && fields.lifetime_epsilon != fields.epsilon {
            return Err(unknown("lifetime-epsilon", fields.lifetime_epsilon, rules::LIFETIME_OF_FIRST));
        }
        if !fields.allow_large_epsilon && amount::is_above(fields.lifetime_epsilon, LARGEST_EPSILON) {
            let parameter = if fields.lifetime_epsilon == fields.epsilon { "epsilon" } else { "lifetime-epsilon" };
            let (value, allowed, why) = (fields.lifetime_epsilon.to_owned(), "at most 10", LARGE_EPSILON);
            return Err(Error::Unconfirmed { parameter, value, allowed, why });
        }
        let time_precision: TimePrecision = fields.time_precision.parse()?;
        Ok(Self {
            id: id(fields),
            mechanism,
            domain: fields.domain.clone(),
            memoisation,
            lifetime_answers,
            time_precision,
            expires: fields.expires.parse()?,
            epsilon,
        })
    }

    /// Reads an answer as a person enters it: one of the choices, a whole number, or a text. For the mean of real
    /// numbers, use [`LightTask::number`].
    ///
    /// # Errors
    /// If it is not a valid answer. The message does not contain it.
    pub fn answer(&self, text: &str) -> Result<Answer> {
        self.domain.answer(text)
    }

    /// A real number as an answer.
    ///
    /// # Errors
    /// If the task does not ask for one, or it is not a number.
    pub fn number(&self, number: f64) -> Result<Answer> {
        self.domain.number(number)
    }
}

/// The same hash as [`Task::id`](super::Task::id).
fn id(fields: &Fields<'_>) -> TaskId {
    let mut canonical = Canonical::new();
    canonical.field("question", fields.question);
    fields.domain.write(&mut canonical);
    canonical.field("mechanism", fields.mechanism);
    canonical.field("epsilon", fields.epsilon);
    canonical.field("memoisation", fields.memoisation);
    canonical.field("lifetime-epsilon", fields.lifetime_epsilon);
    canonical.field("minimum-batch", &fields.minimum_batch.to_string());
    canonical.field("time-precision", fields.time_precision);
    canonical.field("expires", fields.expires);
    canonical.hash()
}

impl Question for LightTask {
    fn id(&self) -> TaskId {
        self.id
    }

    fn memoisation(&self) -> Memoisation {
        self.memoisation
    }

    fn lifetime_answers(&self) -> u64 {
        self.lifetime_answers
    }

    fn time_precision(&self) -> TimePrecision {
        self.time_precision
    }

    fn has_expired(&self, second: u64) -> bool {
        second >= self.expires.begins()
    }

    fn takes(&self, answer: &Answer) -> bool {
        self.mechanism.takes(answer)
    }

    fn randomise<R: CryptoRng + ?Sized>(&self, answer: &Answer, rng: &mut R) -> Result<Payload> {
        if !self.takes(answer) {
            return Err(super::range::foreign_answer());
        }
        Ok(always(self.mechanism.sample(answer, &self.epsilon, rng)))
    }
}

#[cfg(test)]
mod tests;
