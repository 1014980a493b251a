//! What was heard from one peer so far.

use crate::abort::Reason;
use crate::keys::Signature;
use crate::message::{Content, Kind, Message};
use crate::state::MOST_ATTEMPTS;

/// What was heard from one peer: at most one message of each kind, in order.
#[derive(Debug, Default)]
pub struct Inbox {
    heard: Vec<Said>,
    /// Why it has ended the attempt, and by whose fault, if it said so.
    last_word: Option<(Reason, Option<u16>)>,
    over: bool,
    lost: bool,
}

/// A message with the bytes it came in.
#[derive(Debug)]
pub struct Said {
    pub message: Message,
    pub signature: Signature,
    pub frame: Vec<u8>,
}

/// What a new message changes.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// Nothing: it was heard before, on a connection that was cut.
    Again,
    /// It is new.
    New,
    /// The peer has ended the attempt.
    Aborted(Reason, Option<u16>),
}

impl Inbox {
    /// The message of a round, if it came.
    pub fn get(&self, round: Kind) -> Option<&Said> {
        self.heard.get(place(round))
    }

    /// Does the peer need nothing more?
    pub fn is_over(&self) -> bool {
        self.over || self.get(Kind::Done).is_some()
    }

    /// Why it has ended the attempt, and by whose fault, if it said so.
    pub fn last_word(&self) -> Option<(Reason, Option<u16>)> {
        self.last_word
    }

    /// Is something of this round, or a last word, still to come?
    pub fn is_silent(&self, round: Kind) -> bool {
        self.get(round).is_none() && !self.is_over()
    }

    /// Forgets a hello after which nothing came: the peer is gone, and says it again when it comes back, or another one.
    pub fn forget_hello(&mut self) {
        if self.heard.len() == 1 {
            self.heard.clear();
        }
    }

    /// It needs nothing more, whatever else it said.
    pub fn end(&mut self) {
        self.over = true;
    }

    /// Its connection has ended.
    pub fn lose(&mut self) {
        self.lost = true;
    }

    /// Its connection is there.
    pub fn find(&mut self) {
        self.lost = false;
    }

    /// Has it said anything, and may it be told something?
    pub fn is_there(&self) -> bool {
        !self.heard.is_empty() && !self.lost
    }

    /// Were these very bytes heard?
    pub fn has(&self, frame: &[u8]) -> bool {
        self.heard.iter().any(|said| said.frame == frame)
    }

    /// Takes a message while `round` is waited for.
    ///
    /// # Errors
    /// If it cannot be what an honest peer says now.
    pub fn take(&mut self, said: Said, round: Kind) -> Result<Heard, Reason> {
        let (kind, attempt) = (said.message.content.kind(), said.message.attempt);
        if let Content::Abort { reason, culprit } = said.message.content {
            self.last_word = Some((reason, culprit));
            self.over = true;
            return Ok(Heard::Aborted(reason, culprit));
        }
        if attempt == 0 || attempt > MOST_ATTEMPTS {
            return Err(Reason::Malformed);
        }
        if let Some(before) = self.heard.get(place(kind)) {
            if before.frame == said.frame {
                return Ok(Heard::Again);
            }
            // An honest party proposes each attempt once: a later proposal is a process that was started again.
            let restarted = kind == Kind::Hello && attempt > before.message.attempt;
            if restarted && round == Kind::Hello && self.heard.len() == 1 {
                self.heard[0] = said;
                return Ok(Heard::New);
            }
            return Err(match (restarted, attempt == before.message.attempt) {
                (true, _) => Reason::Vanished,
                (false, true) => Reason::Equivocated,
                (false, false) => Reason::Replayed,
            });
        }
        // A peer that heard everybody may be one round ahead, and not more: for that it would need what is not yet said here.
        if place(kind) != self.heard.len() || place(kind) > place(round) + 1 {
            return Err(Reason::Malformed);
        }
        self.heard.push(said);
        Ok(Heard::New)
    }
}

fn place(kind: Kind) -> usize {
    usize::from(kind.code()) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex::Hex;

    fn said(content: Content, attempt: u32, mark: u8) -> Said {
        let message = Message { sender: 0, attempt, task: Hex([0; 32]), previous: Hex([mark; 32]), content };
        let frame = message.encode();
        Said { message, signature: Hex([0; 64]), frame }
    }

    #[test]
    fn a_peer_speaks_in_order_and_at_most_one_round_ahead() {
        let mut inbox = Inbox::default();
        assert_eq!(inbox.take(said(Content::Ready, 1, 0), Kind::Hello), Err(Reason::Malformed));
        assert_eq!(inbox.take(said(Content::Hello { keys: vec![] }, 1, 0), Kind::Hello), Ok(Heard::New));
        assert_eq!(inbox.take(said(Content::Hello { keys: vec![] }, 1, 0), Kind::Hello), Ok(Heard::Again));
        assert_eq!(inbox.take(said(Content::Ready, 1, 0), Kind::Hello), Ok(Heard::New));
        let words = Content::Contribution { words: vec![] };
        assert_eq!(inbox.take(said(words.clone(), 1, 0), Kind::Hello), Err(Reason::Malformed));
        assert_eq!(inbox.take(said(words, 1, 0), Kind::Ready), Ok(Heard::New));
        assert_eq!(inbox.take(said(Content::Ready, 1, 1), Kind::Ready), Err(Reason::Equivocated));
        assert_eq!(inbox.take(said(Content::Ready, 2, 0), Kind::Ready), Err(Reason::Replayed));
    }

    #[test]
    fn a_peer_may_start_again_until_everybody_is_there() {
        let hello = |attempt, mark| said(Content::Hello { keys: vec![] }, attempt, mark);
        let mut inbox = Inbox::default();
        assert_eq!(inbox.take(hello(1, 0), Kind::Hello), Ok(Heard::New));
        assert_eq!(inbox.take(hello(1, 1), Kind::Hello), Err(Reason::Equivocated));
        assert_eq!(inbox.take(hello(2, 0), Kind::Hello), Ok(Heard::New));
        assert_eq!(inbox.take(hello(1, 0), Kind::Hello), Err(Reason::Replayed));
        inbox.forget_hello();
        assert!(!inbox.is_there());
        assert_eq!(inbox.take(hello(2, 0), Kind::Hello), Ok(Heard::New));
        assert_eq!(inbox.take(hello(3, 0), Kind::Ready), Err(Reason::Vanished));
        assert_eq!(inbox.take(hello(MOST_ATTEMPTS + 1, 0), Kind::Hello), Err(Reason::Malformed));
        assert_eq!(inbox.take(hello(0, 0), Kind::Hello), Err(Reason::Malformed));
    }
}
