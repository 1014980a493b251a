//! Private SQL, its charges and its idempotence.

use reticent::ledger::{ChargeOutcome, Keeper, OnInterruption};
use reticent_ledger::{DurableLedger, Location};
use serde_json::{Value, json};

use crate::service::{Place, Service};

/// Exact, except with negligible probability.
const EPSILON: &str = "2000";

fn spent(service: &Service) -> (String, u64) {
    let visits = service.get("/v1/datasets/visits").json();
    let spent = visits["spent"][0]["spent"]["epsilon"].as_str().expect("a number").to_owned();
    (spent, visits["charges"].as_u64().expect("a number"))
}

#[test]
fn a_query_is_answered_and_charged() {
    let place = Place::with_visits("query");
    let service = place.start();
    let asked = json!({ "sql": "SELECT COUNT(*) AS visits FROM visits WHERE region = 'north'", "epsilon": EPSILON, "allow_large_epsilon": true });
    let answer = service.post("/v1/query", &asked);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answer = answer.json();
    assert_eq!((&answer["columns"], &answer["dataset"]), (&json!(["visits"]), &json!("visits")));
    assert_eq!(answer["rows"][0][0]["value"], json!(100));
    assert!(answer["rows"][0][0]["half_width"].is_number() && answer["request_id"].is_string());
    assert_eq!(spent(&service), ("2000".into(), 1));
    let tables = service.get("/v1/tables").json();
    assert_eq!(tables["tables"][0]["columns"], json!(["user", "region", "age"]));
    assert_eq!(tables["tables"][0]["unit"], json!("user"));
}

#[test]
fn the_same_request_is_the_same_answer_for_ever_also_after_a_crash() {
    let place = Place::with_visits("idempotent");
    let mut service = place.start();
    let asked = |sql: &str| json!({ "sql": sql, "epsilon": 0.5, "request_id": "monday" });
    let sql = "SELECT COUNT(*) FROM visits";
    let first = service.post("/v1/query", &asked(sql));
    assert_eq!(first.status, 200, "{}", first.text());
    assert_eq!(service.post("/v1/query", &asked(sql)).undated(), first.clone().undated());
    let other = service.post("/v1/query", &asked("SELECT COUNT(*) FROM visits WHERE age > 30"));
    assert_eq!(other.status, 409, "{}", other.text());
    service.signal("KILL");
    service.ended();
    let service = place.start();
    assert_eq!(service.post("/v1/query", &asked(sql)).undated(), first.undated());
    assert_eq!(spent(&service), ("0.5".into(), 1));
}

/// As if the service had been killed between the charge and the answer: the request was charged, and no outcome is
/// claimed.
#[test]
fn a_request_that_crashed_has_no_outcome() {
    let place = Place::with_visits("crashed");
    let mut service = place.start();
    let asked = |request: &str| json!({ "sql": "SELECT COUNT(*) FROM visits", "epsilon": 0.5, "request_id": request });
    assert_eq!(service.post("/v1/query", &asked("monday")).status, 200);
    service.signal("KILL");
    service.ended();
    let ledger = DurableLedger::open(&Location::File(place.0.join("data/ledger.sqlite"))).expect("a ledger");
    let (mut charge, _) = ledger.request("visits", "monday").expect("readable").expect("charged");
    charge.request = "tuesday".into();
    assert!(matches!(ledger.charge(&charge, OnInterruption::Recompute), Ok(ChargeOutcome::New(_))));
    drop(ledger);
    let service = place.start();
    for _ in 0..2 {
        let answer = service.post("/v1/query", &asked("tuesday"));
        assert_eq!(answer.status, 409, "{}", answer.text());
        assert!(answer.problem().0.contains("was charged and has no outcome"), "{}", answer.text());
    }
    assert_eq!(spent(&service), ("1".into(), 2));
}

/// A delimiter is for CSV alone, and stays when the table is opened again.
#[test]
fn a_table_has_the_delimiter_of_its_configuration() {
    let place = Place::new("delimiter");
    place.write("t.csv", "user;height, cm;age\nu1;1;30\n");
    place.write("t.tsv", "user\tage\n");
    let table = |file: &str, delimiter: &str| {
        let text = format!("[[table]]\nname = \"t\"\nfile = \"{file}\"\ndelimiter = \"{delimiter}\"\n");
        place.write("reticent.toml", &text);
    };
    for (file, delimiter, said) in
        [("t.csv", "x", "a delimiter is one of , ; | and tab"), ("t.tsv", ";", "the table t is not CSV")]
    {
        table(file, delimiter);
        let told = place.does_not_start("");
        assert!(told.contains(said), "{told}");
    }
    table("t.csv", ",");
    let service = place.start();
    let ask = |column: &str| {
        let sql = format!("SELECT COUNT(\"{column}\") AS n FROM t");
        service.post("/v1/query", &json!({ "sql": sql, "epsilon": 1 })).status
    };
    assert_eq!((ask("user;height"), ask("user")), (200, 400));
}

/// So is an encoding for text alone, in which a file of UTF-16 is refused otherwise.
#[test]
fn a_table_has_the_encoding_of_its_configuration() {
    let place = Place::new("encoding");
    place.write("t.csv", "\u{feff}größe\n1\n2\n");
    let utf_16 = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>();
    std::fs::write(place.0.join("wide.csv"), utf_16("\u{feff}größe\n1\n2\n")).unwrap();
    std::fs::write(place.0.join("t.parquet"), include_bytes!("../query/tiny.parquet")).unwrap();
    for (table, said) in [
        ("wide.csv\"", "wide.csv is text in UTF-16; choose `encoding` utf-16"),
        ("wide.csv\"\nencoding = \"utf-7\"", "an encoding is one of latin1, windows-1252 and utf-16"),
        ("t.csv\"\nencoding = \"utf-16\"", "t.csv does not start with the byte-order mark of UTF-16"),
        ("t.parquet\"\nencoding = \"latin1\"", "the table t is not text"),
    ] {
        place.write("reticent.toml", &format!("[[table]]\nname = \"t\"\nfile = \"{table}\n"));
        let told = place.does_not_start("");
        assert!(told.contains(said), "{told}");
    }
    place.write("reticent.toml", "[[table]]\nname = \"t\"\nfile = \"wide.csv\"\nencoding = \"utf-16\"\n");
    let answer = place.start().post("/v1/query", &json!({ "sql": "SELECT COUNT(größe) AS n FROM t", "epsilon": 1 }));
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[test]
fn a_dry_run_costs_nothing() {
    let place = Place::with_visits("dry-run");
    let service = place.start();
    let asked = json!({ "sql": "SELECT AVG(age) FROM visits", "epsilon": 1, "dry_run": true });
    let preview = service.post("/v1/query", &asked);
    assert_eq!(preview.status, 200, "{}", preview.text());
    let preview = preview.json();
    assert_eq!(preview["dry_run"]["guarantee"], json!("ε = 1"));
    assert!(preview["words"].as_str().unwrap().contains("same user"), "{preview}");
    let (forecast, advice) = (&preview["dry_run"]["forecast"], &preview["dry_run"]["advice"]);
    assert_eq!(forecast["rows"], json!(1000));
    assert!(forecast["columns"][0]["half_width"].as_f64().unwrap() > 0.0, "{preview}");
    assert_eq!(advice[0]["settings"], json!([{ "name": "epsilon", "value": "2" }]));
    let mut more = asked.clone();
    more["expect_rows"] = json!(0);
    let problem = service.post("/v1/query", &more);
    assert_eq!(problem.problem().1.as_deref(), Some("expect_rows"), "{}", problem.text());
    assert_eq!(spent(&service), ("0".into(), 0));
}

#[test]
fn what_is_wrong_is_named_and_not_charged() {
    let place = Place::with_visits("wrong");
    let service = place.start();
    let wrong = |asked: Value| {
        let answer = service.post("/v1/query", &asked);
        assert_eq!(answer.status, 400, "{asked}: {}", answer.text());
        answer.problem()
    };
    let (message, field) = wrong(json!({ "sql": "SELECT COUNT(*) FROM visits" }));
    assert_eq!((field.as_deref(), message.contains("`epsilon` 1")), (Some("epsilon"), true), "{message}");
    let (message, _) = wrong(json!({ "sql": "SELECT COUNT(*) FROM visit", "epsilon": 1 }));
    assert!(message.contains("visits"), "{message}");
    let (message, _) = wrong(json!({ "sql": "SELECT user FROM visits", "epsilon": 1 }));
    assert!(message.contains("privately"), "{message}");
    let (message, field) = wrong(json!({ "sql": "SELECT SUM(CAST(user AS DOUBLE)) FROM visits", "epsilon": 1 }));
    assert!(field.as_deref() == Some("bounds") && message.contains("`bounds`"), "{message}");
    let (_, field) = wrong(json!({ "sql": "SELECT COUNT(*) FROM visits", "epsilon": -1 }));
    assert_eq!(field.as_deref(), Some("epsilon"));
    let (message, field) = wrong(json!({ "sql": "SELECT COUNT(*) FROM visits", "epsilon": 1000 }));
    assert!(field.as_deref() == Some("epsilon") && message.contains("`allow_large_epsilon`"), "{message}");
    let (message, field) = wrong(json!({ "sql": "SELECT COUNT(*) FROM visits", "epsilon": 1, "delta": 0.1 }));
    assert!(field.as_deref() == Some("delta") && message.contains("at most 0.001"), "{message}");
    let (_, field) = wrong(json!({ "sql": "SELECT COUNT(*) FROM visits", "epsilon": 1, "unit": "row" }));
    assert_eq!(field.as_deref(), Some("unit"), "whose privacy is protected is not for callers to say");
    let (message, _) = wrong(
        json!({ "sql": "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, privacy_unit_column=region) COUNT(*) FROM visits" }),
    );
    assert!(message.contains("policy"), "{message}");
    assert_eq!(spent(&service), ("0".into(), 0));
}

#[test]
fn how_much_of_a_person_counts_is_said_by_the_policy_or_with_the_query() {
    let place = Place::new("caps-said");
    place.write("visits.csv", "user,region\nu1,north\nu1,south\n");
    let table = "[[table]]\nname = \"visits\"\nfile = \"visits.csv\"\npolicy = { unit = \"user\" }\n";
    place.write("reticent.toml", table);
    let service = place.start();
    // Limits of counts are chosen privately, those of a most frequent value are not.
    let asked = json!({ "sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": 1 });
    assert_eq!(service.post("/v1/query", &asked).status, 200);
    let asked = json!({ "sql": "SELECT MODE(region) AS n FROM visits", "epsilon": 1, "delta": 1e-6 });
    let answer = service.post("/v1/query", &asked);
    assert_eq!(answer.status, 400, "{}", answer.text());
    let (message, field) = answer.problem();
    assert!(field.as_deref() == Some("max_rows") && message.contains("add `max_rows` N"), "{message}");
    let asked = json!({ "sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": 1, "max_rows": 2 });
    assert_eq!(service.post("/v1/query", &asked).status, 200);
}

#[test]
fn an_analyst_spends_no_more_than_the_cap_and_the_dataset_no_more_than_its_budget() {
    let place = Place::with_visits("caps");
    let ada = place.token("ada", "analyst", "--cap visits=1");
    let owner = place.token("owner", "owner", "");
    let mut service = place.start();
    let asked = |epsilon: &str, request: &str| json!({ "sql": "SELECT COUNT(*) FROM visits", "epsilon": epsilon, "allow_large_epsilon": true, "request_id": request });
    let first = service.post_as(&ada, "/v1/query", &asked("0.75", "one"));
    assert_eq!(first.status, 200, "{}", first.text());
    let over = service.post_as(&ada, "/v1/query", &asked("0.5", "two"));
    assert_eq!(over.status, 402);
    assert!(over.problem().0.contains("ε = 0.25 would fit"), "{}", over.text());
    service.signal("KILL");
    service.ended();
    let service = place.start();
    assert_eq!(service.post_as(&ada, "/v1/query", &asked("0.5", "two")).status, 402, "caps are durable");
    assert_eq!(service.post_as(&ada, "/v1/query", &asked("0.75", "one")).undated(), first.undated());
    // The dataset's own budget is exhausted: the cap gets back what was not spent.
    let rest = service.post_as(&owner, "/v1/query", &asked("2499.25", "rest"));
    assert_eq!(rest.status, 200, "{}", rest.text());
    assert_eq!(service.post_as(&ada, "/v1/query", &asked("0.25", "three")).status, 402);
    let visits = service.get_as(&owner, "/v1/datasets/visits").json();
    assert_eq!((&visits["share_spent"], &visits["left"]["epsilon"]), (&json!(1.0), &json!("0")));
    let bob = place.token("bob", "analyst", "--cap other=1");
    assert_eq!(service.post_as(&bob, "/v1/query", &asked("0.1", "one-b")).status, 403);
}
