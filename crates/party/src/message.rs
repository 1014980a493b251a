//! What parties say: bytes with a signature under them.
//!
//! All numbers are little-endian. The signature is over everything before it.
//!
//! | bytes | what |
//! |---|---|
//! | 16 | `reticent party 1` |
//! | 1 | the kind of message |
//! | 2 | who says it: the place in the task, from 0 |
//! | 4 | the attempt |
//! | 32 | the task's hash, which covers the session |
//! | 32 | the head of the transcript of all rounds before this one |
//! | … | hello: 32 bytes for each party; contribution: 8 bytes for each cell; abort: reason and culprit; else nothing |
//! | 64 | the signature |
//!
//! So a message fits one place only: one task, session, attempt, round, sender and past. There is one way to write each.

use std::fmt;

use crate::abort::Reason;
use crate::hex::{Digest, Hex};
use crate::keys::{PrivateKey, PublicKey, SIGNATURE_BYTES, Signature};
use crate::task::MOST_PARTIES;

/// How every message begins.
const MAGIC: &[u8; 16] = b"reticent party 1";
/// What comes before the content.
const HEADER_BYTES: usize = MAGIC.len() + 1 + 2 + 4 + 32 + 32;
/// What a public key for an agreement takes.
const KEY_BYTES: usize = 32;
/// A cell in a contribution.
const WORD_BYTES: usize = 8;
/// Instead of a culprit's number.
const NOBODY: u16 = u16::MAX;

/// The kinds of messages; the first four are the rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Who is here, with which task, and keys for masks.
    Hello,
    /// All hellos were heard, and the charge is durable.
    Ready,
    /// The noisy, masked statistic.
    Contribution,
    /// All contributions were heard.
    Seal,
    /// All seals were heard; not part of the transcript.
    Done,
    /// The attempt is over; not part of the transcript.
    Abort,
}

impl Kind {
    /// The rounds, in order.
    pub const ROUNDS: [Self; 4] = [Self::Hello, Self::Ready, Self::Contribution, Self::Seal];
    /// All kinds, as they are numbered on the wire: from 1 on.
    const ALL: [Self; 6] = [Self::Hello, Self::Ready, Self::Contribution, Self::Seal, Self::Done, Self::Abort];

    /// Its number on the wire.
    pub fn code(self) -> u8 {
        self as u8 + 1
    }

    fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Hello => "hello",
            Self::Ready => "ready",
            Self::Contribution => "contribution",
            Self::Seal => "seal",
            Self::Done => "done",
            Self::Abort => "abort",
        })
    }
}

/// What is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// One X25519 key for each party in the task's order; the one for the speaker itself is not used. They are new in each
    /// process, so they are the session's fresh part, too. The header's attempt is a proposal: the largest one of all is taken.
    Hello {
        /// The keys.
        keys: Vec<Hex<32>>,
    },
    /// The charge is durable.
    Ready,
    /// One word for each cell.
    Contribution {
        /// The words, modulo 2^64.
        words: Vec<u64>,
    },
    /// The head in the header is all there is to say.
    Seal,
    /// Nothing more is needed from anybody.
    Done,
    /// The attempt is over.
    Abort {
        /// Why.
        reason: Reason,
        /// Whose fault it is: a place in the task.
        culprit: Option<u16>,
    },
}

impl Content {
    /// Which kind it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Hello { .. } => Kind::Hello,
            Self::Ready => Kind::Ready,
            Self::Contribution { .. } => Kind::Contribution,
            Self::Seal => Kind::Seal,
            Self::Done => Kind::Done,
            Self::Abort { .. } => Kind::Abort,
        }
    }
}

/// A message: what is said, by whom, and where it belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Who says it: the place in the task.
    pub sender: u16,
    /// The attempt.
    pub attempt: u32,
    /// The task's hash.
    pub task: Digest,
    /// The head of the transcript of all rounds before.
    pub previous: Digest,
    /// What is said.
    pub content: Content,
}

/// How many parties and cells the task has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Parties.
    pub parties: usize,
    /// Cells.
    pub cells: usize,
}

impl Shape {
    /// The most bytes that a message takes, with its signature. A hello has room for the most parties, so that one of another
    /// task is recognised as such.
    pub fn largest_frame(self) -> usize {
        HEADER_BYTES + (KEY_BYTES * MOST_PARTIES).max(WORD_BYTES * self.cells) + SIGNATURE_BYTES
    }
}

impl Message {
    /// What is signed.
    pub fn encode(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(HEADER_BYTES + SIGNATURE_BYTES);
        body.extend_from_slice(MAGIC);
        body.push(self.content.kind().code());
        body.extend_from_slice(&self.sender.to_le_bytes());
        body.extend_from_slice(&self.attempt.to_le_bytes());
        body.extend_from_slice(&self.task.0);
        body.extend_from_slice(&self.previous.0);
        match &self.content {
            Content::Hello { keys } => keys.iter().for_each(|key| body.extend_from_slice(&key.0)),
            Content::Contribution { words } => {
                words.iter().for_each(|word| body.extend_from_slice(&word.to_le_bytes()))
            }
            Content::Abort { reason, culprit } => {
                body.push(reason.code());
                body.extend_from_slice(&culprit.unwrap_or(NOBODY).to_le_bytes());
            }
            Content::Ready | Content::Seal | Content::Done => (),
        }
        body
    }

    /// What is sent: the message and the signature.
    pub fn sign(&self, key: &PrivateKey) -> Vec<u8> {
        let mut frame = self.encode();
        let signature = key.sign(&frame);
        frame.extend_from_slice(&signature.0);
        frame
    }

    /// Reads what the owner of `key`, who has the place `sender`, has sent; `Err` says what is wrong with it.
    ///
    /// # Errors
    /// [`Reason::Malformed`] or [`Reason::OtherTask`].
    pub fn open(
        frame: &[u8],
        key: &PublicKey,
        sender: u16,
        task: Digest,
        shape: Shape,
    ) -> Result<(Self, Signature), Reason> {
        let (body, signature) = frame.split_last_chunk::<SIGNATURE_BYTES>().ok_or(Reason::Malformed)?;
        let signature = Hex(*signature);
        if !key.has_signed(body, &signature) {
            return Err(Reason::Malformed);
        }
        let mut rest = body;
        if take::<16>(&mut rest)? != MAGIC {
            return Err(Reason::Malformed);
        }
        let kind = Kind::from_code(take::<1>(&mut rest)?[0]).ok_or(Reason::Malformed)?;
        let said_by = u16::from_le_bytes(*take(&mut rest)?);
        let attempt = u32::from_le_bytes(*take(&mut rest)?);
        let (said_task, previous) = (Hex(*take(&mut rest)?), Hex(*take(&mut rest)?));
        // First of all: under another task everything else means something else.
        if said_task != task {
            return Err(Reason::OtherTask);
        }
        if said_by != sender {
            return Err(Reason::Malformed);
        }
        let content = content(kind, rest, shape).ok_or(Reason::Malformed)?;
        Ok((Self { sender, attempt, task, previous, content }, signature))
    }
}

fn content(kind: Kind, bytes: &[u8], shape: Shape) -> Option<Content> {
    match kind {
        Kind::Hello => {
            let (keys, rest) = bytes.as_chunks::<KEY_BYTES>();
            let fits = rest.is_empty() && keys.len() == shape.parties;
            fits.then(|| Content::Hello { keys: keys.iter().map(|key| Hex(*key)).collect() })
        }
        Kind::Contribution => {
            let (words, rest) = bytes.as_chunks::<WORD_BYTES>();
            let fits = rest.is_empty() && words.len() == shape.cells;
            fits.then(|| Content::Contribution { words: words.iter().map(|word| u64::from_le_bytes(*word)).collect() })
        }
        Kind::Abort => {
            let &[reason, low, high] = bytes else { return None };
            let culprit = match u16::from_le_bytes([low, high]) {
                NOBODY => None,
                culprit if usize::from(culprit) < shape.parties => Some(culprit),
                _ => return None,
            };
            Some(Content::Abort { reason: Reason::from_code(reason)?, culprit })
        }
        Kind::Ready => bytes.is_empty().then_some(Content::Ready),
        Kind::Seal => bytes.is_empty().then_some(Content::Seal),
        Kind::Done => bytes.is_empty().then_some(Content::Done),
    }
}

fn take<'bytes, const N: usize>(rest: &mut &'bytes [u8]) -> Result<&'bytes [u8; N], Reason> {
    let (taken, after) = rest.split_first_chunk::<N>().ok_or(Reason::Malformed)?;
    *rest = after;
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: Digest = Hex([7; 32]);
    const SHAPE: Shape = Shape { parties: 3, cells: 2 };
    /// Each costs a signature: one bit in seven is tried, which is every place in a byte in turn.
    const STEP: usize = 7;

    fn contents() -> Vec<Content> {
        vec![
            Content::Hello { keys: vec![Hex([1; 32]), Hex([2; 32]), Hex([3; 32])] },
            Content::Ready,
            Content::Contribution { words: vec![u64::MAX, 5] },
            Content::Seal,
            Content::Done,
            Content::Abort { reason: Reason::Withdrew, culprit: Some(2) },
            Content::Abort { reason: Reason::Equivocated, culprit: None },
        ]
    }

    fn message(content: Content) -> Message {
        Message { sender: 1, attempt: 9, task: TASK, previous: Hex([8; 32]), content }
    }

    #[test]
    fn what_is_sent_is_what_is_read() {
        let key = PrivateKey::generate().unwrap();
        for content in contents() {
            let message = message(content);
            let frame = message.sign(&key);
            assert!(frame.len() <= SHAPE.largest_frame());
            assert_eq!(Message::open(&frame, &key.public(), 1, TASK, SHAPE).unwrap().0, message);
        }
    }

    /// Also where its own sender signed it: decoding is total, and there is one way to write a message.
    #[test]
    fn whatever_was_cut_or_changed_is_refused() {
        let key = PrivateKey::generate().unwrap();
        let resigned = |body: &[u8]| [body, &key.sign(body).0].concat();
        for content in contents() {
            let message = message(content);
            let (body, frame) = (message.encode(), message.sign(&key));
            for length in 0..frame.len() {
                assert_eq!(Message::open(&frame[..length], &key.public(), 1, TASK, SHAPE), Err(Reason::Malformed));
            }
            for bit in (0..8 * frame.len()).step_by(STEP) {
                let mut flipped = frame.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(Message::open(&flipped, &key.public(), 1, TASK, SHAPE), Err(Reason::Malformed), "bit {bit}");
            }
            for length in (0..body.len()).step_by(STEP) {
                assert!(Message::open(&resigned(&body[..length]), &key.public(), 1, TASK, SHAPE).is_err());
            }
            for bit in (0..8 * body.len()).step_by(STEP) {
                let mut flipped = body.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                let read = Message::open(&resigned(&flipped), &key.public(), 1, TASK, SHAPE);
                assert!(read.is_err() || read.unwrap().0.encode() == flipped, "bit {bit}");
            }
            assert!(Message::open(&resigned(&[&body[..], &[0]].concat()), &key.public(), 1, TASK, SHAPE).is_err());
        }
    }

    #[test]
    fn a_message_is_of_one_task_one_key_and_one_sender() {
        let (key, other) = (PrivateKey::generate().unwrap(), PrivateKey::generate().unwrap());
        let frame = message(Content::Ready).sign(&key);
        let open = |key: &PrivateKey, sender, task| Message::open(&frame, &key.public(), sender, task, SHAPE);
        assert!(open(&key, 1, TASK).is_ok());
        assert_eq!(open(&other, 1, TASK), Err(Reason::Malformed));
        assert_eq!(open(&key, 0, TASK), Err(Reason::Malformed));
        assert_eq!(open(&key, 1, Hex([6; 32])), Err(Reason::OtherTask));
    }
}
