//! The one error type of the library.

use std::borrow::Cow;

use thiserror::Error;

use crate::message;
use crate::message::Message;

/// What can go wrong outside the rows: an invalid parameter, an exhausted budget, a machine without randomness.
///
/// No variant ever carries row data, so an error may be logged and shown.
///
/// # Example
/// ```
/// use reticent::privacy::Epsilon;
///
/// let error = "-1".parse::<Epsilon>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "epsilon is -1, but it must be a finite number greater than 0; write for example 0.5"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter is out of range.
    #[error("{parameter} is {value}, but it must be {allowed}")]
    Parameter {
        /// The parameter's name as the user knows it.
        parameter: &'static str,
        /// The value that was given.
        value: String,
        /// What is allowed.
        allowed: &'static str,
    },

    /// Something that does not fit the rest of the request, in one sentence.
    #[error("{problem}")]
    Invalid {
        /// The parameter's name as the user knows it.
        parameter: &'static str,
        /// What is wrong and what to do.
        problem: Cow<'static, str>,
    },

    /// An answer that a task does not allow. Its text is not repeated, because it belongs to a person.
    #[error("the answer must be {allowed}")]
    Answer {
        /// What is allowed.
        allowed: &'static str,
    },

    /// A guarantee so weak that it must be confirmed.
    #[error("{parameter} is {value}, but it must be {allowed}, or confirmed with `{CONFIRM}`: {why}")]
    Unconfirmed {
        /// The parameter's name as the user knows it.
        parameter: &'static str,
        /// The value that was given.
        value: String,
        /// What is allowed without confirmation.
        allowed: &'static str,
        /// Why larger values must be confirmed.
        why: &'static str,
    },

    /// A permit does not cover the cost of a release.
    #[error("this release costs {cost}, but the permit has {remaining} left")]
    NotPermitted {
        /// What the release costs.
        cost: String,
        /// What the permit still covers.
        remaining: String,
    },

    /// Two guarantees of different kinds cannot be added without a conversion.
    #[error(
        "{left} and {right} are guarantees of different kinds; convert one of them first (a pure epsilon into rho, or rho into epsilon and delta)"
    )]
    KindsDiffer {
        /// The first guarantee.
        left: String,
        /// The second guarantee.
        right: String,
    },

    /// A stream was resumed with a permit issued for another charge.
    #[error("the stream was {stream}, but this permit is {permit}")]
    OtherCharge {
        /// Where the stream was charged.
        stream: String,
        /// What the permit is for.
        permit: String,
    },

    /// A counter was asked for more steps than its horizon.
    #[error("the horizon of {horizon} steps is reached; to continue, start a new stream, which is charged separately")]
    HorizonReached {
        /// The counter's horizon, in steps.
        horizon: u64,
    },

    /// A saved state is older than one known to exist: continuing from it would release the same steps twice.
    #[error("the saved state is of epoch {found}, but epoch {newest} is known to exist; resume from the newest state")]
    StaleState {
        /// The state's epoch.
        found: u64,
        /// The newest known epoch.
        newest: u64,
    },

    /// A saved state is not one that its counter could have reached.
    #[error("the saved state is damaged: it cannot be the state of such a counter")]
    DamagedState,

    /// An attempt to save a counter whose memory must not be seen twice.
    #[error(
        "a {counter} counter cannot be saved: each saved state could be seized, and two states differ by the values counted in between. Keep the releases, and after a restart start a new counter from the last one"
    )]
    CannotBeSaved {
        /// The counter's name.
        counter: &'static str,
    },

    /// A device has given all the answers that a task's lifetime ε pays for.
    #[error("{}", already_answered(.answers))]
    AlreadyAnswered {
        /// The number of answers that the task allows.
        answers: u64,
    },

    /// A device cannot store or read back what it must not forget.
    #[error("the device's memory failed: {0}; nothing was sent")]
    Memory(String),

    /// The operating system, or another entropy source, failed.
    #[error("the entropy source failed: {0}; nothing was released")]
    Entropy(String),
}

fn already_answered(answers: &u64) -> String {
    match answers {
        1 => "this device has already answered; the task allows one answer".into(),
        _ => format!("this device has already answered {answers} times; the task allows {answers} answers"),
    }
}

/// `Result` with this crate's [`Error`](enum@Error).
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of an error. Interfaces derive exit codes and HTTP statuses from this alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Class {
    /// The request is wrong, and the caller can correct it; nothing was charged.
    Request,
    /// Something that the request names does not exist.
    Missing,
    /// The request conflicts with the existing state.
    Conflict,
    /// Not enough budget left; nothing was charged.
    Exhausted,
    /// The dataset is suspended until its operator has investigated a failure; nothing was charged.
    Suspended,
    /// The request was charged before and has no outcome, or none yet.
    Unfinished,
    /// The service is stopping; nothing was charged.
    Stopping,
    /// The machine, its disk or its network failed. What was charged stays charged.
    Machine,
}

/// An error that an interface can explain to its own users.
pub trait Explained: std::error::Error {
    /// The kind of error.
    fn class(&self) -> Class;

    /// What is wrong and what to do, with setting names kept separate from the text.
    fn message(&self) -> Message {
        self.to_string().into()
    }

    /// The setting that is wrong, if the error is about one.
    fn setting(&self) -> Option<&str> {
        self.message().setting()
    }

    /// Whether the caller can fix the error by changing the request.
    fn is_usage(&self) -> bool {
        matches!(self.class(), Class::Request | Class::Missing | Class::Conflict)
    }

    /// Whether the budget is exhausted.
    fn is_overdrawn(&self) -> bool {
        self.class() == Class::Exhausted
    }
}

impl Explained for Error {
    fn class(&self) -> Class {
        match self {
            Self::Parameter { .. } | Self::Invalid { .. } | Self::Answer { .. } | Self::Unconfirmed { .. } => {
                Class::Request
            }
            Self::KindsDiffer { .. } | Self::CannotBeSaved { .. } => Class::Request,
            // A device is its own ledger.
            Self::NotPermitted { .. } | Self::AlreadyAnswered { .. } => Class::Exhausted,
            Self::OtherCharge { .. } | Self::HorizonReached { .. } | Self::StaleState { .. } => Class::Conflict,
            Self::DamagedState | Self::Memory(_) | Self::Entropy(_) => Class::Machine,
        }
    }

    fn message(&self) -> Message {
        match self {
            Self::Parameter { parameter, value, allowed } if SETTINGS.contains(parameter) => {
                message!([parameter], " is {value}, but it must be {allowed}")
            }
            Self::Answer { allowed } => message!(["answer"], " must be {allowed}"),
            Self::Unconfirmed { parameter, value, allowed, why } => {
                message!([parameter], " is {value}, but it must be {allowed}, or confirmed with ", [CONFIRM], ": {why}")
            }
            other => other.to_string().into(),
        }
    }

    fn setting(&self) -> Option<&str> {
        match self {
            // A name with a space is derived from settings and is not itself one.
            Self::Parameter { parameter, .. }
            | Self::Invalid { parameter, .. }
            | Self::Unconfirmed { parameter, .. }
                if !parameter.contains(' ') =>
            {
                Some(parameter)
            }
            Self::Answer { .. } => Some("answer"),
            _ => None,
        }
    }
}

/// The setting that confirms a weak guarantee.
const CONFIRM: &str = "allow-large-epsilon";

/// The parameters that every interface has as a setting of the same name. Other parameters, such as a noise scale, are
/// derived from settings.
const SETTINGS: [&str; 15] = [
    "adjacency",
    "choices",
    "counter",
    "delta",
    "epsilon",
    "expires",
    "horizon",
    "level",
    "lifetime-epsilon",
    "mechanism",
    "memoisation",
    "minimum-batch",
    "question",
    "rho",
    "time-precision",
];

impl Error {
    /// The error for a parameter that is out of range.
    pub(crate) fn parameter(parameter: &'static str, value: impl std::fmt::Display, allowed: &'static str) -> Self {
        Self::Parameter { parameter, value: value.to_string(), allowed }
    }

    /// The error for input that does not fit the rest of the request.
    pub(crate) fn invalid(parameter: &'static str, problem: impl Into<Cow<'static, str>>) -> Self {
        Self::Invalid { parameter, problem: problem.into() }
    }

    /// The same error about a parameter that has another name where its value was given.
    #[must_use]
    pub fn named(self, parameter: &'static str) -> Self {
        match self {
            Self::Parameter { value, allowed, .. } => Self::Parameter { parameter, value, allowed },
            Self::Unconfirmed { value, allowed, why, .. } => Self::Unconfirmed { parameter, value, allowed, why },
            other => other,
        }
    }

    /// Whether the error is about a parameter that the caller can correct.
    pub fn is_parameter(&self) -> bool {
        matches!(self, Self::Parameter { .. } | Self::Invalid { .. } | Self::Answer { .. } | Self::Unconfirmed { .. })
    }

    /// Whether a device has given all the answers that the task allows.
    pub fn is_already_answered(&self) -> bool {
        matches!(self, Self::AlreadyAnswered { .. })
    }

    /// Whether the error is about an exhausted budget.
    pub fn is_not_permitted(&self) -> bool {
        matches!(self, Self::NotPermitted { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Spelling;

    /// A value below 0 is wrong in every interface, and each one reads its own name of the parameter.
    #[test]
    fn interfaces_spell_parameters_their_own_way() {
        let error = "-1".parse::<crate::privacy::Epsilon>().unwrap_err();
        assert!(error.message().spelled(Spelling::Flag).starts_with("--epsilon is -1, but it must be"), "{error}");
        let renamed = error.named("lifetime-epsilon");
        assert!(renamed.message().spelled(Spelling::Field).starts_with("`lifetime_epsilon` is -1"), "{renamed}");
        assert_eq!(renamed.setting(), Some("lifetime-epsilon"));
        // A scale is no setting of any interface.
        let derived = Error::parameter("scale", "1e-400", "at least 1/1000");
        assert_eq!(derived.message().spelled(Spelling::Flag), "scale is 1e-400, but it must be at least 1/1000");
    }

    /// Exit codes and HTTP statuses follow from these: a reached horizon was once a failure of the machine.
    #[test]
    fn classes_are_what_the_caller_can_do_about_it() {
        let cases = [
            (Error::NotPermitted { cost: "ε = 1".into(), remaining: "nothing".into() }, Class::Exhausted),
            (Error::KindsDiffer { left: "ε = 1".into(), right: "ρ = 1".into() }, Class::Request),
            (Error::CannotBeSaved { counter: "pan-private" }, Class::Request),
            (Error::HorizonReached { horizon: 8 }, Class::Conflict),
            (Error::StaleState { found: 1, newest: 2 }, Class::Conflict),
            (Error::OtherCharge { stream: "a".into(), permit: "b".into() }, Class::Conflict),
            (Error::DamagedState, Class::Machine),
            (Error::Answer { allowed: "a number" }, Class::Request),
        ];
        for (error, class) in cases {
            assert_eq!(error.class(), class, "{error}");
        }
    }
}
