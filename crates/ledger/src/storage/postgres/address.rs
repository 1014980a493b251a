//! The address of a server, and how to connect to it.

use std::error::Error as _;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use postgres::config::{Host, SslMode};
use postgres::{Client, Config, NoTls};

use super::tls;
use crate::error::{Error, Result};
use crate::storage::location::Location;

/// Unless the URL says otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// An idle connection is probed after this long, and given up after four unanswered probes.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(20);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_RETRIES: u32 = 4;
const UNANSWERED: Duration = Duration::from_secs(60);

/// A server, a database and a login.
///
/// A libpq URL, with these differences:
/// - Without `sslmode`, TLS is required unless the server is on this machine: queries about a dataset can be secret.
/// - `require`, `verify-ca` and `verify-full` mean the same: the server's certificate must be valid for its name, and
///   signed by an authority that this machine trusts or by one in `sslrootcert=FILE`. With `prefer` it is checked only
///   if `sslrootcert` is given, since an attacker who could forge it could as well pretend that the server has no TLS.
/// - Without a password, the environment variable `PGPASSWORD` is used.
pub struct Address {
    config: Config,
    tls: Option<tls::Connector>,
    /// The URL without its password.
    shown: String,
}

impl Address {
    /// Parses a URL.
    pub fn parse(url: &str) -> Result<Self> {
        let (plain, mode, roots) = take_tls_options(url)?;
        let mut config: Config = plain.parse().map_err(|error: postgres::Error| unreadable(chain(&error)))?;
        if config.get_hosts().is_empty() {
            // A certificate is checked against a name, which is then the address.
            let addresses = config.get_hostaddrs().to_vec();
            for address in addresses {
                config.host(&address.to_string());
            }
        }
        if config.get_hosts().is_empty() {
            return Err(unreadable("it names no host".into()));
        }
        if let (None, Some(password)) = (config.get_password(), std::env::var_os("PGPASSWORD")) {
            config.password(password.into_encoded_bytes());
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(UNANSWERED);
        }
        if config.get_keepalives_interval().is_none() {
            config.keepalives_idle(KEEPALIVE_IDLE).keepalives_interval(KEEPALIVE_INTERVAL);
            config.keepalives_retries(KEEPALIVE_RETRIES);
        }
        // The client connects to the address, whatever the host's name.
        let stays = config.get_hosts().iter().all(is_here) && config.get_hostaddrs().iter().all(IpAddr::is_loopback);
        let default = if stays { SslMode::Prefer } else { SslMode::Require };
        let mode = mode.unwrap_or(default);
        config.ssl_mode(mode);
        let tls = match (mode, roots) {
            (SslMode::Disable, _) => None,
            (_, Some(file)) => Some(tls::trusting_file(&file)?),
            (SslMode::Prefer, None) => Some(tls::trusting_anyone()),
            (_, None) => Some(tls::trusting_the_system()?),
        };
        let shown = Location::Postgres(url.into()).to_string();
        Ok(Self { config, tls, shown })
    }

    /// Opens a new connection.
    pub fn connect(&self) -> Result<Client> {
        let connected = match &self.tls {
            Some(tls) => self.config.connect(tls.clone()),
            None => self.config.connect(NoTls),
        };
        connected.map_err(|error| {
            let said = error.as_db_error().map_or_else(|| chain(&error), |error| error.message().to_owned());
            let hint = if said.contains("does not support TLS") {
                "; if the network is trusted, add sslmode=disable to the URL"
            } else if said.contains("peer certificate") {
                "; name the authority that signed it with sslrootcert=FILE in the URL"
            } else {
                ""
            };
            Error::Storage { doing: "opened", reason: format!("{self}: {said}{hint}") }
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.shown)
    }
}

/// Splits off the TLS options, which the client library does not know.
fn take_tls_options(url: &str) -> Result<(String, Option<SslMode>, Option<String>)> {
    if url.matches('@').count() > 1 {
        // The client library would take the rest of a password for the host; others end the login at the last @.
        return Err(unreadable("it has more than one @; write @ as %40 in a password or a name".into()));
    }
    let Some((address, options)) = url.split_once('?') else { return Ok((url.into(), None, None)) };
    if options.contains('@') {
        // Most likely the rest of a password: it must not be parsed as options, whose names appear in errors.
        return Err(unreadable("it has an @ after the ?; write them as %3F and %40 in a password or a value".into()));
    }
    let (mut mode, mut roots, mut others) = (None, None, Vec::new());
    for option in options.split('&') {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        match &*percent_decode_str(name).decode_utf8_lossy() {
            "sslmode" => {
                mode = Some(match value {
                    "disable" => SslMode::Disable,
                    "prefer" => SslMode::Prefer,
                    "require" | "verify-ca" | "verify-full" => SslMode::Require,
                    _ => {
                        return Err(unreadable(
                            "sslmode must be disable, prefer, require, verify-ca or verify-full".into(),
                        ));
                    }
                });
            }
            "sslrootcert" => roots = Some(percent_decode_str(value).decode_utf8_lossy().into_owned()),
            _ => others.push(option),
        }
    }
    let query = if others.is_empty() { String::new() } else { format!("?{}", others.join("&")) };
    Ok((format!("{address}{query}"), mode, roots))
}

/// Whether the host is this machine.
fn is_here(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback()),
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

/// The library's error messages name options, never values.
fn unreadable(reason: String) -> Error {
    Error::Storage { doing: "opened", reason: format!("its URL is not valid: {reason}") }
}

/// An error with all its causes.
pub fn chain(error: &postgres::Error) -> String {
    let (mut text, mut cause) = (error.to_string(), error.source());
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(url: &str) -> SslMode {
        Address::parse(url).unwrap().config.get_ssl_mode()
    }

    #[test]
    fn only_this_machine_is_spoken_to_in_the_clear_by_default() {
        for here in ["localhost", "127.0.0.1", "127.9.9.9", "[::1]", "%2Frun%2Fpostgresql"] {
            assert_eq!(mode(&format!("postgres://u:p@{here}/d")), SslMode::Prefer, "{here}");
        }
        for here in ["127.0.0.1", "::1", "127.0.0.1,127.0.0.2"] {
            assert_eq!(mode(&format!("postgres://u:p@localhost/d?hostaddr={here}")), SslMode::Prefer, "{here}");
        }
        let elsewhere = [
            "db.example/d",
            "10.0.0.1/d",
            "localhost.example/d",
            "[2001:db8::1]/d",
            "localhost,db.example/d",
            "localhost/d?hostaddr=192.0.2.2",
            "localhost,localhost/d?hostaddr=127.0.0.1,192.0.2.2",
            "db.example/d?hostaddr=127.0.0.1",
        ];
        for elsewhere in elsewhere {
            // A system without any certificates reports that instead.
            match Address::parse(&format!("postgres://u:p@{elsewhere}")) {
                Ok(address) => assert_eq!(address.config.get_ssl_mode(), SslMode::Require, "{elsewhere}"),
                Err(error) => assert!(error.to_string().contains("sslrootcert"), "{error}"),
            }
        }
        assert_eq!(mode("postgres://u@db.example/d?sslmode=disable"), SslMode::Disable);
        assert_eq!(mode("postgres://u@db.example/d?ssl%6Dode=disable"), SslMode::Disable);
        assert_eq!(mode("postgres://u@db.example/d?connect_timeout=3&sslmode=prefer"), SslMode::Prefer);
    }

    #[test]
    fn an_unreadable_url_is_told_without_its_password() {
        let wrong = [
            "postgres://u:topsecret@h/d?sslmode=perhaps",
            "postgres://u:topsecret@h:port/d",
            "postgres://u:topsecret@h/d?sslrootcert=/no/such/file",
            "postgres://u:topsecret@/d",
            "postgres://u:topsecret@h/d?no_such_option=1",
            "postgres://u:a?topsecret=b@h/d",
            "postgres://u:topsecret:b@h:x/d",
            "postgres://u:a@topsecret@h/d",
            "postgres://u:a@topsecret/b@h/d",
        ];
        for url in wrong {
            let Err(error) = Address::parse(url) else { panic!("{url} was read") };
            assert!(!error.to_string().contains("topsecret"), "{error}");
        }
    }
}
