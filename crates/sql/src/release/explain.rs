//! A description of what is released for which part of the budget.

use super::design::{Additive, Design, Noise, Paid, Source};
use super::widths::{PartWidths, Widths};
use crate::algebra::Expr;
use crate::answer::Share;

/// The cost of each part of an answer; independent of the rows. The noise is omitted where bounds are not known yet.
pub fn shares(design: &Design, has_bounds: impl Fn(&Expr) -> bool) -> Vec<Share> {
    let has_bounds = |measure: usize| has_bounds(&design.inputs[design.measures[measure].column()]);
    let mut shares: Vec<Share> = design.top.iter().map(|top| top.share(design)).collect();
    let widths = Widths::of_design(design, 1);
    for (paid, of_part) in design.additive.iter().zip(&widths.parts) {
        let Paid { part, words, cost, sensitivity, source, .. } = paid;
        let moves = |step: f64| {
            let most = sensitivity.l1().map_or(f64::NAN, |most| most as f64 * step);
            format!("L1 sensitivity over all groups: {}", short(most))
        };
        let total = if let PartWidths::Ends(widths) = of_part { widths.total } else { 0.0 };
        let law = match (source, &design.noise, &design.threshold) {
            (Source::Threshold, _, Some((threshold, _))) => {
                format!("{}; groups below {} are withheld", threshold.noise(), threshold.threshold())
            }
            (Source::Batch(place), Noise { batch: Some(batch), .. }, _) => batch.noise(*place).to_string(),
            (Source::Box, Noise { boxed: Some(boxed), .. }, _) => {
                format!("box noise (one draw for {} numbers of a group)", boxed.coordinates())
            }
            _ => unreachable!("every part has its noise"),
        };
        let (noise, half_width) = match part {
            _ if design.weighed => (format!("{}; grows with the contribution limit", name(&law)), None),
            Additive::Presence(_) | Additive::Rows | Additive::Units | Additive::Present(_) | Additive::Bins(..) => {
                (format!("{law}; {}", moves(1.0)), Some(design.half_width(paid, 1) as f64))
            }
            // Noise is proportional to the width of bounds that contain 0, as found ones do.
            Additive::Ends(measure, grid) if !has_bounds(*measure) => {
                let width = grid.value(grid.upper()) - grid.value(grid.lower());
                let half_width = total / width;
                (format!("{}; ± {half_width:.1} × (HI − LO), the bounds that are found", name(&law)), None)
            }
            Additive::Squares(measure, _) if !has_bounds(*measure) => {
                (format!("{}; grows with the square of the bounds that are found", name(&law)), None)
            }
            Additive::Ends(_, grid) => {
                (format!("{}; {}; the half-width is that of the sum", name(&law), moves(grid.step())), Some(total))
            }
            Additive::Squares(..) => (name(&law).to_owned(), None),
        };
        shares.push(Share { what: words.clone(), cost: cost.to_string(), noise, half_width });
    }
    for ranks in &design.ranks {
        let list = ranks.shares.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let what = format!("quantiles {list} of {}", design.input_words(ranks.measure));
        let margin = ranks.mechanism.mechanism().margins().fold(0.0, f64::max);
        let noise = format!(
            "exponential mechanism; an interval reaches about {margin:.0} rows beyond its quantile on both sides"
        );
        let cost = ranks.mechanism.guarantee().to_string();
        shares.push(Share { what, cost, noise, half_width: None });
    }
    let tests =
        design.medians.iter().map(|(measure, _, one)| ("median", measure, one.guarantee(), one.mechanism().test()));
    let modes = design.modes.iter().map(|(measure, one)| ("mode", measure, one.guarantee(), one.mechanism().test()));
    for (name, measure, cost, test) in tests.chain(modes) {
        let what = format!("stable {name} of {}", design.input_words(*measure));
        let noise = format!("exact, or refused if about {} rows could change it", test.threshold());
        shares.push(Share { what, cost: cost.to_string(), noise, half_width: None });
    }
    if let Some(selection) = &design.selection {
        let noise = format!(
            "groups with {} or more units always appear; smaller ones appear at random",
            selection.certain_from()
        );
        shares.push(Share {
            what: "group selection".into(),
            cost: selection.guarantee().to_string(),
            noise,
            half_width: None,
        });
    }
    shares
}

/// The name alone of a distribution whose scale is in grid steps: the half-width beside it is in the column's own
/// units.
fn name(law: &str) -> &str {
    law.split(',').next().unwrap_or(law)
}

fn short(value: f64) -> String {
    if value != 0.0 && !(1e-3..1e9).contains(&value.abs()) { format!("{value:.3e}") } else { format!("{value}") }
}
