//! The cost of a release and the probability of a refusal, without spending anything.

use serde_json::json;

use crate::plan::{Mechanism, Plan};
use crate::schedule::in_words;
use crate::subsample::Subsample;
use crate::trial::Trial;

/// Percentages of blocks that agree.
const AGREEMENTS: [u64; 5] = [100, 90, 80, 70, 60];

/// What is known without spending anything.
#[derive(Debug)]
pub struct DryRun<'subsample> {
    /// The subsample that would run.
    pub subsample: &'subsample Subsample,
    /// The statistic's answer for a table without rows.
    pub without_rows: Option<String>,
    /// Whether it has no answer for made-up rows either, so that it would be refused before the charge.
    pub refused: bool,
}

impl<'subsample> DryRun<'subsample> {
    /// Tries the statistic without rows and on made-up ones.
    pub fn new(subsample: &'subsample Subsample, trial: &Trial) -> Self {
        let without_rows = subsample.answer_without_rows();
        let refused = subsample.needs_trial() && subsample.try_out(trial).is_err();
        Self { subsample, without_rows, refused }
    }

    /// Names and values, for people.
    pub fn facts(&self) -> Vec<(String, String)> {
        let plan = self.subsample.plan();
        let mut lines: Vec<(String, String)> = vec![
            ("cost".into(), plan.guarantee().to_string()),
            ("unit".into(), format!("{}, {}", plan.unit(), plan.adjacency())),
            ("blocks".into(), plan.blocks().to_string()),
        ];
        match plan.mechanism() {
            Mechanism::Mode(mode) => {
                let (threshold, blocks) = (mode.test().threshold(), plan.blocks());
                lines.push((
                    "released".into(),
                    format!("the most frequent answer, if half its noisy lead is at least {threshold}"),
                ));
                for (agree, probability) in refusals(plan) {
                    let name = format!("refused if {agree} of {blocks} agree");
                    // The worst case: all others agree on one other answer.
                    lines.push((name, format!("with probability at most {}", in_digits(probability))));
                }
            }
            Mechanism::Mean { mean, grid, bounds } => {
                let bar = mean.error_bar().scaled(grid.step());
                lines.push(("released".into(), format!("the mean of the answers, clamped to {bounds}, with noise")));
                if let Some(most) = mean.tolerated() {
                    lines.push((
                        "refused".into(),
                        format!("if the noisy number of blocks without an answer exceeds {most}"),
                    ));
                }
                let level = bar.level() * 100.0;
                let covers = match mean.pull() * grid.step() {
                    0.0 => "noise only".into(),
                    pull => format!("and {pull:.3e} more for each block without an answer, counted with noise"),
                };
                lines.push((format!("half-width at {level} %"), format!("{:.3e} ({covers})", bar.half_width())));
            }
        }
        let at_most = if plan.schedule().is_padded() { "" } else { "at most " };
        lines.push(("time".into(), format!("{at_most}{}", in_words(plan.schedule().length(plan.blocks())))));
        lines.push(("isolation".into(), self.subsample.environment().isolation.describe().into()));
        lines.push(("without rows".into(), self.without_rows.clone().unwrap_or_else(|| "no answer".into())));
        if self.refused {
            lines.push(("invented rows".into(), "no answer: it would not be run, and nothing would be charged".into()));
        }
        lines
    }

    /// The same, for programs.
    pub fn to_json(&self) -> serde_json::Value {
        let plan = self.subsample.plan();
        let mut object = json!({
            "dry_run": true,
            "guarantee": plan.guarantee(),
            "unit": plan.unit().to_string(),
            "adjacency": plan.adjacency(),
            "blocks": plan.blocks(),
            "seconds": plan.schedule().length(plan.blocks()).as_secs_f64(),
            "padded": plan.schedule().is_padded(),
            "isolation": self.subsample.environment().isolation.name(),
            "without_rows": self.without_rows,
            "answers_invented_rows": !self.refused,
        });
        match plan.mechanism() {
            Mechanism::Mode(mode) => {
                object["threshold"] = mode.test().threshold().into();
                let refusals =
                    refusals(plan).map(|(agree, probability)| json!({"agree": agree, "refused": probability}));
                object["refusals"] = refusals.collect();
            }
            Mechanism::Mean { mean, grid, .. } => {
                let bar = mean.error_bar().scaled(grid.step());
                object["tolerated_without_answer"] = mean.tolerated().into();
                object["half_width"] = bar.half_width().into();
                object["half_width_per_block_without_answer"] = (mean.pull() * grid.step()).into();
                object["level"] = bar.level().into();
            }
        }
        object
    }
}

/// The probability of a refusal if this many blocks agree, and all others agree on one other answer.
fn refusals(plan: &Plan) -> impl Iterator<Item = (u64, f64)> {
    let agree = |percent: u64| (plan.blocks() * percent).div_ceil(100);
    AGREEMENTS.into_iter().filter_map(move |percent| Some((agree(percent), plan.refusal_probability(agree(percent))?)))
}

/// A probability in one or two digits, rounded up.
fn in_digits(probability: f64) -> String {
    if probability >= 0.01 {
        return format!("{:.2}", (probability * 100.0).ceil() / 100.0);
    }
    if probability <= 0.0 {
        return "0".into();
    }
    let exponent = probability.log10().floor() as i32;
    format!("{:.0e}", (probability / 10f64.powi(exponent)).ceil() * 10f64.powi(exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_not_shown_smaller_than_they_are() {
        for (probability, shown) in
            [(1.0, "1.00"), (0.2601, "0.27"), (0.0099, "1e-2"), (1.1e-18, "2e-18"), (9.5e-20, "1e-19"), (0.0, "0")]
        {
            assert_eq!(in_digits(probability), shown);
        }
    }
}
