//! A counter that saves and prints what it releases.

use anyhow::Result;
use reticent::Error;

use super::definition::Definition;
use super::printer::{Audience, Printer};
use super::store::{State, Store};
use super::tally::{Event, Released, Tally};

/// Closes steps: count, save, show, in this order.
#[derive(Debug)]
pub struct Engine {
    definition: Definition,
    tally: Tally,
    store: Option<Store>,
    printer: Printer,
    released: Vec<Released>,
    audience: Audience,
    /// Whether all that was released has been shown.
    shown: bool,
}

impl Engine {
    /// Starts with a counter that has released nothing, or all of whose releases were shown.
    pub fn new(definition: Definition, tally: Tally, store: Option<Store>, printer: Printer) -> Result<Self> {
        let (released, audience) = (Vec::new(), Audience::Listens);
        let mut engine = Self { definition, tally, store, printer, released, audience, shown: true };
        engine.save()?;
        Ok(engine)
    }

    /// Goes on with a saved counter; shows the last releases again, which may not have been seen.
    pub fn resume(state: State, tally: Tally, store: Store, mut printer: Printer) -> Result<Self> {
        if state.unshown.iter().any(|release| release.step == 0 || release.step > tally.steps()) {
            return Err(Error::DamagedState.into());
        }
        let audience = printer.print(&state.unshown, &tally)?;
        let (definition, released) = (state.definition, state.unshown);
        let shown = audience == Audience::Listens;
        Ok(Self { definition, tally, store: Some(store), printer, released, audience, shown })
    }

    /// The counters.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// How lines become steps.
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// Closes one step for each value, saves, and shows what is released.
    ///
    /// # Errors
    /// [`Error::HorizonReached`] if there are more values than steps left; as many as fit are released.
    pub fn close(&mut self, values: &[i64]) -> Result<Audience> {
        self.release(values.len(), |tally, steps, released| tally.close(&values[..steps], released))
    }

    /// [`Engine::close`] for counters with keys: one step for each list of events.
    ///
    /// # Errors
    /// As [`Engine::close`].
    pub fn close_keyed(&mut self, steps: &[Vec<Event>]) -> Result<Audience> {
        self.release(steps.len(), |tally, fitting, released| tally.close_keyed(&steps[..fitting], released))
    }

    fn release(
        &mut self,
        steps: usize,
        close: impl FnOnce(&mut Tally, usize, &mut Vec<Released>) -> Result<()>,
    ) -> Result<Audience> {
        let horizon = self.tally.stream().steps();
        let left = horizon.map_or(u64::MAX, |horizon| horizon - self.tally.steps());
        let fitting = steps.min(usize::try_from(left).unwrap_or(usize::MAX));
        if self.audience == Audience::Listens && fitting > 0 {
            self.released.clear();
            self.shown = false;
            close(&mut self.tally, fitting, &mut self.released)?;
            self.save()?;
            self.audience = self.printer.print(&self.released, &self.tally)?;
            self.shown = self.audience == Audience::Listens;
        }
        match horizon {
            Some(horizon) if steps > fitting => Err(Error::HorizonReached { horizon }.into()),
            _ => Ok(self.audience),
        }
    }

    /// Ends: what was shown need not be shown again. What was not stays in the saved state.
    pub fn finish(&mut self) -> Result<()> {
        if !self.shown {
            return Ok(());
        }
        self.printer.begin();
        self.printer.plot()?;
        if self.printer.hand_on()? == Audience::Listens && !self.released.is_empty() {
            self.released.clear();
            self.save()?;
        }
        Ok(())
    }

    fn save(&mut self) -> Result<()> {
        let Some(store) = &self.store else { return Ok(()) };
        let (highest, unshown) = (self.printer.highest().clone(), std::mem::take(&mut self.released));
        let state = State::new(self.definition.clone(), highest, unshown, self.tally.save()?);
        let saved = store.save(&state);
        self.released = state.unshown;
        saved
    }
}
