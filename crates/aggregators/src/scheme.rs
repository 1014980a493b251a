//! Prio3, as bytes: shares of a report, and the proof that the shared answer is valid.
//!
//! Prio3 is a verifiable distributed aggregation function \[VDAF\]: a client splits its answer and a proof into one
//! share per aggregator; any proper subset of the shares is random. Together, in one round, the aggregators verify the
//! proof without learning anything else. Only this file uses the crate `prio`, which implements draft 18.

use prio::codec::{Encode, ParameterizedDecode};
use prio::flp::Type;
use prio::vdaf::prio3::{
    Prio3, Prio3Count, Prio3Histogram, Prio3InputShare, Prio3PublicShare, Prio3Sum, Prio3VerifierShare,
    Prio3VerifyState, optimal_chunk_length,
};
use prio::vdaf::xof::XofTurboShake128;
use prio::vdaf::{Aggregator, Client, VdafError, VerifyTransition};

use crate::error::{Error, Result};
use crate::field::Signed;
use crate::statistic::{Answer, Statistic};
use crate::sums::{Addend, Sums};

/// The length of a report's number.
pub(crate) const NONCE_BYTES: usize = 16;
/// The length of the key that makes verification unpredictable for clients.
pub(crate) const KEY_BYTES: usize = 32;

pub(crate) type Nonce = [u8; NONCE_BYTES];

/// How a statistic's reports are made and verified.
#[derive(Debug, Clone)]
pub(crate) struct Scheme {
    instance: Instance,
    lengths: Lengths,
}

#[derive(Debug, Clone)]
enum Instance {
    Count(Prio3Count),
    Sum(Prio3Sum),
    Histogram(Prio3Histogram),
}

/// The length of each part of a report, the same for all reports of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Lengths {
    /// The part of a report that all aggregators see.
    pub public: usize,
    /// Each aggregator's share.
    pub inputs: Vec<usize>,
    /// What each aggregator sends about a report to verify it.
    pub verifier: usize,
}

/// A report, in shares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sharded {
    pub public: Vec<u8>,
    pub inputs: Vec<Vec<u8>>,
}

/// Runs the same code on any of the instances.
macro_rules! with {
    ($scheme:expr, $vdaf:ident => $code:expr) => {
        match &$scheme.instance {
            Instance::Count($vdaf) => $code,
            Instance::Sum($vdaf) => $code,
            Instance::Histogram($vdaf) => $code,
        }
    };
}

impl Scheme {
    pub fn new(statistic: &Statistic, aggregators: u8) -> Result<Self> {
        let cells = statistic.cells();
        Self::in_chunks(statistic, aggregators, optimal_chunk_length(cells))
    }

    /// With a different chunk length for a histogram's proof than the optimal one: it changes the proof's length, and
    /// nothing else.
    pub fn in_chunks(statistic: &Statistic, aggregators: u8, chunk: usize) -> Result<Self> {
        let instance = match statistic {
            Statistic::Count => Prio3::new_count(aggregators).map(Instance::Count),
            Statistic::Sum { .. } => Prio3::new_sum(aggregators, statistic.width()).map(Instance::Sum),
            Statistic::Histogram { .. } => {
                Prio3::new_histogram(aggregators, statistic.cells(), chunk).map(Instance::Histogram)
            }
        }
        .map_err(|error| unusable(&error))?;
        let mut scheme = Self { instance, lengths: Lengths::default() };
        // All reports have the same lengths, so one is enough.
        let (context, nonce) = (b"lengths", [0; NONCE_BYTES]);
        let report = scheme.shard(context, Answer(0), &nonce)?;
        let (_, verifier) = scheme
            .begin(&[0; KEY_BYTES], context, 0, &nonce, &report.public, &report.inputs[0])
            .expect("a report that was just made can be read");
        let inputs = report.inputs.iter().map(Vec::len).collect();
        scheme.lengths = Lengths { public: report.public.len(), inputs, verifier: verifier.len() };
        Ok(scheme)
    }

    pub fn lengths(&self) -> &Lengths {
        &self.lengths
    }

    /// A client's report of `answer`.
    pub fn shard(&self, context: &[u8], answer: Answer, nonce: &Nonce) -> Result<Sharded> {
        match &self.instance {
            Instance::Count(vdaf) => shard(vdaf, context, &(answer.0 != 0), nonce),
            Instance::Sum(vdaf) => shard(vdaf, context, &answer.0, nonce),
            Instance::Histogram(vdaf) => shard(vdaf, context, &(answer.0 as usize), nonce),
        }
        .map_err(|error| unusable(&error))
    }

    /// What aggregator `me` keeps of a report and what it sends about it to all; `None` if its share cannot be read.
    ///
    /// # Privacy
    /// Sent once, it reveals only whether the answer is valid. Under two keys it would reveal more: a task has one key,
    /// so the same message is sent for the same report every time.
    pub fn begin(
        &self,
        key: &[u8; KEY_BYTES],
        context: &[u8],
        me: usize,
        nonce: &Nonce,
        public: &[u8],
        input: &[u8],
    ) -> Option<(Vec<u8>, Vec<u8>)> {
        with!(self, vdaf => begin(vdaf, key, context, me, nonce, public, input))
    }

    /// This aggregator's share of the answer, if the messages of all aggregators prove that the report is valid.
    pub fn finish(&self, context: &[u8], me: usize, kept: &[u8], said: &[&[u8]]) -> Option<Addend> {
        match &self.instance {
            Instance::Count(vdaf) => finish(vdaf, context, me, kept, said).map(Addend::Narrow),
            Instance::Sum(vdaf) => finish(vdaf, context, me, kept, said).map(Addend::Narrow),
            Instance::Histogram(vdaf) => finish(vdaf, context, me, kept, said).map(Addend::Wide),
        }
    }

    /// An empty sum.
    pub fn nothing(&self) -> Sums {
        let cells = with!(self, vdaf => vdaf.output_len());
        match &self.instance {
            Instance::Count(_) | Instance::Sum(_) => Sums::narrow(cells),
            Instance::Histogram(_) => Sums::wide(cells),
        }
    }
}

type Vdaf<T> = Prio3<T, XofTurboShake128, KEY_BYTES>;

fn shard<T: Type>(
    vdaf: &Vdaf<T>,
    context: &[u8],
    answer: &T::Measurement,
    nonce: &Nonce,
) -> std::result::Result<Sharded, VdafError> {
    let (public, inputs) = vdaf.shard(context, answer, nonce)?;
    let bytes = |part: &dyn Encoded| part.bytes();
    Ok(Sharded { public: bytes(&public), inputs: inputs.iter().map(|input| bytes(input)).collect() })
}

fn begin<T: Type>(
    vdaf: &Vdaf<T>,
    key: &[u8; KEY_BYTES],
    context: &[u8],
    me: usize,
    nonce: &Nonce,
    public: &[u8],
    input: &[u8],
) -> Option<(Vec<u8>, Vec<u8>)> {
    let public = Prio3PublicShare::get_decoded_with_param(vdaf, public).ok()?;
    let input = Prio3InputShare::get_decoded_with_param(&(vdaf, me), input).ok()?;
    let (kept, said) = vdaf.verify_init(key, context, me, &(), nonce, &public, &input).ok()?;
    Some((kept.bytes(), said.bytes()))
}

fn finish<T: Type<Field: Signed>>(
    vdaf: &Vdaf<T>,
    context: &[u8],
    me: usize,
    kept: &[u8],
    said: &[&[u8]],
) -> Option<Vec<T::Field>> {
    let kept = Prio3VerifyState::get_decoded_with_param(&(vdaf, me), kept).ok()?;
    let read = |said: &&[u8]| Prio3VerifierShare::get_decoded_with_param(&kept, said).ok();
    let said: Vec<Prio3VerifierShare<T::Field, KEY_BYTES>> = said.iter().map(read).collect::<Option<_>>()?;
    let verdict = vdaf.verifier_shares_to_message(context, &(), said).ok()?;
    match vdaf.verify_next(context, kept, verdict).ok()? {
        VerifyTransition::Finish(share) => Some(share.as_ref().to_vec()),
        VerifyTransition::Continue(..) => None,
    }
}

/// Values that can be encoded, under a common name so that one closure serves all.
trait Encoded {
    fn bytes(&self) -> Vec<u8>;
}

impl<T: Encode> Encoded for T {
    fn bytes(&self) -> Vec<u8> {
        self.get_encoded().expect("writing into memory does not fail")
    }
}

fn unusable(error: &VdafError) -> Error {
    Error::parameter("the statistic", "not usable", format!("one that reports can be made for: {error}"))
}
