//! Too much, too often, too strange.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use crate::http::PATIENCE;
use crate::service::{Place, wait_for};

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
    // Slower than any test machine.
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
fn slow_clients_are_cut_off_and_others_get_their_turn() {
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
    let head_of_body = format!("POST /v1/streams/visits/events HTTP/1.1\r\nAuthorization: {}\r\n", service.bearer());
    let body = dawdles(&(head_of_body + "Host: localhost\r\nContent-Length: 9\r\n\r\n1"));
    // Both places are taken: this one waits until the first is cut off.
    assert_eq!(service.send("visits", "1\n").status, 200);
    let rest = |mut stream: TcpStream| {
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
        text
    };
    assert_eq!(rest(head), "");
    assert!(rest(body).starts_with("HTTP/1.1 408"));
}

/// Lasting connections keep out neither an operator nor a source.
#[test]
fn followers_and_idle_connections_leave_room_for_health_and_events() {
    let place = Place::new("crowded");
    place.write("reticent.toml", "[limits]\nconnections = 6\nfollowers = 4\nfollowers_per_token = 3\n");
    let [ada, alan, source] = [("ada", "viewer"), ("alan", "viewer"), ("source", "source")]
        .map(|(name, role)| format!("Bearer {}", place.token(name, role, "")));
    let owner = place.token("grace", "owner", "");
    let service = place.start();
    let stream = json!({ "name": "visits", "step": "1 events", "horizon": 1000, "epsilon": "1" });
    assert_eq!(service.post_as(&owner, "/v1/streams", &stream).status, 201);
    let follow = |token: &str| {
        let headers = [("Authorization", token)];
        let mut waiting = service.say("GET", "/v1/streams/visits/releases/stream", &headers, b"");
        let head = waiting.head();
        (head.status, head.header("retry-after").map(str::to_owned), waiting)
    };
    let told = |follower: &(u16, Option<String>, _)| (follower.0, follower.1.clone());
    let followers: Vec<_> = [&ada, &ada, &ada, &ada, &alan, &alan].map(|token| follow(token)).into();
    let busy = (503, Some("1".to_owned()));
    let let_in = (200, None);
    let expected = [let_in.clone(), let_in.clone(), let_in.clone(), busy.clone(), let_in, busy];
    assert_eq!(followers.iter().map(told).collect::<Vec<_>>(), expected);
    // And some silent ones, until all ordinary places are taken.
    let mut idle = Vec::new();
    let refused = wait_for("the last place", || {
        idle.push(TcpStream::connect(service.address).unwrap());
        Some(service.get_as(&owner, "/v1/streams")).filter(|answer| answer.status == 503)
    });
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(service.get("/healthz").text(), "alive\n");
    assert_eq!(service.get("/readyz").text(), "ready\n");
    let sent = service.say("POST", "/v1/streams/visits/events", &[("Authorization", &source)], b"1\n").answer();
    assert_eq!(sent.status, 200, "{}", sent.text());
    drop((followers, idle));
    wait_for("room", || (service.get_as(&owner, "/v1/streams").status == 200).then_some(()));
}

#[test]
fn one_address_has_a_limit_of_its_own() {
    let place = Place::new("address");
    place.write("reticent.toml", "[limits]\nconnections_per_address = 1\n");
    let service = place.start();
    let _idle = TcpStream::connect(service.address).unwrap();
    let answer = service.get("/v1/streams");
    assert_eq!((answer.status, answer.header("retry-after")), (503, Some("1")), "{}", answer.text());
    assert_eq!(service.get("/healthz").status, 200);
}

/// An open survey needs no token, and a report is short.
#[test]
fn an_open_survey_takes_little_at_a_time() {
    for (open, status) in [(true, 413), (false, 200)] {
        let place = Place::with_survey("open-body", open);
        let service = place.start();
        let body = "{}\n".repeat(30_000);
        let answer = service.say("POST", "/v1/local/commute/reports", &[], body.as_bytes()).answer();
        assert_eq!(answer.status, status, "{}", answer.text());
    }
}

/// Memory for a body is reserved as it arrives.
#[test]
fn bodies_in_memory_have_a_limit_together() {
    let place = Place::new("bodies");
    place.write("reticent.toml", "[limits]\nbody_bytes = 100000\nbodies_bytes = 200000\nrequest_seconds = 3600\n");
    let service = place.start();
    // A stream whose step a great many lines do not close.
    let stream = json!({ "name": "visits", "step": "1h", "epsilon": "1" });
    assert_eq!(service.post("/v1/streams", &stream).status, 201);
    let path = "/v1/streams/visits/events";
    let unfinished = || service.say("POST", path, &[("Content-Length", "90001")], &[b'\n'; 90_000]);
    let whole = || service.send("visits", &"\n".repeat(90_000)).status;
    assert_eq!(whole(), 200);
    // Two of them fill it; of those that grow at the same time one may be refused.
    let mut waiting = Vec::new();
    wait_for("the last room", || {
        waiting.push(unfinished());
        (whole() == 503).then_some(())
    });
    wait_for("room for a short one", || (service.send("visits", "1\n").status == 200).then_some(()));
    drop(waiting);
    wait_for("room", || (whole() == 200).then_some(()));
}

/// A regression: parsed queries that waited for their turn took memory without limit, also when their clients had left.
#[test]
fn queries_that_wait_take_the_memory_of_bodies() {
    let place = Place::with_visits("waiting");
    let config = fs::read_to_string(place.0.join("reticent.toml")).unwrap();
    let limits = "[limits]\nqueries = 1\nbody_bytes = 100000\nbodies_bytes = 200000\n";
    place.write("reticent.toml", &(limits.to_owned() + &config));
    let service = place.start();
    service.create_exact("stream", 1000);
    let whole = || service.send("stream", &"\n".repeat(90_000)).status;
    let ask = |question: serde_json::Value| {
        service.say("POST", "/v1/query", &[("Content-Type", "application/json")], question.to_string().as_bytes())
    };
    // It takes far longer than this test.
    let values = vec!["(1)"; 1000].join(", ");
    let sql =
        format!("WITH v(x) AS (VALUES {values}) SELECT COUNT(*) AS n FROM visits CROSS JOIN v AS a CROSS JOIN v AS b");
    let _takes_the_turn = ask(json!({ "sql": sql, "epsilon": 1, "max_groups": 1, "max_rows": 1 }));
    wait_for("its charge", || (service.get("/v1/datasets/visits").json()["charges"] == 1).then_some(()));
    let sql = "SELECT COUNT(*) AS n FROM visits";
    let waits =
        || ask(json!({ "sql": sql, "epsilon": 1, "dry_run": true, "keys": { "region": ["x".repeat(80_000)] } }));
    let mut waiting = Vec::new();
    wait_for("the last room", || {
        waiting.push(waits());
        (whole() == 503).then_some(())
    });
    drop(waiting);
    wait_for("room that clients gave back by leaving", || (whole() == 200).then_some(()));
}

/// A regression: replies that nobody read stayed in memory, and repeating a request is free.
#[test]
fn clients_that_do_not_read_are_cut_off() {
    let place = Place::with_visits("unread");
    let config = fs::read_to_string(place.0.join("reticent.toml")).unwrap();
    place.write("reticent.toml", &("[limits]\nrequest_seconds = 1\n".to_owned() + &config));
    let service = place.start();
    let keys = |number: u32| (0..number).map(|key| key.to_string()).collect::<Vec<_>>();
    let sql = "SELECT region, age, COUNT(*) AS n FROM visits GROUP BY region, age";
    let question =
        json!({ "sql": sql, "epsilon": 1, "request_id": "large", "keys": { "region": keys(500), "age": keys(900) } });
    let body = question.to_string();
    // More than the buffers of two sockets hold.
    let answer = service.post("/v1/query", &question);
    let answer = answer.text();
    assert!(answer.len() > 14_000_000, "{} bytes: {}", answer.len(), &answer[..answer.len().min(300)]);
    let mut stream = TcpStream::connect(service.address).unwrap();
    let head = format!(
        "POST /v1/query HTTP/1.1\r\nHost: x\r\nAuthorization: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        service.bearer(),
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    wait_for("the end of the connection", || stream.write(b" ").is_err().then_some(()));
}

#[test]
fn a_request_of_very_many_values_is_not_parsed() {
    let place = Place::with_visits("values");
    let service = place.start();
    let question = |keys: usize| json!({ "sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": 1, "keys": { "region": vec![""; keys] } });
    let answer = service.post("/v1/query", &question((1 << 20) + 1));
    assert!(answer.status == 400 && answer.text().contains("too many values"), "{}", answer.text());
    let answer = service.post("/v1/query", &question(1000));
    assert!(!answer.text().contains("too many values"), "{}", answer.text());
}

/// A regression: sixteen bodies of unknown length took all of the memory before anything arrived.
#[test]
fn bodies_that_do_not_come_take_no_room() {
    let place = Place::new("no-bodies");
    place.write("reticent.toml", "[limits]\nbody_bytes = 100000\nbodies_bytes = 1600000\nrequest_seconds = 3600\n");
    let service = place.start();
    let stream = json!({ "name": "visits", "step": "1h", "epsilon": "1" });
    assert_eq!(service.post("/v1/streams", &stream).status, 201);
    for length in [("Transfer-Encoding", "chunked"), ("Content-Length", "100000")] {
        let waiting = || {
            let mut waiting =
                service.say("POST", "/v1/streams/visits/events", &[length, ("Expect", "100-continue")], b"");
            (waiting.head().status, waiting)
        };
        let waiting: Vec<_> = (0..32).map(|_| waiting()).collect();
        assert!(waiting.iter().all(|(status, _)| *status == 100), "{length:?}");
        assert_eq!(service.send("visits", &"\n".repeat(90_000)).status, 200, "{length:?}");
    }
}

#[test]
fn bodies_of_one_sender_leave_room_to_others() {
    let place = Place::new("bodies-each");
    place.write("reticent.toml", "[limits]\nbody_bytes = 100000\nbodies_bytes = 1600000\nrequest_seconds = 3600\n");
    let [ada, alan] = ["ada", "alan"].map(|name| format!("Bearer {}", place.token(name, "source", "")));
    let owner = place.token("grace", "owner", "");
    let service = place.start();
    let stream = json!({ "name": "visits", "step": "1h", "epsilon": "1" });
    assert_eq!(service.post_as(&owner, "/v1/streams", &stream).status, 201);
    let path = "/v1/streams/visits/events";
    let piece = ["15f90\r\n", &"\n".repeat(90_000), "\r\n"].concat();
    let endless = || {
        let headers = [("Authorization", &*ada), ("Transfer-Encoding", "chunked")];
        service.say("POST", path, &headers, piece.as_bytes())
    };
    let endless: Vec<_> = (0..32).map(|_| endless()).collect();
    let send =
        |bearer: &str| service.say("POST", path, &[("Authorization", bearer)], &[b'\n'; 100_000]).answer().status;
    wait_for("the last room of one sender", || (send(&ada) == 503).then_some(()));
    assert_eq!(send(&alan), 200);
    drop(endless);
}

/// A regression: slow bodies kept a reserved place for half a minute, and sixteen from one address were all that it
/// could have.
#[cfg(target_os = "linux")]
#[test]
fn slow_requests_keep_nobody_from_asking_after_its_health() {
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    use crate::http::dial;

    let files = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: files, maximum: files }).expect("no more than it may be");
    let place = Place::with_survey("slow-health", true);
    let survey = fs::read_to_string(place.0.join("reticent.toml")).expect("written");
    place.write("reticent.toml", &format!("{survey}[limits]\nconnections = 8\nrequest_seconds = 3600\n"));
    let service = place.start();
    let body = "POST /v1/local/commute/reports HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n1";
    let slow = |source: u8, said: &str| {
        let mut stream = dial([127, 0, 0, source], service.address).expect("it listens");
        let _ = stream.write_all(said.as_bytes());
        stream
    };
    let here: Vec<_> = (0..200).map(|_| slow(1, body)).collect();
    let hostile: Vec<_> = (0..1000_u16)
        .map(|number| slow(2 + (number % 5) as u8, ["GET /heal", body][usize::from(number % 2)]))
        .collect();
    let healthy = || {
        assert_eq!(service.get("/healthz").text(), "alive\n");
        assert_eq!(service.get("/readyz").text(), "ready\n");
    };
    healthy();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Even while more of them arrive.
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                slow(2, body);
            }
        });
        (0..20).for_each(|_| healthy());
        over.store(true, Ordering::Relaxed);
    });
    drop((here, hostile));
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
    // A ledger's address may contain a password, even if it is malformed.
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
