//! From rows to a release: parts of the table, an answer for each, and what the mechanism makes of them.

use std::io::BufRead;

use reticent::Permit;
use reticent::mechanism::subsample::Counted;

use crate::error::Result;
use crate::kept::{Kept, Outcome};
use crate::plan::{Mechanism, Plan, proposal, steps};
use crate::table::{Block, Table};

/// What a run gets on standard input, by its number.
pub(crate) type Part<'rows> = dyn Fn(usize) -> Block + Sync + 'rows;

impl Plan {
    /// Reads the rows, has `ask` run the statistic on each part of them, and releases the summary of the answers.
    ///
    /// # Errors
    /// If the permit does not cover the guarantee, or reading fails.
    pub(crate) fn release<R: BufRead>(
        &self,
        permit: &mut Permit,
        table: Table<R>,
        unit: Option<usize>,
        ask: impl Fn(usize, &Part<'_>) -> Vec<Option<String>>,
    ) -> Result<Kept> {
        let ask_blocks = |blocks: Vec<Block>| ask(blocks.len(), &|block| blocks[block].clone());
        match &self.mechanism() {
            Mechanism::Mode(mode) => {
                let mut round = mode.begin(permit)?;
                let answers = ask_blocks(table.deal(self.runs(), unit, &mut |id| round.block(id))?).into_iter();
                Ok(kept(match self.default() {
                    None => round.decide(answers),
                    Some(default) => round.decide_or(answers, default.into()),
                }?))
            }
            Mechanism::Mean { mean, grid, .. } => {
                let mut round = mean.begin(permit)?;
                let answers = ask_blocks(table.deal(self.runs(), unit, &mut |id| round.block(id))?);
                let numbers = answers.into_iter().map(|answer| answer.and_then(|text| steps(grid, &text)));
                let counted = round.decide(numbers)?;
                let unanswered = Some(counted.unanswered().into());
                let Some(release) = counted.released() else {
                    return Ok(Kept { outcome: Outcome::Refused, unanswered });
                };
                // The step is a power of two, so nothing is rounded here.
                let release = release.map(|steps| steps * grid.step(), |bar| bar.scaled(grid.step()));
                let (half_width, level) = (release.error_bar().half_width(), release.error_bar().level());
                Ok(Kept { outcome: Outcome::Mean { value: release.into_value(), half_width, level }, unanswered })
            }
            Mechanism::Resampled(resampled) => {
                let mut round = resampled.begin(permit)?;
                let (header, rows) = table.lines()?;
                if rows.len() as u64 != resampled.samples().rows() {
                    return Ok(Outcome::OtherRows.into());
                }
                let samples: Vec<Vec<u64>> = (0..self.runs()).map(|_| round.sample()).collect();
                let part = |sample: usize| -> Block {
                    let sampled = samples[sample].iter().map(|&row| &*rows[row as usize]);
                    std::iter::once(header.as_slice()).chain(sampled).collect::<Vec<_>>().concat().into()
                };
                Ok(kept(round.decide(ask(samples.len(), &part).into_iter())?))
            }
            Mechanism::Stable(test) => {
                // The noise is drawn from a permit that was charged before the first row was read.
                let answers = ask_blocks(table.deal(1, unit, &mut |_| 0)?);
                let outcome = test.release(proposal(answers.first().and_then(Option::as_deref)), permit)?;
                Ok(outcome.released().map_or(Outcome::Refused, |release| Outcome::Answer(release.into_value())).into())
            }
        }
    }
}

fn kept(counted: Counted<String>) -> Kept {
    let unanswered = Some(counted.unanswered().into());
    let outcome = counted.released().map_or(Outcome::Refused, |release| Outcome::Answer(release.into_value()));
    Kept { outcome, unanswered }
}
