//! A party charges its own ledger before it sends anything that depends on its rows.

use reticent::Permit;
use reticent::ledger::{Charge, Ledger, Releases};
use reticent::multiparty::Plan;
use reticent_ledger::{DurableLedger, Spend, Terms};

use crate::error::{Error, Result};
use crate::task::Task;

/// What is charged, and to which dataset.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Account<'account> {
    pub ledger: &'account DurableLedger,
    pub dataset: &'account str,
    pub task: &'account Task,
    pub plan: &'account Plan,
    /// The party's name.
    pub party: &'account str,
}

impl Account<'_> {
    /// Checks that there is enough budget left, without charging it, so that the others are not kept waiting for
    /// nothing.
    ///
    /// # Errors
    /// If a charge would be refused now.
    pub fn check_budget(&self) -> Result<()> {
        let account = self.ledger.account(self.dataset)?;
        let account = account.ok_or_else(|| reticent_ledger::Error::NoSuchDataset(self.dataset.to_owned()))?;
        if let Some(suspension) = account.suspended {
            return Err(reticent_ledger::Error::Suspended { dataset: self.dataset.to_owned(), suspension }.into());
        }
        let terms = Terms { unit: self.task.unit().to_owned(), adjacency: self.task.adjacency() };
        if let Some(registered) = account.dataset.terms.as_ref().filter(|registered| **registered != terms) {
            let dataset = self.dataset.to_owned();
            return Err(if registered.unit != terms.unit {
                reticent_ledger::Error::OtherUnit { dataset, registered: registered.unit.clone(), asked: terms.unit }
            } else {
                let (registered, asked) = (registered.adjacency.to_string(), terms.adjacency.to_string());
                reticent_ledger::Error::OtherAdjacency { dataset, registered, asked }
            }
            .into());
        }
        let spent = account.spent.iter().find(|(charged, _)| *charged == terms).map(|(_, spent)| spent.clone());
        let spent = spent.unwrap_or(Spend::NOTHING);
        account.dataset.budget.admit(self.dataset, &spent, self.plan.guarantee())?;
        Ok(())
    }

    /// Charges an attempt.
    ///
    /// # Errors
    /// If the ledger refuses, or if this attempt was charged before: its noise must not be drawn twice.
    pub fn start(&self, attempt: u32) -> Result<Permit> {
        let Self { task, plan, party, .. } = *self;
        let charge = Charge {
            dataset: self.dataset.to_owned(),
            request: format!("party/{}/{attempt}/{party}", task.hash()),
            caller: format!("party {party}"),
            description: description(task, plan, attempt),
            unit: task.unit().to_owned(),
            adjacency: task.adjacency(),
            guarantee: plan.guarantee().clone(),
            // Asking again would draw the noise again; the ledger refuses that for streams.
            releases: Releases::Stream,
        };
        self.ledger.start(&charge).map_err(|error| match error {
            reticent_ledger::Error::StreamStarted { entry, .. } => Error::AttemptCharged { attempt, entry },
            error => error.into(),
        })
    }
}

/// The ledger entry's description, for a privacy officer.
fn description(task: &Task, plan: &Plan, attempt: u32) -> String {
    let others = task.parties().len() - 1;
    let text = format!(
        "{}, session {}, attempt {attempt}: {} with {others} others: {}",
        task.title(),
        task.session(),
        plan.protocol(),
        task.sql(),
    );
    // Ledger texts are single lines.
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}
