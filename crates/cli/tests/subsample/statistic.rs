//! Statistics and their answers.

use super::*;

#[test]
fn what_most_blocks_say_is_released_unchanged() {
    let folder = directory("answers");
    assert_eq!(most_say(&folder, "", "echo ' blue, or green '").as_deref(), Some("blue, or green"));
    let json = ask_script(&folder, &format!("{ALMOST_EXACT} {UNHURRIED} --format json"), "echo blue");
    let release: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    let unanswered = serde_json::json!({"number": 0, "of": 6, "half_width": 0.0, "level": 0.95});
    let guarantee = serde_json::json!({"approx": ["20", "0.001"]});
    assert_eq!(release, serde_json::json!({"value": "blue", "unanswered": unanswered, "guarantee": guarantee}));
    let csv = most_say(&folder, "--format csv", "echo 'a,b'");
    assert_eq!(csv.as_deref(), Some("refused,value,unanswered,unanswered_half_width\nfalse,\"a,b\",0,0"));
}

/// Rows with their header, correctly quoted, and all of them: what awk sees in the blocks adds up.
#[test]
fn blocks_are_csv_with_the_header() {
    let folder = directory("blocks");
    std::fs::write(folder.join("people.csv"), "name,\"age, years\"\r\n\"x,y\",1\r\n\"say \"\"yes\"\"\",2\r\n")
        .expect("written");
    assert_eq!(most_say(&folder, "", "head -1").as_deref(), Some("name,\"age, years\""));
    let log = folder.join("log");
    let script = format!("tail -n +2 >> {}; echo done", log.display());
    assert_eq!(most_say(&folder, "--default none", &script).as_deref(), Some("done"));
    let mut rows: Vec<String> = std::fs::read_to_string(&log).expect("written").lines().map(String::from).collect();
    rows.sort();
    assert_eq!(rows, ["\"say \"\"yes\"\"\",2", "\"x,y\",1"]);
}

/// Other formats are passed on as CSV, one row per line.
#[test]
fn tables_need_not_be_csv() {
    let folder = directory("formats");
    let table = folder.join("people.tsv");
    std::fs::write(&table, "name\tage\n\"x,y\"\t1\n\"two\nlines\"\n").expect("written");
    let log = folder.join("log");
    let script = format!("tail -n +2 >> {}; echo done", log.display());
    let table = table.display().to_string();
    let mut arguments = vec![table.as_str(), "--program", "/bin/sh", "--default", "none"];
    arguments.extend(ALMOST_EXACT.split_whitespace().chain(UNHURRIED.split_whitespace()));
    arguments.extend(["--", "-c", &script]);
    assert_eq!(answered(&run(&folder, &arguments)).as_deref(), Some("done"));
    let mut rows: Vec<String> = std::fs::read_to_string(&log).expect("written").lines().map(String::from).collect();
    rows.sort();
    assert_eq!(rows, ["\"lines\"\"\",", "\"x,y\",1", "two,"]);
}

#[test]
fn answers_that_differ_are_refused() {
    let folder = directory("differ");
    assert_eq!(most_say(&folder, "", "cksum"), None);
    let json = ask_script(&folder, &format!("{ALMOST_EXACT} {UNHURRIED} --format json"), "cksum");
    assert_eq!(json.status.code(), Some(3));
    let release: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!((&release["refused"], &release["unanswered"]["number"]), (&true.into(), &0.into()));
}

#[test]
fn without_an_answer_the_default_counts() {
    let folder = directory("default");
    for script in [
        "exit 0",
        "echo blue; exit 1",
        "echo blue; kill -SEGV $$",
        "echo",
        "no-such-program",
        "awk 'BEGIN {for (i = 0; i < 5000; i++) printf \"x\"}'",
    ] {
        assert_eq!(most_say(&folder, "--default none", script).as_deref(), Some("none"), "{script}");
        // Only the rows of the table keep it from answering, so it is charged and refused.
        let with_rows = format!("if grep -q north; then {script}; else echo blue; fi");
        assert_eq!(most_say(&folder, "", &with_rows), None, "{script}");
    }
    for script in ["sleep 1000", "echo blue; sleep 1000", "yes", "while :; do :; done"] {
        let options = format!("{ALMOST_EXACT} --time-limit 300ms --default slow");
        assert_eq!(answered(&ask_script(&folder, &options, script)).as_deref(), Some("slow"), "{script}");
    }
    assert_eq!(most_say(&folder, "", "seq 100000").as_deref(), Some("1"));
}

#[test]
fn a_run_that_takes_too_much_memory_has_no_answer() {
    let folder = directory("memory");
    let script = "awk 'BEGIN {x = \"x\"; for (i = 0; i < 28; i++) x = x x; print length(x)}'";
    assert_eq!(most_say(&folder, "", script).as_deref(), Some("268435456"));
    assert_eq!(most_say(&folder, "--memory 64MiB --default large", script).as_deref(), Some("large"));
}

/// The mean age is 49.5; with ε = 900 the noise is below 1.
#[test]
fn means_of_numbers_come_with_their_half_width() {
    let folder = directory("mean");
    let script = "awk -F, 'NR > 1 {sum += $3} END {print sum / (NR - 1)}'";
    let output = ask_script(
        &folder,
        &format!("--epsilon 900 --allow-large-epsilon --blocks 6 {UNHURRIED} --numeric 0..100 --format json"),
        script,
    );
    let release: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let (value, half_width) = (release["value"].as_f64().expect("a number"), release["half_width"].as_f64());
    assert!((value - 49.5).abs() < 8.0, "{release}");
    // 100/6 of a step up or down, 3 times a 900th of it: ln(20)·100/(6·900).
    assert!((half_width.expect("a number") - 0.0555).abs() < 0.001, "{release}");
    assert_eq!(release["guarantee"], serde_json::json!({"pure": "900"}));
    let table = ask_script(
        &folder,
        &format!("--epsilon 900 --allow-large-epsilon --blocks 6 {UNHURRIED} --numeric 0..100"),
        script,
    );
    let table = text(&table.stdout);
    assert!(table.contains("mean of the blocks' answers   ± (95 %)"), "{table}");
    assert!(table.ends_with("\n0 ± 0 of 6 runs gave no answer (95 %)\n"), "{table}");
}

/// A mean is refused if most blocks have no answer, and charged, since the rows decide it; unless there is a default,
/// which then is the mean. Either way it is said that no block has an answer.
#[test]
fn a_mean_of_hardly_any_answers_is_refused() {
    let folder = directory("silent");
    for script in ["exit 1", "sleep 1000", "echo blue"] {
        let with_rows = format!("if grep -q north; then {script}; else echo 7; fi");
        let options = "--epsilon 900 --allow-large-epsilon --blocks 6 --time-limit 500ms --numeric 0..1000";
        let refused = ask_script(&folder, options, &with_rows);
        assert_eq!((answered(&refused), refused.status.code()), (None, Some(3)), "{script}");
        assert_eq!(text(&refused.stdout), "refused\n6 ± 0 of 6 runs gave no answer (95 %)\n", "{script}");
        assert!(text(&refused.stderr).contains("charged to"), "{script}");
        let with_default = ask_script(&folder, &format!("{options} --default 7 --format json"), &with_rows);
        let release: serde_json::Value = serde_json::from_slice(&with_default.stdout).expect("JSON");
        assert!(release["value"].as_f64().is_some_and(|mean| (mean - 7.0).abs() < 2.0), "{script}: {release}");
        assert_eq!(release["unanswered"]["number"], 6, "{script}");
    }
}

/// A query that never answers is detected on invented rows, before anything is charged.
#[test]
fn a_program_without_an_answer_is_not_charged() {
    let folder = directory("trial");
    std::fs::write(folder.join("people.csv"), people(60)).expect("written");
    std::fs::write(folder.join("made-up.csv"), "user,region,age\nx,north,30\n").expect("written");
    std::fs::write(folder.join("other.csv"), "user,age\nx,30\n").expect("written");
    let (made_up, other) = (folder.join("made-up.csv"), folder.join("other.csv"));
    let numeric = "--epsilon 5 --blocks 6 --numeric 0..1000";
    for (options, script, said) in [
        (format!("{ALMOST_EXACT} {UNHURRIED}"), "exit 0", "20 rows of integers"),
        (format!("{numeric} {UNHURRIED}"), "false", "--default VALUE"),
        (format!("{numeric} {UNHURRIED}"), "echo blue", "no number"),
        (format!("{numeric} --time-limit 100ms"), "sleep 1000", "took longer than 0.1 s"),
        (format!("{numeric} {UNHURRIED} --trial {}", made_up.display()), "grep -q south && echo 1", "made-up.csv"),
        (format!("{numeric} {UNHURRIED} --trial {}", other.display()), "echo 1", "its columns must be"),
    ] {
        let output = ask_script(&folder, &options, script);
        assert_eq!(output.status.code(), Some(2), "{script}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(said) && output.stdout.is_empty(), "{script}: {}", text(&output.stderr));
        let own = reticent_ledger::Location::File(folder.join("own/reticent/ledger.sqlite"));
        let ledger = reticent_ledger::DurableLedger::open(&own).expect("it was looked at");
        assert!(ledger.accounts().expect("readable").is_empty(), "nothing was charged");
    }
    let options = format!("{ALMOST_EXACT} {UNHURRIED} --trial {}", made_up.display());
    assert_eq!(answered(&ask_script(&folder, &options, "grep -q north && echo 1")).as_deref(), Some("1"));
}

/// One greedy run can spoil all that run at the same time: that is paid for with proportionally more noise or
/// agreement.
#[test]
fn runs_at_a_time_are_paid_for() {
    let folder = directory("jobs");
    let dry = |options: &str| -> serde_json::Value {
        let output = ask_script(&folder, &format!("--epsilon 1 --dry-run --format json {options}"), "echo 1");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let half_width =
        |options: &str| dry(&format!("--numeric 0..100 {options}"))["half_width"].as_f64().expect("a number");
    // The count of blocks without an answer is a whole number, whose noise is a little coarser at a larger ε.
    assert!((half_width("--jobs 4") / half_width("") - 4.0).abs() < 0.02);
    let threshold = |options: &str| dry(&format!("--delta 1e-8 {options}"))["threshold"].as_u64().expect("a number");
    assert_eq!(threshold(""), threshold("--jobs 1"));
    assert!(threshold("--jobs 4") > 3 * threshold(""));
    // If runs start as soon as another ends there are no groups, and so no number to pay for.
    let output = ask_script(&folder, &format!("--epsilon 1 --numeric 0..1 --jobs 2 {UNHURRIED}"), "echo 1");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

#[test]
fn sql_is_asked_of_every_block() {
    let folder = directory("sql");
    let table = folder.join("people.csv");
    std::fs::write(&table, people(1200)).expect("written");
    let ask = |sql: &str, more: &str| {
        let (table, options) = (table.display().to_string(), format!("{ALMOST_EXACT} {UNHURRIED} {more}"));
        let mut arguments = vec![table.as_str(), "--sql", sql];
        arguments.extend(options.split_whitespace());
        run(&folder, &arguments)
    };
    for (sql, expected) in [
        ("SELECT MIN(age) FROM data WHERE age >= 20", Some("20")),
        ("SELECT CASE WHEN AVG(age) > 30 THEN 'old' ELSE 'young' END FROM data", Some("old")),
        ("SELECT region FROM data GROUP BY region ORDER BY COUNT(*) DESC LIMIT 1", Some("north")),
        ("SELECT COUNT(*) FROM (SELECT user FROM data)", None),
        ("SELECT 1 / (COUNT(*) - COUNT(*)) FROM data", None),
        ("SELECT user FROM data", None),
    ] {
        // `user` is an SQL keyword.
        let sql = sql.replace("user", "\"user\"");
        assert_eq!(answered(&ask(&sql, "--unit user")).as_deref(), expected, "{sql}");
    }
    for (sql, said) in [
        ("SELEC 1", "--sql: "),
        ("SELECT agee FROM data", "agee"),
        ("SELECT age FROM people", "people"),
        ("SELECT age, region FROM data", "2 columns"),
        ("DROP TABLE data", "only SELECT"),
    ] {
        let output = ask(sql, "");
        assert_eq!(output.status.code(), Some(2), "{sql}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(said) && output.stdout.is_empty(), "{sql}: {}", text(&output.stderr));
    }
}

#[test]
fn a_dry_run_spends_nothing() {
    let folder = directory("dry");
    let log = folder.join("log");
    let script = format!("cat >> {}; echo seen; echo trouble >&2", log.display());
    let output = ask_script(&folder, "--epsilon 1 --delta 1e-8 --dry-run --format json --default none", &script);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let dry: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&dry["blocks"], &dry["threshold"], &dry["without_rows"]), (&200.into(), &42.into(), &"seen".into()));
    assert_eq!(dry["seconds"], 210.0);
    // 180 of 200 agree, 20 on another: the lead is 160, 119 above the last that is refused without noise, of scale 2/0.9.
    let nine_tenths = dry["refusals"][1]["refused"].as_f64().expect("a number");
    let p = (-0.45f64).exp();
    assert!((nine_tenths / (p.powi(119) / (1.0 + p)) - 1.0).abs() < 1e-9, "{dry}");
    assert_eq!(dry["unanswered_half_width"], 30.0);
    assert!(!folder.join("own").exists(), "nothing was charged");
    assert_eq!(std::fs::read_to_string(&log).expect("asked once"), "user,region,age\n");
    assert!(text(&output.stderr).contains("trouble"));
    for (options, said) in
        [("--epsilon 1 --delta 1e-8", "refused if 180 of 200 agree"), ("--epsilon 1 --numeric 0..10", "half-width")]
    {
        let table = text(&ask_script(&folder, &format!("{options} --dry-run"), "exit 0").stdout);
        assert!(table.contains(said) && table.contains("no answer"), "{table}");
    }
}

#[test]
fn bad_arguments_are_told_before_anything_is_charged() {
    let folder = directory("arguments");
    std::fs::write(folder.join("people.csv"), people(6)).expect("written");
    std::fs::write(folder.join("empty.csv"), "").expect("written");
    std::fs::write(folder.join("people.ndjson"), "{}\n").expect("written");
    std::fs::write(folder.join("broken.parquet"), "no Parquet").expect("written");
    std::fs::write(folder.join("plain"), "echo 1\n").expect("written");
    let path = |name: &str| folder.join(name).display().to_string();
    let (table, plain) = (path("people.csv"), path("plain"));
    let good = "--program /bin/true --epsilon 1 --delta 1e-8";
    for (arguments, said) in [
        (format!("{} {good}", path("none.csv")), "cannot read"),
        (format!("{} {good}", folder.display()), "is a directory"),
        (format!("{} {good}", path("empty.csv")), "has no header"),
        (format!("{} {good}", path("people.ndjson")), "has no header, so a run would not know"),
        (format!("{} {good}", path("broken.parquet")), "broken.parquet"),
        (format!("{table} {good} --unit usr"), "has no column usr; is it user?"),
        (format!("{table} {good} --unit zip"), "has no column zip"),
        (format!("{table} {good} --blocks 10"), "number of blocks is 10"),
        (format!("{table} {good} --blocks 0"), "number of blocks is 0"),
        (format!("{table} --program /bin/true --epsilon 1 --numeric 0..1 --blocks 10"), "instead of at least 25"),
        (format!("{table} {good} --adjacency add"), "--adjacency is add"),
        (format!("{table} {good} --samples 60"), "samples need --samples, --sample-size and --rows"),
        (format!("{table} {good} --samples 60 --blocks 6"), "cannot be used with"),
        (format!("{table} {good} --samples 60 --sample-size 5 --rows 600"), "--adjacency replace"),
        (format!("{table} {good} --samples 60 --sample-size 5 --rows 600 --distance 1"), "--distance is for one run"),
        (format!("{table} {good} --distance 0"), "at least 1"),
        (format!("{table} {good} --distance 1 --default x"), "--default is for disjoint blocks"),
        (format!("{table} --program /bin/true --epsilon 1 --numeric 0..1 --distance 1"), "nor with --distance"),
        (
            format!("{table} --program /bin/true --epsilon 11 --delta 1e-8"),
            "--epsilon is 11, but it must be at most 10",
        ),
        (
            format!("{table} --program /bin/true --epsilon 1 --delta 0.5"),
            "--delta is 0.5, but it must be at most 0.001",
        ),
        (format!("{table} {good} --time-limit 0s"), "write a duration"),
        (format!("{table} {good} --memory lots"), "write a size"),
        (format!("{table} {good} --sql x"), "cannot be used with"),
        (format!("{table} --epsilon 1 --delta 1e-8"), "required"),
        (format!("{table} --program /bin/true --delta 1e-8"), "--epsilon"),
        (format!("{table} --program /bin/true --epsilon 1"), "needs --delta"),
        (format!("{table} --program /bin/true --epsilon 0 --delta 1e-8"), "--epsilon is 0"),
        (format!("{table} --program {plain} --epsilon 1 --delta 1e-8"), "chmod +x"),
        (format!("{table} --program {plain}.none --epsilon 1 --delta 1e-8"), "cannot be used"),
        (format!("{table} --program nosuchthing --epsilon 1 --delta 1e-8"), "not in the runs' PATH"),
        (format!("{table} --program /bin --epsilon 1 --delta 1e-8"), "is not a file"),
        (format!("{table} --sql x --epsilon 1 --delta 1e-8 -- -c"), "--program"),
    ] {
        let output = run(&folder, &arguments.split_whitespace().collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(2), "{arguments}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(said), "{arguments}: {}", text(&output.stderr));
        assert!(output.stdout.is_empty() && !folder.join("own").exists(), "{arguments}");
    }
}

/// 60 samples of 5 of 600 rows; a row is in at most 4 of them, and a lead of 11 is needed.
#[test]
fn samples_may_overlap() {
    let folder = directory("samples");
    let log = folder.join("log");
    let ask = |rows: u64, script: &str| {
        let options = format!(
            "--epsilon 20 --allow-large-epsilon --delta 1e-3 {UNHURRIED} --adjacency replace --samples 60 --sample-size 5 --rows {rows}"
        );
        ask_script(&folder, &options, script)
    };
    assert_eq!(answered(&ask(600, "wc -l | tr -d ' '")).as_deref(), Some("6"));
    // Every sample has the header and rows of the table; with repetition, some row is in several.
    let script = format!("sort | tee -a {} | grep -c -v '^u[0-9]*,[a-z]*,[0-9]*$'", log.display());
    assert_eq!(answered(&ask(600, &script)).as_deref(), Some("1"));
    let seen = std::fs::read_to_string(&log).expect("written");
    // Not the header, nor the trial's rows.
    let rows: Vec<&str> = seen.lines().filter(|line| line.starts_with('u') && *line != "user,region,age").collect();
    let different: std::collections::BTreeSet<&&str> = rows.iter().collect();
    assert!(rows.len() == 300 && (150..300).contains(&different.len()), "{} of {}", different.len(), rows.len());
    let other = ask(601, "echo 1");
    assert_eq!(other.status.code(), Some(3), "{}", text(&other.stderr));
    assert_eq!(text(&other.stdout), "refused: the table does not have the stated number of rows\n");
}

/// At ε = 20 and δ = 0.001, τ is 2: the answer at distance 1 must be refused.
#[test]
fn a_distance_of_ones_own_decides() {
    let folder = directory("distance");
    let ask = |script: &str| {
        let options = format!("--epsilon 20 --allow-large-epsilon --delta 1e-3 {UNHURRIED} --distance 1");
        ask_script(&folder, &options, script)
    };
    let whole = ask("echo \"$(wc -l) rows, or lines\"");
    assert_eq!(answered(&whole).as_deref(), Some("rows, or lines"));
    assert!(text(&whole.stderr).contains("your promise, which nothing checks"), "{}", text(&whole.stderr));
    assert!(!text(&whole.stdout).contains("gave no answer"), "one run is not counted");
    assert_eq!(answered(&ask("echo 1 close")), None);
    assert_eq!(answered(&ask("grep -q north && exit 1; echo 57 blue")), None);
    for script in ["echo blue", "echo 57", "echo -3 blue", "echo 57.5 blue"] {
        let output = ask(script);
        assert_eq!(output.status.code(), Some(2), "{script}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains("no distance and answer"), "{script}: {}", text(&output.stderr));
    }
}

#[test]
fn what_runs_on_a_block_is_not_in_the_help() {
    let help = Command::new(env!("CARGO_BIN_EXE_reticent")).arg("--help").output().expect("it runs");
    let help = text(&help.stdout);
    assert!(help.contains("subsample") && help.contains("3 refused") && !help.contains("block-sql"), "{help}");
}
