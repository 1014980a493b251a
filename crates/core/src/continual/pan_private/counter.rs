//! A counter whose memory may be seized, counting.

use std::fmt;

use zeroize::{Zeroize, Zeroizing};

use super::super::counter::{Counter, check_horizon, saturated};
use super::super::error_bar;
use super::super::kind::Kind;
use super::super::stream::Stream;
use super::design::Design;
use super::erase::burn_stack;
use super::seized::Seized;
use crate::error::{Error, Result};
use crate::ledger::Accounting;
use crate::permit::{Permit, StreamPermit};
use crate::privacy::Guarantee;

/// A [`Design`], counting.
///
/// # Privacy
/// As the design's, for the memory of this counter between any two steps. It can neither be cloned nor saved: two looks at
/// it are one too many.
pub struct SeizableCounter<D: Design> {
    design: D,
    permit: StreamPermit,
    steps: u64,
    value: i64,
    /// On the heap from the start, so that moving the counter leaves no copy behind.
    cells: Zeroizing<Vec<i128>>,
}

impl<D: Design> SeizableCounter<D> {
    /// Charges the whole stream to the permit and starts.
    ///
    /// # Errors
    /// If the permit does not cover the guarantee.
    pub fn start(design: D, permit: Permit) -> Result<Self> {
        let permit = permit.into_stream(design.guarantee())?;
        let cells = Zeroizing::new(vec![0; design.cells()]);
        Ok(Self { design, permit, steps: 0, value: 0, cells })
    }

    /// How it keeps its numbers.
    pub fn design(&self) -> &D {
        &self.design
    }

    /// What an intruder would find now. For audits: to look is to be the intruder, and there may be one only.
    pub fn state_after(&self) -> Seized {
        self.design.seized(&self.cells, self.steps)
    }

    /// [`Counter::advance`] for many steps.
    ///
    /// # Errors
    /// As [`Counter::advance`]; if the horizon does not reach for all of them, none is taken.
    pub fn advance_all(&mut self, values: &[i64], mut released: impl FnMut(i64)) -> Result<()> {
        check_horizon(self.design.stream(), self.steps, values.len() as u64)?;
        values.iter().try_for_each(|&value| self.advance(value).map(&mut released))
    }

    /// One step, in a frame of its own that can be overwritten afterwards.
    #[inline(never)]
    fn take(&mut self, value: &i64) -> Result<()> {
        check_horizon(self.design.stream(), self.steps, 1)?;
        let mut draw = self.permit.draw_afresh()?;
        self.steps += 1;
        let law = self.design.law();
        // Saturation is post-processing: it depends on the noisy sum alone.
        self.value = saturated(self.design.take(&mut self.cells, self.steps, value, |_| law.sample(&mut draw)));
        self.permit.forget();
        Ok(())
    }

    /// Begins again on the same permit: for audits, which release nothing.
    pub(crate) fn restart(&mut self) {
        (self.steps, self.value) = (0, 0);
        self.cells.iter_mut().zeroize();
    }
}

impl<D: Design> Counter for SeizableCounter<D> {
    fn kind(&self) -> Kind {
        self.design.kind()
    }

    fn stream(&self) -> &Stream {
        self.design.stream()
    }

    fn guarantee(&self) -> &Guarantee {
        self.design.guarantee()
    }

    fn accounting(&self) -> &Accounting {
        self.permit.accounting()
    }

    fn steps(&self) -> u64 {
        self.steps
    }

    fn advance(&mut self, value: i64) -> Result<i64> {
        self.advance_erasing(&mut Zeroizing::new(value))
    }

    fn advance_erasing(&mut self, value: &mut i64) -> Result<i64> {
        *value = self.design.stream().admit(*value);
        let taken = self.take(value);
        burn_stack();
        taken?;
        value.zeroize();
        Ok(self.value)
    }

    fn value(&self) -> Option<i64> {
        (self.steps > 0).then_some(self.value)
    }

    fn variance(&self, step: u64) -> f64 {
        self.design.variance(step)
    }

    fn half_width(&self, step: u64, level: f64) -> Result<f64> {
        if step == 0 {
            return Err(Error::parameter("step", step, "at least 1"));
        }
        error_bar::half_width(self.design.shape(step), level)
    }
}

/// Without the cells.
impl<D: Design> fmt::Debug for SeizableCounter<D> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = formatter.debug_struct("SeizableCounter");
        fields.field("kind", &self.kind()).field("steps", &self.steps).finish_non_exhaustive()
    }
}
