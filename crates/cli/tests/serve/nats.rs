//! Events from NATS JetStream, as the service reads them. Needs Debian's nats-server.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use crate::service::{Place, wait_for};

/// A server with a stream `reticent` of all subjects `reticent.*`.
struct Nats {
    child: Child,
    address: SocketAddr,
}

impl Nats {
    fn start(place: &Place) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port").port();
        let child = Command::new("nats-server")
            .args(["--jetstream", "--addr", "127.0.0.1", "--port", &port.to_string(), "--store_dir"])
            .arg(place.0.join("nats"))
            .stderr(Stdio::null())
            .spawn()
            .expect("nats-server is installed");
        let nats = Self { child, address: SocketAddr::from(([127, 0, 0, 1], port)) };
        let stream =
            r#"{"name":"reticent","subjects":["reticent.*"],"storage":"file","retention":"limits","num_replicas":1}"#;
        let answer = nats.ask("$JS.API.STREAM.CREATE.reticent", stream);
        assert!(!answer.contains("\"error\""), "{answer}");
        nats
    }

    /// Publishes, and waits until the server has it.
    fn ask(&self, subject: &str, payload: &str) -> String {
        let mut stream = wait_for("the NATS server", || TcpStream::connect(self.address).ok());
        let length = payload.len();
        let said =
            format!("CONNECT {{\"verbose\":false}}\r\nSUB inbox 1\r\nPUB {subject} inbox {length}\r\n{payload}\r\n");
        stream.write_all(said.as_bytes()).expect("said");
        let mut lines = BufReader::new(stream).lines().map(|line| line.expect("a line"));
        lines.find(|line| line.starts_with("MSG inbox")).expect("an answer");
        lines.next().expect("the answer itself")
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
#[ignore = "needs a NATS server; cargo xtask test runs it"]
fn nats_messages_are_counted_once_also_over_a_crash() {
    let place = Place::new("nats");
    let nats = Nats::start(&place);
    place.write("reticent.toml", &format!("nats = \"nats://{}\"\n", nats.address));
    let mut service = place.start();
    service.create_exact("visits", 2);
    nats.ask("reticent.visits", "3\n4");
    assert_eq!(service.released("visits", 1)["value"].as_i64(), Some(7));
    service.signal("KILL");
    service.ended();
    nats.ask("reticent.visits", "{\"value\":5}");
    let service = place.start();
    nats.ask("reticent.visits", "6\n");
    assert_eq!(service.released("visits", 2)["value"].as_i64(), Some(18));
    let all = service.get("/v1/streams/visits/releases").json();
    assert_eq!(all["releases"].as_array().map(Vec::len), Some(2), "{all}");
}
