//! Known keys.

use std::path::{Path, PathBuf};

use anyhow::Result;
use reticent_ledger::accounting::refuse_public;
use reticent_ledger::files::shared;
use reticent_stream::count::source::standard_file;

use super::arguments::Arguments;
use crate::exit::usage;

/// The keys given on the command line, as a list or a file.
pub fn known(arguments: &Arguments) -> Result<Option<Vec<String>>> {
    let Some(list) = &arguments.keys else { return Ok(None) };
    let keys: Vec<String> = if Path::new(list).is_file() {
        let file = [PathBuf::from(list)];
        let counted = if arguments.file == Path::new("-") { standard_file() } else { Some(arguments.file.clone()) };
        if counted.is_some_and(|counted| shared(&file, &[counted]).is_some()) {
            return Err(usage(format!(
                "--keys {list} is the file that is counted, and keys are public; list the keys instead"
            )));
        }
        refuse_public(arguments.accounting.ledger.as_deref(), &file)?;
        let text =
            std::fs::read_to_string(list).map_err(|error| usage(format!("cannot read --keys {list}: {error}")))?;
        text.lines().map(str::to_owned).filter(|key| !key.is_empty()).collect()
    } else if list.contains('/') || [".txt", ".csv"].iter().any(|end| list.ends_with(end)) {
        return Err(usage(format!("--keys {list} looks like a file, but there is none of that name")));
    } else {
        list.split(',').map(|key| key.trim().to_owned()).filter(|key| !key.is_empty()).collect()
    };
    if keys.is_empty() {
        return Err(usage(format!(
            "--keys {list} names no key; write for example home,help,about or the name of a file"
        )));
    }
    Ok(Some(keys))
}
