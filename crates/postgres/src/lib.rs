//! Connections to PostgreSQL, for ledgers and tables alike: which server, which login, and who is trusted.
//!
//! ```
//! use reticent_postgres::{masked, without_passwords};
//!
//! let url = "postgres://ada:lovelace@db.example/shop?sslmode=require";
//! assert_eq!(masked(url), "postgres://ada:***@db.example/shop?sslmode=require");
//! assert_eq!(without_passwords(url), "postgres://ada@db.example/shop?sslmode=require");
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `url` | [`known_url`], [`masked`], [`without_passwords`]: addresses that may be shown |
//! | `address` | `Address`: a server, a database and a login; with the feature `client` |
//! | `passfile` | passwords in `~/.pgpass` |
//! | `tls` | which certificates are accepted |
//!
//! # What is not promised
//! A server that is reached without TLS, or with `sslmode=prefer` and no `sslrootcert`, can be anyone.

#[cfg(feature = "client")]
mod address;
#[cfg(feature = "client")]
mod passfile;
#[cfg(feature = "client")]
mod tls;
mod url;

#[cfg(feature = "client")]
pub use self::address::{Address, Error, Result, chain};
pub use self::url::{SCHEMES, is_password, known_url, masked, without_passwords};
