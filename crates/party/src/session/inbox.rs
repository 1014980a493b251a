//! What has been received from one peer.

use crate::abort::Reason;
use crate::keys::Signature;
use crate::message::{Content, Kind, Message};
use crate::state::MOST_ATTEMPTS;

/// The messages of one peer: at most one of each kind, in order.
#[derive(Debug, Default)]
pub struct Inbox {
    heard: Vec<Said>,
    /// The reason and culprit of its abort, if it sent one.
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

/// The effect of a new message.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// None: it was already received on a connection that has since been cut.
    Again,
    /// It is new.
    New,
    /// The peer aborted.
    Aborted(Reason, Option<u16>),
}

impl Inbox {
    /// The message of a round, if received.
    pub fn get(&self, round: Kind) -> Option<&Said> {
        self.heard.get(place(round))
    }

    /// Whether the peer needs nothing more.
    pub fn is_over(&self) -> bool {
        self.over || self.get(Kind::Done).is_some()
    }

    /// The reason and culprit of its abort, if it sent one.
    pub fn last_word(&self) -> Option<(Reason, Option<u16>)> {
        self.last_word
    }

    /// Whether a message of this round, or an abort, is still to come.
    pub fn is_silent(&self, round: Kind) -> bool {
        self.get(round).is_none() && !self.is_over()
    }

    /// Discards a hello that nothing followed: the peer is gone, and will send it or another one when it comes back.
    pub fn forget_hello(&mut self) {
        if self.heard.len() == 1 {
            self.heard.clear();
        }
    }

    /// Marks the peer as needing nothing more, whatever else it sent.
    pub fn end(&mut self) {
        self.over = true;
    }

    /// Notes that its connection has ended.
    pub fn lose(&mut self) {
        self.lost = true;
    }

    /// Notes that it is connected.
    pub fn find(&mut self) {
        self.lost = false;
    }

    /// Whether it has sent anything and can be reached.
    pub fn is_there(&self) -> bool {
        !self.heard.is_empty() && !self.lost
    }

    /// Whether exactly these bytes were received.
    pub fn has(&self, frame: &[u8]) -> bool {
        self.heard.iter().any(|said| said.frame == frame)
    }

    /// Accepts a message while waiting for `round`.
    ///
    /// # Errors
    /// If an honest peer could not send it now.
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
            // An honest party proposes each attempt once: a later proposal comes from a restarted process.
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
        // A peer that heard everyone may be one round ahead, but no more: that would take a message not yet sent here.
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
