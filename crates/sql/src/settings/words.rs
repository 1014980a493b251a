//! Parsing of ranges, keys and guarantees.

use std::path::{Path, PathBuf};

use reticent::message;
use reticent::privacy::Guarantee;
use reticent::secrets::holds_a_key;

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
/// # Errors
/// If it is neither.
pub fn keys(column: &str, text: &str, folder: Option<&Path>) -> Result<Vec<String>> {
    let keys = written_keys(column, text, folder)?;
    if keys.iter().any(|key| holds_a_key(key)) {
        return Err(Error::option(message!(
            ["keys"],
            " {column}: these are private keys or tokens, not group keys, which are printed with every answer"
        )));
    }
    Ok(keys)
}

fn written_keys(column: &str, text: &str, folder: Option<&Path>) -> Result<Vec<String>> {
    let path = folder.map_or_else(|| PathBuf::from(text), |folder| folder.join(text));
    if !path.is_file() {
        if text.contains(',') || !text.contains(['/', '.']) {
            return Ok(text.split(',').map(|key| key.trim().to_owned()).collect());
        }
        return Err(Error::option(message!(
            ["keys"],
            " {column}={text}: there is no such file (to list keys, write a,b,c)"
        )));
    }
    let text = std::fs::read_to_string(&path).map_err(|error| {
        let path = path.display();
        Error::option(message!(["keys"], " {column}={path}: {error}"))
    })?;
    Ok(key_column(column, &text))
}

/// The column of that name if the first line is a header; otherwise every line.
fn key_column(column: &str, text: &str) -> Vec<String> {
    let text = text.trim_start_matches('\u{feff}');
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).peekable();
    let unquoted = |cell: &str| cell.trim().trim_matches('"').replace("\"\"", "\"");
    let place = lines.peek().and_then(|first| first.split(',').position(|name| unquoted(name) == column));
    if place.is_some() {
        lines.next();
    }
    lines
        .map(|line| match place {
            Some(place) => unquoted(line.split(',').nth(place).unwrap_or("")),
            None => unquoted(line),
        })
        .collect()
}

/// Parses a parameter.
pub(super) fn parsed<T: std::str::FromStr>(setting: &'static str, text: &str) -> Result<T>
where
    T::Err: std::fmt::Display,
{
    text.trim().parse().map_err(|error: T::Err| Error::option(message!([setting], ": {error}")))
}
