//! A browser, by the W3C's WebDriver: a few JSON requests. A library for them would bring some fifty crates into every
//! build.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::http::say;
use crate::service::wait_for;

/// The key of an element's id.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A page in a browser.
pub struct Browser {
    driver: Child,
    address: SocketAddr,
    session: String,
}

impl Browser {
    /// Starts Debian's Chromium headless, with an empty profile.
    pub fn start(profile: &Path) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port").port();
        let driver = Command::new("chromedriver")
            .arg(format!("--port={port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver is installed (Debian: chromium-driver)");
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let mut browser = Self { driver, address, session: String::new() };
        wait_for("the driver", || TcpStream::connect(address).ok());
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-dev-shm-usage",
            "--disable-gpu",
            &format!("--user-data-dir={}", profile.display()),
        ];
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let started = browser.ask("POST", "/session", &wanted);
        browser.session = format!("/session/{}", started["sessionId"].as_str().expect("a session"));
        browser
    }

    #[track_caller]
    fn ask(&self, method: &str, path: &str, value: &Value) -> Value {
        let (status, mut told) = self.told(method, path, value);
        assert_eq!(status, 200, "{method} {path}: {told}");
        told["value"].take()
    }

    /// The status and the body, success or failure.
    fn told(&self, method: &str, path: &str, value: &Value) -> (u16, Value) {
        let body = if method == "POST" { value.to_string() } else { String::new() };
        let host = [("Host", "localhost"), ("Content-Type", "application/json")];
        let answer = say(self.address, method, path, &host, body.as_bytes()).answer();
        (answer.status, answer.json())
    }

    #[track_caller]
    fn command(&self, path: &str, value: &Value) -> Value {
        self.ask("POST", &format!("{}{path}", self.session), value)
    }

    pub fn open(&self, address: &str) {
        self.command("/url", &json!({ "url": address }));
    }

    pub fn resize(&self, width: u32, height: u32) {
        self.command("/window/rect", &json!({ "width": width, "height": height }));
    }

    /// The value of a JavaScript expression.
    #[track_caller]
    pub fn value(&self, expression: &str) -> Value {
        self.command("/execute/sync", &json!({ "script": format!("return {expression};"), "args": [] }))
    }

    /// The first element that a CSS selector finds.
    #[track_caller]
    fn element(&self, selector: &str) -> String {
        let found = self.command("/element", &json!({ "using": "css selector", "value": selector }));
        let id = found[ELEMENT].as_str().unwrap_or_else(|| panic!("no element {selector}"));
        format!("/element/{id}")
    }

    /// Looked up again if the page has redrawn it in between.
    #[track_caller]
    pub fn click(&self, selector: &str) {
        loop {
            let path = format!("{}{}/click", self.session, self.element(selector));
            let (status, told) = self.told("POST", &path, &json!({}));
            if told["value"]["error"] == "stale element reference" {
                continue;
            }
            assert_eq!(status, 200, "{selector}: {told}");
            return;
        }
    }

    /// Replaces the text of a field.
    #[track_caller]
    pub fn fill(&self, selector: &str, text: &str) {
        let element = self.element(selector);
        self.command(&format!("{element}/clear"), &json!({}));
        self.command(&format!("{element}/value"), &json!({ "text": text }));
    }

    /// Presses a key, wherever the focus is.
    pub fn press(&self, key: &str) {
        let actions = json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": [
            { "type": "keyDown", "value": key },
            { "type": "keyUp", "value": key },
        ] }] });
        self.command("/actions", &actions);
    }

    /// The browser's own log: blocked scripts, errors.
    pub fn complaints(&self) -> Vec<String> {
        let log = self.command("/se/log", &json!({ "type": "browser" }));
        let severe = log.as_array().into_iter().flatten().filter(|entry| entry["level"] == "SEVERE");
        severe.map(|entry| entry["message"].to_string()).collect()
    }

    /// Stores a screenshot of the page.
    pub fn picture(&self, file: &Path) {
        let picture = self.ask("GET", &format!("{}/screenshot", self.session), &Value::Null);
        std::fs::write(file, decoded(picture.as_str().expect("a picture"))).expect("written");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() && !std::thread::panicking() {
            self.ask("DELETE", &self.session, &Value::Null);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// Standard Base64.
fn decoded(text: &str) -> Vec<u8> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |letter: u8| LETTERS.iter().position(|known| *known == letter).map(|place| place as u32);
    let digits: Vec<u32> = text.bytes().filter_map(digit).collect();
    let group = |group: &[u32]| {
        let bits = group.iter().fold(0, |bits, digit| bits << 6 | digit) << (6 * (4 - group.len()));
        bits.to_be_bytes()[1..group.len()].to_vec()
    };
    digits.chunks(4).flat_map(group).collect()
}

#[test]
fn base64_is_read() {
    for (text, bytes) in [("", &b""[..]), ("TQ==", b"M"), ("TWE=", b"Ma"), ("TWFu", b"Man"), ("TWFuTQ==", b"ManM")] {
        assert_eq!(decoded(text), bytes);
    }
}
