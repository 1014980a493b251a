//! The cost of a release and the probability of a refusal, without spending anything.

use serde_json::json;

use crate::kept::{ABOUT, percent};
use crate::plan::{Mechanism, Plan};
use crate::schedule::in_words;
use crate::split::Split;
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
        ];
        let runs = plan.runs();
        lines.push(match plan.split() {
            Split::Blocks(_) => ("blocks".into(), runs.to_string()),
            Split::Samples { size, rows, .. } => ("samples".into(), format!("{runs} of {size} of {rows} rows")),
            Split::Whole { lipschitz } => {
                ("your promise".into(), format!("the distance changes by at most {lipschitz}"))
            }
        });
        lines.push(("released".into(), plan.released()));
        lines.push(("without answers".into(), plan.without_answers()));
        for (agree, probability) in refusals(plan) {
            let name = format!("refused if {agree} of {runs} agree");
            // The worst case: all others agree on one other answer.
            lines.push((name, format!("with probability at most {}", in_digits(probability))));
        }
        for (distance, probability) in refusals_by_distance(plan) {
            lines.push((
                format!("refused at distance {distance}"),
                format!("with probability {}", in_digits(probability)),
            ));
        }
        if let Mechanism::Mean { mean, grid, .. } = plan.mechanism() {
            let bar = mean.error_bar().scaled(grid.step());
            let all = if plan.default().is_none() { ", if all give one" } else { "" };
            let about = format!("{:.3e} about the {ABOUT}{all}", bar.half_width());
            lines.push((format!("half-width at {}", percent(bar.level())), about));
        }
        if let Some(bar) = plan.unanswered_error() {
            let (half_width, level) = (bar.half_width(), percent(bar.level()));
            lines.push(("runs without an answer".into(), format!("their number ± {half_width} ({level})")));
        }
        let at_most = if plan.schedule().is_padded() { "" } else { "at most " };
        lines.push(("time".into(), format!("{at_most}{}", in_words(plan.schedule().length(plan.runs())))));
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
            "seconds": plan.schedule().length(plan.runs()).as_secs_f64(),
            "padded": plan.schedule().is_padded(),
            "isolation": self.subsample.environment().isolation.name(),
            "without_rows": self.without_rows,
            "answers_invented_rows": !self.refused,
        });
        match *plan.split() {
            Split::Blocks(number) => object["blocks"] = number.into(),
            Split::Samples { number, size, rows } => {
                object["samples"] = json!({"number": number, "size": size, "rows": rows});
            }
            Split::Whole { lipschitz } => object["lipschitz"] = lipschitz.into(),
        }
        if let Some(test) = plan.test() {
            object["threshold"] = test.threshold().into();
            let by_agreement = refusals(plan).map(|(agree, refused)| json!({"agree": agree, "refused": refused}));
            let by_distance =
                refusals_by_distance(plan).map(|(distance, refused)| json!({"distance": distance, "refused": refused}));
            object["refusals"] = by_agreement.chain(by_distance).collect();
        }
        if let Mechanism::Mean { mean, grid, .. } = plan.mechanism() {
            let bar = mean.error_bar().scaled(grid.step());
            object["half_width"] = bar.half_width().into();
            object["level"] = bar.level().into();
            object["about"] = ABOUT.into();
        }
        if let Some(bar) = plan.unanswered_error() {
            object["unanswered_half_width"] = bar.half_width().into();
        }
        object
    }
}

/// The probability of a refusal if this many runs agree, and all others agree on one other answer.
fn refusals(plan: &Plan) -> impl Iterator<Item = (u64, f64)> {
    let agree = |percent: u64| (plan.runs() * percent).div_ceil(100);
    AGREEMENTS.into_iter().filter_map(move |percent| Some((agree(percent), plan.refusal_probability(agree(percent))?)))
}

/// The probability of a refusal around the threshold of a distance that the statistic computes itself.
fn refusals_by_distance(plan: &Plan) -> impl Iterator<Item = (u64, f64)> {
    let test = match plan.mechanism() {
        Mechanism::Stable(test) => Some(test),
        _ => None,
    };
    test.into_iter().flat_map(|test| {
        let around = [test.lipschitz(), test.threshold(), test.threshold().saturating_mul(2)];
        around.map(|distance| (distance, test.refusal_probability(distance)))
    })
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
