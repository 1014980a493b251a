//! The groups with the highest counts, selected before their numbers get noise.

use reticent::Permit;
use reticent::exact::Rational;
use reticent::mechanism::{Moves, Top};
use reticent::privacy::{Adjacency, Epsilon, Guarantee};
use reticent_bounding::Groups;

use super::contribution::UnitContribution;
use super::design::{Additive, Design, Output, Paid};
use super::draw::numbers;
use crate::algebra::Plain;
use crate::answer::Share;
use crate::error::Result;

/// `ORDER BY n DESC LIMIT k`, where `n` is an aggregate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ranking {
    /// How many groups are asked for.
    pub k: u32,
    /// The index of the aggregate.
    pub asked: usize,
}

impl Ranking {
    /// The ranking by which released values are cut off; `None` if they are used in any other way. `keys` is the number of
    /// key columns.
    pub fn of(above: &Plain, keys: usize) -> Option<Self> {
        let (input, most) = match beneath(above) {
            Plain::Limit(input, 0, Some(most)) => (beneath(input), *most),
            _ => return None,
        };
        let Plain::Sort(input, order) = input else { return None };
        let (first, _) = order.first().filter(|(_, direction)| direction.descending)?;
        let (mut place, mut input) = (first.as_column()?, &**input);
        while let Plain::Project(below, expressions) = input {
            (place, input) = (expressions.get(place)?.as_column()?, below);
        }
        let asked = matches!(input, Plain::Given).then(|| place.checked_sub(keys)).flatten()?;
        Some(Self { k: u32::try_from(most).ok().filter(|k| *k > 0)?, asked })
    }
}

/// The most coins that a selection may toss, k for every group; beyond it all groups get noise. A coin takes some 30 ns where
/// counts repeat and some 5 µs where none does, so that a selection, which nothing interrupts, takes 20 s at most.
const MOST_COINS: u64 = 1 << 22;

/// Skips projections.
fn beneath(mut plain: &Plain) -> &Plain {
    while let Plain::Project(input, _) = plain {
        plain = input;
    }
    plain
}

/// The selection of the groups with the highest counts; only their numbers are released.
///
/// # Privacy
/// Units are in at most g groups with at most r rows in each. First the k groups are selected by [`Top`] with ε₁ = ε/2: one
/// unit moves the count of a group by at most r (by 1 if units are counted), all in the same direction if it is added or
/// removed, and how many of the counts it moves does not matter; each of the k rounds costs ε₁/k. Then, whichever groups were
/// selected, a unit is in at most min(g, k) of them, so their numbers have the sensitivities of that many groups, and are
/// released with the rest of the budget. Sequential composition, where the second step may depend on the result of the first:
/// ε₁ + (ε − ε₁) = ε, and all of δ is left to the second step. [`TopGroups::rest`] is the only place where the budget is
/// divided.
///
/// # Accuracy
/// Noise on all groups grows with g, noise on the selected ones with min(g, k), at half of ε. The noise on a selected count is
/// fresh: independent of the one that selected it, so that its bar holds for whichever group is shown. The order of the
/// answer is that of noisy counts; nothing is claimed about ranks.
#[derive(Debug, Clone)]
pub struct TopGroups {
    mechanism: Top,
    k: u32,
    /// The index of the count among the additive parts.
    part: usize,
    /// All public groups.
    groups: usize,
}

impl TopGroups {
    /// What is left for the numbers, and the contribution of a unit to the selected groups; `None` where the way does not
    /// exist: where each row is a unit of its own (it is in one group), rows are weighed, or the budget is ρ.
    pub fn rest(
        ranking: Ranking,
        touched: &UnitContribution,
        budget: &Guarantee,
    ) -> Option<(Guarantee, UnitContribution)> {
        if touched.is_each_row() || touched.weights().is_some() {
            return None;
        }
        let half = half(budget)?;
        let rest = match budget {
            Guarantee::Approx(_, delta) => Guarantee::Approx(half, delta.clone()),
            _ => Guarantee::Pure(half),
        };
        let groups = touched.groups().min(ranking.k.into());
        let selected = UnitContribution::new(touched.adjacency(), true, groups, touched.max_rows()).ok()?;
        Some((rest, selected))
    }

    /// The design of the selected groups with their selection, if it is predicted to be more accurate than `all`, the design
    /// of all `groups` groups: a narrower bar on every count, and a selection that can be trusted at least as much. Decided
    /// before any row is read.
    ///
    /// # Errors
    /// If the guarantees cannot be added.
    pub fn better(
        all: &Design,
        mut selected: Design,
        ranking: Ranking,
        touched: &UnitContribution,
        groups: u64,
        budget: &Guarantee,
    ) -> Result<Option<Design>> {
        let (Some(Output::Count(part)), Some(epsilon)) = (all.outputs.get(ranking.asked), half(budget)) else {
            return Ok(None);
        };
        if u64::from(ranking.k).saturating_mul(groups) > MOST_COINS {
            return Ok(None);
        }
        let (part, groups) = (*part, usize::try_from(groups).unwrap_or(usize::MAX));
        if groups <= ranking.k as usize || selected.outputs.get(ranking.asked) != Some(&Output::Count(part)) {
            return Ok(None);
        }
        let each = if all.additive[part].part == Additive::Units { 1 } else { touched.max_rows() };
        let moves = match touched.adjacency() {
            Adjacency::AddRemove => Moves::OneWay,
            Adjacency::Replace => Moves::AnyWay,
        };
        let mechanism = Top::new(ranking.k, each, moves, &epsilon)?;
        let bar = |design: &Design, together: u64| design.half_width(&design.additive[part], together) as f64;
        // With noise on all counts, a group is left out for one that is smaller only if their noises differ by as much.
        let misplaced = 2.0 * bar(all, groups as u64);
        let is_better = bar(&selected, 1) < bar(all, 1) && mechanism.error_bar(groups).half_width() <= misplaced;
        if !is_better {
            return Ok(None);
        }
        let costs = [mechanism.guarantee().clone(), selected.guarantee.clone()];
        selected.guarantee = Guarantee::sequential(costs)?.expect("two costs");
        selected.top = Some(Self { mechanism, k: ranking.k, part, groups });
        Ok(Some(selected))
    }

    /// Which groups are shown.
    ///
    /// # Errors
    /// If the permit does not cover the cost.
    pub fn select(&self, additive: &[Paid], groups: &Groups, permit: &mut Permit) -> Result<Vec<bool>> {
        let scores = numbers(&additive[self.part].part, &groups.groups);
        let mut shown = vec![false; scores.len()];
        for place in self.mechanism.release(&scores, permit)?.into_value() {
            shown[place] = true;
        }
        Ok(shown)
    }

    /// The cost, in words.
    pub fn share(&self, design: &Design) -> Share {
        let words = &design.additive[self.part].words;
        let off = self.mechanism.error_bar(self.groups).half_width().ceil();
        Share {
            what: self.selected(design),
            cost: self.mechanism.guarantee().to_string(),
            noise: format!("report noisy max; at 95 % no group left out has {off} {words} more than one that is shown"),
            half_width: None,
        }
    }

    /// What is done, in words.
    pub fn words(&self, design: &Design) -> String {
        let selected = self.selected(design);
        match self.k {
            1 => format!("{selected} is selected privately, and only its numbers get noise"),
            _ => format!(
                "{selected} are selected privately, and only their numbers get noise; their order is that of noisy numbers"
            ),
        }
    }

    fn selected(&self, design: &Design) -> String {
        let words = &design.additive[self.part].words;
        match self.k {
            1 => format!("the group with the most {words}"),
            k => format!("the {k} groups with the most {words}"),
        }
    }
}

/// Half of ε.
fn half(budget: &Guarantee) -> Option<Epsilon> {
    match budget {
        Guarantee::Pure(epsilon) | Guarantee::Approx(epsilon, _) => {
            Epsilon::new(epsilon.value() / &Rational::from(2)).ok()
        }
        Guarantee::Zcdp(_) => None,
    }
}
