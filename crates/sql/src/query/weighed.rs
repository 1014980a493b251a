//! The answer where contribution limits are chosen privately.

use reticent::Permit;
use reticent::privacy::{Adjacency, Guarantee};
use reticent_bounding::{ChoiceKey, WEIGHT_BITS, Weighing, WeightCaps};

use super::Query;
use crate::algebra::Statistic;
use crate::answer::ChosenLimit;
use crate::error::{Error, Result};
use crate::release::contribution::UnitContribution;
use crate::release::correction::{Correction, Totals};
use crate::release::design::{Additive, MOST_GROUPS, Paid};
use crate::release::search::Found;
use crate::release::weights::{Chosen, LARGEST, PerCap, Weights, counts_rows};
use crate::release::{Design, Released, draw};

/// How a query's rows are weighed.
#[derive(Debug, Clone)]
pub(super) struct Weighed {
    pub weights: Weights,
    grouped: bool,
    adjacency: Adjacency,
    /// The largest cap for which there is noise.
    most: u64,
}

impl Weighed {
    /// For these aggregates, in this many groups (`None` if keys come from the data), with the design for the least weight.
    /// `design` is that of a contribution and a budget.
    pub fn new(
        statistics: &[Statistic],
        groups: Option<u64>,
        grouped: bool,
        adjacency: Adjacency,
        budget: &Guarantee,
        design: &dyn Fn(&UnitContribution, &Guarantee) -> Result<Design>,
    ) -> Result<(Self, Design)> {
        let weights = Weights::new(statistics, groups, adjacency, budget)?;
        let mut weighed = Self { weights, grouped, adjacency, most: 1 };
        let first = design(&weighed.least()?, &weighed.weights.rest)?;
        let totals = weighed.totals(&first);
        totals.batch(all(1))?;
        let has_noise = |cap: u64| -> Result<()> {
            design(&weighed.contribution(all(cap).caps)?, &weighed.weights.rest)?;
            totals.batch(all(cap)).map(drop)
        };
        // Noise is out of range above some cap, if at all.
        let (mut low, mut high) = (0, LARGEST.ilog2());
        if has_noise(LARGEST).is_ok() {
            low = high;
        }
        while low + 1 < high {
            let middle = (low + high) / 2;
            if has_noise(1 << middle).is_ok() { low = middle } else { high = middle }
        }
        weighed.most = 1 << low;
        Ok((weighed, first))
    }

    /// The contribution of units with the least weight.
    pub fn least(&self) -> Result<UnitContribution> {
        self.contribution(all(1).caps)
    }

    /// The cost of the answer.
    pub fn costs(&self) -> Vec<Guarantee> {
        self.weights.costs().into_iter().chain([self.weights.rest.clone()]).collect()
    }

    fn contribution(&self, caps: WeightCaps) -> Result<UnitContribution> {
        Ok(UnitContribution::weighed(self.adjacency, self.grouped, caps)?)
    }

    fn totals(&self, design: &Design) -> Totals {
        Totals::of(design, self.adjacency, &self.weights.correction)
    }

    /// The half-widths of a design for the least weight.
    fn per_cap(&self, design: &Design) -> Result<PerCap> {
        let range = |part: &Additive| match part {
            Additive::Ends(_, grid) => (grid.upper() - grid.lower()) as f64,
            _ => 1.0,
        };
        let widest = |is: &dyn Fn(&Additive) -> bool| {
            let parts = design.additive.iter().filter(|paid| is(&paid.part));
            let of = |paid: &Paid| design.half_width(paid, 1) as f64 / range(&paid.part) / f64::from(1 << WEIGHT_BITS);
            parts.map(of).fold(0.0, f64::max)
        };
        let totals = self.totals(design).half_width_per_cap()?;
        let (rows, units) = (widest(&counts_rows), widest(&|part| *part == Additive::Units));
        Ok(PerCap { rows, units, values: widest(&|part| matches!(part, Additive::Ends(..))), totals })
    }
}

/// The same cap everywhere.
fn all(cap: u64) -> Chosen {
    let caps = WeightCaps { rows: cap, values: cap, groups: cap };
    Chosen { caps, overall: caps, units: [None; 2] }
}

impl Query {
    /// Reads the rows, chooses contribution limits, and releases the answer.
    pub(super) fn draw_weighed(
        &self,
        weighed: &Weighed,
        found: &Found,
        key: ChoiceKey,
        permit: &mut Permit,
    ) -> Result<(Design, Released, Vec<ChosenLimit>)> {
        let first = self.first_design(found)?;
        let per_cap = weighed.per_cap(&first)?;
        let weighing = self.weigh(&first, key)?;
        let activity = weighing.activity().map_err(|_| Error::Reading)?;
        let chosen = weighed.weights.choose(&activity, per_cap, weighed.most, permit)?;
        let design = self.design_with(&weighed.contribution(chosen.caps)?, &weighed.weights.rest, found)?;
        let weighted = weighing.finish(chosen.caps, chosen.overall).map_err(|_| Error::Reading)?;
        let totals = weighed.totals(&design).release(chosen, &activity, &weighted, permit)?;
        let released = draw::draw(&design, weighted.groups, Some(&totals), &self.together(), permit)?;
        let limits = limits(&design, chosen, &released);
        Ok((design, released, limits))
    }

    /// Reads the rows.
    fn weigh(&self, design: &Design, key: ChoiceKey) -> Result<Weighing> {
        let keys = self.keys.as_ref().map(|keys| keys.typed.clone());
        let most_groups = design.selects_keys().then_some(MOST_GROUPS);
        let bounding = self.bounding(self.layout(design), None, keys, key)?;
        let rows = &self.resolved.measured.rows;
        let weighing = self.engine.weigh(rows, &self.computed(), &self.inputs, &bounding, most_groups);
        weighing.map_err(|_| Error::Reading)
    }

    /// The measurements before noise, with some weights. **Not private**: for tests only.
    #[cfg(feature = "test-util")]
    pub(super) fn exact_weighed(&self, weighed: &Weighed, key: ChoiceKey) -> Result<crate::release::exact::Exact> {
        let caps = WeightCaps { rows: 4, values: 2, groups: 3 };
        let touched = weighed.contribution(caps)?;
        let design = self.design_with(&touched, &weighed.weights.rest, super::NOTHING_FOUND)?;
        let weighted = self.weigh(&design, key)?.finish(caps, caps).map_err(|_| Error::Reading)?;
        crate::release::exact::exact(&design, &touched, &weighted.groups)
    }
}

/// What was chosen, for the answer's summary.
fn limits(design: &Design, chosen: Chosen, released: &Released) -> Vec<ChosenLimit> {
    let Chosen { caps, .. } = chosen;
    let [rows, groups] = released.correction.as_ref().map(Correction::left_out).unwrap_or_default();
    let limit = |of: &str, limit: u64, left_out: Option<(f64, f64)>| ChosenLimit {
        of: of.into(),
        limit,
        left_out: left_out.map(|(share, _)| share),
        half_width: left_out.map(|(_, half_width)| half_width),
    };
    let has = |is: &dyn Fn(&Additive) -> bool| design.additive.iter().any(|paid| is(&paid.part));
    let all = [
        has(&counts_rows).then(|| limit("rows counted", caps.rows, rows)),
        has(&|part| *part == Additive::Units).then(|| limit("groups", caps.groups, groups)),
        has(&|part| matches!(part, Additive::Ends(..))).then(|| limit("rows averaged", caps.values, None)),
    ];
    all.into_iter().flatten().collect()
}
