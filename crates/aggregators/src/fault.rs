//! How a collection ends without a result.

use std::fmt;

/// A round of a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Round {
    /// Connecting, and checking that all have the same task.
    Meet,
    /// Hashes of the contributions to the verification key.
    Commit,
    /// The contributions.
    Reveal,
    /// The batch that each aggregator has begun and not completed.
    Begun,
    /// What each aggregator knows of that batch: its reports, or its record.
    Recall,
    /// The numbers of the reports that each aggregator has.
    Offer,
    /// Each aggregator's share of every report's proof verification.
    Verify,
    /// Which reports each aggregator accepts.
    Judge,
    /// The hash of all messages so far, and the batch.
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
    /// It did not answer in time, or the connection broke.
    Vanished,
    /// It has a different task file.
    OtherTask,
    /// It sent an invalid message.
    Malformed,
    /// It sent a message larger than this round allows.
    Oversized,
    /// Its contribution does not match its hash, or differs from that of an earlier session.
    OtherContribution,
    /// It heard different messages, or came to a different decision.
    Disagreed,
    /// It did not sign the opened result.
    Unsigned,
}

impl Misdeed {
    fn words(self) -> &'static str {
        match self {
            Self::Vanished => "did not answer in time, or the connection broke",
            Self::OtherTask => "has a different task file",
            Self::Malformed => "sent an invalid message",
            Self::Oversized => "sent a message larger than this round allows",
            Self::OtherContribution => "changed its contribution to the verification key",
            Self::Disagreed => "heard different messages, or came to a different decision, than this aggregator",
            Self::Unsigned => "did not sign the opened result",
        }
    }
}

/// Why a collection failed on this aggregator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The round.
    pub round: Round,
    /// What went wrong.
    pub misdeed: Misdeed,
    /// The aggregator to blame, if it can be identified.
    pub culprit: Option<String>,
}

impl Fault {
    /// Whether this aggregator had charged its ledger, and perhaps opened its share.
    pub fn after_the_charge(&self) -> bool {
        self.round >= Round::Open
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let culprit = self.culprit.as_deref().unwrap_or("an aggregator");
        write!(formatter, "the collection failed in round `{}`: {culprit} {}", self.round, self.misdeed.words())?;
        formatter.write_str(if self.after_the_charge() {
            "; the charge is kept, and only the same batch can be opened again"
        } else {
            "; nothing was opened or charged"
        })
    }
}
