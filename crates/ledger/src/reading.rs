//! What a ledger says: datasets, accounts, requests, history.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use reticent::ledger::{Charge, Receipt};

use crate::account::{self, Account};
use crate::anchor::Head;
use crate::chain::{ledger_id, no_first_entry};
use crate::durable::DurableLedger;
use crate::entry::{Dataset, Entry, Event};
use crate::error::Result;
use crate::history::{self, Record};
use crate::{limit, rules};

impl DurableLedger {
    /// A registered dataset, with its limit even if that was set later; `None` if it does not exist. The cost does not
    /// depend on the number of charges.
    ///
    /// # Errors
    /// If the ledger cannot be read or is damaged.
    pub fn dataset(&self, name: &str) -> Result<Option<Dataset>> {
        let mut dataset = None;
        self.read(&mut |pages| {
            let registered = pages.registration(name)?.map(|row| rules::registered(&row)).transpose()?;
            dataset = registered.map(|registered| limit::in_force(pages, registered)).transpose()?;
            Ok(())
        })?;
        Ok(dataset)
    }

    /// What a dataset may spend and has spent; `None` if it does not exist. It is suspended as soon as a process is gone
    /// that computed something for it, even if that is not recorded yet.
    ///
    /// # Errors
    /// If the ledger cannot be read or is damaged.
    pub fn account(&self, dataset: &str) -> Result<Option<Account>> {
        let (mut account, own) = (None, self.holder());
        self.read(&mut |pages| {
            account = pages.registration(dataset)?.map(|row| account::read(pages, &row, own)).transpose()?;
            Ok(())
        })?;
        Ok(account)
    }

    /// The charge of a request and its receipt; `None` if it was not charged. Nothing is charged.
    ///
    /// # Errors
    /// If the ledger cannot be read or is damaged.
    pub fn request(&self, dataset: &str, request: &str) -> Result<Option<(Charge, Receipt)>> {
        let mut charged = None;
        self.read(&mut |pages| {
            let Some(row) = pages.charge(dataset, request)? else { return Ok(()) };
            if let Event::Charged { charge, .. } = row.open()?.event {
                let receipt = Receipt { dataset: dataset.into(), request: request.into(), entry: row.number };
                charged = Some((*charge, receipt));
            }
            Ok(())
        })?;
        Ok(charged)
    }

    /// All datasets, in order of registration.
    ///
    /// # Errors
    /// If the ledger cannot be read or is damaged.
    pub fn accounts(&self) -> Result<Vec<Account>> {
        self.accounts_of(|_| true)
    }

    /// [`DurableLedger::accounts`], restricted to the `wanted` names.
    pub(crate) fn accounts_of(&self, wanted: impl Fn(&str) -> bool) -> Result<Vec<Account>> {
        let (mut accounts, own) = (Vec::new(), self.holder());
        self.read(&mut |pages| {
            let mut rows = pages.registrations()?;
            rows.retain(|row| row.keys.registered.as_deref().is_some_and(&wanted));
            accounts = rows.iter().map(|row| account::read(pages, row, own)).collect::<Result<_>>()?;
            Ok(())
        })?;
        Ok(accounts)
    }

    /// Calls `each` with every entry, oldest first.
    ///
    /// # Errors
    /// If the ledger cannot be read, or an entry was changed.
    pub fn history(&self, mut each: impl FnMut(&Entry)) -> Result<()> {
        self.records(0, |record| {
            each(&record.entry);
            ControlFlow::Continue(())
        })
    }

    /// Calls `each` with every entry after number `after`, oldest first, until it breaks. Only a few entries are in
    /// memory at a time, and the ledger is not locked while `each` runs.
    ///
    /// # Errors
    /// If the ledger cannot be read, or an entry was changed.
    pub fn records(&self, after: u64, mut each: impl FnMut(Record) -> ControlFlow<()>) -> Result<()> {
        let mut number = after;
        loop {
            let mut records = Vec::new();
            self.read(&mut |pages| {
                records = history::piece(pages, number)?;
                Ok(())
            })?;
            let Some(last) = records.last() else { return Ok(()) };
            number = last.entry.number;
            for record in records {
                if each(record).is_break() {
                    return Ok(());
                }
            }
        }
    }

    /// [`DurableLedger::records`] of one dataset, or of all; only the `last` ones, if that is given.
    ///
    /// # Errors
    /// If the ledger cannot be read, or an entry was changed; then none of the `last` ones was passed on.
    pub fn records_of(
        &self,
        dataset: Option<&str>,
        last: Option<u64>,
        mut each: impl FnMut(Record) -> ControlFlow<()>,
    ) -> Result<()> {
        let after = match (last, dataset) {
            (Some(last), None) => self.head()?.number.saturating_sub(last),
            _ => 0,
        };
        let mut newest = VecDeque::new();
        self.records(after, |record| {
            if dataset.is_some() && record.dataset.as_deref() != dataset {
                return ControlFlow::Continue(());
            }
            let Some(last) = last else { return each(record) };
            newest.push_back(record);
            if newest.len() as u64 > last {
                newest.pop_front();
            }
            ControlFlow::Continue(())
        })?;
        // Whether it breaks or not, this is the end.
        let _ = newest.into_iter().try_for_each(each);
        Ok(())
    }

    /// The newest entry.
    ///
    /// # Errors
    /// If the ledger cannot be read or is damaged.
    pub fn head(&self) -> Result<Head> {
        let mut newest = None;
        self.read(&mut |pages| {
            let last = pages.last()?.ok_or_else(no_first_entry)?;
            newest = Some(Head { ledger: ledger_id(pages)?, number: last.number, hash: last.hash });
            Ok(())
        })?;
        Ok(newest.expect("reading succeeded"))
    }
}
