//! A survey in a real browser. Needs Debian's chromium and chromium-driver, so `cargo xtask test` runs it separately.

use serde_json::{Value, json};

use crate::browser::{pictures, wait_until};
use crate::service::{COMMUTE, Place};
use crate::webdriver::Browser;

#[test]
#[ignore = "needs a browser; cargo xtask test runs it"]
fn a_person_answers_in_the_browser_and_only_what_was_randomised_arrives() {
    let place = Place::with_survey("survey-page", true);
    let owner = place.token("ada", "owner", "");
    let service = place.start();
    let count = || service.get_as(&owner, "/v1/local").json()["surveys"][0]["reports"].clone();
    let browser = Browser::start(&place.0.join("profile"));
    let address = format!("http://{}/survey/commute", service.address);
    let answer = |choice: usize| -> Value {
        browser.open(&address);
        wait_until(&browser, "the question", "!document.querySelector('#ask').hidden");
        browser.click(&format!("#answers label:nth-of-type({choice})"));
        browser.click("#ask button");
        wait_until(&browser, "the report", "!document.querySelector('#report').hidden");
        let shown = browser.value("document.querySelector('#sent').textContent");
        serde_json::from_str(shown.as_str().expect("text")).expect("JSON")
    };

    // The page explains itself before it asks for anything.
    browser.open(&address);
    wait_until(&browser, "the question", "!document.querySelector('#ask').hidden");
    assert_eq!(browser.value("document.title"), json!("How did you come here today?"));
    // e²/(e²+2) and 1/(e²+2).
    let why = browser.value("document.querySelector('#deniable').textContent");
    assert!(why.as_str().expect("text").contains("78.7 %") && why.as_str().expect("text").contains("10.7 %"), "{why}");

    // The report shown is the report sent, once; nothing leaves before. A reloaded page has the same report to send.
    let first = answer(3);
    assert_eq!(count(), json!(0));
    browser.open(&address);
    wait_until(&browser, "the report", "!document.querySelector('#report').hidden");
    let shown = browser.value("document.querySelector('#sent').textContent");
    assert_eq!(serde_json::from_str::<Value>(shown.as_str().expect("text")).expect("JSON"), first);
    assert_eq!(browser.value("document.querySelector('#ask').hidden"), json!(true));
    browser.picture(&pictures().join("survey.png"));
    browser.click("#send");
    wait_until(&browser, "the thanks", "!document.querySelector('#done').hidden");
    assert_eq!(count(), json!(1));
    assert_eq!(first["task"], service.get_as(&owner, "/v1/local").json()["surveys"][0]["task"]);

    // Without the key, what is stored reveals neither the answer nor the task.
    let stored = browser.value("({ ...localStorage })");
    let text = stored.to_string();
    assert!(!text.contains("by train") && !text.contains(first["task"].as_str().expect("a hash")), "{text}");

    // One answer: after that, the page says so in plain words and asks for nothing.
    browser.open(&address);
    wait_until(&browser, "the message", "!document.querySelector('#done').hidden");
    let said = browser.value("document.querySelector('#done').textContent");
    assert!(said.as_str().expect("text").starts_with("This browser has already answered this survey"), "{said}");
    let hidden = "['#ask', '#report', '#problem'].every((id) => document.querySelector(id).hidden)";
    assert_eq!(browser.value(hidden), json!(true));
    browser.picture(&pictures().join("survey-again.png"));
    // So does a page opened before in another tab, from the error that it gets.
    browser.value("localStorage.clear()");
    browser.open(&address);
    wait_until(&browser, "the question", "!document.querySelector('#ask').hidden");
    for (name, value) in stored.as_object().expect("an object") {
        browser.value(&format!("localStorage.setItem({}, {value})", json!(name)));
    }
    browser.click("#answers label:nth-of-type(1)");
    browser.click("#ask button");
    let problem = wait_until(&browser, "the problem", "document.querySelector('#problem').textContent || null");
    assert_eq!(problem, json!("this device has already answered; the task allows one answer"));
    assert_eq!((count(), browser.value("document.querySelector('#report').hidden")), (json!(1), json!(true)));
    // Another person's browser, whose reports do not depend on the first: all three answers occur.
    let mut said = std::collections::BTreeSet::new();
    for person in 0..60 {
        browser.value("(localStorage.clear(), sessionStorage.clear())");
        let report = answer(1 + person % 3);
        said.insert(report["response"].to_string());
        if said.len() == 3 {
            break;
        }
    }
    assert_eq!(said.len(), 3, "{said:?}");
    let complaints = browser.complaints();
    assert!(complaints.is_empty(), "{complaints:?}");
}

/// If the task says so, a browser repeats its first response under another id, whatever the answer.
#[test]
#[ignore = "needs a browser; cargo xtask test runs it"]
fn a_browser_repeats_itself_where_the_task_says_so() {
    let place = Place::with_survey("survey-again", true);
    place.write("commute.toml", &COMMUTE.replace("epsilon", "memoisation = \"first\"\nepsilon"));
    let owner = place.token("ada", "owner", "");
    let service = place.start();
    let browser = Browser::start(&place.0.join("profile"));
    let mut reports = Vec::new();
    for choice in [3, 1, 2] {
        browser.open(&format!("http://{}/survey/commute", service.address));
        wait_until(&browser, "the question", "!document.querySelector('#ask').hidden");
        browser.click(&format!("#answers label:nth-of-type({choice})"));
        browser.click("#ask button");
        wait_until(&browser, "the report", "!document.querySelector('#report').hidden");
        let shown = browser.value("document.querySelector('#sent').textContent");
        reports.push(serde_json::from_str::<Value>(shown.as_str().expect("text")).expect("JSON"));
        browser.click("#send");
        wait_until(&browser, "the thanks", "!document.querySelector('#done').hidden");
    }
    assert!(reports.iter().all(|report| report["response"] == reports[0]["response"]), "{reports:?}");
    assert_ne!(reports[0]["id"], reports[1]["id"]);
    assert_eq!(service.get_as(&owner, "/v1/local").json()["surveys"][0]["reports"], json!(3));
}

#[test]
#[ignore = "needs a browser; cargo xtask test runs it"]
fn a_survey_that_is_not_open_says_so() {
    let place = Place::with_survey("survey-closed", false);
    place.token("ada", "owner", "");
    let service = place.start();
    let browser = Browser::start(&place.0.join("profile"));
    browser.open(&format!("http://{}/survey/commute", service.address));
    let problem = wait_until(&browser, "the problem", "document.querySelector('#problem').textContent");
    assert!(problem.as_str().expect("text").contains("token"), "{problem}");
}
