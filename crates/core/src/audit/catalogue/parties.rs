//! Parties that trust only themselves: the audit tests the *view* of an adversary that holds some of them.
//!
//! Neighbours differ in one row of one honest party; all other counts are 0, and the adversary knows it. It removes the
//! masks that it shares, and looks at the sum of what the honest parties sent, on which everything depends that depends
//! on their rows.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::noise::laplace_law;
use super::{Audit, Report, Subject};
use crate::audit::GoodnessOfFit;
use crate::audit::empirical::Input;
use crate::error::Result;
use crate::multiparty::{Adversary, Plan, Protocol, Simulation, Sums};
use crate::privacy::Guarantee;

pub(super) const SUBJECTS: &[Subject] = &[
    Subject {
        name: "broadcast",
        summary: "three parties with noise of their own, seen by all but one, whose count is 0 or 1",
        is_exact: false,
        audit: broadcast,
    },
    Subject {
        name: "masked",
        summary: "three parties under masks, planned for one colluder and seen by one; another's count is 0 or 1",
        is_exact: false,
        audit: masked,
    },
    Subject {
        name: "masked-all-but-one",
        summary: "the same, seen by two: more than planned for, with the larger ε that is stated for them",
        is_exact: false,
        audit: masked_all_but_one,
    },
];

/// The number of parties.
pub(super) const PARTIES: u32 = 3;
/// The party whose row differs.
pub(super) const HONEST: u32 = 2;

/// Counts in one run. Each counts as a separate run as far as its law goes, because cells share nothing but the
/// messages that carry them.
const CELLS: usize = 256;

/// A plan with that many counts for each party, of which one row moves one.
pub(super) fn plan(audit: &Audit<'_>, protocol: Protocol) -> Result<Plan> {
    Plan::new(protocol, PARTIES, Sums { cells: CELLS, bound: 1, sensitivity: 1 }, &audit.request.epsilon)
}

/// Tests the view of an adversary that holds these parties.
pub(super) fn weigh(audit: &Audit<'_>, plan: &Plan, held: &[u32], claim: Guarantee) -> Result<(Report, Counts)> {
    let adversary = Adversary::holding(PARTIES, held.iter().copied())?;
    let unseen: RefCell<[Vec<i64>; 2]> = RefCell::default();
    let counts = RefCell::new(Counts::new());
    let report = audit.empirically(claim, |input, permit| {
        let count = i64::from(input == Input::Second);
        let mut unseen = unseen.borrow_mut();
        let unseen = &mut unseen[count as usize];
        if unseen.is_empty() {
            let mut statistics = [[0; CELLS]; PARTIES as usize];
            statistics[HONEST as usize] = [count; CELLS];
            *unseen = Simulation::run(plan, &statistics, permit)?.view(&adversary).honest_sums(plan);
        }
        let sum = unseen.pop().expect("there are cells");
        if input == Input::First {
            *counts.borrow_mut().entry(sum).or_default() += 1;
        }
        Ok(sum)
    })?;
    Ok((report, counts.into_inner()))
}

/// How often each sum was seen on the first input.
type Counts = BTreeMap<i64, u64>;

/// The same, where the noise unknown to the adversary is one curator's: its law is tested, too.
fn weigh_whole_noise(audit: &Audit<'_>, protocol: Protocol, held: &[u32]) -> Result<Report> {
    let (mut report, counts) = weigh(audit, &plan(audit, protocol)?, held, audit.pure())?;
    report.fit = Some(GoodnessOfFit::test(&laplace_law(&audit.request.epsilon)?, &counts)?);
    Ok(report)
}

fn broadcast(audit: &Audit<'_>) -> Result<Report> {
    weigh_whole_noise(audit, Protocol::Broadcast, &[0, 1])
}

fn masked(audit: &Audit<'_>) -> Result<Report> {
    weigh_whole_noise(audit, Protocol::Masked { colluders: 1 }, &[0])
}

fn masked_all_but_one(audit: &Audit<'_>) -> Result<Report> {
    let plan = plan(audit, Protocol::Masked { colluders: 1 })?;
    let claim = Guarantee::Pure(plan.loss_against(PARTIES - 1)?);
    Ok(weigh(audit, &plan, &[0, 1], claim)?.0)
}
