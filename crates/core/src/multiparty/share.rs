//! One party's noisy statistic, before it is masked.

use std::fmt;

use zeroize::Zeroizing;

use crate::ledger::Accounting;

/// One party's statistic with its share of the noise, modulo 2^64.
///
/// # Privacy
/// A share of the masked protocol has less noise than ε requires: no one may see it before it is masked. So it exposes
/// none of its contents, is made by [`Plan::share`](super::Plan::share) and consumed by
/// [`Plan::mask`](super::Plan::mask), and is overwritten when it is dropped.
pub struct Share {
    pub(super) words: Zeroizing<Vec<u64>>,
    pub(super) accounting: Accounting,
}

impl Share {
    /// Where it was charged.
    pub fn accounting(&self) -> &Accounting {
        &self.accounting
    }
}

impl fmt::Debug for Share {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Share(…)")
    }
}
