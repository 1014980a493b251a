//! `reticent stream` and `reticent token`.

use std::io::Write;
use std::process::{Output, Stdio};

use crate::service::{Place, Service, WITHOUT_NOISE};

fn run(place: &Place, service: &Service, arguments: &str, token: &str, input: &str) -> Output {
    let mut command = place.program(arguments);
    command.env("RETICENT_SERVER", format!("http://{}", service.address)).env("RETICENT_TOKEN", token);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("written");
    child.wait_with_output().expect("it ends")
}

#[test]
fn streams_are_created_fed_and_shown_from_the_command_line() {
    let place = Place::new("commands");
    let service = place.start();
    let run = |arguments: &str, input: &str| {
        run(&place, &service, arguments, service.owner.as_deref().expect("no tokens"), input)
    };
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    let created = run(
        &format!(
            "stream create visits --step event --horizon 100 --range 0..9 --epsilon {WITHOUT_NOISE} --allow-large-epsilon"
        ),
        "",
    );
    assert_eq!(created.status.code(), Some(0), "{}", text(&created.stderr));
    assert!(text(&created.stderr).contains("charged to stream/visits"), "{}", text(&created.stderr));
    let sent = run("stream send visits --batch 2", "1\n2\n3\n4\n5");
    assert_eq!(sent.status.code(), Some(0), "{}", text(&sent.stderr));
    service.released("visits", 5);
    let shown = run("stream show visits --last 2 --format csv", "");
    let shown = text(&shown.stdout);
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines.len() == 3 && lines[1].contains(",10,") && lines[2].contains(",15,"), "{shown}");
    assert!(text(&run("stream list", "").stdout).contains("stream/visits"));
    place.write("more.ndjson", "{\"value\":5}\n");
    assert_eq!(run("stream send visits more.ndjson", "").status.code(), Some(0));
    assert_eq!(service.released("visits", 6)["value"].as_i64(), Some(20));
    // Input without events in its lines is not sent.
    place.write("more.json", "[{\"value\":5},{\"value\":5}]");
    std::fs::write(place.0.join("more.gz"), b"\x1f\x8b\x08\x00rest").expect("written");
    for (file, said) in [("more.json", "is a JSON array"), ("more.gz", "compressed with gzip")] {
        let sent = run(&format!("stream send visits {file}"), "");
        assert_eq!(sent.status.code(), Some(2), "{file}: {}", text(&sent.stderr));
        assert!(text(&sent.stderr).contains(said), "{file}: {}", text(&sent.stderr));
    }
    let sent = run("stream send visits", "[{\"value\":5}]");
    assert_eq!(sent.status.code(), Some(2), "{}", text(&sent.stderr));
    assert!(text(&sent.stderr).contains("standard input is a JSON array"), "{}", text(&sent.stderr));
    let again = run("stream create visits --step event --epsilon 1", "");
    assert_eq!(again.status.code(), Some(2), "{}", text(&again.stderr));
    let none = run("stream send none", "1\n");
    assert_eq!(none.status.code(), Some(2), "{}", text(&none.stderr));
    let nowhere = run("stream list --server http://127.0.0.1:1", "");
    assert_eq!(nowhere.status.code(), Some(1));
    assert!(text(&nowhere.stderr).contains("reticent serve"), "{}", text(&nowhere.stderr));
}

/// One step less: nobody has to copy the owner's token.
#[cfg(unix)]
#[test]
fn the_owner_of_this_run_is_known_to_the_commands_and_to_nobody_else() {
    let place = Place::new("own");
    let service = place.start();
    let own = |arguments: &str, server: &str| {
        let output = place.program(arguments).env("RETICENT_SERVER", server).output().expect("it starts");
        (output.status.code(), String::from_utf8(output.stdout).expect("text"))
    };
    let (here, nobody) = (format!("http://{}", service.address), "stream list");
    assert_eq!(own(nobody, &here).0, Some(2), "its data directory is not this user's own");
    std::fs::create_dir_all(place.0.join("reticent")).expect("a folder");
    std::os::unix::fs::symlink(place.0.join("data"), place.0.join("reticent/service")).expect("a link");
    assert_eq!(own("stream list", &here).0, Some(0));
    let other = here.replace("127.0.0.1", "127.0.0.2");
    assert_eq!(Some(own("token owner", &here).1.trim()), service.owner.as_deref());
    assert_ne!(own("stream list", &other).0, Some(0));
    drop(service);
    place.token("ada", "owner", "");
    drop(place.start());
    assert_eq!(own("token owner", &here).0, Some(2));
}

#[test]
fn a_source_can_send_and_nothing_else() {
    let place = Place::new("source");
    let (owner, till) = (place.token("ada", "owner", ""), place.token("till-7", "source", ""));
    let service = place.start();
    let created = run(&place, &service, "stream create visits --step event --horizon 9 --epsilon 1", &owner, "");
    assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stderr));
    assert_eq!(run(&place, &service, "stream send visits", &till, "1\n").status.code(), Some(0));
    let shown = run(&place, &service, "stream show visits", &till, "");
    assert_eq!(shown.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&shown.stderr).contains("the role source does not allow this"));
}

#[test]
fn tokens_are_made_listed_and_revoked() {
    let place = Place::new("tokens");
    let token = place.token("ada", "analyst", "--cap staff=1,1e-7 --cap visits=rho:0.5");
    assert!(token.starts_with("reticent_") && token.len() == 9 + 16 + 1 + 64, "{token}");
    let list = || String::from_utf8(place.run("token list --data-dir data --format json").stdout).expect("text");
    assert!(list().contains("\"staff\":\"ε = 1, δ = 1e-7\"") && list().contains("\"revoked\":null"), "{}", list());
    assert!(!list().contains(&token[26..]));
    assert!(place.run("token revoke ada --data-dir data").status.success());
    assert!(!list().contains("\"revoked\":null"));
    for wrong in [
        "token create bob --role boss",
        "token create bob --role analyst",
        "token create bob --role analyst --cap staff",
        "token create bob --role analyst --cap staff=11",
        "token create bob --role analyst --cap staff=1,0.5",
        "token create bob --role analyst --cap staff=rho:100",
        "token create bob --role viewer --cap staff=1",
        "token create ada --role viewer",
        "token revoke nobody",
    ] {
        let output = place.run(&format!("{wrong} --data-dir data"));
        assert_eq!(output.status.code(), Some(2), "{wrong}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
