//! One attempt, from one party's side.
//!
//! | round | a party sends | only after |
//! |---|---|---|
//! | hello | task, proposed attempt, keys for masks | the proposal is durable |
//! | ready | that it has charged its ledger | it received all hellos, for the same task; the attempt and the charge are durable |
//! | contribution | its noisy statistic, masked | it heard that all are ready, and that all received the same hellos |
//! | seal | – | it received all contributions, and all confirmed the same earlier messages |
//!
//! Every message signs the hash of all earlier rounds. The result is complete when all seals have arrived. A party that
//! detects a problem sends a signed `abort` to all others, and nothing more; it hears the others before it says who is
//! to blame.
//!
//! | module | holds |
//! |---|---|
//! | `mod` | the rounds |
//! | `blame` | why an attempt fails, and who is blamed |
//! | `inbox` | what has been received from one peer |
//! | `masks` | keys for masks |

mod blame;
mod inbox;
mod masks;

use std::sync::Arc;
use std::time::{Duration, Instant};

use reticent::multiparty::{MaskSeed, Plan, Protocol};
use reticent::{Permit, Release};

use self::blame::{Blame, Trouble};
use self::inbox::{Inbox, Said};
use self::masks::MaskKeys;
use crate::abort::{Abort, Reason};
use crate::error::{Error, Result};
use crate::hex::{Digest, Hex};
use crate::keys::{PrivateKey, Signature};
use crate::message::{Content, Kind, Message};
use crate::task::Task;
use crate::times::Times;
use crate::transcript::{Transcript, chain};
use crate::transport::{Arrival, Heard, Transport};

/// What a party does itself when the rounds call for it, in this order.
pub(crate) trait Resources {
    /// Durably marks this attempt, and all before it, as used.
    fn mark_used(&mut self, attempt: u32) -> Result<()>;

    /// Charges the ledger for the attempt, durably.
    fn start(&mut self, attempt: u32) -> Result<Permit>;

    /// Computes the exact statistic: the first time that rows are read.
    fn statistic(&mut self, secret: [u8; 32]) -> Result<Vec<i64>>;

    /// Stores the transcript, before the result is shown.
    fn write_transcript(&mut self, transcript: &Transcript) -> Result<()>;
}

/// A participant and its role.
pub(crate) struct Seat<'seat> {
    pub task: &'seat Task,
    pub plan: &'seat Plan,
    pub me: usize,
    pub key: &'seat PrivateKey,
    pub times: Times,
}

pub(crate) struct Session<'seat, T> {
    seat: Seat<'seat>,
    transport: T,
    /// By index; this party's own inbox holds what it sent.
    inboxes: Vec<Inbox>,
    /// This party's proposal until all hellos have arrived.
    attempt: u32,
    /// The round being waited for.
    round: Kind,
    heads: Vec<Digest>,
    charged: bool,
    contributed: bool,
}

impl<'seat, T: Transport> Session<'seat, T> {
    /// `attempt` is this party's proposal, and is already marked as used.
    pub fn new(seat: Seat<'seat>, transport: T, attempt: u32) -> Self {
        let inboxes = seat.task.parties().iter().map(|_| Inbox::default()).collect();
        let (round, heads) = (Kind::Hello, Vec::new());
        Self { seat, transport, inboxes, attempt, round, heads, charged: false, contributed: false }
    }

    /// Runs all rounds. When this returns, every reachable party knows the outcome.
    pub fn run(mut self, own: &mut dyn Resources) -> Result<(Release<Vec<i64>>, Transcript)> {
        match self.rounds(own) {
            Ok((release, transcript)) => {
                // Whether or not the file is written, the others have this party's seal, or will get it.
                let written = own.write_transcript(&transcript);
                self.say(Content::Done);
                self.linger(self.seat.times.round, |inbox| inbox.is_over());
                self.transport.close(Instant::now() + self.seat.times.linger);
                written.map(|()| (release, transcript))
            }
            Err(trouble) => {
                let (reason, culprit) = trouble.statement(self.seat.me);
                self.say(Content::Abort { reason, culprit });
                // A party that never spoke may never come, and one that is gone may not come back.
                self.linger(self.seat.times.linger, |inbox| inbox.is_over() || !inbox.is_there());
                let error = self.error(trouble);
                self.transport.close(Instant::now() + self.seat.times.linger);
                Err(error)
            }
        }
    }

    fn rounds(&mut self, own: &mut dyn Resources) -> Result<(Release<Vec<i64>>, Transcript), Trouble> {
        let masks = MaskKeys::generate(self.seat.task.parties().len())?;
        self.say(Content::Hello { keys: masks.public() });
        self.gather(Kind::Hello)?;
        let proposals = self.inboxes.iter().filter_map(|inbox| inbox.get(Kind::Hello));
        let attempt = proposals.map(|said| said.message.attempt).max().expect("this party proposes, too");
        if attempt > self.attempt {
            own.mark_used(attempt)?;
            self.attempt = attempt;
        }

        let mut permit = own.start(attempt)?;
        self.charged = true;
        self.say(Content::Ready);
        self.gather(Kind::Ready)?;

        let statistic = own.statistic(permit.secret()?)?;
        let share = self.seat.plan.share(&statistic, &mut permit)?;
        let accounting = share.accounting().clone();
        let seeds = self.agree(masks)?;
        let me = u32::try_from(self.seat.me).expect("there are at most 256");
        let words = self.seat.plan.mask(share, me, seeds)?;
        self.contributed = true;
        self.say(Content::Contribution { words });
        self.gather(Kind::Contribution)?;

        self.say(Content::Seal);
        self.gather(Kind::Seal)?;
        let release = self.seat.plan.combine(&self.contributions(), &accounting)?;
        let rounds: Vec<Vec<_>> = Kind::ROUNDS.iter().map(|&round| self.said(round)).collect();
        let (heads, output) = (self.heads.clone(), release.value().clone());
        let transcript = Transcript::new(self.seat.task, attempt, &rounds, heads, output);
        Ok((release, transcript))
    }

    /// Signs a message and sends it to all.
    fn say(&mut self, content: Content) {
        let (task, previous) = (self.seat.task.hash(), self.head());
        let sender = u16::try_from(self.seat.me).expect("there are at most 256");
        let message = Message { sender, attempt: self.attempt, task, previous, content };
        let frame = message.sign(self.seat.key);
        let shared: Arc<[u8]> = frame.as_slice().into();
        for peer in (0..self.inboxes.len()).filter(|&peer| peer != self.seat.me) {
            self.transport.send(peer, &shared);
        }
        let (_, signature) = frame.split_last_chunk().expect("a frame ends with its signature");
        let said = Said { message, signature: Hex(*signature), frame };
        // A party's own messages are in order.
        let _ = self.inboxes[self.seat.me].take(said, self.round);
    }

    fn head(&self) -> Digest {
        self.heads.last().copied().unwrap_or_else(|| chain::beginning(self.seat.task.hash()))
    }

    /// Waits until all have sent their message of the round, and closes it.
    fn gather(&mut self, round: Kind) -> Result<(), Trouble> {
        self.round = round;
        let times = self.seat.times;
        let deadline = Instant::now() + if round == Kind::Hello { times.join } else { times.round };
        // Some are ahead.
        for peer in 0..self.inboxes.len() {
            self.check(peer)?;
        }
        let is_missing = |inbox: &Inbox| inbox.get(round).is_none();
        while self.inboxes.iter().any(is_missing) {
            let Some(arrival) = self.transport.receive(deadline) else {
                let missing = (0..self.inboxes.len()).filter(|&peer| is_missing(&self.inboxes[peer]));
                return Err(Trouble::Missing(missing.collect()));
            };
            self.hear(arrival)?;
        }
        let frames = self.inboxes.iter().filter_map(|inbox| inbox.get(round)).map(|said| said.frame.as_slice());
        self.heads.push(chain::after(self.head(), round, frames));
        Ok(())
    }

    fn hear(&mut self, Arrival { from, heard }: Arrival) -> Result<(), Trouble> {
        let found = |reason| Trouble::Found(reason, from);
        let frame = match heard {
            Heard::Frame(frame) => frame,
            Heard::Oversized => {
                // Its messages are ignored from now on.
                self.inboxes[from].end();
                return Err(found(Reason::Oversized));
            }
            Heard::Lost => {
                self.inboxes[from].lose();
                // A party that leaves while others are still joining may not have been there to stay.
                if self.round == Kind::Hello {
                    self.inboxes[from].forget_hello();
                }
                return Ok(());
            }
        };
        self.inboxes[from].find();
        if self.inboxes[from].has(&frame) {
            return Ok(());
        }
        let said = self.open(from, frame).map_err(found)?;
        match self.inboxes[from].take(said, self.round).map_err(found)? {
            inbox::Heard::Again => Ok(()),
            inbox::Heard::New => self.check(from),
            inbox::Heard::Aborted(reason, culprit) => Err(Trouble::Told { by: from, reason, culprit }),
        }
    }

    fn open(&self, from: usize, frame: Vec<u8>) -> Result<Said, Reason> {
        let task = self.seat.task;
        let sender = u16::try_from(from).expect("there are at most 256");
        let key = task.parties()[from].key;
        let (message, signature) = Message::open(&frame, &key, sender, task.hash(), task.shape())?;
        Ok(Said { message, signature, frame })
    }

    /// Checks that a peer's message of this round, if any, belongs to this attempt and continues what was received
    /// here.
    fn check(&self, peer: usize) -> Result<(), Trouble> {
        let Some(Said { message, .. }) = self.inboxes[peer].get(self.round) else { return Ok(()) };
        let found = |reason| Err(Trouble::Found(reason, peer));
        if self.round != Kind::Hello && message.attempt < self.attempt {
            return found(Reason::Replayed);
        }
        if message.previous != self.head() || (self.round != Kind::Hello && message.attempt != self.attempt) {
            return found(Reason::Equivocated);
        }
        Ok(())
    }

    fn agree(&self, masks: MaskKeys) -> Result<Vec<MaskSeed>, Trouble> {
        if self.seat.plan.protocol() == Protocol::Broadcast {
            return Ok(Vec::new());
        }
        let hellos = self.inboxes.iter().filter_map(|inbox| inbox.get(Kind::Hello));
        let theirs: Vec<_> = hellos
            .filter_map(|said| match &said.message.content {
                Content::Hello { keys } => keys.get(self.seat.me).copied(),
                _ => None,
            })
            .collect();
        let agreed = masks.agree(self.seat.task, self.attempt, self.seat.me, &theirs, self.heads[0]);
        agreed.map_err(|peer| Trouble::Found(Reason::Malformed, peer))
    }

    fn contributions(&self) -> Vec<&[u64]> {
        let said = self.inboxes.iter().filter_map(|inbox| inbox.get(Kind::Contribution));
        said.filter_map(|said| match &said.message.content {
            Content::Contribution { words } => Some(words.as_slice()),
            _ => None,
        })
        .collect()
    }

    fn said(&self, round: Kind) -> Vec<(Message, Signature)> {
        let said = self.inboxes.iter().filter_map(|inbox| inbox.get(round));
        said.map(|said| (said.message.clone(), said.signature)).collect()
    }

    /// The error to return, once the others have been heard.
    fn error(&self, trouble: Trouble) -> Error {
        let Blame { reason, culprits, told_by } = trouble.blame(&self.inboxes, self.round);
        if let Trouble::Own(error) = trouble {
            return error;
        }
        let name = |place: usize| self.seat.task.parties()[place].name.clone();
        let culprits: Vec<String> = culprits.into_iter().map(name).collect();
        Error::Aborted(Box::new(Abort {
            reason,
            culprit: (!culprits.is_empty()).then(|| culprits.join(", ")),
            told_by: told_by.map(name),
            round: self.round,
            charged: self.charged,
            contributed: self.contributed,
        }))
    }

    /// Stays until all others are done with this party, or until `time` is over.
    fn linger(&mut self, time: Duration, is_done: impl Fn(&Inbox) -> bool) {
        let deadline = Instant::now() + time;
        let me = self.seat.me;
        while self.inboxes.iter().enumerate().any(|(peer, inbox)| peer != me && !is_done(inbox)) {
            let Some(Arrival { from, heard }) = self.transport.receive(deadline) else { return };
            match heard {
                Heard::Oversized => self.inboxes[from].end(),
                Heard::Lost => self.inboxes[from].lose(),
                Heard::Frame(frame) => {
                    self.inboxes[from].find();
                    let Ok(said) = self.open(from, frame) else { continue };
                    if said.message.content == Content::Done {
                        self.inboxes[from].end();
                    }
                    // It changes nothing any more, except who is blamed.
                    let _ = self.inboxes[from].take(said, self.round);
                }
            }
        }
    }
}
