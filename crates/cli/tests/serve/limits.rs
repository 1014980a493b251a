//! Too much, too often, too strange.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use crate::http::PATIENCE;
use crate::service::Place;

#[test]
fn requests_that_are_too_large_are_refused_also_when_they_are_packed() {
    let place = Place::new("large");
    place.write("reticent.toml", "[limits]\nbody_bytes = 1000\n");
    let service = place.start();
    service.create_exact("visits", 100);
    assert_eq!(service.send("visits", &"1\n".repeat(500)).status, 200);
    let large = service.send("visits", &"1\n".repeat(501));
    assert_eq!(large.status, 413);
    assert!(large.problem().0.contains("1000 bytes"), "{}", large.text());
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(&[b'1'; 100_000]).unwrap();
    let packed = packer.finish().unwrap();
    assert!(packed.len() < 1000);
    let path = "/v1/streams/visits/events";
    assert_eq!(service.say("POST", path, &[("Content-Encoding", "gzip")], &packed).answer().status, 413);
}

#[test]
fn each_token_has_a_rate_of_its_own() {
    let place = Place::new("rate");
    // So slow that no test machine is slower.
    place.write("reticent.toml", "[limits]\nrequests_per_second = 1\nburst = 5\n");
    let [ada, alan] = ["ada", "alan"].map(|name| place.token(name, "viewer", ""));
    let service = place.start();
    let asked: Vec<u16> = (0..50).map(|_| service.get_as(&ada, "/v1/streams").status).collect();
    assert_eq!(asked[..5], [200; 5]);
    let refused = asked.iter().filter(|status| **status == 429).count();
    assert!(refused > 0 && asked.iter().all(|status| [200, 429].contains(status)), "{asked:?}");
    assert_eq!(service.get_as(&alan, "/v1/streams").status, 200, "another token is not held back");
    let told = (0..50).map(|_| service.get_as(&ada, "/v1/streams")).find(|answer| answer.status == 429).unwrap();
    assert_eq!(told.header("retry-after"), Some("1"));
}

#[test]
fn whoever_dawdles_is_cut_off_and_others_get_their_turn() {
    let place = Place::new("slow");
    place.write("reticent.toml", "[limits]\nconnections = 2\nrequest_seconds = 1\n");
    let service = place.start();
    service.create_exact("visits", 100);
    let dawdles = |said: &str| {
        let mut stream = TcpStream::connect(service.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(said.as_bytes()).unwrap();
        stream
    };
    let head = dawdles("POST /v1/str");
    let body = dawdles("POST /v1/streams/visits/events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n1");
    // Both places are taken: this one waits for the first that is cut off.
    assert_eq!(service.send("visits", "1\n").status, 200);
    let rest = |mut stream: TcpStream| {
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
        text
    };
    assert_eq!(rest(head), "");
    assert!(rest(body).starts_with("HTTP/1.1 408"));
}

#[test]
fn what_is_not_there_or_not_understood_is_said_in_json() {
    let place = Place::new("strange");
    let service = place.start();
    service.create_exact("visits", 100);
    let asked = |method: &str, path: &str, headers: &[(&str, &str)], body: &str| {
        let answer = service.say(method, path, headers, body.as_bytes()).answer();
        (answer.status, answer.problem())
    };
    assert_eq!(asked("GET", "/nothing", &[], "").0, 404);
    assert_eq!(asked("GET", "/v1/streams/none", &[], "").0, 404);
    assert_eq!(asked("GET", "/v1/datasets/none", &[], "").0, 404);
    assert_eq!(asked("DELETE", "/v1/streams", &[], "").0, 405);
    assert_eq!(asked("POST", "/v1/streams", &[], "{}").0, 415);
    let json = [("Content-Type", "application/json")];
    assert_eq!(asked("POST", "/v1/streams", &json, "{").0, 400);
    for (path, field) in [
        ("/v1/streams/visits/releases?limit=0", "limit"),
        ("/v1/streams/visits/releases?limit=x", "limit"),
        ("/v1/streams/visits/releases?from=0", "from"),
        ("/v1/streams/visits/releases?form=1", "form"),
        ("/v1/streams/visits/chart.svg?width=1", "width"),
        ("/v1/datasets/stream%2Fvisits/history?limit=100000", "limit"),
    ] {
        let (status, (message, named)) = asked("GET", path, &[], "");
        assert_eq!((status, named.as_deref()), (400, Some(field)), "{path}: {message}");
    }
    let page = service.get("/");
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("script-src 'self'") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    assert_eq!([service.get("/healthz").text(), service.get("/readyz").text()], ["alive\n", "ready\n"]);
}

#[test]
fn a_configuration_says_what_is_wrong_with_it() {
    let place = Place::new("configuration");
    let fails = |config: &str| {
        place.write("reticent.toml", config);
        let output = place.run("serve --config reticent.toml --listen 127.0.0.1:0 --data-dir data");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{config}: {said}");
        said
    };
    assert!(fails("colour = 1").contains("colour"));
    assert!(fails("[limits]\nburst = 0").contains("limits.burst"));
    assert!(fails("[[table]]\nname = \"a\"\nfile = \"none.csv\"").contains("none.csv"));
    assert!(fails("[[stream]]\nname = \"a\"\nstep = \"1y\"\nepsilon = 1").contains("step"));
    place.write("people.csv", "name\nada\n");
    let twice = "[[table]]\nname = \"a\"\nfile = \"people.csv\"\n[[table]]\nname = \"b\"\nfile = \"people.csv\"\n";
    assert!(fails(twice).contains("same dataset"), "one file, two budgets");
    // A ledger's address may hold a password, also where it is written wrongly.
    for ledger in ["postgres://u:secret@h/d", "\"posgres://u:secret@h/d\"", "\"host=h password=secret\"", "\"secret"] {
        let said = fails(&format!("ledger = {ledger}"));
        assert!(said.contains("ledger") && !said.contains("secret"), "{said}");
    }
    let mut named = place.program("serve --listen 127.0.0.1:0 --data-dir data");
    let output = named.args(["--ledger", "host=h password=secret"]).output().expect("the program starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(!String::from_utf8_lossy(&output.stderr).contains("secret"));
    assert_eq!(fs::read_dir(&place.0).unwrap().filter(|file| format!("{file:?}").contains("secret")).count(), 0);
}

#[test]
fn streams_of_a_configuration_are_created_once_and_do_not_change() {
    let place = Place::new("configured");
    let config =
        |epsilon: &str| format!("[[stream]]\nname = \"visits\"\nstep = \"event\"\nhorizon = 9\nepsilon = {epsilon}\n");
    place.write("reticent.toml", &config("1"));
    for _ in 0..2 {
        let service = place.start();
        let dataset = service.get("/v1/datasets/stream%2Fvisits").json();
        assert_eq!((&dataset["charges"], &dataset["spent"][0]["spent"]["epsilon"]), (&json!(1), &json!("1")));
    }
    place.write("reticent.toml", &config("2"));
    let output = place.run("serve --config reticent.toml --listen 127.0.0.1:0 --data-dir data");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("choose another name"));
}
