//! Accounting for the commands that release something: the arguments, and what the user hears of charges.

use std::path::{Path, PathBuf};

use anyhow::Result;
use reticent::ledger::Origin;
use reticent::message::Spelling;
use reticent_ledger::accounting::{AccountingSettings, Payer};

use crate::output::say;

/// The arguments that every releasing command has.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(next_help_heading = "Accounting")]
pub struct Arguments {
    /// The ledger to charge, a file or postgres://…; the dataset must be registered in it [default: $RETICENT_LEDGER,
    /// or else your own, which accounts for everything you release]
    #[arg(long, value_name = "PLACE")]
    pub ledger: Option<String>,
    /// The dataset whose budget is charged [default: the full path of the file, or the table of
    /// the database]
    #[arg(long, value_name = "NAME")]
    pub dataset: Option<String>,
    /// Charge nothing, with a warning; refused for a dataset that has a budget
    #[arg(long, conflicts_with_all = ["ledger", "anchor", "request"])]
    pub no_ledger: bool,
    /// Record the ledger's newest hash in this file, and refuse to charge a ledger that lacks that entry (detects a
    /// restored older copy)
    #[arg(long, value_name = "FILE")]
    pub anchor: Option<PathBuf>,
    /// Request id: repeating the request costs nothing and prints the same releases
    #[arg(long, value_name = "ID")]
    pub request: Option<String>,
}

impl Arguments {
    /// The arguments as settings.
    pub fn settings(&self) -> AccountingSettings {
        AccountingSettings {
            ledger: self.ledger.clone(),
            dataset: self.dataset.clone(),
            no_ledger: self.no_ledger,
            anchor: self.anchor.clone(),
            request: self.request.clone(),
        }
    }
}

/// Opens the account for the rows of a file, or of standard input if `None`; charges are reported.
///
/// # Errors
/// As [`Payer::new`].
pub fn payer(settings: &AccountingSettings, file: Option<&Path>) -> Result<Payer> {
    payer_of(settings, file.map(|file| Origin::File(file.into())).as_ref())
}

/// [`payer`] for rows wherever they are kept.
///
/// # Errors
/// As [`Payer::of`].
pub fn payer_of(settings: &AccountingSettings, rows: Option<&Origin>) -> Result<Payer> {
    Ok(Payer::of(settings, rows, |notice| say!("{}", notice.message().spelled(Spelling::Flag)))?)
}
