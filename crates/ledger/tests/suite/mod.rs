//! What every ledger must do, on any storage.
//!
//! | module | holds |
//! |---|---|
//! | [`budgets`] | sums, currencies, units, datasets, names |
//! | [`requests`] | the same id again, releases, failures, receipts, permits |
//! | [`tampering`] | every change in the storage is found |
//! | [`anchors`] | older copies and rewritten chains are found |
//! | [`crowd`] | many simultaneous requests: exactly what fits is granted |
//! | [`kills`] | clients and servers are killed |
//! | [`runs`] | a process that ends before an outcome was stored suspends its dataset |

pub mod anchors;
pub mod budgets;
pub mod crowd;
pub mod kills;
pub mod requests;
pub mod runs;
pub mod tampering;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use reticent::ledger::{Accounting, Charge, ChargeOutcome, Keeper, OnInterruption, Receipt};
use reticent::privacy::{Adjacency, Guarantee};
use reticent_ledger::{Budget, Dataset, DurableLedger, Entry, Location, Terms};

/// The place of a test's own ledger.
pub trait Place {
    /// How the ledger is opened.
    fn location(&self) -> Location;
    /// Runs SQL past the ledger, as a vandal would. The tables are `entry` and `release`; what is made in the schema
    /// `saved` is beside the ledger, not in it.
    fn vandalise(&self, sql: &str);
    /// A copy of all that is there now.
    fn copy(&self) -> Box<dyn Place>;
}

/// Finds an empty place.
pub type Fresh = fn() -> Box<dyn Place>;

/// One test for each rule.
macro_rules! every_rule {
    ($attribute:meta, $fresh:path) => {
        $crate::suite::every_rule!(@ $attribute, $fresh, budgets [
            ten_tenths_exhaust_one_exactly
            every_currency_is_added_up_by_itself
            without_a_limit_each_of_the_terms_is_kept
            a_limit_set_later_counts_what_was_spent
            other_units_and_adjacencies_are_refused_and_cost_nothing
            a_dataset_is_registered_once
            names_are_kept_as_they_are
            names_that_cannot_be_kept_are_refused
            accounts_and_history_tell_everything
            an_empty_place_is_no_ledger
            those_who_make_it_at_once_make_one
        ]);
        $crate::suite::every_rule!(@ $attribute, $fresh, requests [
            the_same_request_is_charged_once
            what_is_kept_first_stays
            a_failure_suspends_until_somebody_reopens
            a_stream_is_never_asked_again
            foreign_receipts_are_worth_nothing
            a_permit_covers_its_charge_exactly
            two_who_ask_the_same_at_once_show_the_same
        ]);
        $crate::suite::every_rule!(@ $attribute, $fresh, runs [
            a_process_that_ends_before_its_outcome_suspends
            a_process_that_stores_its_outcomes_suspends_nothing
            a_stream_suspends_only_while_rows_are_read_for_it
            all_who_notice_at_once_record_it_once
            what_was_recorded_as_lost_is_not_kept
            an_error_of_a_computation_suspends_with_a_text_of_its_own
            interrupted_runs_are_counted_and_enough_of_them_suspend
        ]);
        $crate::suite::every_rule!(@ $attribute, $fresh, tampering [
            whatever_is_changed_is_found
            whatever_is_removed_reordered_or_added_is_found
            nothing_is_charged_on_top_of_damage
            what_was_seen_must_stay
        ]);
        $crate::suite::every_rule!(@ $attribute, $fresh, anchors [
            an_older_copy_is_betrayed_by_the_anchor
            a_rewritten_chain_is_betrayed_by_the_anchor
            the_anchor_of_another_ledger_fits_none
            an_anchor_that_cannot_be_moved_costs_nothing
        ]);
    };
    (@ $attribute:meta, $fresh:path, $module:ident [$($rule:ident)*]) => {
        $(
            #[test]
            #[$attribute]
            fn $rule() {
                $crate::suite::$module::$rule($fresh);
            }
        )*
    };
}
pub(crate) use every_rule;

/// A new ledger at a place.
pub fn create(place: &dyn Place) -> DurableLedger {
    DurableLedger::create(&place.location()).unwrap()
}

/// The ledger at a place, once more.
pub fn open(place: &dyn Place) -> DurableLedger {
    DurableLedger::open(&place.location()).unwrap()
}

pub fn pure(epsilon: &str) -> Guarantee {
    Guarantee::Pure(epsilon.parse().unwrap())
}

pub fn approx(epsilon: &str, delta: &str) -> Guarantee {
    Guarantee::Approx(epsilon.parse().unwrap(), delta.parse().unwrap())
}

pub fn zcdp(rho: &str) -> Guarantee {
    Guarantee::Zcdp(rho.parse().unwrap())
}

pub fn rows() -> Terms {
    Terms { unit: "row".into(), adjacency: Adjacency::AddRemove }
}

/// A dataset of rows with a limit.
pub fn limited(name: &str, limit: Guarantee) -> Dataset {
    Dataset { name: name.into(), budget: Budget::Limit(limit), terms: Some(rows()) }
}

/// A request for one release about rows.
pub fn ask(dataset: &str, request: &str, guarantee: Guarantee) -> Charge {
    let Terms { unit, adjacency } = rows();
    let description = format!("what {request} wants to know");
    Charge::new(dataset, request, guarantee).caller("ada").description(description).unit(unit, adjacency)
}

/// The receipt of a charge that is made now.
pub fn receipt(ledger: &DurableLedger, charge: &Charge) -> Receipt {
    match ledger.charge(charge, OnInterruption::Recompute).unwrap() {
        ChargeOutcome::New(permit) => receipt_of(&permit),
        ChargeOutcome::Unfinished(_) => panic!("charged before"),
        ChargeOutcome::AlreadyAnswered(text) => panic!("answered before: {text}"),
    }
}

/// The receipt of a charge that was made before, and for which nothing was kept.
pub fn receipt_again(ledger: &DurableLedger, charge: &Charge) -> Receipt {
    match ledger.charge(charge, OnInterruption::Recompute).unwrap() {
        ChargeOutcome::Unfinished(permit) => receipt_of(&permit),
        ChargeOutcome::New(_) => panic!("not charged before"),
        ChargeOutcome::AlreadyAnswered(text) => panic!("answered before: {text}"),
    }
}

/// The receipt of a permit.
pub fn receipt_of(permit: &reticent::Permit) -> Receipt {
    match permit.accounting() {
        Accounting::Charged(receipt) => receipt.clone(),
        Accounting::Unaccounted => panic!("a ledger gave a permit without a charge"),
    }
}

/// All entries.
pub fn history(ledger: &DurableLedger) -> Vec<Entry> {
    let mut entries = Vec::new();
    ledger.history(|entry| entries.push(entry.clone())).unwrap();
    entries
}

/// Names what a child process of a test has to do.
pub const TASK: &str = "RETICENT_TEST_TASK";
/// What begins a line that a child tells its parent; the test harness prints others.
const TOLD: &str = "told ";

/// Tells the parent a line, in one write, so that it is whole or not at all.
pub fn tell(line: &str) {
    println!("{TOLD}{line}");
}

/// Starts this very test binary again as a child that runs the test `worker` only.
pub fn start_worker(task: &str, variables: &[(&str, String)]) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["worker", "--exact", "--nocapture", "--include-ignored"]).env(TASK, task);
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// What a child tells, until it ends.
pub fn told(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.map_while(Result::ok).filter_map(|line| line.strip_prefix(TOLD).map(String::from))
}

/// What the test `worker` does: the task of a child, or nothing if it is not one.
pub fn worker() {
    let Ok(task) = std::env::var(TASK) else { return };
    // The harness begins a line with the test's name.
    println!();
    match task.as_str() {
        crowd::TASK => crowd::work(),
        kills::TASK => kills::work(),
        runs::TASK => runs::work(),
        other => panic!("no task {other}"),
    }
}

/// A variable that a parent has set.
pub fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("the parent sets {name}"))
}
