//! A party that is killed, has a different task, has no budget, or never joins.

use std::thread::sleep;
use std::time::{Duration, Instant};

use super::hospitals::{AT_THE_MOST, BY_WARD, Ended, Hospitals, Running, WARDS, WITHOUT_NOISE, truth, visits};

/// Enough rows for a party to be still reading them when it is killed.
const MANY: usize = 2_000_000;

/// Waits for something to happen.
#[track_caller]
pub fn until(mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + AT_THE_MOST;
    while !holds() {
        assert!(Instant::now() < deadline, "it never came");
        sleep(Duration::from_millis(10));
    }
}

#[track_caller]
fn aborted(ended: &Ended, why: &str) {
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stdout.is_empty(), "{}", ended.stdout);
    let all = ended.stderr.contains("aborted in round") && ended.stderr.contains("nothing was released");
    assert!(all && ended.stderr.contains(why), "{}", ended.stderr);
}

#[test]
fn who_is_killed_ends_it_for_all_and_another_attempt_is_charged_anew() {
    let hospitals = Hospitals::new("killed", 3);
    hospitals.agree_on_wards();
    for name in &hospitals.names {
        hospitals.configure(name, "join_seconds = 200\nround_seconds = 8\n");
    }
    hospitals.write("p2.csv", &visits(MANY));
    let mut running = hospitals.start_all();
    let last = running.pop().expect("three");
    // All have charged, and the last one reads its rows.
    hospitals.names.iter().for_each(|name| until(|| hospitals.charges(name) == 1));
    last.kill();
    for (name, ended) in ["p0", "p1"].iter().zip(running.into_iter().map(Running::end)) {
        aborted(&ended, "p2 did not answer in time");
        assert!(ended.stderr.contains("the charge is kept"), "{}", ended.stderr);
        assert_eq!(hospitals.charges(name), 1);
    }
    hospitals.write("p2.csv", &visits(30));
    hospitals.names.iter().for_each(|name| hospitals.configure(name, ""));
    // Whether a process survives can depend on its rows, so its own table is suspended until its owner says otherwise.
    let refused = hospitals.start("p2").end();
    assert!(refused.stderr.contains("is suspended"), "{}", refused.stderr);
    hospitals.succeeds(&["ledger", "reopen", "visits", "--ledger", "p2.sqlite"]);
    for (name, ended) in hospitals.names.iter().zip(hospitals.run_all()) {
        assert_eq!((ended.code, hospitals.charges(name)), (Some(0), 2), "{}", ended.stderr);
        assert_eq!(ended.counts(), truth([10, 20, 30]));
        assert!(ended.object("parties")["attempt"].as_u64() >= Some(2), "no mask comes again");
    }
}

#[test]
fn who_has_another_task_ends_it_for_all_before_anything_is_charged() {
    let hospitals = Hospitals::new("other-task", 3);
    hospitals.agree_on_wards();
    let other = format!("--epsilon {WITHOUT_NOISE} --keys ward=A,B --colluders 1");
    assert_eq!(hospitals.agree("other.toml", BY_WARD, &other).code, Some(0));
    for (name, task) in [("p0", "task.toml"), ("p1", "other.toml"), ("p2", "task.toml")] {
        hospitals.configure(name, &format!("task = \"{task}\"\njoin_seconds = 20\nround_seconds = 60\n"));
    }
    let mut met = 0;
    for (name, ended) in hospitals.names.iter().zip(hospitals.run_all()) {
        // Two that meet detect it and leave; if the third comes later than that, it finds nobody.
        let found = ended.stderr.contains("has a different task file");
        met += usize::from(found);
        aborted(&ended, if found { "has a different task file" } else { "did not answer in time" });
        assert!(ended.stderr.contains("nothing was charged"), "{}", ended.stderr);
        assert_eq!(hospitals.charges(name), 0);
    }
    assert!(met >= 2, "{met}");
}

#[test]
fn who_has_no_budget_says_so_and_the_others_stop() {
    let hospitals = Hospitals::new("overdrawn", 3);
    hospitals.agree_on_wards();
    hospitals.budget("p1", "100");
    for name in ["p0", "p2"] {
        hospitals.configure(name, "join_seconds = 8\nround_seconds = 8\n");
    }
    let ended = hospitals.run_all();
    assert_eq!(ended[1].code, Some(4), "{}", ended[1].stderr);
    assert!(ended[1].stdout.is_empty());
    for ended in [&ended[0], &ended[2]] {
        aborted(ended, "did not answer in time");
        // Perhaps not it alone, if another one is too slow to start.
        assert!(ended.stderr.contains("p1"), "{}", ended.stderr);
    }
    assert_eq!(hospitals.names.iter().map(|name| hospitals.charges(name)).collect::<Vec<_>>(), [0, 0, 0]);
}

#[test]
fn who_never_comes_is_named_and_nothing_is_charged() {
    let hospitals = Hospitals::new("absent", 2);
    let more = format!("--epsilon {WITHOUT_NOISE} --keys {WARDS} --colluders 1");
    assert_eq!(hospitals.agree("task.toml", BY_WARD, &more).code, Some(0));
    hospitals.configure("p0", "join_seconds = 1\nround_seconds = 1\n");
    let ended = hospitals.start("p0").end();
    aborted(&ended, "p1 did not answer in time");
    assert!(ended.stderr.contains("nothing was charged"), "{}", ended.stderr);
    assert_eq!(hospitals.charges("p0"), 0);
}
