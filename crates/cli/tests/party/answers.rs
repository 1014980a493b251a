//! Three and twenty processes, late ones, another attempt; transcripts.

use super::hospitals::{BY_WARD, Hospitals, Running, WARDS, WITHOUT_NOISE, truth};

#[test]
fn three_processes_release_one_answer() {
    let hospitals = Hospitals::new("three", 3);
    hospitals.agree_on_wards();
    let ended = hospitals.run_all();
    for one in &ended {
        assert_eq!(one.code, Some(0), "{}", one.stderr);
        assert_eq!(one.counts(), truth([10, 20, 30]));
    }
    // All have the same answer and the same text, but each its own file.
    assert_eq!(ended[0].rows(), ended[2].rows());
    assert_eq!(ended[0].object("summary"), ended[1].object("summary"));
    let parties = ended[0].object("parties");
    assert_eq!(parties["epsilon_by_colluders"].as_array().map(Vec::len), Some(3));
    assert!(parties["epsilon_by_colluders"][2].as_f64() > parties["epsilon_by_colluders"][1].as_f64());
    // Three times 200: each party has its own guarantee.
    assert_eq!(parties["epsilon_for_unit_at_all_parties"], 600.0);
    assert!(
        ended[0].object("summary")["guarantee"].as_str().is_some_and(|text| text.contains("each party's own rows"))
    );
    for (name, one) in hospitals.names.iter().zip(&ended) {
        assert_eq!(hospitals.charges(name), 1, "{name}");
        let file = one.object("parties")["transcript"].as_str().expect("a file").to_owned();
        let verified = hospitals.run(&["party", "verify", &file, "--task", "task.toml", "--format", "json"]);
        assert_eq!(verified.code, Some(0), "{}", verified.stderr);
        assert_eq!(verified.object("verdict")["signatures"], 12, "three parties, four rounds");
        assert_eq!(verified.rows(), one.rows(), "who was not there sees the same answer");
        // The transcript has only what each party sent, under its masks.
        assert!(!hospitals.read(&file).contains("u7"), "nothing of a row");
    }
}

#[test]
fn twenty_processes_release_one_answer() {
    let hospitals = Hospitals::new("twenty", 20);
    let more = format!("--epsilon {WITHOUT_NOISE} --keys {WARDS} --colluders 5");
    assert_eq!(hospitals.agree("task.toml", BY_WARD, &more).code, Some(0));
    for ended in hospitals.run_all() {
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert_eq!(ended.counts(), truth((1..=20).map(|place| 10 * place)));
    }
}

/// Means are on a fine grid, and counts share their noise, of which hardly any is left.
#[test]
fn broadcast_parties_release_means_and_counts() {
    let hospitals = Hospitals::new("broadcast", 2);
    let sql = "SELECT COUNT(*) AS n, AVG(age) AS mean, STDDEV(age) AS spread FROM visits";
    let more = "--epsilon 900 --allow-large-epsilon --bounds age=0..64 --protocol broadcast";
    let made = hospitals.agree("task.toml", sql, more);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    for ended in hospitals.run_all() {
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let rows = ended.rows();
        let value = |name: &str| rows[0][name]["value"].as_f64().expect("a number");
        // 10 and 20 rows, with ages from 20.
        let ages: Vec<f64> = (0..10).chain(0..20).map(|row| f64::from(20 + row)).collect();
        let mean = ages.iter().sum::<f64>() / 30.0;
        let variance = ages.iter().map(|age| (age - mean) * (age - mean)).sum::<f64>() / 29.0;
        assert_eq!(value("n"), 30.0);
        assert!((value("mean") - mean).abs() < 1.0 && (value("spread") - variance.sqrt()).abs() < 2.0, "{rows:?}");
    }
}

#[test]
fn who_is_late_is_waited_for() {
    let hospitals = Hospitals::new("late", 3);
    hospitals.agree_on_wards();
    let first: Vec<Running> = ["p0", "p1"].map(|name| hospitals.start(name)).into();
    // They are up and waiting: their attempts are on disk, and their addresses are in use.
    for address in &hospitals.addresses[..2] {
        super::aborts::until(|| std::net::TcpStream::connect(address).is_ok());
    }
    let last = hospitals.start("p2").end();
    assert_eq!((last.code, last.counts()), (Some(0), truth([10, 20, 30])));
    for ended in first.into_iter().map(Running::end) {
        assert_eq!((ended.code, ended.counts()), (Some(0), truth([10, 20, 30])));
    }
}

#[test]
fn noise_has_the_width_that_is_said() {
    let hospitals = Hospitals::new("noisy", 3);
    let made = hospitals.agree("task.toml", BY_WARD, &format!("--epsilon 1 --keys {WARDS} --colluders 2"));
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let shown = hospitals.succeeds(&["party", "task", "show", "task.toml"]).stdout;
    assert!(shown.contains("masked (t = 2), 3 parties"), "{shown}");
    for ended in hospitals.run_all() {
        let rows = ended.rows();
        for (row, (ward, count)) in rows.iter().zip(truth([10, 20, 30])) {
            let half_width = row["visits"]["half_width"].as_f64().expect("a width");
            // Three curators' noise: the standard deviation is about 2.4, the half-width at 95 % about 5.
            assert!((4.0..=6.0).contains(&half_width), "{row}");
            let off = (row["visits"]["value"].as_i64().expect("a count") - count).abs();
            assert!(off <= 60, "{ward}: with probability e^−50 at the most");
        }
    }
}
