//! A person's device: what it stores and what it sends.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use rand_core::{CryptoRng, Rng};
use sha2::Sha256;
use zeroize::Zeroizing;

use super::question::Question;
use super::report::{Payload, Report, ReportId};
use super::task::{Answer, Memoisation, Randomiser};
use super::{OracleResponse, prefix::PrefixReport};
use crate::error::{Error, Result};
use crate::hexadecimal;
use crate::noise::Entropy;

/// Where a device stores what it must not forget: a file, a browser's storage.
///
/// It stores responses, which may be seen, under names that reveal nothing without the device's key. If it is cleared,
/// the device spends again.
pub trait Memory {
    /// The text stored under a name.
    ///
    /// # Errors
    /// [`Error::Memory`] if it cannot be read; nothing is sent then.
    fn read(&self, name: &str) -> Result<Option<String>>;

    /// Stores a text under a name, durably, replacing any previous one: called before anything is sent.
    ///
    /// # Errors
    /// [`Error::Memory`] if it cannot be stored; nothing is sent then.
    fn write(&mut self, name: &str, text: &str) -> Result<()>;
}

/// Stored for as long as the program runs.
#[derive(Debug, Clone, Default)]
pub struct ShortMemory(std::collections::BTreeMap<String, String>);

impl Memory for ShortMemory {
    fn read(&self, name: &str) -> Result<Option<String>> {
        Ok(self.0.get(name).cloned())
    }

    fn write(&mut self, name: &str, text: &str) -> Result<()> {
        self.0.insert(name.into(), text.into());
        Ok(())
    }
}

/// A person's device.
///
/// # Privacy
/// It is its own ledger: an answer is counted against the task's lifetime ε and stored in its [`Memory`] before its
/// response leaves. The guarantee of [`Memoisation`] then holds whatever the aggregator asks for, how often, and in how
/// many batches. It does not cover:
/// - a cleared memory, or a second device: both spend again;
/// - other tasks: each has its own ε, and a person who answers two questions about one thing spends both;
/// - with `per-answer`, when the answer changed, and whether a later one equals an earlier one;
/// - with any policy, that the person takes part.
///
/// # Algorithm
/// The record of a task is stored under HMAC-SHA-256(key, task) and each answer in it under HMAC-SHA-256(key, task,
/// answer), a pseudorandom function \[B06\]: an attacker who reads the memory without the key learns no answer from it.
///
/// # Errors
/// [`Device::respond`] sends nothing if the task has expired, the answer is not in its domain, the device has given all
/// the answers that the lifetime ε pays for ([`Error::AlreadyAnswered`], only with `never`), the memory fails or is
/// damaged, or no entropy is available.
///
/// # Example
/// ```
/// use reticent::local::{Device, ShortMemory, Task};
/// use reticent::noise::Entropy;
///
/// # let json = r#"{"question": "?", "domain": {"choices": ["yes", "no"]}, "epsilon": "1", "minimum-batch": 1,
/// #     "expires": "2030-01-01"}"#;
/// let task: Task = serde_json::from_str(json).unwrap();
/// let mut entropy = Entropy::from_os()?;
/// let key = Device::new_key(&mut entropy)?; // kept where the memory is
/// let mut device = Device::new(key, ShortMemory::default());
/// let now = 1_800_000_000; // seconds since 1970
/// let answer = task.domain().answer("yes")?;
/// let report = device.respond(&task, &answer, now, &mut entropy)?;
/// println!("{}", serde_json::to_string(&report).unwrap());
/// // A task allows one answer unless it says otherwise.
/// let again = device.respond(&task, &answer, now, &mut entropy).unwrap_err();
/// assert_eq!(again.to_string(), "this device has already answered; the task allows one answer");
/// # Ok::<(), reticent::Error>(())
/// ```
pub struct Device<M> {
    key: Zeroizing<[u8; 32]>,
    memory: M,
}

impl<M> fmt::Debug for Device<M> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Device(…)")
    }
}

impl Device<()> {
    /// A fresh key.
    ///
    /// # Errors
    /// If no entropy is available.
    pub fn new_key(entropy: &mut Entropy) -> Result<[u8; 32]> {
        let mut key = [0; 32];
        entropy.draw()?.fill_bytes(&mut key);
        Ok(key)
    }
}

impl<M: Memory> Device<M> {
    /// A device with the given key and memory.
    pub fn new(key: [u8; 32], memory: M) -> Self {
        Self { key: Zeroizing::new(key), memory }
    }

    /// Its memory.
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// The name under which its memory stores everything about a task; it reveals nothing without the key.
    pub fn record_name<Q: Question>(&self, task: &Q) -> String {
        self.name(task, None)
    }

    /// Has it given all the answers that the task allows, so that [`Device::respond`] would send nothing?
    ///
    /// # Errors
    /// [`Error::Memory`] if the memory fails or is damaged.
    pub fn has_answered<Q: Question>(&self, task: &Q) -> Result<bool> {
        let record = Record::read(self.memory.read(&self.record_name(task))?.as_deref())?;
        Ok(task.memoisation() == Memoisation::Never && record.answers >= task.lifetime_answers())
    }

    /// The report to send, `now` seconds after the beginning of 1970.
    ///
    /// # Errors
    /// As described for the type.
    pub fn respond<Q: Question>(
        &mut self,
        task: &Q,
        answer: &Answer,
        now: u64,
        entropy: &mut Entropy,
    ) -> Result<Report> {
        if task.has_expired(now) {
            return Err(Error::parameter("task", "expired", "one whose day of expiry has not come"));
        }
        if !task.takes(answer) {
            return Err(super::range::foreign_answer());
        }
        let mut draw = entropy.draw()?;
        let name = self.record_name(task);
        let mut record = Record::read(self.memory.read(&name)?.as_deref())?;
        let tag = match task.memoisation() {
            Memoisation::PerAnswer => self.name(task, Some(answer)),
            Memoisation::First | Memoisation::Never => String::new(),
        };
        let known = match task.memoisation() {
            Memoisation::Never => None,
            Memoisation::First | Memoisation::PerAnswer => record.find(&tag),
        };
        let is_spent = record.answers >= task.lifetime_answers();
        let response = match known {
            Some(response) => response,
            None if !is_spent => {
                let response = task.randomise(answer, &mut draw)?;
                record.answers += 1;
                if task.memoisation() != Memoisation::Never {
                    record.responses.push((tag, response.clone()));
                }
                response
            }
            // Falling silent would reveal that the answer is a new one.
            None => match record.responses.iter().find(|(tag, _)| *tag == record.last) {
                Some((_, response)) => response.clone(),
                None => {
                    return Err(Error::AlreadyAnswered { answers: task.lifetime_answers() });
                }
            },
        };
        if let Some((tag, _)) = record.responses.iter().find(|(_, known)| *known == response) {
            record.last = tag.clone();
        }
        self.memory.write(&name, &record.to_string())?;
        let period = task.time_precision().period(now);
        Ok(Report { task: task.id(), id: ReportId::random(&mut draw), period, response })
    }

    /// The pseudorandom name of a task, or of an answer to it.
    fn name<Q: Question>(&self, task: &Q, answer: Option<&Answer>) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&*self.key).expect("any key will do");
        mac.update(task.id().bytes());
        match answer {
            None => mac.update(b"task"),
            Some(Answer::Choice(choice)) => {
                mac.update(b"choice");
                mac.update(&choice.to_le_bytes());
            }
            Some(Answer::Number(number)) => {
                mac.update(b"number");
                mac.update(&number.to_le_bytes());
            }
            Some(Answer::Text(text)) => {
                mac.update(b"text");
                mac.update(text.as_bytes());
            }
        }
        hexadecimal::write(&mac.finalize().into_bytes()[..16])
    }
}

/// Randomises an answer by a task's mechanism.
pub(super) fn randomise<R: CryptoRng + ?Sized>(
    randomiser: &Randomiser,
    answer: &Answer,
    rng: &mut R,
) -> Result<Payload> {
    match (randomiser, answer) {
        // The first choice is "yes".
        (Randomiser::Coins(coins), Answer::Choice(choice @ (0 | 1))) => {
            Ok(Payload::Value(u64::from(!coins.sample(*choice == 0, rng))))
        }
        (Randomiser::Choices(oracle), Answer::Choice(choice)) if *choice < oracle.values() => {
            Ok(match oracle.sample(*choice, rng) {
                OracleResponse::Value(value) => Payload::Value(value),
                OracleResponse::Set(set) => Payload::Set(set.to_bytes()),
            })
        }
        (Randomiser::Mean(mean), Answer::Number(number)) => Ok(Payload::Bit(mean.sample(*number, rng))),
        (Randomiser::Texts(texts), Answer::Text(text)) => Ok(Payload::Prefix(texts.sample(text, rng))),
        _ => Err(super::range::foreign_answer()),
    }
}

/// The record of a task: how many answers were randomised, and the responses by the answers' names.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Record {
    answers: u64,
    /// The name of the answer whose response was sent last.
    last: String,
    responses: Vec<(String, Payload)>,
}

impl Record {
    fn read(text: Option<&str>) -> Result<Self> {
        let Some(text) = text else {
            return Ok(Self { answers: 0, last: String::new(), responses: Vec::new() });
        };
        // Guessing would spend again.
        Self::parse(text).ok_or_else(|| Error::Memory("it holds something that this program did not write".into()))
    }

    /// `answers last`, then a line `name kind response` for each.
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let (answers, last) = lines.next()?.split_once(' ')?;
        let mut responses = Vec::new();
        for line in lines {
            let (name, rest) = line.split_once(' ')?;
            let (kind, value) = rest.split_once(' ')?;
            let payload = match kind {
                "value" => Payload::Value(value.parse().ok()?),
                "set" => Payload::Set(hexadecimal::read(value)?),
                "bit" => Payload::Bit(value.parse().ok()?),
                "prefix" => {
                    let (level, point) = value.split_once(' ')?;
                    Payload::Prefix(PrefixReport { level: level.parse().ok()?, point: point.parse().ok()? })
                }
                _ => return None,
            };
            responses.push((name.into(), payload));
        }
        Some(Self { answers: answers.parse().ok()?, last: last.into(), responses })
    }

    fn find(&self, tag: &str) -> Option<Payload> {
        self.responses.iter().find(|(known, _)| known == tag).map(|(_, response)| response.clone())
    }
}

impl fmt::Display for Record {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{} {}", self.answers, self.last)?;
        for (name, response) in &self.responses {
            match response {
                Payload::Value(value) => writeln!(formatter, "{name} value {value}")?,
                Payload::Set(set) => writeln!(formatter, "{name} set {}", hexadecimal::write(set))?,
                Payload::Bit(bit) => writeln!(formatter, "{name} bit {bit}")?,
                Payload::Prefix(PrefixReport { level, point }) => writeln!(formatter, "{name} prefix {level} {point}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::Task;

    const NOW: u64 = 1_800_000_000;

    fn task(more: &str) -> Task {
        let domain = if more.contains("\"domain\"") { "" } else { r#""domain": {"choices": ["a", "b", "c", "d"]},"# };
        let json = format!(
            r#"{{"question": "?", {domain} "epsilon": "0.5", "minimum-batch": 1, "expires": "2030-01-01"{more}}}"#
        );
        serde_json::from_str(&json).unwrap()
    }

    fn device() -> Device<ShortMemory> {
        Device::new([7; 32], ShortMemory::default())
    }

    /// Gives answers one after another and returns the responses.
    fn said(device: &mut Device<ShortMemory>, task: &Task, answers: &[&str], seed: u64) -> Vec<Payload> {
        let mut entropy = Entropy::seeded(seed);
        answers
            .iter()
            .map(|answer| {
                let answer = task.domain().answer(answer).unwrap();
                device.respond(task, &answer, NOW, &mut entropy).unwrap().response
            })
            .collect()
    }

    #[test]
    fn the_first_response_is_repeated_whatever_the_answer() {
        for seed in 0..20 {
            let task = task(r#", "memoisation": "first""#);
            let said = said(&mut device(), &task, &["a", "b", "c", "d", "a"], seed);
            assert!(said.iter().all(|response| response == &said[0]), "{said:?}");
        }
    }

    /// Two answers are paid for: a and b. c comes too late and repeats the last response.
    #[test]
    fn each_answer_is_randomised_once_while_the_lifetime_lasts() {
        let task = task(r#", "memoisation": "per-answer", "lifetime-epsilon": "1.2", "mechanism": "unary""#);
        let mut differ = 0;
        for seed in 0..20 {
            let said = said(&mut device(), &task, &["a", "b", "a", "c", "b", "c", "d", "a"], seed);
            assert_eq!([&said[2], &said[3], &said[7]], [&said[0]; 3]);
            assert_eq!([&said[4], &said[5], &said[6]], [&said[1]; 3]);
            differ += u32::from(said[0] != said[1]);
        }
        assert!(differ > 5, "two answers are randomised by themselves");
    }

    #[test]
    fn afresh_every_time_until_the_lifetime_is_spent() {
        let task = task(
            r#", "memoisation": "never", "lifetime-epsilon": "20", "allow-large-epsilon": true, "mechanism": "unary""#,
        );
        let mut device = device();
        let said = said(&mut device, &task, &["a"; 40], 1);
        assert!(said.iter().any(|response| response != &said[0]));
        let answer = task.domain().answer("a").unwrap();
        let error = device.respond(&task, &answer, NOW, &mut Entropy::seeded(2)).unwrap_err();
        assert_eq!(error.to_string(), "this device has already answered 40 times; the task allows 40 answers");
    }

    /// Whatever the second answer is, valid or not, the memory is unchanged.
    #[test]
    fn one_answer_unless_the_task_says_otherwise() {
        let (repeating, task, mut device) = (task(r#", "memoisation": "first""#), task(""), device());
        assert!(!device.has_answered(&task).unwrap());
        said(&mut device, &task, &["a"], 1);
        let kept = device.memory.0.clone();
        for answer in ["a", "b", "a"] {
            let answer = task.domain().answer(answer).unwrap();
            let error = device.respond(&task, &answer, NOW, &mut Entropy::seeded(2)).unwrap_err();
            assert!(error.is_already_answered(), "{error}");
            assert_eq!(error.to_string(), "this device has already answered; the task allows one answer");
        }
        assert!(device.has_answered(&task).unwrap() && device.memory.0 == kept);
        said(&mut device, &repeating, &["a"], 1);
        assert!(!device.has_answered(&repeating).unwrap(), "it repeats itself");
    }

    #[test]
    fn a_memory_that_fails_or_was_changed_sends_nothing() {
        struct Broken;
        impl Memory for Broken {
            fn read(&self, _: &str) -> Result<Option<String>> {
                Ok(None)
            }
            fn write(&mut self, _: &str, _: &str) -> Result<()> {
                Err(Error::Memory("the storage is full".into()))
            }
        }
        let task = task("");
        let answer = task.domain().answer("a").unwrap();
        let error = Device::new([1; 32], Broken).respond(&task, &answer, NOW, &mut Entropy::seeded(1)).unwrap_err();
        assert_eq!(error.to_string(), "the device's memory failed: the storage is full; nothing was sent");
        let mut device = device();
        said(&mut device, &task, &["a"], 1);
        device.memory.0.values_mut().for_each(|text| text.push_str("nonsense"));
        assert!(matches!(device.respond(&task, &answer, NOW, &mut Entropy::seeded(1)), Err(Error::Memory(_))));
    }

    /// Without the key, nothing in the memory reveals which answers were given, or to which questions.
    #[test]
    fn names_in_the_memory_depend_on_the_key() {
        let task = task(r#", "memoisation": "per-answer", "lifetime-epsilon": "2""#);
        let names = |key: u8, answer: &str| {
            let mut device = Device::new([key; 32], ShortMemory::default());
            said(&mut device, &task, &[answer], 1);
            let (name, text) = device.memory.0.first_key_value().unwrap();
            (name.clone(), text.lines().nth(1).unwrap().split(' ').next().unwrap().to_owned())
        };
        let (one, other) = (names(1, "a"), names(2, "a"));
        assert!(one.0 != other.0 && one.1 != other.1);
        assert_eq!(one.0, names(1, "b").0, "the record is the task's");
        assert_ne!(one.1, names(1, "b").1);
    }

    /// A report's id contains nothing about the device: with the same random bits any device draws the same id, and
    /// with others another.
    #[test]
    fn ids_of_reports_tell_nothing_of_the_device() {
        let task = task(r#", "memoisation": "first""#);
        let id = |key: u8, answer: u64, seed: u64| {
            let mut device = Device::new([key; 32], ShortMemory::default());
            let first = device.respond(&task, &Answer::Choice(answer), NOW, &mut Entropy::seeded(seed)).unwrap().id;
            // A remembered response takes no random bits: the id is the first draw.
            let second = device.respond(&task, &Answer::Choice(answer), NOW, &mut Entropy::seeded(seed)).unwrap().id;
            [first, second]
        };
        assert_eq!(id(1, 0, 5), id(2, 0, 5), "another device");
        let [first, second] = id(1, 0, 5);
        assert_ne!(first, second, "another report of one device");
        assert_eq!(second, id(2, 3, 5)[1], "another answer");
        assert_ne!(second, id(1, 0, 6)[1], "other bits");
    }

    #[test]
    fn every_domain_is_answered() {
        for (domain, answer) in [
            (r#", "domain": {"choices": ["x", "y", "z"]}, "mechanism": "projective""#, "y"),
            (r#", "domain": {"integers": {"lower": 0, "upper": 9}}"#, "4"),
            (r#", "domain": {"numbers": "0..1"}"#, "0.25"),
            (r#", "domain": {"texts": {"alphabet": "abc", "longest": 4}}"#, "cab"),
        ] {
            let task = task(&format!(r#"{domain}, "memoisation": "per-answer", "time-precision": "day""#));
            let mut device = device();
            let two = said(&mut device, &task, &[answer, answer], 3);
            assert_eq!(two[0], two[1]);
            let answer = task.domain().answer(answer).unwrap();
            let report = device.respond(&task, &answer, NOW, &mut Entropy::seeded(1)).unwrap();
            assert_eq!((report.task, report.period), (task.id(), Some(NOW / 86_400)));
        }
    }

    #[test]
    fn expired_tasks_and_foreign_answers_cost_nothing() {
        let (task, mut device) = (task(""), device());
        let mut entropy = Entropy::seeded(1);
        assert!(device.respond(&task, &Answer::Choice(0), 1_900_000_000, &mut entropy).is_err());
        assert!(device.respond(&task, &Answer::Choice(4), NOW, &mut entropy).is_err());
        assert!(device.respond(&task, &Answer::Number(0), NOW, &mut entropy).is_err());
        assert!(device.memory.0.is_empty());
    }
}
