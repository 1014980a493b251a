//! How the place of a ledger is written.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Where a ledger is.
///
/// # Example
/// ```
/// use reticent_ledger::Location;
///
/// assert_eq!("budgets.sqlite".parse(), Ok(Location::File("budgets.sqlite".into())));
/// let shared: Location = "postgres://officer:secret@db.example/budgets".parse().unwrap();
/// assert_eq!(shared.to_string(), "postgres://officer:***@db.example/budgets");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub enum Location {
    /// A SQLite file.
    File(PathBuf),
    /// A PostgreSQL server and database, as a URL.
    Postgres(String),
}

impl FromStr for Location {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let shared = ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme));
        Ok(if shared { Self::Postgres(text.into()) } else { Self::File(text.into()) })
    }
}

/// Without the password.
impl fmt::Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(formatter),
            Self::Postgres(url) => formatter.write_str(&without_password(url)),
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Location({self})")
    }
}

/// Rather too much than too little: a password can hold what it should have escaped.
fn without_password(url: &str) -> String {
    let hidden = url.split_once("://").and_then(|(scheme, rest)| {
        let (login, host) = rest.rsplit_once('@')?;
        let (user, _) = login.split_once(':')?;
        Some(format!("{scheme}://{user}:***@{host}"))
    });
    let url = hidden.unwrap_or_else(|| url.into());
    let Some((address, query)) = url.split_once('?') else { return url };
    let shown = |part: &str| if part.starts_with("password=") { "password=***".into() } else { part.to_owned() };
    format!("{address}?{}", query.split('&').map(shown).collect::<Vec<_>>().join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_never_shown() {
        for url in ["postgres://u:p%40ss@h/d?password=p&x=1", "postgresql://u:a@b@h", "postgres://h/d?password=p"] {
            let location: Location = url.parse().unwrap();
            for shown in [location.to_string(), format!("{location:?}")] {
                assert!(!shown.contains("p%40ss") && !shown.contains("=p") && !shown.contains("a@b"), "{shown}");
            }
        }
        for url in [
            "postgres://u:a?secret@h/d",
            "postgres://u:a/secret=1&b?@h/d?x=1",
            "postgres://u@h/d?x=1&password=secret@h",
        ] {
            assert!(!without_password(url).contains("secret"), "{}", without_password(url));
        }
        assert_eq!(without_password("postgres://h/d?sslmode=require"), "postgres://h/d?sslmode=require");
        assert_eq!(without_password("postgres://u:p@h:1/d?password=p&a=b"), "postgres://u:***@h:1/d?password=***&a=b");
    }
}
