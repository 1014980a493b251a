//! Requests to the service.

use std::sync::Arc;
use std::time::Duration;

use reticent::message;
use serde_json::Value;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body, http::Response};

use crate::error::{Error, Result};

const DEFAULT: &str = "http://127.0.0.1:8080";
/// The timeout of a request.
const PATIENCE: Duration = Duration::from_secs(60);
/// A single release of very many keys is large.
const LARGEST_ANSWER: u64 = 1 << 30;

/// A service, and how to reach it.
pub struct Client {
    agent: Agent,
    address: String,
    token: Option<String>,
}

/// What happened to events that were sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// They were acknowledged.
    Acknowledged,
    /// Too many at once: none was accepted, and they can be sent again.
    Later,
}

impl Client {
    /// The service at an address; by default that of `$RETICENT_SERVER`, otherwise on this machine. The token is
    /// `$RETICENT_TOKEN`, or else what `otherwise` has for this address.
    ///
    /// # Errors
    /// [`Error::Address`] if the address is neither http nor https.
    pub fn new(address: Option<&str>, otherwise: impl FnOnce(&str) -> Option<String>) -> Result<Self> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let address =
            address.map(str::to_owned).or_else(|| variable("RETICENT_SERVER")).unwrap_or_else(|| DEFAULT.into());
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .timeout_global(Some(PATIENCE));
        match address.split_once("://") {
            Some(("http", _)) => {}
            Some(("https", _)) => config = config.tls_config(tls()),
            _ => return Err(Error::Address(address)),
        }
        let address = address.trim_end_matches('/').to_owned();
        let token = variable("RETICENT_TOKEN").or_else(|| otherwise(&address));
        Ok(Self { agent: config.build().new_agent(), address, token })
    }

    fn bearer(&self) -> Option<String> {
        self.token.as_ref().map(|token| format!("Bearer {token}"))
    }

    /// Sends a GET request.
    ///
    /// # Errors
    /// If the service does not answer, or refuses.
    pub fn get(&self, path: &str) -> Result<Value> {
        let mut request = self.agent.get(format!("{}{path}", self.address));
        if let Some(bearer) = self.bearer() {
            request = request.header("Authorization", bearer);
        }
        self.answer(request.call())
    }

    /// Sends a POST request.
    ///
    /// # Errors
    /// If the service does not answer, or refuses.
    pub fn post(&self, path: &str, value: &Value) -> Result<Value> {
        let mut request = self.agent.post(format!("{}{path}", self.address)).header("Content-Type", "application/json");
        if let Some(bearer) = self.bearer() {
            request = request.header("Authorization", bearer);
        }
        self.answer(request.send(value.to_string()))
    }

    /// Sends events, one per line.
    ///
    /// # Errors
    /// If the service does not answer, or refuses.
    pub fn send(&self, stream: &str, lines: &[u8]) -> Result<Sent> {
        let path = format!("{}/v1/streams/{stream}/events", self.address);
        let mut request = self.agent.post(path).header("Content-Type", "application/x-ndjson");
        if let Some(bearer) = self.bearer() {
            request = request.header("Authorization", bearer);
        }
        match request.send(lines) {
            Ok(response) if response.status() == 429 => Ok(Sent::Later),
            response => self.answer(response).map(|_| Sent::Acknowledged),
        }
    }

    fn answer(&self, response: Result<Response<Body>, ureq::Error>) -> Result<Value> {
        let (address, reason) = (&self.address, |error: ureq::Error| (self.address.clone(), error.to_string()));
        let mut response = response.map_err(|error| {
            let (address, reason) = reason(error);
            Error::Unreachable { address, reason }
        })?;
        let text = response.body_mut().with_config().limit(LARGEST_ANSWER).read_to_string().map_err(|error| {
            let (address, reason) = reason(error);
            Error::BrokenOff { address, reason }
        })?;
        let value: Value = serde_json::from_str(&text).unwrap_or_default();
        if response.status().is_success() {
            return Ok(value);
        }
        let status = response.status();
        let message = value["error"]["message"].as_str().map_or_else(
            || message!("{address} answered {status} and is not a Reticent service; is ", ["server"], " right?"),
            Into::into,
        );
        Err(Error::Refused { status: status.as_u16(), message })
    }
}

/// Trusts the certificates that this machine trusts.
fn tls() -> TlsConfig {
    let trusted = rustls_native_certs::load_native_certs().certs;
    let trusted = trusted.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect();
    TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(trusted)))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build()
}
