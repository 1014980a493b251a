//! A client that sends exactly what it is told to.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// The timeout of an answer, even on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("text")
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// What is wrong, and with which field.
    #[track_caller]
    pub fn problem(&self) -> (String, Option<String>) {
        let error = self.json()["error"].clone();
        let text = |name: &str| error[name].as_str().map(str::to_owned);
        (text("message").unwrap_or_else(|| panic!("no message: {self:?}")), text("field"))
    }

    /// Except for the date.
    pub fn undated(mut self) -> Self {
        self.headers.retain(|(name, _)| name != "date");
        self
    }
}

/// A connection on which an answer is awaited.
pub struct Waiting(BufReader<TcpStream>);

/// A connection from another address of this machine.
#[cfg(target_os = "linux")]
pub fn dial(source: [u8; 4], address: SocketAddr) -> std::io::Result<TcpStream> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let stream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4()?;
        socket.bind((source, 0).into())?;
        socket.connect(address).await?.into_std()
    })?;
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// Sends a request, the last one on this connection unless the headers say otherwise.
pub fn say(address: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Waiting {
    let mut stream = TcpStream::connect(address).expect("the service listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
    let mut head = format!("{method} {path} HTTP/1.1\r\n");
    let given = |name: &str| headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
    let ours =
        [("Host", address.to_string()), ("Connection", "close".into()), ("Content-Length", body.len().to_string())];
    for (name, value) in ours {
        if !given(name) && (name != "Content-Length" || !given("Transfer-Encoding")) {
            head += &format!("{name}: {value}\r\n");
        }
    }
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    // The service may have answered, and closed, before it has read everything.
    let _ = stream.write_all(&[(head + "\r\n").as_bytes(), body].concat());
    Waiting(BufReader::new(stream))
}

impl Waiting {
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("an answer");
        line.trim_end().to_owned()
    }

    /// The status and the headers; the body may never end.
    pub fn head(&mut self) -> Answer {
        let line = self.line();
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let mut headers = Vec::new();
        loop {
            let line = self.line();
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_lowercase(), value.trim().to_owned()));
        }
        Answer { status: status.unwrap_or_else(|| panic!("no answer: {line:?}")), headers, body: Vec::new() }
    }

    /// The next chunk of a body; `None` at the end.
    pub fn piece(&mut self) -> Option<Vec<u8>> {
        let length = usize::from_str_radix(&self.line(), 16).ok()?;
        let mut piece = vec![0; length];
        self.0.read_exact(&mut piece).expect("a whole piece");
        self.line();
        (length > 0).then_some(piece)
    }

    pub fn answer(mut self) -> Answer {
        self.whole()
    }

    /// The whole answer; the connection stays open.
    pub fn whole(&mut self) -> Answer {
        let mut answer = self.head();
        if answer.header("transfer-encoding") == Some("chunked") {
            while let Some(piece) = self.piece() {
                answer.body.extend(piece);
            }
        } else {
            let length: Option<u64> = answer.header("content-length").and_then(|length| length.parse().ok());
            let mut rest = (&mut self.0).take(length.unwrap_or(u64::MAX));
            rest.read_to_end(&mut answer.body).expect("a whole answer");
        }
        answer
    }

    /// Whether the service has closed the connection without sending anything more.
    pub fn is_closed(&mut self) -> bool {
        match self.0.fill_buf() {
            Ok(rest) => rest.is_empty(),
            // This happens if not everything was read from it.
            Err(error) => error.kind() == ErrorKind::ConnectionReset,
        }
    }
}
