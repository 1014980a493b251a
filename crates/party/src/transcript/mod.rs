//! The signed messages of an attempt: enough for anyone to check the result.
//!
//! | module | holds |
//! |---|---|
//! | `mod` | [`Transcript`]: as stored, in JSON |
//! | `chain` | the hashes that each round extends |
//! | [`verify`] | verification |

pub(crate) mod chain;
pub mod verify;

use std::fs;
use std::path::Path;

use reticent_durable::replace;
use serde::{Deserialize, Serialize};

pub use self::verify::Verdict;
use crate::error::{Error, Result};
use crate::hex::{Digest, Hex};
use crate::keys::Signature;
use crate::message::{Content, Kind, Message};
use crate::task::Task;

/// The format version.
pub const VERSION: u32 = 1;
/// A transcript is read into memory.
const LARGEST_FILE: u64 = 8 << 30;

/// All messages of one attempt, by round, each signed by its sender.
///
/// Each message signs the hash of all earlier rounds ([`crate::message`]), so a party that sends different messages to
/// different parties is detected in the next round, and the seals confirm that all parties have the same contributions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transcript {
    /// The format version.
    pub version: u32,
    /// The task, with the keys that all messages are signed with.
    pub task: Task,
    /// Its hash.
    pub task_hash: Digest,
    /// The attempt: the largest that was proposed.
    pub attempt: u32,
    /// All hellos.
    pub hello: Vec<Hello>,
    /// The parties' confirmations that they have charged their ledgers.
    pub ready: Vec<Signed>,
    /// The contributions.
    pub contribution: Vec<Contribution>,
    /// The parties' confirmations that they received all contributions.
    pub seal: Vec<Signed>,
    /// The head of the chain after each round.
    pub heads: Vec<Digest>,
    /// The noisy sums, in steps of the cells' grids.
    pub output: Vec<i64>,
}

/// A stored hello.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// The sender.
    pub party: String,
    /// The attempt it proposed.
    pub attempt: u32,
    /// Its keys for masks, one per party.
    pub keys: Vec<Hex<32>>,
    /// Its signature.
    pub signature: Signature,
}

/// A message without content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signed {
    /// The sender.
    pub party: String,
    /// Its signature.
    pub signature: Signature,
}

/// A stored contribution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contribution {
    /// The sender.
    pub party: String,
    /// One word per cell.
    pub words: Vec<u64>,
    /// Its signature.
    pub signature: Signature,
}

impl Transcript {
    /// Reads a transcript. Only its format is checked.
    ///
    /// # Errors
    /// If the file is missing or not a transcript.
    pub fn read(path: &Path) -> Result<Self> {
        let failed = |error| Error::file("read", path, error);
        if fs::metadata(path).map_err(failed)?.len() > LARGEST_FILE {
            return Err(Error::form(path, "it is too large to be a transcript"));
        }
        let text = fs::read(path).map_err(failed)?;
        Self::from_json(&text).map_err(|reason| Error::form(path, reason))
    }

    /// Reads a transcript from JSON.
    ///
    /// # Errors
    /// If it is not a transcript of this version.
    pub fn from_json(text: &[u8]) -> Result<Self, String> {
        let transcript: Self = serde_json::from_slice(text).map_err(|error| format!("not a transcript: {error}"))?;
        if transcript.version != VERSION {
            return Err(format!("transcript version {}, but this program reads {VERSION}", transcript.version));
        }
        Ok(transcript)
    }

    /// The transcript as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a transcript is plain data") + "\n"
    }

    /// Writes the transcript durably.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        replace(path, self.to_json().as_bytes()).map_err(|error| Error::file("written", path, error))
    }

    /// Assembles a transcript from rounds of messages in the task's order.
    pub(crate) fn new(
        task: &Task,
        attempt: u32,
        rounds: &[Vec<(Message, Signature)>],
        heads: Vec<Digest>,
        output: Vec<i64>,
    ) -> Self {
        let mut transcript = Self {
            version: VERSION,
            task: task.clone(),
            task_hash: task.hash(),
            attempt,
            hello: Vec::new(),
            ready: Vec::new(),
            contribution: Vec::new(),
            seal: Vec::new(),
            heads,
            output,
        };
        for (message, signature) in rounds.iter().flatten() {
            let party = task.parties()[usize::from(message.sender)].name.clone();
            let signature = *signature;
            match &message.content {
                Content::Hello { keys } => {
                    let (attempt, keys) = (message.attempt, keys.clone());
                    transcript.hello.push(Hello { party, attempt, keys, signature });
                }
                Content::Ready => transcript.ready.push(Signed { party, signature }),
                Content::Contribution { words } => {
                    transcript.contribution.push(Contribution { party, words: words.clone(), signature });
                }
                Content::Seal => transcript.seal.push(Signed { party, signature }),
                Content::Done | Content::Abort { .. } => (),
            }
        }
        transcript
    }

    /// A round's messages as sent: sender, attempt, content and signature.
    fn round(&self, round: Kind) -> Vec<(&str, u32, Content, Signature)> {
        fn bare(said: &[Signed], attempt: u32, content: Content) -> Vec<(&str, u32, Content, Signature)> {
            said.iter().map(|one| (&*one.party, attempt, content.clone(), one.signature)).collect()
        }
        match round {
            Kind::Hello => {
                let hello = |one: &Hello| Content::Hello { keys: one.keys.clone() };
                self.hello.iter().map(|one| (&*one.party, one.attempt, hello(one), one.signature)).collect()
            }
            Kind::Ready => bare(&self.ready, self.attempt, Content::Ready),
            Kind::Contribution => {
                let words = |one: &Contribution| Content::Contribution { words: one.words.clone() };
                self.contribution.iter().map(|one| (&*one.party, self.attempt, words(one), one.signature)).collect()
            }
            _ => bare(&self.seal, self.attempt, Content::Seal),
        }
    }
}
