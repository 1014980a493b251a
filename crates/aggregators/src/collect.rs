//! One collection: the aggregators agree on a batch, verify it, and open its noisy sums.
//!
//! | round | each aggregator sends |
//! |---|---|
//! | commit, reveal | its contribution to the verification key, hashed first |
//! | begun | the batch it has begun and not completed, if any |
//! | recall | only then: that batch's report numbers or, if it has completed the batch, the record all have signed |
//! | offer | the numbers of the reports it has; skipped if a batch was begun |
//! | verify, judge | for a portion of the reports at a time: its share of each proof's verification; which reports it accepts |
//! | agree | the hash of all messages so far |
//! | – | *the charge becomes durable, then the set of reports in the batch, then the noisy share* |
//! | open | its noisy share of the sums |
//! | sign | its signature under the result |
//!
//! A report that any aggregator rejects is dropped by all of them, and does not count.
//!
//! An aggregator may stop at any moment, and the others stop with it. In the next collection an aggregator that has
//! begun a batch says so, and all resume that batch: from its record if one of them has it (then nothing is opened),
//! otherwise with the same reports, the same shares and no further charge. No other batch begins before that, so each
//! keeps only its last record.

pub(crate) mod opening;

use reticent::{Permit, Release};
use reticent_ledger::DurableLedger;
use reticent_party::hex::{Digest, Hex};
use reticent_party::keys::PrivateKey;
use reticent_party::transport::Transport;
use zeroize::Zeroizing;

use crate::batch;
use crate::error::{Error, Result};
use crate::fault::{Misdeed, Round};
use crate::record::Record;
use crate::report;
use crate::rounds::{Rounds, exactly, fault};
use crate::scheme::{KEY_BYTES, NONCE_BYTES, Nonce};
use crate::store::{Store, most_waiting};
use crate::sums::Sums;
use crate::task::Task;
use crate::verification_key::{commitment, key};

/// Roughly how many bytes are sent, and held in memory, for each portion of reports.
pub(crate) const PORTION_BYTES: usize = 4 << 20;

/// An aggregator, ready to collect.
pub struct Aggregator<'all> {
    task: &'all Task,
    place: usize,
    key: &'all PrivateKey,
    store: &'all mut Store,
    budget: Budget<'all>,
}

/// The budget to charge.
enum Budget<'all> {
    Ledger(&'all DurableLedger, &'all str),
    Unaccounted(Box<Permit>),
    #[cfg(feature = "test-util")]
    Silent,
}

/// The result of a collection.
#[derive(Debug, Clone, PartialEq)]
pub enum Collected {
    /// The sums were opened.
    Released {
        /// Noisy sums, in the order of [`Statistic::names`](crate::Statistic::names), with error bars and guarantee.
        release: Box<Release<Vec<i64>>>,
        /// The record signed by all aggregators.
        record: Box<Record>,
    },
    /// Too few reports that all aggregators have and accept. Nothing was opened or charged; the reports wait for more.
    TooFew {
        /// The number of accepted reports.
        accepted: u64,
        /// The number of invalid reports, which were deleted.
        dropped: u64,
    },
}

impl<'all> Aggregator<'all> {
    /// An aggregator that charges ε to a dataset of its ledger for each batch.
    ///
    /// # Errors
    /// If `key` is not the task's key for this aggregator.
    pub fn new(
        task: &'all Task,
        place: usize,
        key: &'all PrivateKey,
        store: &'all mut Store,
        ledger: &'all DurableLedger,
        dataset: &'all str,
    ) -> Result<Self> {
        Self::with(task, place, key, store, Budget::Ledger(ledger, dataset))
    }

    /// An aggregator that charges no ledger, for experiments; its release says so.
    ///
    /// # Errors
    /// As [`Aggregator::new`].
    pub fn unaccounted(
        task: &'all Task,
        place: usize,
        key: &'all PrivateKey,
        store: &'all mut Store,
        permit: Permit,
    ) -> Result<Self> {
        Self::with(task, place, key, store, Budget::Unaccounted(Box::new(permit)))
    }

    /// An aggregator that adds no noise, so there is no privacy.
    ///
    /// # Errors
    /// As [`Aggregator::new`].
    #[cfg(feature = "test-util")]
    pub fn silent(task: &'all Task, place: usize, key: &'all PrivateKey, store: &'all mut Store) -> Result<Self> {
        Self::with(task, place, key, store, Budget::Silent)
    }

    fn with(
        task: &'all Task,
        place: usize,
        key: &'all PrivateKey,
        store: &'all mut Store,
        budget: Budget<'all>,
    ) -> Result<Self> {
        let member = &task.aggregators()[place];
        if member.key != key.public() {
            let allowed = format!("that of {} in the task, {}", member.name, member.key);
            return Err(Error::parameter("the key", key.public(), allowed));
        }
        Ok(Self { task, place, key, store, budget })
    }

    /// Collects one batch together with the others.
    ///
    /// # Errors
    /// [`Error::Collection`] if another aggregator fails to do its part; [`Error::Ledger`] if the ledger refuses the
    /// charge.
    pub fn collect(&mut self, rounds: &mut Rounds<impl Transport>) -> Result<Collected> {
        let collected = self.all_rounds(rounds);
        if collected.is_err() {
            rounds.give_up();
        }
        collected
    }

    fn all_rounds(&mut self, rounds: &mut Rounds<impl Transport>) -> Result<Collected> {
        let key = self.agree_on_key(rounds)?;
        let (candidates, missed) = match self.recall(rounds)? {
            Recalled::Nothing => self.offer(rounds)?,
            Recalled::Begun(reports) => (reports, None),
            Recalled::Opened(record) => return self.catch_up(*record),
        };
        let verified = self.verify(rounds, &key, &candidates)?;
        let batch = batch::digest(self.task, &verified.accepted);
        self.agree(rounds, batch)?;
        self.store.drop_reports(&verified.dropped)?;
        missed.map_or(Ok(()), |missed| self.store.miss(&missed))?;
        let (accepted, dropped) = (verified.accepted.len() as u64, verified.dropped.len() as u64);
        if accepted < self.task.minimum_reports() {
            return Ok(Collected::TooFew { accepted, dropped });
        }
        let (share, accounting) = self.open(batch, &verified)?;
        let shares = rounds.exchange(Round::Open, share.to_vec(), share.len())?;
        let mut record = Record::new(self.task, batch, accepted, dropped, shares);
        let sums = record.sums(self.task)?;
        self.sign(rounds, &mut record)?;
        self.store.complete(&record)?;
        let release = Box::new(self.task.plan().release(sums, &accounting)?);
        Ok(Collected::Released { release, record: Box::new(record) })
    }

    fn agree_on_key(&mut self, rounds: &mut Rounds<impl Transport>) -> Result<Zeroizing<[u8; KEY_BYTES]>> {
        let (task, hash) = (self.task, self.task.hash());
        let own = self.store.contribution()?;
        let hashed = commitment(hash, self.place, &own).0.to_vec();
        let commitments = exactly::<32>(task, Round::Commit, &rounds.exchange(Round::Commit, hashed, 32)?)?;
        let revealed = rounds.exchange(Round::Reveal, own.to_vec(), KEY_BYTES)?;
        let contributions = Zeroizing::new(exactly::<KEY_BYTES>(task, Round::Reveal, &revealed)?);
        for (place, contribution) in contributions.iter().enumerate() {
            if commitment(hash, place, contribution).0 != commitments[place] {
                return Err(fault(task, Round::Reveal, Misdeed::OtherContribution, place));
            }
        }
        let key = Zeroizing::new(key(hash, &contributions));
        // Verified under two keys, a report would reveal more than that it is valid.
        if !self.store.fix_key(&key)? {
            return Err(fault(task, Round::Reveal, Misdeed::OtherContribution, usize::MAX));
        }
        Ok(key)
    }

    /// What is known of a batch that one of the aggregators has begun and not completed.
    fn recall(&mut self, rounds: &mut Rounds<impl Transport>) -> Result<Recalled> {
        let own = self.store.pending()?;
        let said = own.map_or([0; 32], |batch| batch.0).to_vec();
        let begun = exactly::<32>(self.task, Round::Begun, &rounds.exchange(Round::Begun, said, 32)?)?;
        let Some(batch) = begun.iter().copied().find(|begun| *begun != [0; 32]) else { return Ok(Recalled::Nothing) };
        // No aggregator begins a batch while another one has begun one, unless its store was restored from a backup.
        if let Some(place) = begun.iter().position(|begun| ![[0; 32], batch].contains(begun)) {
            return Err(fault(self.task, Round::Begun, Misdeed::Disagreed, place));
        }
        let own = match own {
            Some(_) => self.store.candidates()?.concat(),
            None => self.store.record()?.filter(|record| record.batch().0 == batch).map_or_else(Vec::new, to_bytes),
        };
        let limit = (NONCE_BYTES * self.task.maximum_reports() as usize).max(Record::most_bytes(self.task));
        let (mut reports, mut opened) = (Vec::new(), None);
        for (place, message) in rounds.exchange(Round::Recall, own, limit)?.iter().enumerate() {
            let malformed = || fault(self.task, Round::Recall, Misdeed::Malformed, place);
            if begun[place] == batch {
                let few = |numbers: &&[Nonce]| numbers.len() as u64 <= self.task.maximum_reports();
                let numbers = batch::numbers(message).filter(few);
                let numbers = numbers.filter(|numbers| batch::digest(self.task, numbers).0 == batch);
                reports = numbers.ok_or_else(malformed)?.to_vec();
            } else if !message.is_empty() {
                let record = std::str::from_utf8(message).ok().and_then(|text| Record::read(text, self.task).ok());
                opened = Some(record.filter(|record| record.batch().0 == batch).ok_or_else(malformed)?);
            }
        }
        Ok(opened.map_or(Recalled::Begun(reports), |record| Recalled::Opened(Box::new(record))))
    }

    /// Adopts a batch that was opened before this aggregator stopped: its own signature is on the record.
    fn catch_up(&mut self, record: Record) -> Result<Collected> {
        let accounting = self.accounting(&record)?;
        self.store.complete(&record)?;
        let release = Box::new(self.task.plan().release(record.sums(self.task)?, &accounting)?);
        Ok(Collected::Released { release, record: Box::new(record) })
    }

    /// The reports that all aggregators have, as many as fit in a batch; and those that another one is missing.
    fn offer(&mut self, rounds: &mut Rounds<impl Transport>) -> Result<(Vec<Nonce>, Option<Vec<Nonce>>)> {
        let own = self.store.candidates()?;
        let offers = rounds.exchange(Round::Offer, own.concat(), NONCE_BYTES * most_waiting(self.task) as usize)?;
        let mut common = own.clone();
        for (place, offer) in offers.iter().enumerate() {
            let offer =
                batch::numbers(offer).ok_or_else(|| fault(self.task, Round::Offer, Misdeed::Malformed, place))?;
            common.retain(|nonce| offer.binary_search(nonce).is_ok());
        }
        let missed = own.into_iter().filter(|nonce| common.binary_search(nonce).is_err()).collect();
        common.truncate(self.task.maximum_reports() as usize);
        Ok((common, Some(missed)))
    }

    /// Verifies all candidates, a portion at a time.
    fn verify(
        &mut self,
        rounds: &mut Rounds<impl Transport>,
        key: &[u8; KEY_BYTES],
        candidates: &[Nonce],
    ) -> Result<Verified> {
        let scheme = self.task.scheme();
        let mut verified = Verified { accepted: Vec::new(), dropped: Vec::new(), sums: scheme.nothing() };
        let each = scheme.lengths().verifier + verified.sums.length();
        for portion in candidates.chunks((PORTION_BYTES / each).max(1)) {
            self.verify_portion(rounds, key, portion, &mut verified)?;
        }
        Ok(verified)
    }

    fn verify_portion(
        &mut self,
        rounds: &mut Rounds<impl Transport>,
        key: &[u8; KEY_BYTES],
        portion: &[Nonce],
        verified: &mut Verified,
    ) -> Result<()> {
        let (task, scheme, context, length) =
            (self.task, self.task.scheme(), self.task.context(), self.task.scheme().lengths().verifier);
        let mut kept = Vec::with_capacity(portion.len());
        let mut message = Vec::with_capacity(portion.len() * length);
        for nonce in portion {
            let share = self.store.share(nonce)?.unwrap_or_default();
            let begun = report::open(task, self.place, &share)
                .and_then(|parts| scheme.begin(key, &context, self.place, nonce, parts.public, parts.input));
            let (keep, say) = begun.map_or((None, None), |(keep, say)| (Some(Zeroizing::new(keep)), Some(say)));
            // An unreadable share proves nothing, and neither do zeros.
            message.extend(say.unwrap_or_else(|| vec![0; length]));
            kept.push(keep);
        }
        let limit = message.len();
        let messages = rounds.exchange(Round::Verify, message, limit)?;
        if let Some(place) = messages.iter().position(|message| message.len() != limit) {
            return Err(fault(task, Round::Verify, Misdeed::Malformed, place));
        }
        let shares: Vec<_> = kept
            .iter()
            .enumerate()
            .map(|(report, kept)| {
                let said: Vec<&[u8]> = messages.iter().map(|message| &message[report * length..][..length]).collect();
                scheme.finish(&context, self.place, kept.as_ref()?, &said)
            })
            .collect();
        let verdicts: Vec<bool> = shares.iter().map(Option::is_some).collect();
        let message = batch::bits(&verdicts);
        let limit = message.len();
        let messages = rounds.exchange(Round::Judge, message, limit)?;
        let mut accepted = verdicts;
        for (place, message) in messages.iter().enumerate() {
            let verdicts = batch::read_bits(message, portion.len());
            let verdicts = verdicts.ok_or_else(|| fault(task, Round::Judge, Misdeed::Malformed, place))?;
            accepted.iter_mut().zip(verdicts).for_each(|(all, one)| *all &= one);
        }
        for ((nonce, share), accepted) in portion.iter().zip(shares).zip(accepted) {
            match share.filter(|_| accepted) {
                Some(share) => {
                    verified.sums.add(&share);
                    verified.accepted.push(*nonce);
                }
                None => verified.dropped.push(*nonce),
            }
        }
        Ok(())
    }

    /// Checks that all aggregators have heard the same messages and arrived at the same batch. One that has begun
    /// another batch sends nothing, so nothing is opened.
    fn agree(&mut self, rounds: &mut Rounds<impl Transport>, batch: Digest) -> Result<()> {
        if self.store.pending()?.is_some_and(|pending| pending != batch) {
            return Err(fault(self.task, Round::Agree, Misdeed::Disagreed, usize::MAX));
        }
        let own = [rounds.head().0, batch.0].concat();
        let all = exactly::<64>(self.task, Round::Agree, &rounds.exchange(Round::Agree, own.clone(), own.len())?)?;
        match all.iter().position(|message| message[..] != own[..]) {
            Some(place) => Err(fault(self.task, Round::Agree, Misdeed::Disagreed, place)),
            None => Ok(()),
        }
    }

    fn sign(&mut self, rounds: &mut Rounds<impl Transport>, record: &mut Record) -> Result<()> {
        let own = self.key.sign(&record.statement()).0.to_vec();
        let limit = own.len();
        let signatures = exactly::<64>(self.task, Round::Sign, &rounds.exchange(Round::Sign, own, limit)?)?;
        record.signed(signatures.into_iter().map(Hex).collect());
        match record.unsigned_by(self.task) {
            Some(place) => Err(fault(self.task, Round::Sign, Misdeed::Unsigned, place)),
            None => Ok(()),
        }
    }
}

/// What is known of a batch that was begun.
enum Recalled {
    /// No batch was begun.
    Nothing,
    /// It has these reports; as far as any aggregator knows, it was not opened.
    Begun(Vec<Nonce>),
    /// It was opened, and all have signed.
    Opened(Box<Record>),
}

fn to_bytes(record: Record) -> Vec<u8> {
    record.to_json().into_bytes()
}

/// The outcome of verification.
struct Verified {
    accepted: Vec<Nonce>,
    dropped: Vec<Nonce>,
    /// This aggregator's share of the sums of accepted answers.
    sums: Sums,
}
