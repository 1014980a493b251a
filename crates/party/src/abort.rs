//! How an attempt ends without a result.

use std::fmt;

use crate::message::Kind;

/// Why a party does not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Nothing came in time, or the party started again in the middle.
    Vanished,
    /// It has another task file.
    OtherTask,
    /// It sent a message of another attempt.
    Replayed,
    /// It sent what no party sends: not signed by it, of a wrong form, or out of order.
    Malformed,
    /// It sent more than any message of this task takes.
    Oversized,
    /// Different things were said to different parties.
    Equivocated,
    /// It could not go on itself: its ledger refused the charge, or its statistic could not be computed.
    Withdrew,
}

impl Reason {
    /// All of them, as they are numbered on the wire: from 1 on.
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
            Self::Vanished => "did not answer in time, or started again in the middle",
            Self::OtherTask => "has another task file; compare `reticent party task show` on both sides",
            Self::Replayed => "sent a message of another attempt",
            Self::Malformed => "sent what is no message of this protocol",
            Self::Oversized => "sent a message larger than any of this task",
            Self::Equivocated => "has seen or said other things than were seen or said here",
            Self::Withdrew => "withdrew: its ledger or its statistic said no",
        }
    }
}

/// What ended an attempt on this party. Nothing was released here, and a charge that was made is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abort {
    /// Why.
    pub reason: Reason,
    /// Who is to blame for it, if that can be told. If several did not come in time: those that were still silent when everybody
    /// who was there had been heard out, or all of them if none was.
    ///
    /// It is what this party can know. Whoever speaks to some and not to others makes those wait, and they may be named by the
    /// rest: compare what all parties say.
    pub culprit: Option<String>,
    /// Who says so, or has missed several and could not tell which; `None` if this party found it out itself. That a party withdrew
    /// is told by that party, or, if its own word did not arrive, by whoever passed it on.
    pub told_by: Option<String>,
    /// What was waited for.
    pub round: Kind,
    /// Has this party charged its ledger?
    pub charged: bool,
    /// Had this party sent its contribution already? It is noisy, and masked in the masked protocol.
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
