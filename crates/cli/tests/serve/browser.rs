//! The dashboard in a real browser. Needs Debian's chromium and chromium-driver, so `cargo xtask test` runs it
//! separately.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::service::{Place, wait_for};
use crate::webdriver::Browser;

/// Where screenshots are stored.
pub fn pictures() -> PathBuf {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let folder = target.parent().expect("the target directory").join("artifacts");
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Waits for a truthy value in the page: neither null nor false, nor an empty text, nor 0.
pub fn wait_until(browser: &Browser, what: &str, expression: &str) -> Value {
    wait_for(what, || {
        let value = browser.value(expression);
        let nothing = [Value::Null, json!(false), json!(""), json!(0)].contains(&value);
        (!nothing).then_some(value)
    })
}

#[test]
#[ignore = "needs a browser; cargo xtask test runs it"]
fn a_stream_is_created_fed_and_watched_and_a_query_spends_budget() {
    let place = Place::with_visits("browser");
    let service = place.start();
    let browser = Browser::start(&place.0.join("profile"));
    let keep = |name: &str| browser.picture(&pictures().join(format!("{name}.png")));
    browser.resize(1200, 1300);
    browser.open(&service.page());
    wait_until(&browser, "the budget", "document.querySelector('.budget progress') !== null");

    // Create a stream, by keyboard where it opens.
    browser.click("#new-stream summary");
    browser.fill("#name", "Visits");
    browser.click("#create button");
    // The form itself validates names.
    assert_eq!(browser.value("document.querySelector('#name').validity.patternMismatch"), json!(true));
    browser.fill("#name", "visits");
    browser.fill("#step", "1y");
    browser.click("#create button");
    let problem = wait_until(&browser, "the problem", "document.querySelector('#create .problem').textContent");
    assert!(problem.as_str().unwrap().contains("1s to 1d"), "{problem}");
    assert_eq!(browser.value("document.activeElement.id"), json!("step"), "the focus is where the mistake is");
    browser.fill("#step", "1s");
    browser.click("#create button");
    wait_until(
        &browser,
        "the stream",
        "document.querySelector('#stream-list button[aria-pressed=true]')?.textContent === 'visits'",
    );

    // The chart moves, with events and without.
    let step = "Number(document.querySelector('#chart').dataset.step || 0)";
    wait_until(&browser, "a first release", &format!("{step} >= 1"));
    for _ in 0..3 {
        assert_eq!(service.send("visits", &"1\n".repeat(1000)).status, 200);
    }
    wait_until(&browser, "the events", "/^(2[89]|3[01])\\d\\d ±/.test(document.querySelector('#newest').textContent)");
    let shown = format!("[{step}, document.querySelector('#chart').src]");
    let before = browser.value(&shown);
    let after = wait_for("the next release", || {
        Some(browser.value(&shown)).filter(|after| after[0].as_u64() > before[0].as_u64())
    });
    assert_ne!(after[1], before[1], "the chart is a new one");
    wait_until(&browser, "the picture", "document.querySelector('#chart').naturalWidth > 100");
    assert!(browser.value("document.querySelectorAll('#releases tbody tr').length").as_u64() >= Some(2));

    // A query: first a preview, which costs nothing, then for real.
    browser.fill("#sql", "SELECT region, COUNT(*) AS visits FROM visits GROUP BY region");
    browser.fill("#epsilon", "500");
    browser.click("#allow-large-epsilon");
    browser.fill("#delta", "1e-8");
    browser.click("#preview");
    wait_until(
        &browser,
        "the preview",
        "document.querySelector('#answer-words').textContent.startsWith('Nothing was charged')",
    );
    keep("dashboard-preview");
    let share = "document.querySelector('.budget[data-name=visits] progress').value";
    wait_until(&browser, "a budget that is whole", &format!("{share} === 0"));
    browser.click("#ask button:not([type=button])");
    wait_until(&browser, "the answer", "document.querySelector('#rows tbody tr')?.textContent.includes('±')");
    wait_until(&browser, "the budget to shrink", &format!("{share} > 0.19 && {share} < 0.21"));
    browser.click(".budget[data-name=visits] summary");
    wait_until(
        &browser,
        "the history",
        "document.querySelector('.budget[data-name=visits] .entries li span')?.textContent.includes('GROUP BY region')",
    );
    keep("dashboard");

    // Everything has an accessible name, and the first tab stop skips the page header.
    let nameless =
        "[...document.querySelectorAll('input, select, textarea')].filter((field) => !field.labels.length).length";
    assert_eq!(browser.value(nameless), json!(0));
    // The tab has the token; adding it after a # would not reload the page.
    browser.open(&format!("http://{}/", service.address));
    wait_until(&browser, "the page", "document.querySelector('.budget progress') !== null");
    browser.press("\u{e004}");
    assert_eq!(browser.value("document.activeElement.className"), json!("skip"));

    // On a phone nothing is wider than the screen.
    browser.resize(500, 900);
    wait_until(&browser, "the page again", "document.querySelector('#chart').naturalWidth > 100");
    assert_eq!(
        browser.value("document.documentElement.scrollWidth <= document.documentElement.clientWidth"),
        json!(true)
    );
    keep("dashboard-phone");
    let complaints: Vec<String> = browser.complaints();
    // The mistake above got a 400, which a browser logs.
    assert!(complaints.iter().all(|complaint| complaint.contains("400")), "{complaints:?}");
}

#[test]
#[ignore = "needs a browser; cargo xtask test runs it"]
fn with_tokens_the_page_asks_for_one() {
    let place = Place::new("sign-in");
    let token = place.token("eve", "viewer", "");
    let service = place.start();
    let browser = Browser::start(&place.0.join("profile"));
    browser.open(&format!("http://{}/", service.address));
    wait_until(&browser, "the form", "!document.querySelector('#sign-in').hidden");
    browser.fill("#token", "reticent_wrong");
    browser.click("#sign-in button");
    wait_until(&browser, "the refusal", "document.querySelector('#sign-in .problem').textContent.includes('token')");
    browser.picture(&pictures().join("sign-in.png"));
    browser.fill("#token", &token);
    browser.click("#sign-in button");
    wait_until(&browser, "the page", "document.querySelector('#who').textContent === 'eve (viewer)'");
    // A viewer cannot create or query, and is not offered to.
    assert_eq!(
        browser.value("document.querySelector('#new-stream').hidden && document.querySelector('#query').hidden"),
        json!(true)
    );
}
