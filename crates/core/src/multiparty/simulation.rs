//! All parties in one process.

use rand_core::Rng;

use super::mask::MaskSeed;
use super::plan::Plan;
use super::protocol::Protocol;
use super::share::Share;
use super::transcript::Transcript;
use super::view::{Adversary, Held, HeldSeed, View};
use crate::error::{Error, Result};
use crate::permit::{Permit, PermittedDraw};
use crate::release::Release;

/// The maximum number of masked parties in one process: two million pairs, each with a shared secret of 32 bytes.
pub const MOST_MASKED: u32 = 2048;

/// One run of a protocol with all parties in one process, with everything kept: for experiments and audits.
///
/// # Privacy
/// The result is as private as that of separately running parties. Everything else that is kept is not private at all:
/// the views contain what parties know.
///
/// # Algorithm
/// The messages are made by the functions that a party uses on a network ([`Plan::mask`]); mask seeds are drawn instead
/// of agreed on.
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::multiparty::{Adversary, Plan, Protocol, Simulation, Sums};
///
/// let plan = Plan::new(Protocol::Masked { colluders: 1 }, 3, Sums { cells: 1, bound: 1000, sensitivity: 1 }, &"1".parse()?)?;
/// let run = Simulation::run(&plan, &[[120], [80], [200]], &mut Permit::unaccounted()?)?;
/// println!("{} ± {}", run.release().value()[0], run.release().error_bar().half_width());
///
/// // What the first two clinics know of the third, if they pool all they have:
/// let view = run.view(&Adversary::all_but(3, 2)?);
/// println!("{} with a third party's share of the noise", view.honest_sums(&plan)[0]);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug)]
pub struct Simulation {
    parties: Vec<Party>,
    /// The secret shared by each pair of parties, see [`place`]; empty in broadcast.
    seeds: Vec<[u8; 32]>,
    transcript: Transcript,
    release: Release<Vec<i64>>,
}

#[derive(Debug)]
struct Party {
    statistic: Vec<i64>,
    noise: Vec<i64>,
}

impl Simulation {
    /// Runs the protocol on the parties' exact numbers, in order. Deducts ε from the permit: the parties' rows are
    /// disjoint.
    ///
    /// # Errors
    /// Unless there is one vector for each party and one number in it for each cell; if there are more than [`MOST_MASKED`]
    /// parties under masks; or if the permit does not cover ε.
    pub fn run(plan: &Plan, statistics: &[impl AsRef<[i64]>], permit: &mut Permit) -> Result<Self> {
        if statistics.len() != plan.parties() as usize {
            return Err(Error::parameter("number of parties", statistics.len(), "that of the plan"));
        }
        if plan.protocol() != Protocol::Broadcast && plan.parties() > MOST_MASKED {
            return Err(Error::parameter(
                "number of parties",
                plan.parties(),
                "at most 2048 in one process, under masks",
            ));
        }
        statistics.iter().try_for_each(|statistic| plan.check_cells(statistic.as_ref().len()))?;
        let mut draw = permit.spend(plan.guarantee())?;
        let seeds = draw_seeds(plan, &mut draw);
        let party =
            |statistic: &[i64]| Party { statistic: plan.clamp(statistic).to_vec(), noise: plan.noise(&mut draw) };
        let parties: Vec<Party> = statistics.iter().map(AsRef::as_ref).map(party).collect();
        let accounting = draw.accounting().clone();
        let mut messages = Vec::with_capacity(parties.len());
        for (me, party) in (0..).zip(&parties) {
            let words = Plan::add(&party.statistic, &party.noise);
            let seeds = seeds_of(plan.parties(), &seeds, me);
            let seeds = seeds.into_iter().map(|mut held| MaskSeed::new(held.peer, &mut held.seed)).collect();
            messages.push(plan.mask(Share { words, accounting: accounting.clone() }, me, seeds)?);
        }
        let release = plan.combine(&messages, &accounting)?;
        let mut transcript = Transcript::new();
        transcript.push(messages);
        Ok(Self { parties, seeds, transcript, release })
    }

    /// All messages.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// The result.
    pub fn release(&self) -> &Release<Vec<i64>> {
        &self.release
    }

    /// What an adversary saw.
    ///
    /// # Panics
    /// If the adversary is for a different number of parties.
    pub fn view(&self, adversary: &Adversary) -> View {
        let held = adversary.held().map(|party| {
            let Party { statistic, noise } = &self.parties[party as usize];
            let seeds = seeds_of(self.parties.len() as u32, &self.seeds, party);
            Held { party, statistic: statistic.clone(), noise: noise.clone(), seeds }
        });
        View { transcript: self.transcript.clone(), held: held.collect(), honest: adversary.honest().collect() }
    }
}

/// One seed for each pair of parties.
fn draw_seeds(plan: &Plan, draw: &mut PermittedDraw<'_>) -> Vec<[u8; 32]> {
    if plan.protocol() == Protocol::Broadcast {
        return vec![];
    }
    let mut seeds = vec![[0; 32]; place(plan.parties(), 0)];
    seeds.iter_mut().for_each(|seed| draw.fill_bytes(seed));
    seeds
}

/// The secrets that a party shares with each other one.
fn seeds_of(parties: u32, seeds: &[[u8; 32]], me: u32) -> Vec<HeldSeed> {
    if seeds.is_empty() {
        return vec![];
    }
    let with = |peer: u32| HeldSeed { peer, seed: seeds[place(me.max(peer), me.min(peer))] };
    (0..parties).filter(|&peer| peer != me).map(with).collect()
}

/// The index of the seed of two parties: (1, 0), (2, 0), (2, 1), (3, 0), …
fn place(higher: u32, lower: u32) -> usize {
    let higher = higher as usize;
    higher * (higher - 1) / 2 + lower as usize
}
