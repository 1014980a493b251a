//! Count, save, show: in this order.

use std::fmt;

use reticent::Error as CoreError;
use reticent::continual::{SavedTally, Tally};

use super::definition::Definition;
use super::error::Result;
use super::released::{self, Event, Highest, Released};
use super::store::{State, Store};

/// Computes the half-width of a release from its step and the confidence level.
pub type HalfWidth<'a> = &'a dyn Fn(u64, f64) -> reticent::Result<f64>;

/// The recipient of the releases.
pub trait Audience {
    /// Shows releases, in the order of their steps. The implementation must [raise](Highest::raise) `highest` by each
    /// of them.
    ///
    /// # Errors
    /// If they cannot be shown.
    fn show(&mut self, releases: &[Released], highest: &mut Highest, half_width: HalfWidth<'_>) -> Result<Attention>;

    /// Signals that nothing more will be shown.
    ///
    /// # Errors
    /// If the output fails.
    fn end(&mut self) -> Result<Attention>;
}

/// Whether anyone is still reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attention {
    /// Someone may be reading.
    Listens,
    /// Nobody is: for example, the pipe was closed.
    Left,
}

/// Closes steps: counts, saves the counter if there is a [`Store`], and only then shows the releases.
pub struct Engine<'audience> {
    definition: Definition,
    tally: Tally,
    store: Option<Store>,
    /// The ledger that the counter was charged to, for resuming.
    ledger: Option<String>,
    audience: &'audience mut dyn Audience,
    attention: Attention,
    highest: Highest,
    released: Vec<Released>,
    /// Whether all releases have been shown.
    shown: bool,
}

impl<'audience> Engine<'audience> {
    /// Starts with counters that have not released anything. With a `store` they are saved, along with the name of the
    /// `ledger` they were charged to.
    ///
    /// # Errors
    /// If they cannot be saved.
    pub fn new(
        definition: Definition,
        tally: Tally,
        store: Option<Store>,
        ledger: Option<String>,
        audience: &'audience mut dyn Audience,
    ) -> Result<Self> {
        let (attention, highest, released) = (Attention::Listens, Highest::default(), Vec::new());
        let mut engine = Self { definition, tally, store, ledger, audience, attention, highest, released, shown: true };
        engine.save()?;
        Ok(engine)
    }

    /// Continues from the saved state that `tally` was restored from. The last releases are shown again, since they may
    /// not have been seen.
    ///
    /// # Errors
    /// If the state is damaged, or the releases cannot be shown.
    pub fn resume(
        state: State<SavedTally>,
        tally: Tally,
        store: Store,
        audience: &'audience mut dyn Audience,
    ) -> Result<Self> {
        let State { definition, highest, unshown: released, ledger, .. } = state;
        if released.iter().any(|release| release.step == 0 || release.step > tally.steps()) {
            return Err(CoreError::DamagedState.into());
        }
        let (store, attention) = (Some(store), Attention::Listens);
        let mut engine = Self { definition, tally, store, ledger, audience, attention, highest, released, shown: true };
        engine.show()?;
        Ok(engine)
    }

    /// The counters.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// How lines become steps.
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// Closes one step for each value, saves, and shows the releases.
    ///
    /// # Errors
    /// [`HorizonReached`](CoreError::HorizonReached) if there are more values than steps left; as many as fit are
    /// released.
    pub(super) fn close(&mut self, values: &[i64]) -> Result<Attention> {
        self.release(values.len(), |tally, steps, released| released::close(tally, &values[..steps], released))
    }

    /// [`Engine::close`] for counters with keys: one step for each list of events.
    pub(super) fn close_keyed(&mut self, steps: &[Vec<Event>]) -> Result<Attention> {
        self.release(steps.len(), |tally, fitting, released| released::close_keyed(tally, &steps[..fitting], released))
    }

    fn release(
        &mut self,
        steps: usize,
        close: impl FnOnce(&mut Tally, usize, &mut Vec<Released>) -> Result<()>,
    ) -> Result<Attention> {
        let horizon = self.tally.stream().steps();
        let left = horizon.map_or(u64::MAX, |horizon| horizon - self.tally.steps());
        let fitting = steps.min(usize::try_from(left).unwrap_or(usize::MAX));
        if self.attention == Attention::Listens && fitting > 0 {
            self.released.clear();
            self.shown = false;
            close(&mut self.tally, fitting, &mut self.released)?;
            self.save()?;
            self.show()?;
        }
        match horizon {
            Some(horizon) if steps > fitting => Err(CoreError::HorizonReached { horizon }.into()),
            _ => Ok(self.attention),
        }
    }

    fn show(&mut self) -> Result<()> {
        let tally = &self.tally;
        let half_width = |step, level| tally.half_width(step, level);
        self.attention = self.audience.show(&self.released, &mut self.highest, &half_width)?;
        self.shown = self.attention == Attention::Listens;
        Ok(())
    }

    /// Finishes with the result of counting. Releases that were shown are not shown again when the counter is resumed;
    /// those that were not stay in the saved state.
    pub(super) fn finish(mut self, counted: Result<()>) -> Result<()> {
        let ended = self.end();
        counted.and(ended)
    }

    fn end(&mut self) -> Result<()> {
        if !self.shown {
            return Ok(());
        }
        if self.audience.end()? == Attention::Listens && !self.released.is_empty() {
            self.released.clear();
            self.save()?;
        }
        Ok(())
    }

    fn save(&mut self) -> Result<()> {
        let Some(store) = &self.store else { return Ok(()) };
        let (definition, highest) = (self.definition.clone(), self.highest.clone());
        let unshown = std::mem::take(&mut self.released);
        let state = State::new(definition, highest, unshown, self.tally.save()?, self.ledger.clone());
        let saved = store.save(&state);
        self.released = state.unshown;
        saved
    }
}

/// Omits the exact sums.
impl fmt::Debug for Engine<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Engine").field("definition", &self.definition).finish_non_exhaustive()
    }
}
