//! What all reports together say.

use reticent::local::{Answers, Randomiser, Shuffled, Task};
use reticent::privacy::{Delta, Guarantee};
use serde::Serialize;

use crate::error::Result;

/// What all reports of a task together say.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Estimated {
    /// How many reports count.
    pub reports: u64,
    /// The answers, with their errors.
    #[serde(flatten)]
    pub answers: Answers,
}

/// What whoever sees the reports of a task only after they were shuffled is faced with: an (ε, δ) of the central model, if `honest`
/// of the reports were made by devices that neither collude nor lie. One-bit mechanisms have the stronger bound.
///
/// # Errors
/// If there is no honest report, or the task's ε lies outside 1e-6 to 20.
pub fn shuffled(task: &Task, honest: u64, delta: &Delta) -> Result<Guarantee> {
    let shuffled = match task.randomiser()? {
        Randomiser::Coins(_) | Randomiser::Mean(_) => Shuffled::of_bits(task.epsilon(), honest)?,
        // Two choices by k-ary response are randomised response.
        Randomiser::Choices(oracle) if oracle.values() == 2 && task.mechanism() == "k-ary" => {
            Shuffled::of_bits(task.epsilon(), honest)?
        }
        Randomiser::Choices(_) | Randomiser::Texts(_) => Shuffled::new(task.epsilon(), honest)?,
    };
    Ok(shuffled.guarantee(delta)?)
}
