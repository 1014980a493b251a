//! A service whose machine is seized: its memory, its data directory and its log are searched for what was sent to it.
//!
//! Distinctive events are sent in every possible way: plain, compressed, in chunks, on connections that stay open,
//! broken off in the middle, too long, malformed, to a stream and to a path that does not exist. When all is quiet,
//! everything is searched. If a process may not read another's memory there is nothing to test, and the test says so.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use crate::http::Waiting;
use crate::service::{Place, Service};

/// Canaries consist of letters that are hardly ever adjacent elsewhere.
const LETTERS: [u8; 4] = *b"~^|@";
const CANARY: usize = 48;
/// How many bytes of a canary count as a find.
const PIECE: usize = 8;
/// Numbers that hardly ever occur in a process by chance.
const VALUES: [i64; 3] = [739_184_620_573, 284_710_395_866, 610_937_254_418];
/// The ways to send events.
const WAYS: [&str; 14] = [
    "plain",
    "on a connection that stays",
    "in pieces",
    "packed",
    "stored in gzip",
    "no event at all",
    "too long",
    "too long once unpacked",
    "broken gzip",
    "another encoding",
    "to no stream",
    "to no path",
    "broken off",
    "broken off in gzip",
];
/// How often each way is used.
const ROUNDS: usize = 8;
/// Larger bodies are refused.
const BODY_BYTES: usize = 20_000;

/// The canary of a way.
fn canary(way: usize) -> String {
    let mut state = (way as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let letter = |_| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        char::from(LETTERS[(state >> 62) as usize])
    };
    (0..CANARY).map(letter).collect()
}

fn line(way: usize, round: usize) -> String {
    let (canary, value) = (canary(way), VALUES[round % VALUES.len()]);
    format!("{{\"id\":\"{canary}{round}\",\"key\":\"{canary}\",\"value\":{value},\"note\":\"{canary}\"}}\n")
}

fn packed(text: &str, level: Compression) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), level);
    packer.write_all(text.as_bytes()).expect("packed");
    packer.finish().expect("packed")
}

/// Sends events in all ways; returns the connections that the client leaves open.
fn send_all(service: &Service, round: usize) -> Vec<Waiting> {
    let text = |way| line(way, round).repeat(3);
    let long = |way| line(way, round).repeat(BODY_BYTES / CANARY);
    let events = "/v1/streams/clinic/events";
    let (stay, gzip) = (("Connection", "keep-alive"), ("Content-Encoding", "gzip"));
    let mut chunked = format!("{:x}\r\n{}\r\n", text(2).len(), text(2)).into_bytes();
    chunked.extend(b"0\r\n\r\n");
    // Valid gzip, followed by bytes that are not.
    let mut broken = packed(&text(8), Compression::none());
    let end = broken.len() - 6;
    broken[end..].fill(7);
    let malformed = format!("{0}\n[{{\"{0}\":\"{0}\n{{\"value\":\"{0}\"}}\n\"{0}", canary(5));
    let say = |path: &str, headers: &[(&str, &str)], body: &[u8]| service.say("POST", path, headers, body);
    let mut said = vec![
        (say(events, &[], text(0).as_bytes()), 2),
        (say(events, &[stay], text(1).as_bytes()), 2),
        (say(events, &[stay, ("Transfer-Encoding", "chunked")], &chunked), 2),
        (say(events, &[stay, gzip], &packed(&text(3), Compression::default())), 2),
        (say(events, &[stay, gzip], &packed(&text(4), Compression::none())), 2),
        (say(events, &[stay], malformed.as_bytes()), 2),
        (say(events, &[stay], long(6).as_bytes()), 4),
        (say(events, &[stay, gzip], &packed(&long(7), Compression::default())), 4),
        (say(events, &[stay, gzip], &broken), 4),
        (say(events, &[stay, ("Content-Encoding", "br")], text(9).as_bytes()), 4),
        (say("/v1/streams/another/events", &[stay], text(10).as_bytes()), 4),
        (say("/v1/stream/clinic/events", &[stay], text(11).as_bytes()), 4),
    ];
    for (way, headers) in [(12, &[("Content-Length", "1000")][..]), (13, &[gzip, ("Content-Length", "1000")][..])] {
        let body = if way == 12 { text(way).into_bytes() } else { packed(&text(way), Compression::none()) };
        // It disconnects before the rest is sent.
        drop(say(events, headers, &body));
    }
    for (waiting, class) in &mut said {
        let answer = waiting.whole();
        assert_eq!(answer.status / 100, *class, "{answer:?}");
    }
    said.into_iter().map(|(waiting, _)| waiting).collect()
}

/// The finds, in words: of which way, or which number, and where.
type Found = BTreeSet<String>;

fn search(bytes: &[u8], place: &str, found: &mut Found) {
    let mut is_letter = [false; 256];
    LETTERS.iter().for_each(|letter| is_letter[usize::from(*letter)] = true);
    let canaries: Vec<String> = (0..WAYS.len()).map(canary).collect();
    let mut length = 0;
    for (end, byte) in bytes.iter().enumerate() {
        length = if is_letter[usize::from(*byte)] { length + 1 } else { 0 };
        if length < PIECE {
            continue;
        }
        let piece = &bytes[end + 1 - PIECE..=end];
        let of = canaries.iter().position(|canary| canary.as_bytes().windows(PIECE).any(|window| window == piece));
        found.extend(of.map(|way| format!("{}: {place}", WAYS[way])));
    }
    let mut numbers = Vec::new();
    for value in VALUES {
        numbers.push((format!("{value} as text: {place}"), value.to_string().into_bytes()));
        numbers.push((format!("{value} as a number: {place}"), value.to_le_bytes().to_vec()));
        numbers.push((format!("{value} as a negative number: {place}"), (-value).to_le_bytes().to_vec()));
    }
    // Of compressed bodies, anything from the middle.
    for (round, value) in VALUES.iter().enumerate() {
        let bytes = packed(&line(3, round).repeat(3), Compression::default());
        let middle = bytes[16..bytes.len() - 8].chunks_exact(PIECE);
        numbers.extend(middle.map(|piece| (format!("{value}, packed: {place}"), piece.to_vec())));
    }
    let there = numbers.into_iter().filter(|(_, needle)| memchr::memmem::find(bytes, needle).is_some());
    found.extend(there.map(|(name, _)| name));
}

/// What is left of all events in a service with one stream, `clinic`; `None` if memory cannot be read.
fn left_behind(name: &str, seizure: &str, stream: &str) -> Option<Found> {
    let place = Place::new(name);
    place.write(
        "reticent.toml",
        &format!("[limits]\nbody_bytes = {BODY_BYTES}\n[[stream]]\nname = \"clinic\"\n{stream}"),
    );
    let environment = [("RETICENT_TEST_SEIZURE", seizure), ("RUST_LOG", "trace"), ("RUST_BACKTRACE", "1")];
    let service = place.start_with("127.0.0.1:0", &environment);
    let mut open = Vec::new();
    for round in 0..ROUNDS {
        open.extend(send_all(&service, round));
    }
    // A curator's connections stay open.
    if stream.contains("pan-private") {
        open.iter_mut().for_each(|connection| assert!(connection.is_closed()));
    }
    memory_search::wait_until_asleep(service.id());
    let mut found = Found::new();
    search(&memory_search::memory(service.id())?, "memory", &mut found);
    search(&memory_search::files(&place.0.join("data")), "disk", &mut found);
    search(place.logged().as_bytes(), "log", &mut found);
    drop(open);
    Some(found)
}

const PAN_PRIVATE: &str =
    "step = \"5 events\"\nhorizon = 100000\nrange = \"0..1000000000000\"\nepsilon = 1\nmode = \"pan-private\"\n";

fn pan_private(more: &str) -> String {
    format!("{PAN_PRIVATE}{more}")
}

#[test]
fn nothing_of_an_event_is_left_in_a_pan_private_service() {
    for (name, more) in [("past", "keys = [\"a\", \"b\"]\n"), ("surviving", "counter = \"pan-private-surviving\"\n")] {
        let Some(found) = left_behind(&format!("seized-{name}"), "look", &pan_private(more)) else { return };
        assert!(found.is_empty(), "{name}: {found:#?}");
    }
}

/// The control: the same service without its eraser keeps events of most ways in memory (what was freed first may have
/// been reused since); and nothing on disk.
#[cfg(debug_assertions)]
#[test]
fn without_erasing_a_pan_private_service_keeps_what_passed_through_it() {
    let Some(found) = left_behind("seized-kept", "keep", &pan_private("")) else { return };
    let ways = WAYS.iter().filter(|way| found.contains(&format!("{way}: memory"))).count();
    assert!(ways > WAYS.len() / 2, "{found:#?}");
    assert!(found.contains(&format!("{} as text: memory", VALUES[0])), "{found:#?}");
    assert!(found.iter().all(|place| place.ends_with(": memory")), "{found:#?}");
}

/// The control: the search finds what a curator keeps, in memory and on disk.
#[test]
fn a_curators_service_keeps_what_it_counts() {
    let stream = "step = \"5 events\"\nhorizon = 100000\nrange = \"0..1000000000000\"\nepsilon = 1\ndelta = \"1e-9\"\n\
                  keys = \"selected\"\n";
    let Some(found) = left_behind("seized-curator", "look", stream) else { return };
    assert!(found.contains("plain: memory") && found.contains("plain: disk"), "{found:#?}");
    assert!(found.iter().all(|place| !place.ends_with(": log")), "{found:#?}");
}

/// No core dump is written, and no other process of the same user can read the memory.
#[test]
fn a_service_cannot_be_dumped() {
    let place = Place::new("dump");
    let service = place.start();
    let stream = json!({ "name": "clinic", "step": "event", "epsilon": 1, "horizon": 100, "mode": "pan-private" });
    assert_eq!(service.post("/v1/streams", &stream).status, 201);
    let limits = fs::read_to_string(format!("/proc/{}/limits", service.id())).expect("limits are public");
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).expect("a limit");
    let limits: Vec<&str> = core.split_whitespace().rev().skip(1).take(2).collect();
    assert_eq!(limits, ["0", "0"], "{core}");
    // The superuser can read everything.
    let superuser = std::os::unix::fs::MetadataExt::uid(&fs::metadata("/proc/self").expect("this process")) == 0;
    assert!(superuser || File::open(format!("/proc/{}/mem", service.id())).is_err());
}

/// A connection's buffer holds what it has read: it is closed after anything that may be an event of such a stream.
#[test]
fn connections_are_closed_behind_events_unless_a_curator_has_them() {
    let place = Place::new("close");
    let service = place.start();
    service.create_exact("visits", 4);
    let stream = json!({ "name": "clinic", "step": "event", "epsilon": 1, "horizon": 2, "mode": "pan-private" });
    assert_eq!(service.post("/v1/streams", &stream).status, 201);
    let asked = |method: &str, path: &str, headers: &[(&str, &str)]| {
        let headers = [&[("Connection", "keep-alive")], headers].concat();
        let answer = service.say(method, path, &headers, b"1\n").answer();
        (answer.status, answer.header("connection").map(str::to_owned))
    };
    let closed = Some("close".to_owned());
    let (curators, private) = ("/v1/streams/visits/events", "/v1/streams/clinic/events");
    assert_eq!(asked("POST", curators, &[]), (200, None));
    assert_eq!(asked("POST", private, &[]), (202, closed.clone()));
    assert_eq!(asked("POST", private, &[("Content-Encoding", "br")]), (415, closed.clone()));
    assert_eq!(asked("POST", private, &[("Authorization", "Bearer nobody")]), (401, closed.clone()));
    assert_eq!(asked("PUT", private, &[]), (405, closed.clone()));
    assert_eq!(asked("POST", "/v1/streams/none/events", &[]), (404, closed.clone()));
    assert_eq!(asked("POST", "/v1/streams/clinic/event", &[]), (404, closed.clone()));
    assert_eq!(asked("POST", private, &[]), (202, closed.clone()));
    service.released("clinic", 2);
    assert_eq!(asked("POST", private, &[]), (409, closed));
    assert_eq!(asked("GET", "/v1/streams", &[]), (200, None));
}
