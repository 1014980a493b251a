//! What all parties but one learn together.

use reticent::Permit;
use reticent::multiparty::{Adversary, Simulation, View};
use reticent::privacy::Epsilon;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::query::{CheckedTask, OwnRows};
use crate::run::Statistic;

/// What an adversary knows that controls every party but one.
#[derive(Debug)]
pub struct Seen {
    honest: usize,
    /// All messages, and the exact numbers, the noise and the mask secrets of the parties it controls.
    pub view: View,
    /// What remains of the honest party's numbers when everything the adversary knows is subtracted, in grid steps: the
    /// numbers with that party's own noise.
    pub left: Vec<i64>,
    /// The honest party's ε against all others together.
    pub loss: Epsilon,
}

/// Simulates all parties of a task, and shows what all but the one at this index learn. Nothing is charged.
///
/// # Errors
/// If a party's query fails, or the system has no randomness.
pub fn view(checked: &CheckedTask, mut rows: Vec<OwnRows>, honest: usize) -> Result<Seen> {
    let (plan, mut permit) = (checked.plan(), Permit::unaccounted()?);
    let exact = |rows: &mut OwnRows| rows.exact(checked.task(), permit.secret()?).map_err(Error::Simulated);
    let statistics = rows.iter_mut().map(exact).collect::<Result<Vec<_>>>()?;
    let simulation = Simulation::run(plan, &statistics, &mut permit)?;
    let alone = u32::try_from(honest).expect("there are at most 256");
    let view = simulation.view(&Adversary::all_but(plan.parties(), alone)?);
    Ok(Seen { honest, left: view.honest_sums(plan), loss: plan.loss_against(plan.parties() - 1)?, view })
}

impl Seen {
    /// All of it, for programs.
    pub fn to_json(&self, checked: &CheckedTask) -> Value {
        let name = |place: usize| &checked.task().parties()[place].name;
        json!({
            "task": checked.task().hash(),
            "honest_party": name(self.honest),
            "held_parties": self.view.held.iter().map(|held| name(held.party as usize)).collect::<Vec<_>>(),
            "guarantee_against_them": { "epsilon": self.loss.to_string() },
            "left_of_the_honest_party": self.left,
            "view": self.view,
        })
    }
}
