//! A randomised answer.

use crate::ledger::Accounting;
use crate::privacy::Guarantee;

/// A randomised answer, with what it promises to the person who gave it.
///
/// It has no error bar: a single response estimates nothing. What travels to the collector is its [value](Response::value)
/// alone; the guarantee and the accounting stay with the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response<T> {
    value: T,
    guarantee: Guarantee,
    accounting: Accounting,
}

impl<T> Response<T> {
    pub(crate) fn new(value: T, guarantee: Guarantee, accounting: Accounting) -> Self {
        Self { value, guarantee, accounting }
    }

    /// What is sent.
    pub fn value(&self) -> &T {
        &self.value
    }

    /// What is sent, alone.
    pub fn into_value(self) -> T {
        self.value
    }

    /// What the person was promised.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// Where it was charged: nowhere, unless the device keeps a ledger.
    pub fn accounting(&self) -> &Accounting {
        &self.accounting
    }
}
