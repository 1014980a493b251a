//! Messages between parties: bytes followed by a signature.
//!
//! All numbers are little-endian. The signature covers everything before it.
//!
//! | bytes | content |
//! |---|---|
//! | 16 | `reticent party 1` |
//! | 1 | the kind of message |
//! | 2 | the sender: its index in the task, from 0 |
//! | 4 | the attempt |
//! | 32 | the task's hash, which covers the session |
//! | 32 | the transcript head after all earlier rounds |
//! | … | hello: 32 bytes per party; contribution: 8 bytes per cell; abort: reason and culprit; otherwise nothing |
//! | 64 | the signature |
//!
//! So a message is valid in one place only: one task, session, attempt, round, sender and history. Its encoding is
//! unique.

use std::fmt;

use crate::abort::Reason;
use crate::hex::{Digest, Hex};
use crate::keys::{PrivateKey, PublicKey, SIGNATURE_BYTES, Signature};
use crate::task::MOST_PARTIES;

/// The first bytes of every message.
const MAGIC: &[u8; 16] = b"reticent party 1";
/// The length of everything before the content.
const HEADER_BYTES: usize = MAGIC.len() + 1 + 2 + 4 + 32 + 32;
/// The length of a public key for key agreement.
const KEY_BYTES: usize = 32;
/// The length of one cell in a contribution.
const WORD_BYTES: usize = 8;
/// Stands for "no culprit".
const NOBODY: u16 = u16::MAX;

/// The kinds of messages; the first four are the rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Who is present, with which task, and keys for masks.
    Hello,
    /// All hellos were received, and the charge is durable.
    Ready,
    /// The noisy, masked statistic.
    Contribution,
    /// All contributions were received.
    Seal,
    /// All seals were received; not part of the transcript.
    Done,
    /// The attempt is over; not part of the transcript.
    Abort,
}

impl Kind {
    /// The rounds, in order.
    pub const ROUNDS: [Self; 4] = [Self::Hello, Self::Ready, Self::Contribution, Self::Seal];
    /// All kinds, in the order of their wire codes, which start at 1.
    const ALL: [Self; 6] = [Self::Hello, Self::Ready, Self::Contribution, Self::Seal, Self::Done, Self::Abort];

    /// Its wire code.
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

/// A message's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// One X25519 key per party, in the task's order; the sender's own is unused. The keys are new in each process, so
    /// they also make the session fresh. The attempt in the header is a proposal; the largest proposal wins.
    Hello {
        /// The keys.
        keys: Vec<Hex<32>>,
    },
    /// The charge is durable.
    Ready,
    /// One word per cell.
    Contribution {
        /// The words, modulo 2^64.
        words: Vec<u64>,
    },
    /// The head in the header says it all.
    Seal,
    /// The sender needs nothing more from anyone.
    Done,
    /// The attempt is over.
    Abort {
        /// The reason.
        reason: Reason,
        /// The culprit's index in the task.
        culprit: Option<u16>,
    },
}

impl Content {
    /// The kind of message.
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

/// A message: its content, its sender, and where it belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The sender's index in the task.
    pub sender: u16,
    /// The attempt.
    pub attempt: u32,
    /// The task's hash.
    pub task: Digest,
    /// The transcript head after all earlier rounds.
    pub previous: Digest,
    /// The content.
    pub content: Content,
}

/// The number of parties and cells of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Parties.
    pub parties: usize,
    /// Cells.
    pub cells: usize,
}

impl Shape {
    /// The largest size of a message, with its signature. A hello may be as long as one for the maximum number of
    /// parties, so that a hello for another task is recognised as such.
    pub fn largest_frame(self) -> usize {
        HEADER_BYTES + (KEY_BYTES * MOST_PARTIES).max(WORD_BYTES * self.cells) + SIGNATURE_BYTES
    }
}

impl Message {
    /// The bytes that are signed.
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

    /// The bytes that are sent: the message and its signature.
    pub fn sign(&self, key: &PrivateKey) -> Vec<u8> {
        let mut frame = self.encode();
        let signature = key.sign(&frame);
        frame.extend_from_slice(&signature.0);
        frame
    }

    /// Decodes a frame sent by the owner of `key`, whose index is `sender`; the error says what is wrong with it.
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
        // First of all: under a different task everything else means something else.
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
    /// Each trial costs a signature, so one bit in seven is flipped, which covers every position in a byte in turn.
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

    /// Even if the sender itself signed it: decoding is total, and encodings are unique.
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
