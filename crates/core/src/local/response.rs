//! A randomised answer.

use crate::ledger::Accounting;
use crate::privacy::Guarantee;

/// A randomised answer, with its guarantee for the person who gave it.
///
/// It has no error bar: a single response estimates nothing. Only its [value](Response::value) travels to the
/// aggregator; the guarantee and the accounting stay with the person.
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

    /// The value to send.
    pub fn value(&self) -> &T {
        &self.value
    }

    /// The value to send, without the rest.
    pub fn into_value(self) -> T {
        self.value
    }

    /// The guarantee for the person.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// Where it was charged: nowhere, unless the device keeps a ledger.
    pub fn accounting(&self) -> &Accounting {
        &self.accounting
    }
}
