//! Parsing of ranges, keys and guarantees.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use reticent::keys::{Problem, in_file, listed};
use reticent::message;
use reticent::privacy::Guarantee;

use crate::error::{Error, Result};
use crate::options::Range;

/// Builds a guarantee from its parameters.
///
/// # Errors
/// If parameters are missing, contradictory or invalid.
pub fn guarantee(epsilon: Option<&str>, delta: Option<&str>, rho: Option<&str>) -> Result<Guarantee> {
    Ok(match (epsilon, delta, rho) {
        (Some(epsilon), None, None) => Guarantee::Pure(parsed("epsilon", epsilon)?),
        (Some(epsilon), Some(delta), None) => Guarantee::Approx(parsed("epsilon", epsilon)?, parsed("delta", delta)?),
        (None, None, Some(rho)) => Guarantee::Zcdp(parsed("rho", rho)?),
        (None, Some(_), None) => {
            return Err(Error::option(message!(["delta"], " requires ", ["epsilon"], "; add ", ["epsilon"], " 1")));
        }
        (Some(_), _, Some(_)) => {
            return Err(Error::option(message!("give either ", ["epsilon"], " or ", ["rho"], ", not both")));
        }
        _ => return Err(Error::option(message!("no budget given; add ", ["epsilon"], " 1 (smaller is more private)"))),
    })
}

/// Parses a range.
///
/// # Errors
/// If it is not a valid range.
pub fn range(column: &str, text: &str) -> Result<Range> {
    if text.trim() == "auto" {
        return Ok(Range::Auto);
    }
    let bounds = text.parse().map_err(|error| Error::option(message!(["bounds"], " {column}={text}: {error}")))?;
    Ok(Range::Public(bounds))
}

/// Parses keys: a list, or a file with one key per line or with a column of that name.
///
/// # Privacy
/// Keys are published with every answer. `allow` decides whether a file may be read for them; ask the ledgers whether it
/// holds protected rows.
///
/// # Errors
/// If it is neither, or the keys must not be published.
pub fn keys<E: From<Error>>(
    column: &str,
    text: &str,
    folder: Option<&Path>,
    allow: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<Vec<String>, E> {
    let path = folder.map_or_else(|| PathBuf::from(text), |folder| folder.join(text));
    let wrong = |named: String, why: &dyn Display| Error::option(message!(["keys"], " {named}: {why}"));
    if !path.is_file() {
        let named = |problem: &Problem| match problem {
            Problem::NoSuchFile => format!("{column}={text}"),
            _ => column.to_owned(),
        };
        return listed(text).map_err(|problem| wrong(named(&problem), &problem).into());
    }
    allow(&path)?;
    let named = format!("{column}={}", path.display());
    let content = std::fs::read_to_string(&path).map_err(|error| wrong(named.clone(), &error))?;
    Ok(in_file(&content, Some(column)).map_err(|problem| wrong(named, &problem))?)
}

/// The most characters of a parameter. All arithmetic with budgets is exact: with numbers of thousands of digits, planning would
/// take minutes.
const LONGEST_NUMBER: usize = 60;

/// Parses a parameter.
pub(super) fn parsed<T: FromStr<Err = reticent::Error>>(setting: &'static str, text: &str) -> Result<T> {
    if text.trim().len() > LONGEST_NUMBER {
        return Err(Error::option(message!(
            [setting],
            " has too many digits; write it in {LONGEST_NUMBER} characters"
        )));
    }
    Ok(text.trim().parse::<T>().map_err(|error| error.named(setting))?)
}
