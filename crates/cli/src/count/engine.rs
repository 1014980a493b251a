//! A counter that saves and prints what it releases.

use anyhow::Result;
use reticent::Error;
use reticent::continual::{AnyCounter, Counter};

use super::definition::Definition;
use super::printer::{Audience, Printer};
use super::store::{State, Store};

/// Closes steps: count, save, show, in this order.
#[derive(Debug)]
pub struct Engine {
    definition: Definition,
    counter: AnyCounter,
    store: Option<Store>,
    printer: Printer,
    released: Vec<i64>,
    audience: Audience,
    /// Whether all that was released has been shown.
    shown: bool,
}

impl Engine {
    /// Starts with a counter that has released nothing, or all of whose releases were shown.
    pub fn new(definition: Definition, counter: AnyCounter, store: Option<Store>, printer: Printer) -> Result<Self> {
        let (released, audience) = (Vec::new(), Audience::Listens);
        let mut engine = Self { definition, counter, store, printer, released, audience, shown: true };
        engine.save()?;
        Ok(engine)
    }

    /// Goes on with a saved counter; shows the last releases again, which may not have been seen.
    pub fn resume(state: State, counter: AnyCounter, store: Store, mut printer: Printer) -> Result<Self> {
        let first = (counter.steps() + 1).checked_sub(state.unshown.len() as u64).ok_or(Error::DamagedState)?;
        let audience = printer.print(first, &state.unshown, &counter)?;
        let (definition, released) = (state.definition, state.unshown);
        let shown = audience == Audience::Listens;
        Ok(Self { definition, counter, store: Some(store), printer, released, audience, shown })
    }

    /// The counter.
    pub fn counter(&self) -> &AnyCounter {
        &self.counter
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
        let steps = self.counter.steps();
        let room = self
            .counter
            .stream()
            .steps()
            .map_or(usize::MAX, |horizon| usize::try_from(horizon - steps).unwrap_or(usize::MAX));
        let fitting = &values[..values.len().min(room)];
        if self.audience == Audience::Listens && !fitting.is_empty() {
            let Self { counter, released, .. } = self;
            released.clear();
            counter.advance_all(fitting, |value| released.push(value))?;
            self.shown = false;
            self.save()?;
            self.audience = self.printer.print(steps + 1, &self.released, &self.counter)?;
            self.shown = self.audience == Audience::Listens;
        }
        match self.counter.stream().steps() {
            Some(horizon) if values.len() > room => Err(Error::HorizonReached { horizon }.into()),
            _ => Ok(self.audience),
        }
    }

    /// Ends: what was shown need not be shown again. What was not stays in the saved state.
    pub fn finish(&mut self) -> Result<()> {
        if !self.shown {
            return Ok(());
        }
        self.printer.begin();
        if self.printer.hand_on()? == Audience::Listens && !self.released.is_empty() {
            self.released.clear();
            self.save()?;
        }
        Ok(())
    }

    fn save(&mut self) -> Result<()> {
        let Some(store) = &self.store else { return Ok(()) };
        let (highest, unshown) = (self.printer.highest(), std::mem::take(&mut self.released));
        let state = State::new(self.definition.clone(), highest, unshown, self.counter.save()?);
        let saved = store.save(&state);
        self.released = state.unshown;
        saved
    }
}
