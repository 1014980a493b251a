//! The address of a server, and how to connect to it.

use std::env;
use std::error::Error as _;
use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use postgres::{Client, NoTls};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::passfile::{self, Login};
use crate::{masked, tls};

/// Unless the URL says otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// An idle connection is probed after this long, and given up after four unanswered probes.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(20);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_RETRIES: u32 = 4;
const UNANSWERED: Duration = Duration::from_secs(60);
/// The server's usual port.
const PORT: u16 = 5432;

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a server cannot be reached. No text contains a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The URL is not one. The library's messages name options, never values.
    #[error("its URL is not valid: {0}")]
    Url(String),
    /// There are no certificates to check the server's against.
    #[error("{0}")]
    Certificates(String),
    /// The server did not answer, or refused.
    #[error("{0}")]
    Connection(String),
}

/// What a connection does between requests; it must be polled for as long as the connection is used.
pub type Driver = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A server, a database and a login.
///
/// A libpq URL, with these differences:
/// - Without `sslmode`, TLS is required unless the server is on this machine: queries about a dataset can be secret.
/// - `require`, `verify-ca` and `verify-full` mean the same: the server's certificate must be valid for its name, and
///   signed by an authority that this machine trusts or by one in `sslrootcert=FILE`. With `prefer` it is checked only
///   if `sslrootcert` is given, since an attacker who could forge it could as well pretend that the server has no TLS.
/// - Without a user, `PGUSER` is used, or else the name of the operating system's user. Without a password, `PGPASSWORD`
///   is used, or else the file named by `PGPASSFILE`, by default `~/.pgpass`.
#[derive(Clone)]
pub struct Address {
    config: Config,
    tls: Option<tls::Connector>,
    /// The URL without its password.
    shown: String,
}

impl Address {
    /// Parses a URL.
    ///
    /// # Errors
    /// [`Error::Url`] if it is not the URL of a server; [`Error::Certificates`] if nobody's certificate could be checked.
    pub fn parse(url: &str) -> Result<Self> {
        Ok(Self::read(url, false)?.0)
    }

    /// Parses a URL that may have a parameter `table`; returns its value, decoded.
    ///
    /// # Errors
    /// Those of [`Address::parse`].
    pub fn parse_with_table(url: &str) -> Result<(Self, Option<String>)> {
        Self::read(url, true)
    }

    fn read(url: &str, has_table: bool) -> Result<(Self, Option<String>)> {
        let Split { plain, mode, roots, table } = split(url, has_table)?;
        let mut config: Config = plain.parse().map_err(|error: postgres::Error| Error::Url(chain(&error)))?;
        if config.get_hosts().is_empty() {
            // A certificate is checked against a name, which is then the address.
            let addresses = config.get_hostaddrs().to_vec();
            for address in addresses {
                config.host(address.to_string());
            }
        }
        if config.get_hosts().is_empty() {
            return Err(Error::Url("it names no host".into()));
        }
        add_login(&mut config);
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
        Ok((Self { config, tls, shown: masked(url) }, table))
    }

    /// Opens a new connection, for a thread that may block.
    ///
    /// # Errors
    /// [`Error::Connection`] if the server cannot be reached or refuses the login.
    pub fn connect(&self) -> Result<Client> {
        let config = postgres::Config::from(self.config.clone());
        let connected = match &self.tls {
            Some(tls) => config.connect(tls.clone()),
            None => config.connect(NoTls),
        };
        connected.map_err(|error| self.refused(&error))
    }

    /// Opens a new connection, inside an asynchronous runtime.
    ///
    /// # Errors
    /// Those of [`Address::connect`].
    pub async fn connect_inside(&self) -> Result<(tokio_postgres::Client, Driver)> {
        fn driver(connection: impl Future<Output = Result<(), postgres::Error>> + Send + 'static) -> Driver {
            Box::pin(async move {
                // Those who wait for an answer are told.
                let _ = connection.await;
            })
        }
        let connected = match &self.tls {
            Some(tls) => {
                let connected = self.config.connect(tls.clone()).await;
                connected.map(|(client, connection)| (client, driver(connection)))
            }
            None => self.config.connect(NoTls).await.map(|(client, connection)| (client, driver(connection))),
        };
        connected.map_err(|error| self.refused(&error))
    }

    /// Whether both lead to the same server in the same way, with the same login.
    pub fn is_like(&self, other: &Self) -> bool {
        self.config == other.config
    }

    fn refused(&self, error: &postgres::Error) -> Error {
        let said = error.as_db_error().map_or_else(|| chain(error), |error| error.message().to_owned());
        let hint = if said.contains("does not support TLS") {
            "; if the network is trusted, add sslmode=disable to the URL"
        } else if said.contains("peer certificate") {
            "; name the authority that signed it with sslrootcert=FILE in the URL"
        } else if said.contains("password missing") {
            "; set PGPASSWORD, or write the password to ~/.pgpass"
        } else {
            ""
        };
        Error::Connection(format!("{self}: {said}{hint}"))
    }
}

/// Without the password.
impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.shown)
    }
}

/// Without the password.
impl fmt::Debug for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Address({self})")
    }
}

/// Completes the login from the environment and the user's file of passwords.
fn add_login(config: &mut Config) {
    if config.get_user().is_none()
        && let Some(user) = env::var("PGUSER").ok().filter(|user| !user.is_empty())
    {
        config.user(user);
    }
    if config.get_password().is_some() {
        return;
    }
    if let Some(password) = env::var_os("PGPASSWORD") {
        config.password(password.into_encoded_bytes());
        return;
    }
    // The client library asks the operating system, whose answer is usually in the environment as well.
    let user = config.get_user().map_or_else(|| env::var("USER").unwrap_or_default(), str::to_owned);
    let database = config.get_dbname().unwrap_or(&user).to_owned();
    let ports = config.get_ports().to_vec();
    let port = |place: usize| ports.get(place).or(ports.first()).copied().unwrap_or(PORT);
    let Some(file) = passfile::place(env::var_os("PGPASSFILE")) else { return };
    let of = |(place, host): (usize, &Host)| {
        let host = match host {
            Host::Tcp(host) => host,
            #[cfg(unix)]
            Host::Unix(_) => "localhost",
        };
        passfile::password(&file, Login { host, port: port(place), database: &database, user: &user })
    };
    if let Some(password) = config.get_hosts().iter().enumerate().find_map(of) {
        config.password(password);
    }
}

/// A URL without the options that the client library does not know.
struct Split {
    plain: String,
    mode: Option<SslMode>,
    roots: Option<String>,
    table: Option<String>,
}

fn split(url: &str, has_table: bool) -> Result<Split> {
    let unreadable = |reason: &str| Error::Url(reason.into());
    if url.matches('@').count() > 1 {
        // The client library would take the rest of a password for the host; others end the login at the last @.
        return Err(unreadable("it has more than one @; write @ as %40 in a password or a name"));
    }
    let (address, options) = url.split_once('?').map_or((url, None), |(address, options)| (address, Some(options)));
    if options.is_some_and(|options| options.contains('@')) {
        // Most likely the rest of a password: it must not be parsed as options, whose names appear in errors.
        return Err(unreadable("it has an @ after the ?; write them as %3F and %40 in a password or a value"));
    }
    let (mut mode, mut roots, mut table, mut others) = (None, None, None, Vec::new());
    for option in options.into_iter().flat_map(|options| options.split('&')) {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let decoded = || percent_decode_str(value).decode_utf8_lossy().into_owned();
        match &*percent_decode_str(name).decode_utf8_lossy() {
            "sslmode" => {
                mode = Some(match value {
                    "disable" => SslMode::Disable,
                    "prefer" => SslMode::Prefer,
                    "require" | "verify-ca" | "verify-full" => SslMode::Require,
                    _ => {
                        return Err(unreadable("sslmode must be disable, prefer, require, verify-ca or verify-full"));
                    }
                });
            }
            "sslrootcert" => roots = Some(decoded()),
            "table" if has_table => table = Some(decoded()),
            _ => others.push(option),
        }
    }
    let query = if others.is_empty() { String::new() } else { format!("?{}", others.join("&")) };
    Ok(Split { plain: format!("{address}{query}"), mode, roots, table })
}

/// Whether the host is this machine.
fn is_here(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback()),
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
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

    #[test]
    fn a_table_is_split_off_only_where_there_may_be_one() {
        let url = "postgres://u:p@localhost/d?connect_timeout=3&t%61ble=public.a%26b";
        let (address, table) = Address::parse_with_table(url).unwrap();
        assert_eq!(table.as_deref(), Some("public.a&b"));
        assert!(address.is_like(&Address::parse("postgres://u:p@localhost/d?connect_timeout=3").unwrap()));
        assert!(!address.is_like(&Address::parse("postgres://v:p@localhost/d?connect_timeout=3").unwrap()));
        assert!(Address::parse(url).unwrap_err().to_string().contains("table"));
        assert_eq!(Address::parse_with_table("postgres://u@localhost/d").unwrap().1, None);
        // It may be the rest of a password.
        let error = Address::parse_with_table("postgres://u:a?table=topsecret@localhost/d").unwrap_err();
        assert!(!error.to_string().contains("topsecret"), "{error}");
    }
}
