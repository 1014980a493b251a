//! A persistent connection, with the little HTTP that a load generator needs.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A service that does not respond for this long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection to the service.
pub struct Connection {
    stream: BufReader<TcpStream>,
    host: String,
    token: String,
    /// Reused, to avoid an allocation for every response.
    rest: Vec<u8>,
}

impl Connection {
    /// Connects as the owner, with the link of a service without tokens.
    pub fn open(link: &str) -> std::io::Result<Self> {
        let (address, token) = link.split_once("/#token=").unwrap_or((link, ""));
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream: BufReader::new(stream), host: address.to_owned(), token: token.to_owned(), rest: Vec::new() })
    }

    fn say(&mut self, asked: &str, kind: &str, body: &[u8]) -> std::io::Result<()> {
        let (host, token, length) = (&self.host, &self.token, body.len());
        let head = format!(
            "{asked} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Type: {kind}\r\n\
             Content-Length: {length}\r\n\r\n"
        );
        let stream = self.stream.get_mut();
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)
    }

    /// The status and the length of the body that follows.
    fn head(&mut self) -> std::io::Result<(u16, usize)> {
        let (mut status, mut length) = (0, 0);
        let mut line = String::new();
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            let text = line.trim_end().to_ascii_lowercase();
            if let Some(rest) = text.strip_prefix("http/1.1 ") {
                status = rest.split(' ').next().and_then(|status| status.parse().ok()).unwrap_or(0);
            } else if let Some(rest) = text.strip_prefix("content-length:") {
                length = rest.trim().parse().unwrap_or(0);
            } else if text.is_empty() {
                return Ok((status, length));
            }
        }
    }

    /// Posts a body; returns the status of the response.
    pub fn post(&mut self, path: &str, kind: &str, body: &[u8]) -> std::io::Result<u16> {
        self.say(&format!("POST {path}"), kind, body)?;
        let (status, length) = self.head()?;
        self.rest.resize(length, 0);
        self.stream.read_exact(&mut self.rest)?;
        Ok(status)
    }

    /// The lines of an endless response, including those between its chunks.
    pub fn follow(mut self, path: &str) -> std::io::Result<impl BufRead> {
        self.say(&format!("GET {path}"), "application/json", b"")?;
        self.head()?;
        Ok(self.stream)
    }
}
