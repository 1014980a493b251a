//! What a query must satisfy beyond being private.

use std::collections::BTreeSet;

use reticent::message;
use reticent_table::Table;

use super::Input;
use crate::error::{Error, Result, no_such};
use crate::options::{Options, Unit};
use crate::resolve::Resolved;

/// Refuses two private tables that share a file, or rows of a database: each of its rows would occur twice, perhaps with different units, so
/// the stability of neither table bounds what one unit changes in both.
pub(super) fn refuse_common_files(inputs: &[Input], tables: &BTreeSet<usize>) -> Result<()> {
    let tables: Vec<&Table> = tables.iter().map(|&table| &inputs[table].table).collect();
    for (place, one) in tables.iter().enumerate() {
        if let Some(other) = tables[..place].iter().find(|other| one.has_a_file_of(other)) {
            let why = format!("ask about {} alone, under two aliases if need be", one.name());
            let common = if one.database_table().is_some() { "can have rows" } else { "have a file" };
            let what = format!("{} and {}, which {common} in common, in one query", other.name(), one.name());
            return Err(Error::not_private(what, why));
        }
    }
    Ok(())
}

/// The unit for the ledger: the unit columns of the private tables that the query reads. Tables joined on the unit may
/// name it differently; the ledger records all names.
pub(super) fn unit_name(inputs: &[Input], tables: impl Iterator<Item = usize>, options: &Options) -> String {
    let units = tables.filter_map(|table| match options.unit_of(inputs[table].table.name()) {
        Unit::Column(name) => Some(name.as_str()),
        Unit::Row => None,
    });
    let names: std::collections::BTreeSet<&str> = units.collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

/// Bounds that were asked for must be of a column, or of something that the query names. Where a table has no header,
/// any name may be a column.
pub(super) fn check_bounds(resolved: &Resolved, inputs: &[Input], options: &Options) -> Result<()> {
    let columns: Option<Vec<Vec<String>>> = inputs.iter().map(|input| input.table.columns()).collect();
    let Some(columns) = columns else { return Ok(()) };
    let is_known = |name: &&String| {
        let of_table = name.rsplit_once('.').is_some_and(|(_, column)| resolved.mentions(column));
        of_table || resolved.mentions(name) || resolved.asked.iter().any(|asked| asked.of == **name)
    };
    match options.asked_bounds.iter().find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => {
            let known: Vec<&str> = columns.iter().flatten().map(String::as_str).collect();
            let fault = no_such("column", name, &known);
            Err(Error::option(message!(["bounds"], " {name}=…: {fault}")))
        }
    }
}
