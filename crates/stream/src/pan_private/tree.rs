//! The counters of a pan-private stream since the process started.

use reticent::Result;
#[cfg(feature = "test-util")]
use reticent::continual::pan_private::Seized;
use reticent::continual::pan_private::{Design, PanPrivate, PanPrivateSurviving};
use reticent::continual::{Counter, CounterKind, SeizableCounter, SeizableKeyedCounter, Shape, Stream};
use reticent::permit::StreamPermit;
use reticent::release::LEVEL;

use super::record::Record;
use crate::definition::{Definition, Keys};

/// Counters of one design, one for each lane.
trait Cells: Send {
    fn open(&mut self) -> Result<()>;
    fn add(&mut self, lane: usize, value: &mut i64) -> Result<()>;
    fn close(&mut self, values: &mut [i64]) -> Result<()>;
    fn variance(&self, step: u64) -> f64;
    fn half_width(&self, step: u64) -> Result<f64>;
    /// The variance of one draw.
    fn law_variance(&self) -> f64;
    /// What an attacker who seizes memory now finds in the first lane.
    #[cfg(feature = "test-util")]
    fn seized(&self) -> Seized;
}

impl<D: Design> Cells for SeizableCounter<D> {
    fn open(&mut self) -> Result<()> {
        self.open_step()
    }

    fn add(&mut self, _: usize, value: &mut i64) -> Result<()> {
        SeizableCounter::add(self, value)
    }

    fn close(&mut self, values: &mut [i64]) -> Result<()> {
        values[0] = self.close_step()?;
        Ok(())
    }

    fn variance(&self, step: u64) -> f64 {
        Counter::variance(self, step)
    }

    fn half_width(&self, step: u64) -> Result<f64> {
        Counter::half_width(self, step, LEVEL)
    }

    fn law_variance(&self) -> f64 {
        self.design().law().variance()
    }

    #[cfg(feature = "test-util")]
    fn seized(&self) -> Seized {
        self.state_after()
    }
}

impl<D: Design> Cells for SeizableKeyedCounter<D> {
    fn open(&mut self) -> Result<()> {
        self.open_step()
    }

    fn add(&mut self, lane: usize, value: &mut i64) -> Result<()> {
        SeizableKeyedCounter::add(self, lane, value)
    }

    fn close(&mut self, values: &mut [i64]) -> Result<()> {
        self.close_step(|lane, value| values[lane] = value)
    }

    fn variance(&self, step: u64) -> f64 {
        SeizableKeyedCounter::variance(self, step)
    }

    fn half_width(&self, step: u64) -> Result<f64> {
        SeizableKeyedCounter::half_width(self, step, LEVEL)
    }

    fn law_variance(&self) -> f64 {
        self.design().law().variance()
    }

    #[cfg(feature = "test-util")]
    fn seized(&self) -> Seized {
        self.state_after(0)
    }
}

/// A fresh tree over the remaining steps, on top of what was published before.
///
/// # Privacy
/// One charge of ε covers all trees of a stream. *Proof.* An event enters only the tree that runs when it is counted:
/// it is counted at most once, and a tree that has ended is gone with all its cells. Let a unit have c events, c_k of
/// them in tree k; each tree is designed for units of c events, and each of these changes the probability of its view
/// by a factor of at most e^(ε/c) ([`PanPrivate`], [`PanPrivateSurviving`]). Tree k + 1 releases its own view plus the
/// last published value, a function of what tree k released; when it starts depends on data only through releases,
/// since no event can end the process. The factors multiply to at most e^(ε·Σc_k/c) = e^ε. The fresh tree has fewer
/// steps to go, so its noise has the same or a smaller scale. ∎
///
/// # Accuracy
/// The noise of the last published value stays in all later ones: its variance is added to theirs.
pub(super) struct Tree {
    cells: Box<dyn Cells>,
    /// The number of steps published before it.
    before: u64,
    /// The number of trees before this one.
    restarts: u64,
    base: Vec<i64>,
    base_variance: f64,
    /// The variance of one draw of the first tree, whose noise is the widest.
    widest: f64,
}

impl Tree {
    /// A tree on top of the last published record, if there is one.
    pub fn new(definition: &Definition, last: Option<&Record>, permit: StreamPermit) -> Result<Self> {
        let before = last.map_or(0, |record| record.step);
        let left = definition.horizon().unwrap_or(0).saturating_sub(before);
        let stream = definition.stream().clone().until(left)?;
        let lanes = Record::lanes(definition);
        let widest = match definition.counter() {
            CounterKind::PanPrivateSurviving => law_variance::<PanPrivateSurviving>(definition)?,
            _ => law_variance::<PanPrivate>(definition)?,
        };
        let cells = match definition.counter() {
            CounterKind::PanPrivateSurviving => cells::<PanPrivateSurviving>(definition, stream, lanes, permit)?,
            _ => cells::<PanPrivate>(definition, stream, lanes, permit)?,
        };
        Ok(Self::on(cells, lanes, widest, last))
    }

    /// A tree of an existing design: making one takes longer than counting a few steps.
    #[cfg(feature = "test-util")]
    pub fn of<D: Design + 'static>(design: D, widest: f64, last: Option<&Record>, permit: StreamPermit) -> Self {
        Self::on(Box::new(SeizableCounter::begin(design, permit)), 1, widest, last)
    }

    fn on(cells: Box<dyn Cells>, lanes: usize, widest: f64, last: Option<&Record>) -> Self {
        Self {
            cells,
            before: last.map_or(0, |record| record.step),
            restarts: last.map_or(0, |record| record.restarts + 1),
            base: last.map_or_else(|| vec![0; lanes], |record| record.values.clone()),
            base_variance: last.map_or(0.0, |record| record.variance),
            widest,
        }
    }

    /// What an attacker who seizes memory now finds in the first lane.
    #[cfg(feature = "test-util")]
    pub fn seized(&self) -> Seized {
        self.cells.seized()
    }

    pub fn restarts(&self) -> u64 {
        self.restarts
    }

    /// Opens the next step, starting from noise.
    pub fn open(&mut self) -> Result<()> {
        self.cells.open()
    }

    /// Adds an event, and erases it.
    pub fn add(&mut self, lane: usize, value: &mut i64) -> Result<()> {
        self.cells.add(lane, value)
    }

    /// Closes a step; returns the record to publish.
    pub fn close(&mut self, step: u64, closed: i64) -> Result<Record> {
        let mut values = vec![0; self.base.len()];
        self.cells.close(&mut values)?;
        for (value, base) in values.iter_mut().zip(&self.base) {
            *value = value.saturating_add(*base);
        }
        let own = step - self.before;
        let variance = self.base_variance + self.cells.variance(own);
        let half_width = if self.restarts == 0 {
            self.cells.half_width(own)?
        } else {
            // All draws of all trees are independent discrete Laplace draws; those of later trees are narrower.
            let narrowest = self.cells.law_variance();
            Shape::Weighted { variance, largest: self.widest, narrowest }.half_width(LEVEL)?
        };
        Ok(Record { step, closed, restarts: self.restarts, variance, half_width, values })
    }
}

fn law_variance<D: Design>(definition: &Definition) -> Result<f64> {
    let stream = match definition.keys() {
        Keys::None => definition.stream().clone(),
        _ => reticent::continual::keyed::each_key(definition.stream())?,
    };
    Ok(D::new(stream, definition.guarantee().clone())?.law().variance())
}

fn cells<D: Design + 'static>(
    definition: &Definition,
    stream: Stream,
    lanes: usize,
    permit: StreamPermit,
) -> Result<Box<dyn Cells>> {
    let guarantee = definition.guarantee().clone();
    Ok(match definition.keys() {
        Keys::None => Box::new(SeizableCounter::begin(D::new(stream, guarantee)?, permit)),
        _ => Box::new(SeizableKeyedCounter::<D>::begin(stream, guarantee, lanes, permit)?),
    })
}
