//! Public keys as users write them: of the groups of a query, or of a stream.
//!
//! Keys are published with every release. So a file that is read for them must be checked against the ledgers first:
//! this module reads no file, and its callers do both.

use thiserror::Error;

use crate::secrets::holds_a_key;

/// Why a text lists no public keys.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Problem {
    /// It looks like the name of a file, and there is no such file.
    #[error("there is no such file (to list keys, write a,b,c)")]
    NoSuchFile,
    /// There is no key.
    #[error("there is no key; write a list such as home,help,about, or a file with one key per line")]
    Empty,
    /// Keys are published, and secrets must not be.
    #[error("these are private keys or tokens, not group keys, which are printed with every answer")]
    Secret,
}

/// The keys of a comma-separated list.
///
/// # Errors
/// If the text looks like a mistyped file name: without a comma, and with a dot or a slash; if it lists no key, or
/// secrets.
///
/// # Example
/// ```
/// use reticent::keys::{Problem, listed};
///
/// assert_eq!(listed("home, help"), Ok(vec!["home".into(), "help".into()]));
/// assert_eq!(listed("hmoe.txt"), Err(Problem::NoSuchFile));
/// ```
pub fn listed(text: &str) -> Result<Vec<String>, Problem> {
    if !text.contains(',') && text.contains(['/', '.']) {
        return Err(Problem::NoSuchFile);
    }
    checked(text.split(',').map(|key| key.trim().to_owned()).collect())
}

/// The keys in the content of a file: one per line, or a column of this name if the first line names one.
///
/// # Errors
/// If there is no key, or one is a secret.
///
/// # Example
/// ```
/// use reticent::keys::in_file;
///
/// assert_eq!(in_file("Oslo\nRome\n", None), Ok(vec!["Oslo".into(), "Rome".into()]));
/// assert_eq!(in_file("id,city\n1,Oslo\n", Some("city")), Ok(vec!["Oslo".into()]));
/// ```
pub fn in_file(content: &str, column: Option<&str>) -> Result<Vec<String>, Problem> {
    let content = content.trim_start_matches('\u{feff}');
    let mut lines = content.lines().filter(|line| !line.trim().is_empty()).peekable();
    let unquoted = |cell: &str| {
        let cell = cell.trim();
        let quoted = cell.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        quoted.map_or_else(|| cell.to_owned(), |inner| inner.replace("\"\"", "\""))
    };
    let named = |first: &&str| first.split(',').position(|name| Some(unquoted(name).as_str()) == column);
    let place = lines.peek().and_then(named);
    if place.is_some() {
        lines.next();
    }
    let key = |line: &str| match place {
        Some(place) => unquoted(line.split(',').nth(place).unwrap_or("")),
        None => unquoted(line),
    };
    checked(lines.map(key).collect())
}

fn checked(mut keys: Vec<String>) -> Result<Vec<String>, Problem> {
    keys.retain(|key| !key.is_empty());
    match keys.iter().any(|key| holds_a_key(key)) {
        true => Err(Problem::Secret),
        false if keys.is_empty() => Err(Problem::Empty),
        false => Ok(keys),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_list_of_public_keys_is_refused() {
        let token = format!("{}{}", crate::secrets::TOKEN, "0123456789abcdef".repeat(4));
        assert_eq!(listed(&format!("home,{token}")), Err(Problem::Secret));
        assert_eq!(in_file(&token, None), Err(Problem::Secret));
        for text in ["patients.cvs", "./keys", "a/b"] {
            assert_eq!(listed(text), Err(Problem::NoSuchFile), "{text}");
        }
        for text in ["", " , ,"] {
            assert_eq!(listed(text), Err(Problem::Empty), "{text}");
        }
        assert_eq!(in_file("\u{feff}\n\n", None), Err(Problem::Empty));
        assert_eq!(listed("v1.0,v1.1").unwrap().len(), 2, "with a comma, it is a list");
    }
}
