//! What the user of a ledger hears about charges.

use std::fmt;

use reticent::message;
use reticent::message::Message;

use crate::account::Account;
use crate::budget::{Budget, Spend};
use crate::entry::Terms;

/// A charge, or that there was none.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// Something was charged.
    Charged {
        /// Now (`charged`) or when the stream began (`was charged`).
        charged: &'static str,
        /// Whether the ledger is the user's own.
        own: bool,
        /// The ledger entry of the charge.
        entry: u64,
        /// The dataset's account after it.
        account: Box<Account>,
    },
    /// The charge went to the account that all streams without a name share.
    Nameless,
    /// Nothing was charged, at the user's request.
    Unaccounted,
    /// The request was answered before, and its release is shown again.
    AnsweredBefore {
        /// The request id.
        request: String,
    },
    /// The request was charged before, without an outcome, and is computed again.
    Unfinished {
        /// The request id.
        request: String,
    },
    /// The run failed, and its dataset is suspended.
    Suspended {
        /// The dataset.
        dataset: String,
        /// The ledger entry of the charge.
        entry: u64,
    },
}

impl Notice {
    /// The notice in words, with settings that every interface spells its own way.
    pub fn message(&self) -> Message {
        match self {
            Self::Charged { charged, own, entry, account } => {
                let (dataset, whose) = (&account.dataset.name, if *own { " in your ledger" } else { "" });
                let total = total(account);
                message!("{charged} to {dataset}{whose}, entry {entry}; {total}")
            }
            Self::Nameless => {
                message!("all unnamed streams share one account; name yours with ", ["dataset"])
            }
            Self::Unaccounted => {
                "warning: no ledger was charged; add this cost to that of earlier releases yourself".into()
            }
            Self::AnsweredBefore { request } => {
                message!("request {request} was answered before: nothing is charged, and the stored answer is printed")
            }
            Self::Unfinished { request } => {
                message!(
                    "request {request} was charged before but not finished; running it again under the same charge"
                )
            }
            Self::Suspended { dataset, entry } => {
                message!("{dataset} is suspended: investigate entry {entry}, then run `reticent ledger reopen`")
            }
        }
    }
}

/// Spells settings plainly.
impl fmt::Display for Notice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message().fmt(formatter)
    }
}

/// What is left of a limit; without one, what was spent.
fn total(account: &Account) -> String {
    let spent = |(terms, spent): &(Terms, Spend)| format!("{spent} (unit {}, {})", terms.unit, terms.adjacency);
    match &account.dataset.budget {
        Budget::Limit(limit) => {
            let left = account.spent.first().and_then(|(_, spent)| account.dataset.budget.left(spent));
            left.map_or_else(String::new, |left| format!("{} of {limit} is left", left.rounded_down()))
        }
        Budget::Unlimited => {
            let all = account.spent.iter().map(spent).collect::<Vec<_>>().join("; ");
            format!("spent on it so far: {all}; there is no limit")
        }
    }
}
