//! What is printed, in each format.

use serde_json::json;

use super::*;

const BY_REGION: &str = "SELECT region, COUNT(*) AS count FROM visits GROUP BY region";

#[test]
fn programs_get_an_object_a_row_and_a_summary() {
    let desk = Desk::with_visits("json");
    let arguments = format!(
        "--table visits=visits.csv --no-ledger --format json --epsilon {WITHOUT_NOISE} --keys region=south,west,north"
    );
    let printed = desk.answer(BY_REGION, &arguments);
    let (rows, summary) = printed.trim_end().rsplit_once('\n').expect("lines");
    assert_eq!(
        rows,
        "{\"region\":\"north\",\"count\":{\"value\":100,\"half_width\":0}}\n\
         {\"region\":\"south\",\"count\":{\"value\":100,\"half_width\":0}}\n\
         {\"region\":\"west\",\"count\":{\"value\":0,\"half_width\":0}}"
    );
    let summary: Value = serde_json::from_str(summary).expect("JSON");
    let summary = &summary["summary"];
    for (field, expected) in [("guarantee", "ε = 200"), ("unit", "row"), ("adjacency", "add-remove")] {
        assert_eq!(summary[field], expected, "{summary}");
    }
    assert_eq!((&summary["split"][0]["what"], &summary["split"][0]["cost"]), (&"rows".into(), &"ε = 200".into()));
    assert!(summary["half_widths"].as_str().expect("text").contains("noise only"));
}

#[test]
fn spreadsheets_get_a_column_for_half_widths() {
    let desk = Desk::with_visits("csv");
    let arguments = "--table visits=visits.csv --no-ledger --format csv --epsilon 200 --keys region=south,north";
    assert_eq!(desk.answer(BY_REGION, arguments), "region,count,count ±\nnorth,100,0\nsouth,100,0\n");
    let named = "SELECT region AS \"a,\"\"b\", COUNT(*) AS n FROM visits GROUP BY region";
    assert_eq!(desk.answer(named, arguments), "\"a,\"\"b\",n,n ±\nnorth,100,0\nsouth,100,0\n");
}

/// An aggregate's value, or whether any group is shown, must not decide which columns there are.
#[test]
fn a_header_does_not_depend_on_what_is_refused_or_withheld() {
    let desk = Desk::new("csv-header");
    desk.write("staff.csv", (0..40).fold(String::from("salary\n"), |csv, row| csv + &format!("{}\n", 34_000 + row)));
    let header = |sql: &str, more: &str| {
        let output = desk.ask(sql, &format!("--table staff=staff.csv --no-ledger --format csv {more}"));
        text(&output.stdout).lines().next().expect("a header").to_owned()
    };
    let refused = header("SELECT AVG(salary) AS mean FROM staff", "--epsilon 0.5 --bounds salary=auto");
    assert_eq!(refused, "mean,mean ± (noise only)");
    let released = header("SELECT AVG(salary) AS mean FROM staff", "--epsilon 50 --bounds salary=auto");
    assert_eq!(released, refused);
    let refused = header("SELECT MEDIAN(salary) AS middle FROM staff", "--epsilon 0.5 --bounds salary=auto");
    assert_eq!(refused, "middle,middle lower,middle upper");
    let withheld = header("SELECT salary, COUNT(*) AS n FROM staff GROUP BY salary", "--epsilon 0.5 --delta 1e-9");
    assert_eq!(withheld, "salary,n,n ±");
    let exact = header("SELECT STABLE_MEDIAN(salary) AS m FROM staff", "--epsilon 1 --delta 1e-9 --bounds salary=0..9");
    assert_eq!(exact, "m");
}

#[test]
fn people_get_a_table_and_the_promise() {
    let desk = Desk::with_visits("table");
    let output = desk.ask_visits(BY_REGION, "--no-ledger --epsilon 200 --keys region=south,north");
    let (printed, said) = (text(&output.stdout), text(&output.stderr));
    assert!(printed.contains("region") && printed.contains("100 ± 0"), "{printed}");
    assert!(said.contains("treating each row as a different person (--unit COLUMN"), "{said}");
    assert!(said.contains("ε = 200, unit row, adjacency add-remove; ± is 95 % and covers noise only"), "{said}");
}

/// A group shown because of its own noisy count has more noise than others: that is noted next to ±, in each format,
/// and only there.
#[test]
fn what_selection_does_to_half_widths_is_said() {
    let desk = Desk::with_visits("selected");
    let said = |more: &str, format: &str| {
        let output =
            desk.ask_visits(BY_REGION, &format!("--no-ledger --epsilon 200 --delta 1e-9 {more} --format {format}"));
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        if format == "json" { text(&output.stdout) } else { text(&output.stderr) }
    };
    for format in ["table", "csv", "json"] {
        for (more, is_said) in [("", true), ("--keys region=south,north", false)] {
            let said = said(more, format);
            assert!(said.contains("± is 95 % and covers noise only") || format == "json", "{format}: {said}");
            assert_eq!(said.contains("before this selection"), is_said, "{format} {more}: {said}");
        }
    }
}

#[test]
fn released_values_are_ordered_filtered_and_computed_with() {
    let desk = Desk::with_visits("above");
    let arguments = "--table visits=visits.csv --no-ledger --epsilon 600 --keys half=20,30,40,50,60";
    let sql = "SELECT floor(age / 10) * 10 AS half, COUNT(*) AS n, COUNT(*) / 0 AS none, 2 * COUNT(*) AS twice \
               FROM visits WHERE age < 65 GROUP BY half HAVING COUNT(*) > 10 ORDER BY n, half DESC LIMIT 3";
    let (rows, _) = desk.json(sql, arguments);
    let shown: Vec<(i64, i64, bool, i64)> = rows
        .iter()
        .map(|row| {
            let number = |value: &Value| value.as_i64().expect("a whole number");
            let twice = &row["twice"];
            assert_eq!(
                twice["half_width"].as_f64(),
                row["n"]["half_width"].as_f64().map(|half_width| 2.0 * half_width)
            );
            (number(&row["half"]), number(&row["n"]["value"]), row["none"].is_null(), number(&twice["value"]))
        })
        .collect();
    assert_eq!(shown, [(60, 30, true, 60), (50, 60, true, 120), (40, 60, true, 120)]);
}

#[test]
fn every_aggregate_is_what_it_says() {
    let desk = Desk::with_visits("aggregates");
    let arguments = "--table visits=visits.csv --no-ledger --epsilon 900 --delta 1e-6 --bounds age=0..100";
    let sql = "SELECT COUNT(age) AS present, SUM(age) AS sum, AVG(age) AS mean, VAR_POP(age) AS variance, \
               MEDIAN(age) AS median, HISTOGRAM(age, 2) AS bins, STABLE_MODE(note) AS mode FROM visits";
    let (rows, _) = desk.json(sql, arguments);
    let number = |name: &str| rows[0][name]["value"].as_f64().expect("a number");
    assert_eq!(number("present"), 300.0);
    assert_eq!(rows[0]["bins"]["value"], serde_json::json!([180, 120]));
    assert_eq!(rows[0]["mode"], serde_json::json!({"value": "x"}));
    // Ages are 20 to 69, six times each.
    for (name, exact, off) in
        [("sum", 13350.0, 9.0), ("mean", 44.5, 0.1), ("variance", 208.25, 4.0), ("median", 44.5, 1.6)]
    {
        assert!((number(name) - exact).abs() < off, "{name}: {}", rows[0]);
    }
    let median = |end: &str| rows[0]["median"][end].as_f64().expect("an end");
    assert!(
        median("lower") <= 44.5 && 44.5 <= median("upper") && median("upper") - median("lower") < 5.0,
        "{}",
        rows[0]
    );
    assert!(rows[0]["sum"]["half_width"].is_number());
}

#[test]
fn a_person_counts_as_often_as_is_said() {
    let desk = Desk::with_visits("unit");
    let number = |sql: &str, arguments: &str| {
        desk.number(sql, &format!("--table visits=visits.csv --no-ledger --epsilon 600 --unit user {arguments}"))
    };
    assert_eq!(number("SELECT COUNT(*) FROM visits", "--max-rows 1"), 100.0);
    assert_eq!(number("SELECT COUNT(*) FROM visits", "--max-rows 2"), 200.0);
    assert_eq!(number("SELECT COUNT(*) FROM visits", "--max-rows 9"), 300.0);
    assert_eq!(number("SELECT COUNT(DISTINCT user) FROM visits", "--max-rows 9"), 100.0);
    let mean = "SELECT AVG(n) FROM (SELECT user, COUNT(*) AS n FROM visits GROUP BY user)";
    assert!((number(mean, "--bounds n=0..9") - 3.0).abs() < 0.1);
    let joined = "SELECT COUNT(*) FROM visits JOIN bosses ON visits.region = bosses.region";
    assert_eq!(number(joined, "--public-table bosses=bosses.csv --max-rows 9"), 200.0);
    let output = desk.ask_visits("SELECT COUNT(*) FROM visits", "--no-ledger --epsilon 1 --unit user --max-rows 2");
    assert!(text(&output.stderr).contains("each user contributes at most 2 rows to each of at most one group"));
}

#[test]
fn a_key_of_one_person_does_not_appear() {
    /// Each run shows a key of one row with probability at most δ.
    const RUNS: usize = 20;
    let desk = Desk::new("lonely");
    desk.write("visits.csv", format!("{}u7,hermitage,40,x\n", visits(300)));
    for run in 0..RUNS {
        let (rows, _) = desk.json(
            BY_REGION,
            &format!("--table visits=visits.csv --no-ledger --epsilon {} --delta 1e-9", ["0.1", "2"][run % 2]),
        );
        assert!(rows.iter().all(|row| row["region"] != "hermitage"), "{rows:?}");
    }
    let (rows, _) = desk.json(BY_REGION, "--table visits=visits.csv --no-ledger --epsilon 2 --delta 1e-9");
    assert_eq!(rows.iter().map(|row| row["region"].clone()).collect::<Vec<_>>(), ["east", "north", "south"]);
}

#[test]
fn an_empty_table_is_answered() {
    let desk = Desk::new("empty");
    desk.write("visits.csv", visits(0));
    let arguments = "--table visits=visits.csv --no-ledger --epsilon 200 --keys region=north";
    let (rows, _) = desk.json(BY_REGION, arguments);
    assert_eq!(rows, [serde_json::json!({"region": "north", "count": {"value": 0, "half_width": 0}})]);
    let (rows, _) = desk.json(BY_REGION, "--table visits=visits.csv --no-ledger --epsilon 1 --delta 1e-9");
    assert!(rows.is_empty(), "{rows:?}");
    let all = "SELECT AVG(age), MEDIAN(age), STDDEV(age), HISTOGRAM(age) FROM visits";
    let (rows, _) = desk.json(all, "--table visits=visits.csv --no-ledger --epsilon 1 --bounds age=0..100");
    assert_eq!(rows.len(), 1);
}

/// A bound that follows from the query drops nothing and need not be mentioned: a user's rows aggregated to one, and
/// counted users.
#[test]
fn what_cannot_leave_rows_out_needs_no_caps() {
    let desk = Desk::with_visits("no-caps");
    let arguments = format!("--table visits=visits.csv --no-ledger --unit user --epsilon {WITHOUT_NOISE}");
    assert_eq!(desk.number("SELECT COUNT(DISTINCT user) FROM visits", &arguments), 100.0);
    let each = "SELECT user, COUNT(*) AS n, MIN(region) AS home FROM visits GROUP BY user";
    let sql = format!("SELECT SUM(n) FROM ({each}) WHERE n > 0");
    assert!((desk.number(&sql, &format!("{arguments} --bounds n=0..5")) - 300.0).abs() < 5.0);
    let (rows, summary) = desk.json(
        &format!("SELECT home, COUNT(*) AS n FROM ({each}) GROUP BY home"),
        &format!("{arguments} --keys home=north,south,east"),
    );
    assert_eq!((&summary["max_rows"], &summary["max_groups"]), (&json!(1), &json!(1)));
    assert_eq!(rows.iter().map(|row| row["n"]["value"].as_i64().expect("a count")).sum::<i64>(), 100);
    // Two rows of a user joined with two of them are four.
    let twice = format!("SELECT a.user, a.n FROM ({each}) AS a UNION ALL SELECT b.user, b.n FROM ({each}) AS b");
    let (_, summary) = desk.json(&format!("SELECT COUNT(*) AS n FROM ({twice})"), &arguments);
    assert_eq!(summary["max_rows"], 2);
}

/// The text that an error suggests is accepted.
#[test]
fn advice_can_be_followed() {
    let desk = Desk::with_visits("advice");
    let arguments =
        "--table visits=visits.csv --public-table bosses=bosses.csv --no-ledger --epsilon 1 --bounds age=0..120";
    let said = desk.fails(2, "SELECT PERCENTILE_CONT(age, 0.9) FROM visits", arguments);
    assert!(said.contains("PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age), or QUANTILE(age, 0.9)"), "{said}");
    desk.answer("SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age) FROM visits", arguments);
    desk.answer("SELECT QUANTILE(age, 0.9) FROM visits", arguments);
    let said = desk.fails(2, "SELECT SUM(sqrt(age) * length(note)) FROM visits", arguments);
    assert!(said.contains("name it in a sub-query") && said.contains("--bounds x=LO..HI"), "{said}");
    let named = "SELECT SUM(x) FROM (SELECT sqrt(age) * length(note) AS x FROM visits)";
    desk.answer(named, &format!("{arguments} --bounds x=0..10"));
    // A public table may be used anywhere.
    let listed = "SELECT COUNT(*) FROM visits WHERE region IN (SELECT region FROM bosses WHERE boss <> 'Ada')";
    assert_eq!(desk.number(listed, &arguments.replace("--epsilon 1", "--epsilon 200")), 100.0);
}

#[test]
fn bounds_can_be_found_privately() {
    let desk = Desk::with_visits("auto");
    let sql = "SELECT AVG(age) AS mean FROM visits";
    let arguments = "--table visits=visits.csv --no-ledger --epsilon 900 --bounds age=auto";
    let (rows, summary) = desk.json(sql, arguments);
    assert!((rows[0]["mean"]["value"].as_f64().expect("a number") - 44.5).abs() < 1.0, "{}", rows[0]);
    let costs: Vec<&Value> = summary["split"].as_array().expect("a list").iter().map(|one| &one["cost"]).collect();
    assert_eq!((costs, &summary["guarantee"]), (vec![&"ε = 540".into(), &"ε = 360".into()], &"ε = 900".into()));
    assert_eq!(summary["split"][1]["what"], "bounds of age");
    assert_eq!(rows[0]["mean"]["noise_only"], true);
    // They are printed with the answer, in each format, and at this budget it is known that nothing was clamped.
    let found = json!([{ "column": "age", "bounds": "0..80", "most_below": 0, "most_above": 0 }]);
    assert_eq!(summary["bounds"], found);
    for format in ["table", "csv"] {
        let said = text(&desk.ask(sql, &format!("{arguments} --format {format}")).stderr);
        assert!(said.contains("bounds of age, found privately: 0..80; at most 0 rows below"), "{format}: {said}");
    }
}

/// Forty rows are too few to find their bounds at this budget: a made-up range would give a mean near 0.
#[test]
fn bounds_that_are_not_found_are_refused_and_charged() {
    let desk = Desk::new("auto-refused");
    desk.write("staff.csv", (0..40).fold(String::from("salary\n"), |csv, row| csv + &format!("{}\n", 34_000 + row)));
    let arguments = "--table staff=staff.csv --epsilon 0.5 --bounds salary=auto";
    // Whatever is computed from a refusal, or filtered by it, is no answer either.
    for (charges, sql) in [
        (1, "SELECT AVG(salary) AS mean FROM staff"),
        (2, "SELECT AVG(salary) * 12 AS mean FROM staff"),
        (3, "SELECT MEDIAN(salary) AS mean FROM staff HAVING MEDIAN(salary) > 0"),
    ] {
        let output = desk.ask(sql, &format!("{arguments} --format csv"));
        let (printed, said) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(3), "{sql}: {printed} {said}");
        assert!(!printed.contains(|letter: char| letter.is_ascii_digit()), "{sql}: {printed}");
        assert!(said.contains("no bounds of salary were found") && said.contains("--bounds salary=LO..HI"), "{said}");
        assert_eq!(desk.all_charges(), charges, "{sql}");
    }
    // Aggregates that need no bounds are answered, even if they share a count with ones that do.
    let (rows, summary) = desk.json("SELECT COUNT(salary) AS n, SUM(salary) AS total FROM staff", arguments);
    assert_eq!(rows[0]["total"], json!({ "refused": true }));
    assert!((rows[0]["n"]["value"].as_f64().expect("a number") - 40.0).abs() < 200.0, "{}", rows[0]);
    assert_eq!(summary["bounds"], json!([{ "column": "salary", "bounds": null, "enough": 200 }]));
    assert!(summary["split"][0].get("half_width").is_none(), "{summary}");
}

/// Lines that are not objects cannot be refused, since one of them may be anyone's: how they are read is documented.
#[test]
fn a_dry_run_says_how_json_is_read() {
    let desk = Desk::new("json-lines");
    desk.write("t.ndjson", "{\n  \"x\": 1\n}\n");
    desk.write("t.json", "[{\n  \"x\": 1\n}]\n");
    let said = |file: &str| {
        let output = desk.ask("SELECT COUNT(*) FROM t", &format!("--table t={file} --epsilon 1 --dry-run"));
        text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(said("t.ndjson").contains("Each line of t is read as one JSON object"), "{}", said("t.ndjson"));
    assert!(!said("t.json").contains("Each line"), "{}", said("t.json"));
}

/// Without bounds there is no half-width yet, only how it grows with them.
#[test]
fn a_dry_run_tells_no_error_of_what_has_no_bounds_yet() {
    let desk = Desk::with_visits("auto-dry");
    let sql = "SELECT COUNT(*) AS n, AVG(age) AS mean, STDDEV(age), MEDIAN(age) FROM visits";
    let arguments = "--table visits=visits.csv --epsilon 1 --bounds age=auto --dry-run --format json";
    let shown: Value = serde_json::from_str(&desk.answer(sql, arguments)).expect("one object");
    let known = |share: &&Value| share.get("half_width").is_some();
    let split = shown["dry_run"]["split"].as_array().expect("a list");
    assert_eq!(split.iter().filter(known).map(|share| &share["what"]).collect::<Vec<_>>(), ["rows"]);
    assert!(split.iter().all(|share| !share["noise"].as_str().expect("text").contains("by at most 2")), "{split:?}");
    assert!(split[1]["noise"].as_str().expect("text").contains(" × (HI − LO)"), "{split:?}");
}
