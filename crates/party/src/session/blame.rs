//! Why an attempt fails, and who is blamed.
//!
//! At a deadline a party only knows whom it has not heard from: some of these may themselves be waiting for the one
//! that is gone. So it names a culprit to the others only if there is no other candidate, and then blames those still
//! silent once all reachable parties have been heard. On hearing an abort, every reachable party sends one, too, and so
//! is no longer silent.

use super::inbox::Inbox;
use crate::abort::Reason;
use crate::error::Error;
use crate::message::Kind;

/// Why an attempt fails.
pub enum Trouble {
    /// This party detected it.
    Found(Reason, usize),
    /// These did not answer in time.
    Missing(Vec<usize>),
    /// A peer aborted.
    Told { by: usize, reason: Reason, culprit: Option<u16> },
    /// This party itself failed.
    Own(Error),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Own(error)
    }
}

impl From<reticent::Error> for Trouble {
    fn from(error: reticent::Error) -> Self {
        Self::Own(error.into())
    }
}

/// Who is to blame.
#[derive(Debug, PartialEq, Eq)]
pub struct Blame {
    pub reason: Reason,
    /// Their indices.
    pub culprits: Vec<usize>,
    /// Who reported it, if this party did not find out itself.
    pub told_by: Option<usize>,
}

impl Trouble {
    /// What is sent to all others at once: the reason, and the culprit if already known.
    pub fn statement(&self, me: usize) -> (Reason, Option<u16>) {
        let place = |place: usize| u16::try_from(place).expect("there are at most 256");
        match self {
            Self::Found(reason, peer) => (*reason, Some(place(*peer))),
            Self::Missing(peers) => match peers[..] {
                [peer] => (Reason::Vanished, Some(place(peer))),
                _ => (Reason::Vanished, None),
            },
            Self::Told { reason, culprit, .. } => (*reason, *culprit),
            Self::Own(_) => (Reason::Withdrew, Some(place(me))),
        }
    }

    /// Who is blamed here, given what has been heard since, while waiting for `round`.
    pub fn blame(&self, inboxes: &[Inbox], round: Kind) -> Blame {
        let is_silent = |peer: &usize| inboxes[*peer].is_silent(round);
        match self {
            Self::Found(reason, peer) => Blame { reason: *reason, culprits: vec![*peer], told_by: None },
            Self::Missing(peers) => {
                let silent: Vec<usize> = peers.iter().copied().filter(is_silent).collect();
                // If they all answered in the meantime, they were late.
                let culprits = if silent.is_empty() { peers.clone() } else { silent };
                Blame { reason: Reason::Vanished, culprits, told_by: None }
            }
            // Another party misses several. Which are silent here, too?
            Self::Told { by, reason: Reason::Vanished, culprit: None } => {
                let silent = (0..inboxes.len()).filter(is_silent).collect();
                Blame { reason: Reason::Vanished, culprits: silent, told_by: Some(*by) }
            }
            Self::Told { by, reason, culprit } => {
                let culprit = culprit.map(usize::from);
                // Others pass it on, and may be faster; but it counts as reported by the party that it happened to.
                let confessed =
                    |&peer: &usize| inboxes[peer].last_word() == Some((Reason::Withdrew, u16::try_from(peer).ok()));
                let first_hand = culprit.filter(|_| *reason == Reason::Withdrew).filter(confessed);
                let told_by = Some(first_hand.unwrap_or(*by));
                Blame { reason: *reason, culprits: culprit.into_iter().collect(), told_by }
            }
            Self::Own(_) => Blame { reason: Reason::Withdrew, culprits: Vec::new(), told_by: None },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex::Hex;
    use crate::message::{Content, Message};
    use crate::session::inbox::Said;

    fn take(inbox: &mut Inbox, content: Content) {
        let message = Message { sender: 0, attempt: 1, task: Hex([0; 32]), previous: Hex([0; 32]), content };
        let frame = message.encode();
        let _ = inbox.take(Said { message, signature: Hex([0; 64]), frame }, Kind::Ready);
    }

    /// Four parties that have sent hello; the first is this one, and it is ready.
    fn inboxes() -> Vec<Inbox> {
        let mut inboxes: Vec<Inbox> = (0..4).map(|_| Inbox::default()).collect();
        inboxes.iter_mut().for_each(|inbox| take(inbox, Content::Hello { keys: vec![] }));
        take(&mut inboxes[0], Content::Ready);
        inboxes
    }

    fn vanished(culprit: Option<u16>) -> Content {
        Content::Abort { reason: Reason::Vanished, culprit }
    }

    #[test]
    fn others_are_told_a_name_only_if_there_is_no_choice() {
        assert_eq!(Trouble::Missing(vec![2]).statement(0), (Reason::Vanished, Some(2)));
        assert_eq!(Trouble::Missing(vec![1, 2]).statement(0), (Reason::Vanished, None));
        let told = Trouble::Told { by: 3, reason: Reason::Withdrew, culprit: Some(1) };
        assert_eq!(told.statement(0), (Reason::Withdrew, Some(1)));
    }

    #[test]
    fn of_those_missing_the_ones_that_stay_silent_are_named() {
        let (missing, mut inboxes) = (Trouble::Missing(vec![1, 2, 3]), inboxes());
        assert_eq!(missing.blame(&inboxes, Kind::Ready).culprits, [1, 2, 3]);
        // It is itself waiting, and says so.
        take(&mut inboxes[2], vanished(Some(1)));
        assert_eq!(missing.blame(&inboxes, Kind::Ready).culprits, [1, 3]);
        // It is late.
        take(&mut inboxes[3], Content::Ready);
        let blame = missing.blame(&inboxes, Kind::Ready);
        assert_eq!(blame, Blame { reason: Reason::Vanished, culprits: vec![1], told_by: None });
        // Answering too late does not help if nobody else is to blame.
        take(&mut inboxes[1], vanished(Some(0)));
        assert_eq!(missing.blame(&inboxes, Kind::Ready).culprits, [1, 2, 3]);
    }

    #[test]
    fn who_hears_that_several_are_missing_names_those_it_misses_itself() {
        let told = Trouble::Told { by: 3, reason: Reason::Vanished, culprit: None };
        let mut inboxes = inboxes();
        take(&mut inboxes[3], vanished(None));
        take(&mut inboxes[2], Content::Ready);
        let blame = |culprits| Blame { reason: Reason::Vanished, culprits, told_by: Some(3) };
        assert_eq!(told.blame(&inboxes, Kind::Ready), blame(vec![1]));
        take(&mut inboxes[1], Content::Ready);
        assert_eq!(told.blame(&inboxes, Kind::Ready), blame(vec![]));
        let named = Trouble::Told { by: 3, reason: Reason::Vanished, culprit: Some(2) };
        assert_eq!(named.blame(&inboxes, Kind::Ready), blame(vec![2]));
    }

    #[test]
    fn the_word_of_the_one_that_withdrew_counts_more_than_that_of_one_that_heard_it() {
        let told = Trouble::Told { by: 3, reason: Reason::Withdrew, culprit: Some(1) };
        let mut inboxes = inboxes();
        let withdrew = |culprit| Content::Abort { reason: Reason::Withdrew, culprit };
        take(&mut inboxes[3], withdrew(Some(1)));
        assert_eq!(told.blame(&inboxes, Kind::Ready).told_by, Some(3));
        // Anything else is not a confession.
        take(&mut inboxes[1], withdrew(Some(2)));
        assert_eq!(told.blame(&inboxes, Kind::Ready).told_by, Some(3));
        take(&mut inboxes[1], withdrew(Some(1)));
        let blame = Blame { reason: Reason::Withdrew, culprits: vec![1], told_by: Some(1) };
        assert_eq!(told.blame(&inboxes, Kind::Ready), blame);
    }
}
