//! What one device sends.

use crate::ledger::Accounting;
use crate::privacy::Guarantee;

/// A randomised answer, with what it promises to the person who gave it.
///
/// It has no error bar: a single report estimates nothing. What travels to the collector is the [response](Report::response)
/// alone; the guarantee and the accounting stay with the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report<T> {
    response: T,
    guarantee: Guarantee,
    accounting: Accounting,
}

impl<T> Report<T> {
    pub(crate) fn new(response: T, guarantee: Guarantee, accounting: Accounting) -> Self {
        Self { response, guarantee, accounting }
    }

    /// What is sent.
    pub fn response(&self) -> &T {
        &self.response
    }

    /// What is sent, alone.
    pub fn into_response(self) -> T {
        self.response
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
