//! The cells of one counter, or of several that advance together, and the generator they share.

use zeroize::{Zeroize, Zeroizing};

use super::super::counter::{check_horizon, saturated};
use super::super::stream::Unit;
use super::design::Design;
use super::seized::Seized;
use crate::error::{Error, Result};
use crate::permit::StreamPermit;
use crate::secrets::burn_stack;

/// 8 KiB: more than a step's frames take (drawing noise, one call of the generator, one of the operating system).
const STEP_FRAMES: usize = 1 << 13;

/// Counters of one design side by side: one for each lane.
pub(super) struct Lanes<D: Design> {
    pub design: D,
    pub permit: StreamPermit,
    /// The number of closed steps.
    pub steps: u64,
    /// Is the next step open?
    open: bool,
    /// On the heap from the start, so that moving the counter leaves no copy behind; lane after lane.
    cells: Zeroizing<Vec<i128>>,
}

impl<D: Design> Lanes<D> {
    pub fn new(design: D, lanes: usize, permit: StreamPermit) -> Self {
        let cells = Zeroizing::new(vec![0; lanes * design.cells()]);
        Self { design, permit, steps: 0, open: false, cells }
    }

    pub fn seized(&self, lane: usize) -> Seized {
        let size = self.design.cells();
        let cells = &self.cells[lane * size..][..size];
        if self.open { self.design.seized_within(cells, self.steps + 1) } else { self.design.seized(cells, self.steps) }
    }

    pub fn open_step(&mut self) -> Result<()> {
        if self.open {
            return Ok(());
        }
        let opened = self.draw_for_opening();
        burn_stack::<STEP_FRAMES>();
        opened
    }

    /// In a separate frame that can be overwritten afterwards.
    #[inline(never)]
    fn draw_for_opening(&mut self) -> Result<()> {
        check_horizon(self.design.stream(), self.steps, 1)?;
        let mut draw = self.permit.draw_afresh()?;
        let law = self.design.law();
        for cells in self.cells.chunks_exact_mut(self.design.cells()) {
            self.design.open(cells, self.steps + 1, |_| law.sample(&mut draw));
        }
        self.permit.forget();
        self.open = true;
        Ok(())
    }

    pub fn add(&mut self, lane: usize, value: &mut i64) -> Result<()> {
        if self.design.stream().unit() == Unit::Step {
            let allowed =
                "event or events:N where events are added one by one: a whole step cannot be clamped in pieces";
            return Err(Error::parameter("unit", Unit::Step, allowed));
        }
        self.open_step()?;
        self.put(lane, value);
        burn_stack::<STEP_FRAMES>();
        value.zeroize();
        Ok(())
    }

    #[inline(never)]
    fn put(&mut self, lane: usize, value: &mut i64) {
        *value = self.design.stream().clamp(*value);
        let size = self.design.cells();
        self.design.add(&mut self.cells[lane * size..][..size], self.steps + 1, value);
    }

    /// `released` is called with every lane and its value.
    pub fn close_step(&mut self, released: impl FnMut(usize, i64)) -> Result<()> {
        self.open_step()?;
        let closed = self.draw_for_closing(released);
        burn_stack::<STEP_FRAMES>();
        closed
    }

    #[inline(never)]
    fn draw_for_closing(&mut self, mut released: impl FnMut(usize, i64)) -> Result<()> {
        let mut draw = self.permit.draw_afresh()?;
        let law = self.design.law();
        self.steps += 1;
        self.open = false;
        for (lane, cells) in self.cells.chunks_exact_mut(self.design.cells()).enumerate() {
            // Saturation is post-processing: it depends only on the noisy sum.
            released(lane, saturated(self.design.close(cells, self.steps, |_| law.sample(&mut draw))));
        }
        self.permit.forget();
        Ok(())
    }

    /// A whole step with one value, in the first lane. The value is overwritten if the step is taken.
    pub fn advance(&mut self, value: &mut i64) -> Result<i64> {
        *value = self.design.stream().admit(*value);
        let taken = self.take(value);
        burn_stack::<STEP_FRAMES>();
        let released = taken?;
        value.zeroize();
        Ok(released)
    }

    /// One step with one fresh seed.
    #[inline(never)]
    fn take(&mut self, value: &i64) -> Result<i64> {
        check_horizon(self.design.stream(), self.steps, 1)?;
        let mut draw = self.permit.draw_afresh()?;
        let law = self.design.law();
        let step = self.steps + 1;
        if !self.open {
            self.design.open(&mut self.cells, step, |_| law.sample(&mut draw));
        }
        self.design.add(&mut self.cells, step, value);
        let released = self.design.close(&mut self.cells, step, |_| law.sample(&mut draw));
        (self.steps, self.open) = (step, false);
        self.permit.forget();
        Ok(saturated(released))
    }

    pub fn restart(&mut self) {
        (self.steps, self.open) = (0, false);
        self.cells.iter_mut().zeroize();
    }
}
