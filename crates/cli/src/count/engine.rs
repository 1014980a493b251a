//! A counter that keeps and prints what it releases.

use anyhow::Result;
use reticent::Error;
use reticent::continual::{SavedTally, Tally};

use super::definition::Definition;
use super::kept::Kept;
use super::printer::{Audience, Printer};
use super::released::{self, Event, Released};
use super::store::{self, State, Store};
use crate::accounting::Account;

/// Closes steps: count, keep, show, in this order.
#[derive(Debug)]
pub struct Engine {
    definition: Definition,
    tally: Tally,
    keeper: Keeper,
    printer: Printer,
    released: Vec<Released>,
    audience: Audience,
    /// Whether all that was released has been shown.
    shown: bool,
}

/// What makes releases durable before they are shown.
#[derive(Debug)]
pub enum Keeper {
    /// Nothing: what was shown cannot be had again.
    Nobody,
    /// A state on disk, after every step; the ledger that the counter was charged to.
    Store(Store, Option<String>),
    /// The ledger, once, when all has been counted.
    Ledger(Account),
}

impl Engine {
    /// Starts with a counter that has released nothing.
    pub fn new(definition: Definition, tally: Tally, keeper: Keeper, printer: Printer) -> Result<Self> {
        let (released, audience) = (Vec::new(), Audience::Listens);
        let mut engine = Self { definition, tally, keeper, printer, released, audience, shown: true };
        engine.save()?;
        Ok(engine)
    }

    /// Goes on with a saved counter; shows the last releases again, which may not have been seen.
    pub fn resume(state: State<SavedTally>, tally: Tally, store: Store, mut printer: Printer) -> Result<Self> {
        if state.unshown.iter().any(|release| release.step == 0 || release.step > tally.steps()) {
            return Err(Error::DamagedState.into());
        }
        let audience = printer.print(&state.unshown, |step, level| tally.half_width(step, level))?;
        let (definition, released, keeper) = (state.definition, state.unshown, Keeper::Store(store, state.ledger));
        let shown = audience == Audience::Listens;
        Ok(Self { definition, tally, keeper, printer, released, audience, shown })
    }

    /// The counters.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// How lines become steps.
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// Closes one step for each value, keeps, and shows what is released.
    ///
    /// # Errors
    /// [`Error::HorizonReached`] if there are more values than steps left; as many as fit are released.
    pub fn close(&mut self, values: &[i64]) -> Result<Audience> {
        self.release(values.len(), |tally, steps, released| released::close(tally, &values[..steps], released))
    }

    /// [`Engine::close`] for counters with keys: one step for each list of events.
    ///
    /// # Errors
    /// As [`Engine::close`].
    pub fn close_keyed(&mut self, steps: &[Vec<Event>]) -> Result<Audience> {
        self.release(steps.len(), |tally, fitting, released| released::close_keyed(tally, &steps[..fitting], released))
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
            if let Keeper::Ledger(_) = self.keeper {
                close(&mut self.tally, fitting, &mut self.released)?;
            } else {
                self.released.clear();
                self.shown = false;
                close(&mut self.tally, fitting, &mut self.released)?;
                self.save()?;
                self.show()?;
            }
        }
        match horizon {
            Some(horizon) if steps > fitting => Err(Error::HorizonReached { horizon }.into()),
            _ => Ok(self.audience),
        }
    }

    fn show(&mut self) -> Result<()> {
        let tally = &self.tally;
        self.audience = self.printer.print(&self.released, |step, level| tally.half_width(step, level))?;
        self.shown = self.audience == Audience::Listens;
        Ok(())
    }

    /// Ends as counting ended: what was shown need not be shown again; what was not stays where it is kept.
    pub fn finish(&mut self, counted: Result<()>) -> Result<()> {
        if let Keeper::Ledger(account) = &self.keeper {
            let end = counted.as_ref().err().map(|error| error.downcast_ref::<Error>());
            let horizon_reached = match end {
                None => false,
                Some(Some(Error::HorizonReached { .. })) => true,
                // Nothing was shown: the same request can be asked again.
                Some(_) => return counted,
            };
            let kept = Kept { releases: std::mem::take(&mut self.released), horizon_reached };
            // Somebody else may have asked the same at the same time, and was faster.
            let kept = Kept::from_text(&account.keep(self.tally.accounting(), &kept.to_text()?)?)?;
            self.released = kept.releases;
            self.show()?;
        }
        counted.and(self.end())
    }

    fn end(&mut self) -> Result<()> {
        if !self.shown {
            return Ok(());
        }
        self.printer.end()?;
        if self.printer.hand_on()? == Audience::Listens && !self.released.is_empty() {
            self.released.clear();
            self.save()?;
        }
        Ok(())
    }

    fn save(&mut self) -> Result<()> {
        let Keeper::Store(store, ledger) = &self.keeper else { return Ok(()) };
        let state = State {
            version: store::VERSION,
            definition: self.definition.clone(),
            highest: self.printer.highest().clone(),
            unshown: std::mem::take(&mut self.released),
            counter: self.tally.save()?,
            ledger: ledger.clone(),
        };
        let saved = store.save(&state);
        self.released = state.unshown;
        saved
    }
}
