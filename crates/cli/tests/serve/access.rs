//! Who may do what: every route, every role.

use std::fs;

use reticent_server::Role;
use reticent_server::role::Permission;
use reticent_server::routes::table;
use serde_json::json;

use crate::http::say;
use crate::service::{Place, Service};

#[test]
fn every_route_lets_in_whom_it_should_and_nobody_else() {
    let place = Place::with_survey("roles", false);
    let token = |role: &str, more: &str| place.token(role, role, more);
    let holders = [
        (Some(Role::Owner), token("owner", "")),
        (Some(Role::Analyst), token("analyst", "--cap stream/visits=1")),
        (Some(Role::Source), token("source", "")),
        (Some(Role::Viewer), token("viewer", "")),
        (None, String::new()),
        (None, "reticent_0123456789abcdef_".to_owned() + &"0".repeat(64)),
    ];
    // Written out again, and not taken from the code: a mistake there must show here.
    let may = |permission: Permission, role: Role| {
        use Role::{Analyst, Owner, Source, Viewer};
        match permission {
            Permission::Open | Permission::Look => true,
            Permission::Read => [Owner, Analyst, Viewer].contains(&role),
            Permission::Send => [Owner, Source].contains(&role),
            Permission::Ask => [Owner, Analyst].contains(&role),
            Permission::Manage => role == Owner,
        }
    };
    let needs = |method: &str, path: &str| match (method, path) {
        ("POST", "/v1/streams" | "/v1/datasets") => Permission::Manage,
        ("POST", "/v1/query") => Permission::Ask,
        ("POST", "/v1/streams/{name}/events" | "/v1/local/{task}/reports") => Permission::Send,
        ("GET", "/v1/local/{task}") => Permission::Look,
        ("GET", path) if path.starts_with("/v1/") || path == "/metrics" => Permission::Read,
        ("GET", _) => Permission::Open,
        other => panic!("a new route: {other:?}"),
    };
    let service = place.start();
    let owner = &holders[0].1;
    let visits = json!({ "name": "visits", "step": "event", "epsilon": 1, "horizon": 100 });
    assert_eq!(service.post_as(owner, "/v1/streams", &visits).status, 201);
    let mut asked = 0;
    for route in table() {
        let permission = needs(route.method.as_str(), route.path);
        assert_eq!(route.permission, permission, "{}", route.path);
        let name = if route.path.starts_with("/v1/datasets") { "stream%2Fvisits" } else { "visits" };
        let path = route.path.replace("{name}", name).replace("{task}", "commute");
        for (role, token) in &holders {
            let bearer = format!("Bearer {token}");
            let mut headers = vec![("Content-Type", "application/json")];
            if !token.is_empty() {
                headers.push(("Authorization", &bearer));
            }
            let status = service.say(route.method.as_str(), &path, &headers, b"{}").head().status;
            let who = format!("{role:?} at {} {path}: {status}", route.method);
            match role {
                _ if permission == Permission::Open => assert_eq!(status, 200, "{who}"),
                None => assert_eq!(status, 401, "{who}"),
                Some(role) if may(permission, *role) => {
                    // Only those who may ask are told what is missing in `{}`.
                    let expected: &[u16] = if route.method == "POST" { &[200, 400] } else { &[200] };
                    // Nothing has been released yet, and there are too few reports.
                    let is_early =
                        (status == 404 && path.ends_with("/now")) || (status == 409 && path.ends_with("/estimate"));
                    assert!(expected.contains(&status) || is_early, "{who}");
                }
                Some(_) => assert_eq!(status, 403, "{who}"),
            }
            asked += 1;
        }
    }
    assert!(asked >= 33 * 6, "{asked}");
}

/// A query may name people, and the path of its file is the server's own business.
#[test]
fn owners_see_all_requests_and_analysts_their_own() {
    let place = Place::with_visits("history");
    let [owner, viewer] = ["owner", "viewer"].map(|role| place.token(role, role, ""));
    let [alan, grace] =
        ["alan", "grace"].map(|name| place.token(name, "analyst", "--cap visits=500 --allow-large-epsilon"));
    let service = place.start();
    let question = json!({ "sql": "SELECT COUNT(*) AS n FROM visits WHERE region = 'north'", "epsilon": 1, "request_id": "monday" });
    assert_eq!(service.post_as(&alan, "/v1/query", &question).status, 200);
    let history = |token: &str| {
        let history = service.get_as(token, "/v1/datasets/visits/history").json();
        let charge = history["entries"].as_array().unwrap().iter().find(|entry| entry["kind"] == "charged").cloned();
        (history.to_string(), charge.expect("it was charged"))
    };
    for (token, sees_file) in [(&owner, true), (&alan, false)] {
        let (text, charge) = history(token);
        assert!(text.contains("north") && text.contains("table visits"), "{text}");
        assert_eq!(text.contains("visits.csv"), sees_file, "{text}");
        assert_eq!((&charge["caller"], &charge["request"]), (&json!("alan"), &json!("monday")));
    }
    for token in [&viewer, &grace] {
        let (text, charge) = history(token);
        let told = ["north", "SELECT", "visits.csv", "alan", "monday"].into_iter().find(|secret| text.contains(secret));
        assert_eq!(told, None, "{text}");
        assert_eq!((&charge["cost"], &charge["spent"]["epsilon"]), (&json!("ε = 1"), &json!("1")));
    }
    // Nor do errors reveal where a table is, or what is next to it.
    place.write("visits-2.csv", "user\n");
    std::fs::remove_file(place.0.join("visits.csv")).expect("it was there");
    let gone = service.post_as(&alan, "/v1/query", &json!({ "sql": "SELECT COUNT(*) FROM visits", "epsilon": 1 }));
    assert_eq!(gone.status, 409, "{}", gone.text());
    assert!(
        gone.text().contains("the table visits can no longer be opened") && !gone.text().contains(".csv"),
        "{}",
        gone.text()
    );
}

/// What the configuration calls open, and nothing else.
#[test]
fn an_open_survey_is_answered_by_anybody_and_estimated_by_nobody_else() {
    let place = Place::with_survey("open", true);
    let owner = place.token("ada", "owner", "");
    let service = place.start();
    let from_elsewhere = [("Origin", "https://survey.example"), ("Content-Type", "text/plain")];
    for (method, path) in [("GET", "/v1/local/commute"), ("POST", "/v1/local/commute/reports")] {
        let answer = service.say(method, path, &from_elsewhere, b"").answer();
        assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, Some("*")), "{path}");
    }
    for path in ["/v1/local", "/v1/local/commute/estimate", "/v1/streams", "/v1/local/other", "/v1/local/commute%2F.."]
    {
        assert_eq!(service.get(path).status, 401, "{path}");
    }
    assert_eq!(service.get_as(&owner, "/v1/local").json()["surveys"][0]["open"], json!(true));
}

#[test]
fn a_revoked_token_ends_at_once_and_does_not_open_the_door() {
    let place = Place::new("revoked");
    let token = place.token("ada", "owner", "");
    let service = place.start();
    assert_eq!(service.get_as(&token, "/v1/streams").status, 200);
    assert!(place.run("token revoke ada --data-dir data").status.success());
    assert_eq!(service.get_as(&token, "/v1/streams").status, 401);
    let nobody = service.get("/v1/streams");
    assert_eq!(nobody.status, 401);
    assert_eq!(nobody.header("www-authenticate"), Some("Bearer"));
    assert!(nobody.problem().0.contains("Authorization: Bearer"));
}

/// A regression: any request from this machine to a loopback host used to count as the owner's, and nginx forwards
/// requests in just this form: HTTP/1.1, the service's own address as the host, and no extra header.
#[test]
fn without_tokens_the_owner_shows_the_secret_of_this_run() {
    let place = Place::new("local");
    let mut service = place.start();
    let asked =
        |service: &Service, headers: &[(&str, &str)]| say(service.address, "GET", "/v1/whoami", headers, b"").answer();
    let nobody = asked(&service, &[]);
    assert!(nobody.status == 401 && nobody.text().contains("reticent token owner"), "{}", nobody.text());
    for wrong in ["reticent_x".to_owned(), format!("reticent_0123456789abcdef_{}", "0".repeat(64))] {
        assert_eq!(service.get_as(&wrong, "/v1/whoami").status, 401);
    }
    let first = service.bearer();
    let owner = json!({ "name": "local", "role": "owner" });
    assert_eq!(asked(&service, &[("Authorization", &first)]).json(), owner);
    // Even through a proxy, and from a page of any name: it is the secret that counts.
    let forwarded = [("Authorization", &*first), ("X-Forwarded-For", "203.0.113.7"), ("Host", "stats.example.org")];
    assert_eq!(asked(&service, &forwarded).json(), owner);
    assert!(!place.logged().contains(&first["Bearer reticent_".len()..]), "{}", place.logged());
    service.signal("KILL");
    service.ended();
    let service = place.start();
    assert_eq!(asked(&service, &[("Authorization", &first)]).status, 401, "another run has another one");
    assert_eq!(service.get("/v1/whoami").json(), owner);
    let ada = place.token("ada", "owner", "");
    assert_eq!(service.get("/v1/whoami").status, 401, "there are tokens now");
    assert_eq!(service.get_as(&ada, "/v1/whoami").status, 200);
}

#[test]
fn tokens_that_vanish_do_not_open_the_door() {
    let place = Place::new("vanished");
    place.write("reticent.toml", "");
    let token = place.token("ada", "owner", "");
    let mut service = place.start();
    fs::rename(place.0.join("data/tokens.sqlite"), place.0.join("aside")).expect("moved");
    assert_eq!((service.get("/v1/whoami").status, service.get_as(&token, "/v1/whoami").status), (500, 500));
    service.signal("TERM");
    service.ended();
    assert!(place.does_not_start("").contains("there were tokens"));
    fs::rename(place.0.join("aside"), place.0.join("data/tokens.sqlite")).expect("moved");
    let service = place.start();
    assert_eq!((service.get("/v1/whoami").status, service.get_as(&token, "/v1/whoami").status), (401, 200));
}

#[test]
fn any_other_address_needs_tokens_and_says_so_about_tls() {
    let place = Place::new("elsewhere");
    let refused = place.run("serve --listen 0.0.0.0:0 --data-dir data");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("reticent token create") && said.contains("127.0.0.1"), "{said}");
    place.token("ada", "owner", "");
    let service = place.start_at("0.0.0.0:0");
    assert!(place.logged().contains("TLS"), "{}", place.logged());
    drop(service);
}
