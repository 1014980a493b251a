//! What was said, by whom, with all signatures: enough for anybody to check the result.
//!
//! | module | holds |
//! |---|---|
//! | `mod` | [`Transcript`]: as it is kept, in JSON |
//! | `chain` | the hashes that each round continues |
//! | [`verify`] | whether everything is as it was said |

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

/// The version of the form.
pub const VERSION: u32 = 1;
/// A transcript is read as a whole.
const LARGEST_FILE: u64 = 8 << 30;

/// All that was said in one attempt, in rounds, each party's messages signed by it.
///
/// Each message signs the hash of all rounds before its own ([`crate::message`]), so whoever said different things to different
/// parties is found out in the next round, and the seals say that all parties have the same contributions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transcript {
    /// Of this form.
    pub version: u32,
    /// What was done, with the keys that everything is signed with.
    pub task: Task,
    /// Its hash.
    pub task_hash: Digest,
    /// The attempt: the largest that was proposed.
    pub attempt: u32,
    /// Who was there.
    pub hello: Vec<Hello>,
    /// Who had charged its ledger.
    pub ready: Vec<Signed>,
    /// What was contributed.
    pub contribution: Vec<Contribution>,
    /// Who had heard all of it.
    pub seal: Vec<Signed>,
    /// The heads of the chain after each round.
    pub heads: Vec<Digest>,
    /// The noisy sums, in steps of the cells' grids.
    pub output: Vec<i64>,
}

/// A hello as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// Who.
    pub party: String,
    /// The attempt it proposed.
    pub attempt: u32,
    /// Its keys for masks, one for each party.
    pub keys: Vec<Hex<32>>,
    /// Signed by it.
    pub signature: Signature,
}

/// A message that says nothing but that it was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signed {
    /// Who.
    pub party: String,
    /// Signed by it.
    pub signature: Signature,
}

/// A contribution as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contribution {
    /// Who.
    pub party: String,
    /// One word for each cell.
    pub words: Vec<u64>,
    /// Signed by it.
    pub signature: Signature,
}

impl Transcript {
    /// Reads a transcript. Nothing is checked yet but its form.
    ///
    /// # Errors
    /// If there is none, or it is not one.
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
    /// If it is not one of this version.
    pub fn from_json(text: &[u8]) -> Result<Self, String> {
        let transcript: Self = serde_json::from_slice(text).map_err(|error| format!("not a transcript: {error}"))?;
        if transcript.version != VERSION {
            return Err(format!("a transcript of version {}, but this program reads {VERSION}", transcript.version));
        }
        Ok(transcript)
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a transcript is plain data") + "\n"
    }

    /// Writes it, durably.
    ///
    /// # Errors
    /// If the disk does not take it.
    pub fn write(&self, path: &Path) -> Result<()> {
        replace(path, self.to_json().as_bytes()).map_err(|error| Error::file("written", path, error))
    }

    /// Puts together what was said: rounds of messages in the task's order.
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

    /// What is kept of a round, as it was said: who, with which attempt, what, and the signature.
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
