//! How a collection ends without a result.

use std::fmt;

/// A round of a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Round {
    /// Connections are made, and all have the same task.
    Meet,
    /// Hashes of the contributions to the verification key.
    Commit,
    /// The contributions.
    Reveal,
    /// The batch that each aggregator has begun and not completed.
    Begun,
    /// What each aggregator knows of that batch: its reports, or what was opened.
    Recall,
    /// The numbers of the reports that each aggregator has.
    Offer,
    /// What each aggregator says about each report's proof.
    Verify,
    /// Which reports each aggregator accepts.
    Judge,
    /// The hash of all that was said, and the batch.
    Agree,
    /// The noisy shares of the sums.
    Open,
    /// Signatures under the result.
    Sign,
}

impl fmt::Display for Round {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Meet => "meet",
            Self::Commit => "commit",
            Self::Reveal => "reveal",
            Self::Begun => "begun",
            Self::Recall => "recall",
            Self::Offer => "offer",
            Self::Verify => "verify",
            Self::Judge => "judge",
            Self::Agree => "agree",
            Self::Open => "open",
            Self::Sign => "sign",
        })
    }
}

/// What an aggregator did that ended a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Misdeed {
    /// Nothing came in time, or the connection broke.
    Vanished,
    /// It has another task file.
    OtherTask,
    /// It sent what no aggregator sends.
    Malformed,
    /// It sent more than any message of this round takes.
    Oversized,
    /// Its contribution is not the one that it had a hash of, or not the one of an earlier session.
    OtherContribution,
    /// It has heard or decided other things.
    Disagreed,
    /// It did not sign what was opened.
    Unsigned,
}

impl Misdeed {
    fn words(self) -> &'static str {
        match self {
            Self::Vanished => "did not answer in time, or broke off",
            Self::OtherTask => "has another task file",
            Self::Malformed => "sent what is no message of this protocol",
            Self::Oversized => "sent a message larger than any of this round",
            Self::OtherContribution => "changed its contribution to the verification key",
            Self::Disagreed => "has heard or decided other things than were heard or decided here",
            Self::Unsigned => "did not sign what was opened",
        }
    }
}

/// What ended a collection on this aggregator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// When.
    pub round: Round,
    /// What was done.
    pub misdeed: Misdeed,
    /// By whom, if that can be told.
    pub culprit: Option<String>,
}

impl Fault {
    /// Had this aggregator charged its ledger, and perhaps opened its share?
    pub fn after_the_charge(&self) -> bool {
        self.round >= Round::Open
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let culprit = self.culprit.as_deref().unwrap_or("an aggregator");
        write!(formatter, "the collection ended in round `{}`: {culprit} {}", self.round, self.misdeed.words())?;
        formatter.write_str(if self.after_the_charge() {
            "; the charge is kept, and only the same batch can be opened again"
        } else {
            "; nothing was opened or charged"
        })
    }
}
