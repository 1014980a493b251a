//! The tables of a query, by name.

use std::path::PathBuf;

use reticent::message;
use reticent_table::{Format, Table, TextOptions};

use super::standard_input::StandardInput;
use crate::error::{Error, Result};
use crate::query::Input;

/// A table, as written.
#[derive(Debug, Clone)]
pub struct NamedTable {
    /// Its name in the query.
    pub name: String,
    /// A file, a folder, a pattern, a table of a database, or `-` for standard input.
    pub location: String,
    /// Whether its rows are public.
    pub public: bool,
}

/// The tables of a query, as written.
#[derive(Debug, Clone, Default)]
pub struct NamedTables {
    /// Each table.
    pub tables: Vec<NamedTable>,
    /// What text files do not say of themselves.
    pub text: TextOptions,
    /// The format of standard input.
    pub input: Option<Format>,
    /// Where a copy of standard input is kept; `None` for the system's folder for temporary files.
    pub folder: Option<PathBuf>,
}

impl NamedTables {
    /// Opens them, and copies standard input if it is one of them and a pipe. No row is read otherwise.
    ///
    /// # Errors
    /// If there is none, two have the same name, one cannot be opened, or an option is for none of them.
    pub fn open(&self) -> Result<(Vec<Input>, Option<StandardInput>)> {
        let mut inputs: Vec<Input> = Vec::new();
        let mut standard_input = None;
        for NamedTable { name, location, public } in &self.tables {
            if name.contains("://") {
                // It may hold a password, and is not shown.
                return Err(Error::option(message!(
                    ["table"],
                    ": put a name before the URL, as in ",
                    ["table"],
                    " people=postgresql://…?table=people"
                )));
            }
            if inputs.iter().any(|input| input.table.name() == name) {
                return Err(Error::option(message!("there are two tables {name}; give each its own name")));
            }
            let table = match location.as_str() {
                "-" if *public || standard_input.is_some() => {
                    return Err(Error::option(message!(
                        "standard input can be one private table; write the rows of the other to a file"
                    )));
                }
                "-" => {
                    let input = standard_input.insert(StandardInput::read(self.folder.as_deref())?);
                    input.table(name, self.input, self.text)?
                }
                location => Table::open_with(name, location, self.text)?,
            };
            inputs.push(Input { table, public: *public });
        }
        if inputs.is_empty() {
            return Err(Error::option(message!(
                "no table: add ",
                ["table"],
                " NAME=FILE, as in ",
                ["table"],
                " people=people.csv, or ",
                ["table"],
                " NAME=postgresql://…?table=SCHEMA.TABLE"
            )));
        }
        let none = |is: &dyn Fn(&Table) -> bool| inputs.iter().all(|input| !is(&input.table));
        if self.text.delimiter.is_some() && none(&|table| table.chosen_delimiter().is_some()) {
            return Err(Error::option(message!(
                ["delimiter"],
                " is for CSV tables, and none of the tables is one; leave it out"
            )));
        }
        if self.text.encoding.is_some() && none(&|table| table.chosen_encoding().is_some()) {
            return Err(Error::option(message!(
                ["encoding"],
                " is for text, and none of the tables is text; leave it out"
            )));
        }
        if self.input.is_some() && standard_input.is_none() {
            return Err(Error::option(message!(
                ["input"],
                " is the format of standard input, and no table is -; leave it out"
            )));
        }
        Ok((inputs, standard_input))
    }
}
