//! How an attempt ends without a result.

use std::fmt;

use crate::message::Kind;

/// Why an attempt was aborted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// It did not answer in time, or restarted midway.
    Vanished,
    /// It has a different task file.
    OtherTask,
    /// It sent a message from another attempt.
    Replayed,
    /// It sent an invalid message: badly signed, malformed or out of order.
    Malformed,
    /// It sent a message larger than this task allows.
    Oversized,
    /// Different parties were sent different messages.
    Equivocated,
    /// It stopped by itself: its ledger refused the charge, or its statistic could not be computed.
    Withdrew,
}

impl Reason {
    /// All reasons, in the order of their wire codes, which start at 1.
    const ALL: [Self; 7] = [
        Self::Vanished,
        Self::OtherTask,
        Self::Replayed,
        Self::Malformed,
        Self::Oversized,
        Self::Equivocated,
        Self::Withdrew,
    ];

    pub(crate) fn code(self) -> u8 {
        let place = Self::ALL.iter().position(|&reason| reason == self).expect("all are listed");
        place as u8 + 1
    }

    pub(crate) fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }

    /// What the culprit did.
    fn words(self) -> &'static str {
        match self {
            Self::Vanished => "did not answer in time, or restarted midway",
            Self::OtherTask => "has a different task file; compare `reticent party task show` on both sides",
            Self::Replayed => "sent a message from another attempt",
            Self::Malformed => "sent an invalid message",
            Self::Oversized => "sent a message larger than this task allows",
            Self::Equivocated => "saw or sent messages that differ from ours",
            Self::Withdrew => "withdrew: its ledger refused the charge, or its statistic failed",
        }
    }
}

/// Why this party aborted an attempt. It released nothing, and keeps any charge already made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abort {
    /// The reason.
    pub reason: Reason,
    /// The party to blame, if it can be identified. If several did not answer in time: those still silent once all
    /// reachable parties had been heard, or all of them if none still was.
    ///
    /// This is one party's view. A party that talks to some and not to others makes the latter wait, and the rest may
    /// blame them instead: compare the aborts of all parties.
    pub culprit: Option<String>,
    /// Who reported it, or missed several parties and could not tell which is to blame; `None` if this party found out
    /// itself. A withdrawal is reported by the party that withdrew or, if its own message did not arrive, by the party
    /// that passed it on.
    pub told_by: Option<String>,
    /// The round this party was waiting for.
    pub round: Kind,
    /// Whether this party had charged its ledger.
    pub charged: bool,
    /// Whether this party had already sent its contribution, which is noisy, and masked in the masked protocol.
    pub contributed: bool,
}

impl fmt::Display for Abort {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "aborted in round `{}`: ", self.round)?;
        if let Some(told_by) = &self.told_by {
            write!(formatter, "{told_by} says that ")?;
        }
        let culprit = self.culprit.as_deref().unwrap_or("a party");
        write!(formatter, "{culprit} {}; nothing was released", self.reason.words())?;
        match (self.charged, self.contributed) {
            (false, _) => formatter.write_str(", and nothing was charged"),
            (true, false) => formatter.write_str(", nothing about the rows was sent, and the charge is kept"),
            (true, true) => formatter.write_str(", and the charge is kept"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_a_code_of_its_own() {
        for reason in Reason::ALL {
            assert_eq!(Reason::from_code(reason.code()), Some(reason));
        }
        assert_eq!(Reason::from_code(0), None);
        assert_eq!(Reason::from_code(Reason::ALL.len() as u8 + 1), None);
    }
}
