//! A survey in a real browser. Needs Debian's chromium and chromium-driver, so that `cargo xtask test` runs it by itself.

use serde_json::{Value, json};

use crate::browser::{pictures, wait_until};
use crate::service::Place;
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

    // What is shown is what is sent, once; nothing leaves before.
    let first = answer(3);
    assert_eq!(count(), json!(0));
    browser.picture(&pictures().join("survey.png"));
    browser.click("#send");
    wait_until(&browser, "the thanks", "!document.querySelector('#done').hidden");
    assert_eq!(count(), json!(1));
    assert_eq!(first["task"], service.get_as(&owner, "/v1/local").json()["surveys"][0]["task"]);

    // Asked again, with another answer, the browser repeats its first response under another id.
    for choice in [1, 2, 3] {
        let again = answer(choice);
        assert_eq!(again["response"], first["response"]);
        assert_ne!(again["id"], first["id"]);
    }
    // What is stored tells neither the answer nor the task without the key.
    let stored = browser.value("JSON.stringify(localStorage)");
    let stored = stored.as_str().expect("text");
    assert!(!stored.contains("by train") && !stored.contains(first["task"].as_str().expect("a hash")), "{stored}");

    // Another person's browser, whose reports do not depend on the first: all three answers occur.
    let mut said = std::collections::BTreeSet::new();
    for person in 0..60 {
        browser.value("localStorage.clear()");
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
