//! Known keys, as users write them.

use std::path::{Path, PathBuf};

use reticent::message;
use reticent_ledger::accounting::refuse_public;
use reticent_ledger::files::shared;

use super::error::{Error, Result};

/// The public keys: a comma-separated list, or a file with one key per line. `counted` is the file that is counted, and
/// `ledger` the ledger that the user names.
///
/// # Errors
/// If there is no key or no such file, or the file holds rows that are protected.
pub fn known(list: &str, counted: Option<&Path>, ledger: Option<&str>) -> Result<Vec<String>> {
    let wrong = |message| Err(Error::combination("keys", message));
    let keys: Vec<String> = if Path::new(list).is_file() {
        let file = [PathBuf::from(list)];
        if counted.is_some_and(|counted| shared(&file, &[counted.into()]).is_some()) {
            return wrong(message!(
                ["keys"],
                " {list} is the file that is counted, and keys are public; list the keys instead"
            ));
        }
        refuse_public(ledger, &file)?;
        match std::fs::read_to_string(list) {
            Ok(text) => text.lines().map(str::to_owned).filter(|key| !key.is_empty()).collect(),
            Err(error) => return wrong(message!("cannot read ", ["keys"], " {list}: {error}")),
        }
    } else if list.contains('/') || [".txt", ".csv"].iter().any(|end| list.ends_with(end)) {
        return wrong(message!(["keys"], " {list} looks like a file, but there is none of that name"));
    } else {
        list.split(',').map(|key| key.trim().to_owned()).filter(|key| !key.is_empty()).collect()
    };
    match keys.is_empty() {
        true => wrong(message!(
            ["keys"],
            " {list} names no key; write for example home,help,about or the name of a file"
        )),
        false => Ok(keys),
    }
}
