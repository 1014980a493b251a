//! The text form of a ledger's location.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use reticent::secrets::hide;
use reticent_postgres::{SCHEMES, is_password, known_url, masked, without_passwords};

use crate::error::{Error, Result};
use reticent_durable::beside;

/// Where a ledger is.
///
/// # Example
/// ```
/// use reticent_ledger::Location;
///
/// assert_eq!("budgets.sqlite".parse(), Ok(Location::File("budgets.sqlite".into())));
/// assert!("host=db.example password=secret".parse::<Location>().is_err());
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

impl Location {
    /// The files of a ledger, its main file first; empty for a server.
    pub fn files(&self) -> Vec<PathBuf> {
        match self {
            Self::File(path) => ["", "-wal", "-shm", "-turn"].map(|ending| beside(path, ending)).into(),
            Self::Postgres(_) => Vec::new(),
        }
    }
}

/// Anything other than the URL of a known server is a file, unless it looks like an address in another form: that may
/// contain a password, so it is not used as a file name, and the error does not show it. A `./` prefix always makes it
/// a file name.
impl FromStr for Location {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text.starts_with('.') || Path::new(text).is_absolute() {
            return Ok(Self::File(text.into()));
        }
        match known_url(text) {
            Some(server) => Ok(Self::Postgres(server)),
            None if is_other_address(text) => {
                let allowed =
                    "a file (./NAME if its name looks like an address) or postgres://USER:PASSWORD@HOST/DATABASE";
                let value = "an address in an unknown form".into();
                Err(Error::Unusable { what: "the ledger's location", value, allowed })
            }
            None => Ok(Self::File(text.into())),
        }
    }
}

/// `SCHEME://…`, `postgres:…`, `USER:PASSWORD@HOST` or `host=… password=…`
fn is_other_address(text: &str) -> bool {
    let begins = |scheme: &str| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    let names = ["host", "hostaddr", "server", "user", "dbname", "database"];
    has_login(text)
        || text.contains("://")
        || settings(text).any(|name| is_secret(&name) || names.contains(&&*name))
        || SCHEMES.iter().any(|scheme| begins(&format!("{scheme}:")))
}

/// `USER:PASSWORD@HOST`
fn has_login(text: &str) -> bool {
    text.split_once(':').is_some_and(|(_, rest)| rest.contains('@'))
}

fn is_secret(name: &str) -> bool {
    is_password(name) || name == "pwd"
}

/// The names in `host=… password=…`, in lower case.
fn settings(text: &str) -> impl Iterator<Item = String> {
    let settings = text.split(|letter: char| letter.is_whitespace() || ";&?".contains(letter));
    settings.filter_map(|setting| setting.split_once('=')).map(|(name, _)| name.to_ascii_lowercase())
}

/// Whether a name looks like an address with a password, or has a word that does; such a name must not be stored or
/// shown. File paths are exempt.
pub fn may_hold_a_password(name: &str) -> bool {
    let is_path = name.starts_with('.') || Path::new(name).is_absolute() && !name.starts_with("//");
    let has_login = name.contains("//") && has_login(name) || name.split_whitespace().any(has_login);
    !is_path && (has_login || settings(name).any(|name| is_secret(&name)))
}

impl Location {
    /// The location without passwords, in a form that can be stored and parsed again: the same file, or the same
    /// server, database and user.
    pub fn without_secrets(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Postgres(url) => without_passwords(url),
        }
    }

    /// [`Location::without_secrets`], the same whatever the working directory.
    pub fn lasting(&self) -> String {
        match self {
            Self::File(path) => path.canonicalize().unwrap_or_else(|_| path.clone()).display().to_string(),
            shared => shared.without_secrets(),
        }
    }
}

/// Without the password.
impl fmt::Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // A secret mistaken for a file name is still a secret.
            Self::File(path) => formatter.write_str(&hide(&path.display().to_string())),
            Self::Postgres(url) => formatter.write_str(&masked(url)),
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Location({self})")
    }
}

#[cfg(test)]
mod tests {
    use reticent::error::Explained;

    use super::*;

    fn shown(url: &str) -> String {
        Location::Postgres(url.into()).to_string()
    }

    #[test]
    fn a_server_is_known_in_whatever_case() {
        for url in ["Postgres://u@h/D", "POSTGRES://u@h/D", "postgres://u@h/D"] {
            assert_eq!(url.parse(), Ok(Location::Postgres("postgres://u@h/D".into())));
        }
        assert_eq!("PostgreSQL://h".parse(), Ok(Location::Postgres("postgresql://h".into())));
        for path in ["postgres", "./postgres://h", "/a:b@c/host=d", "größe", "a=b.sqlite", "me@home.sqlite"] {
            assert_eq!(path.parse(), Ok(Location::File(path.into())));
        }
    }

    #[test]
    fn an_address_of_another_form_is_neither_a_file_nor_shown() {
        for address in [
            "postgres:/u:secret@h/d",
            "Postgres:secret",
            "posgres://u:secret@h/d",
            "mysql://secret@h",
            "jdbc:postgresql://h/d?password=secret",
            "u:secret@h/d",
            "host=h password=secret",
            "password=secret",
            "Host=h;Password=secret",
            "dbname=d sslpassword=secret",
        ] {
            let error = address.parse::<Location>().unwrap_err();
            assert!(error.is_usage() && !format!("{error} {error:?}").contains("secret"), "{address}: {error}");
        }
    }

    #[test]
    fn names_with_a_login_may_hold_a_password() {
        for name in ["postgres://ada:p w@h", "//ada:pw@h", "see ada:pw@h/d", "host=h password=pw", "Pwd=x;Server=h"] {
            assert!(may_hold_a_password(name), "{name}");
        }
        for name in [
            "people",
            "stream/visits",
            "/home/a:b@c/people.csv",
            "./a:b@c",
            "ada@db.example",
            "step of 1h",
            "a=b",
            "$1 :a @b",
        ] {
            assert!(!may_hold_a_password(name), "{name}");
        }
    }

    #[test]
    fn passwords_are_never_shown() {
        let urls = [
            "postgres://u:secret%40@h/d?password=secret&x=1",
            "postgresql://u:secret@secret@h",
            "postgres://h/d?password=secret",
            "postgres://u:a?secret@h/d",
            "postgres://u:a/secret=1&b?@h/d?x=1",
            "postgres://u@h/d?x=1&password=secret@h",
            "postgres://u:p@h/d?password=a@secret",
            "postgres://u:secret?password=b@h/d",
            "postgres://u@h:1/d?password=a@secret",
            "postgres://h/d?p%61ssword=secret",
            "postgres://h/d?x=1&%70%61%73%73%77%6F%72%64=secret",
            "postgres://h/d?Password=secret&sslpassword=secret",
            "host=h password=secret",
        ];
        for url in urls {
            let location = Location::Postgres(url.into());
            for shown in [location.to_string(), format!("{location:?}"), location.without_secrets()] {
                assert!(!shown.contains("secret"), "{url}: {shown}");
            }
        }
        assert_eq!(shown("postgres://h/d?sslmode=require"), "postgres://h/d?sslmode=require");
        assert_eq!(shown("postgres://u:p@h:1/d?password=p&a=b"), "postgres://u:***@h:1/d?password=***&a=b");
        assert_eq!(shown("postgres://u@h/d?p%61ssword=p"), "postgres://u@h/d?p%61ssword=***");
    }

    #[test]
    fn without_secrets_it_is_the_same_place() {
        let plain = |url: &str| url.parse::<Location>().unwrap().without_secrets();
        assert_eq!(plain("Postgres://u:p@h:1/d?password=p&a=b"), "postgres://u@h:1/d?a=b");
        assert_eq!(plain("postgres://u:p@h/d?password=p"), "postgres://u@h/d");
        assert_eq!(plain("postgres://h/d"), "postgres://h/d");
        assert_eq!(plain("./budgets: 2?password=1@home.sqlite"), "./budgets: 2?password=1@home.sqlite");
    }

    #[test]
    #[cfg(feature = "postgres")]
    fn without_secrets_the_client_comes_to_the_same_server() {
        for url in [
            "postgres://u:p@h:1,i:2/d?connect_timeout=3&p%61ssword=q&target_session_attrs=read-write",
            "postgres://u%40v:p%40%3Fq@[::1]/d%40e?hostaddr=::1",
            "postgresql://:p@localhost",
            "postgres://u@%2Frun%2Fpostgresql/d?password=q",
        ] {
            let with: postgres::Config = url.parse().unwrap();
            let mut without: postgres::Config = Location::Postgres(url.into()).without_secrets().parse().unwrap();
            assert_eq!(without.get_password(), None, "{url}");
            without.password(with.get_password().unwrap());
            assert_eq!(format!("{without:?}"), format!("{with:?}"), "{url}");
        }
    }
}
