//! Verification of transcripts.

use super::{Transcript, chain};
use crate::message::{Kind, Message};
use crate::task::Task;

/// The result of verifying a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The problems found, in words; empty if there are none.
    pub findings: Vec<String>,
    /// How many signatures are valid.
    pub signatures: usize,
}

impl Verdict {
    /// Whether no problem was found.
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }
}

impl Transcript {
    /// Checks every signature, the chain, the attempt and the sum. The keys are taken from the transcript itself: pass
    /// the task file to check that they, and everything else that was agreed, are the ones you know.
    pub fn verify(&self, task: Option<&Task>) -> Verdict {
        let mut verdict = Verdict { findings: Vec::new(), signatures: 0 };
        let hash = self.task.hash();
        if self.task_hash != hash {
            verdict.find(format!("the task's hash is {hash}, but the transcript says {}", self.task_hash));
        }
        if let Some(task) = task
            && task.hash() != hash
        {
            verdict.find(format!("its task ({hash}) is not the given one ({})", task.hash()));
        }
        let proposed = self.hello.iter().map(|hello| hello.attempt).max();
        if proposed != Some(self.attempt) {
            verdict.find(format!("the attempt is {}, which is not the largest one proposed", self.attempt));
        }
        self.verify_rounds(&mut verdict);
        self.verify_output(&mut verdict);
        verdict
    }

    fn verify_rounds(&self, verdict: &mut Verdict) {
        let (task, hash) = (&self.task, self.task.hash());
        if self.heads.len() != Kind::ROUNDS.len() {
            verdict.find(format!("there are {} heads, but {} rounds", self.heads.len(), Kind::ROUNDS.len()));
        }
        let mut head = chain::beginning(hash);
        for (number, round) in Kind::ROUNDS.into_iter().enumerate() {
            let said = self.round(round);
            if !said.iter().map(|said| said.0).eq(task.parties().iter().map(|member| member.name.as_str())) {
                verdict.find(format!("round `{round}` does not have one message per party, in the task's order"));
            }
            let mut frames = Vec::with_capacity(said.len());
            for (place, (party, attempt, content, signature)) in said.into_iter().enumerate() {
                let Some(member) = task.parties().get(place) else { break };
                let sender = u16::try_from(place).expect("there are at most 256");
                let mut frame = Message { sender, attempt, task: hash, previous: head, content }.encode();
                if member.key.has_signed(&frame, &signature) {
                    verdict.signatures += 1;
                } else {
                    verdict
                        .find(format!("round `{round}`: {party} did not sign this message after these earlier rounds"));
                }
                frame.extend_from_slice(&signature.0);
                frames.push(frame);
            }
            head = chain::after(head, round, frames.iter().map(Vec::as_slice));
            if self.heads.get(number).is_some_and(|kept| *kept != head) {
                verdict.find(format!("the head after round `{round}` does not match the messages so far"));
            }
        }
    }

    fn verify_output(&self, verdict: &mut Verdict) {
        let words: Vec<&[u64]> = self.contribution.iter().map(|one| one.words.as_slice()).collect();
        match self.task.plan().sum(&words) {
            Ok(output) if output == self.output => (),
            Ok(_) => verdict.find("the output is not the sum of the contributions".into()),
            Err(error) => verdict.find(format!("the contributions cannot be added up: {error}")),
        }
    }
}

impl Verdict {
    fn find(&mut self, finding: String) {
        self.findings.push(finding);
    }
}
