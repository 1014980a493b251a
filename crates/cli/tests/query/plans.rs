//! What can be known before anything is spent: dry runs on a page, and errors against the budget.

use std::fs;

use serde_json::Value;

use super::{Desk, text};

const MEANS: &str = "SELECT region, COUNT(*) AS n, AVG(age) AS mean FROM visits GROUP BY region";

impl Desk {
    /// Runs `reticent plan query`, with further arguments in one string.
    #[track_caller]
    fn plan(&self, sql: &str, arguments: &str) -> String {
        let mut command = self.program();
        command.args(["plan", "query", sql, "--table", "visits=visits.csv"]).args(arguments.split_whitespace());
        let output = command.output().expect("the program starts");
        assert_eq!(output.status.code(), Some(0), "{sql} {arguments}: {}", text(&output.stderr));
        text(&output.stdout)
    }
}

#[test]
fn errors_fall_as_the_budget_grows_and_no_row_is_read() {
    let desk = Desk::with_visits("plan");
    let arguments = "--delta 1e-8 --bounds age=0..100";
    let lines = desk.plan(MEANS, &format!("{arguments} --format json"));
    let plans: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect();
    assert_eq!(plans.len(), 10);
    assert_eq!(plans[6]["guarantee"], "ε = 1, δ = 1e-8");
    let errors = |column: usize| {
        let error = move |plan: &Value| plan["forecast"]["columns"][column]["half_width"].as_f64().expect("a number");
        plans.iter().map(error).collect::<Vec<_>>()
    };
    for column in 0..2 {
        assert!(errors(column).windows(2).all(|pair| pair[0] >= pair[1]), "{:?}", errors(column));
    }
    // It is what a dry run says.
    let dry = desk.answer(MEANS, &format!("--table visits=visits.csv --epsilon 1 {arguments} --dry-run --format json"));
    let dry: Value = serde_json::from_str(&dry).expect("one object");
    let columns = &dry["dry_run"]["forecast"]["columns"];
    assert_eq!(
        [0, 1].map(|column| columns[column]["half_width"].as_f64()),
        [0, 1].map(|column| Some(errors(column)[6]))
    );
    // A budget of one's own stands among the others.
    let table = desk.plan(MEANS, &format!("{arguments} --epsilon 0.3 --expect-rows 50"));
    assert!(table.contains("in a group of 50 rows") && table.contains("► 0.3"), "{table}");
    assert_eq!(desk.plan(MEANS, &format!("{arguments} --format csv")).lines().count(), 1 + 2 * 10);
    desk.write("visits.csv", "user,region,age,note\n");
    assert_eq!(desk.plan(MEANS, &format!("{arguments} --format json")), lines);
    assert_eq!(desk.all_charges(), 0);
}

#[test]
fn the_chart_has_a_line_for_each_column() {
    let desk = Desk::with_visits("plan-plot");
    desk.plan(MEANS, "--rho 0.1 --keys region=north,south --bounds age=0..100 --plot errors.svg");
    let svg = fs::read_to_string(desk.0.join("errors.svg")).expect("the chart was written");
    let document = roxmltree::Document::parse(&svg).expect("it is well formed");
    for name in ["n", "mean", "ρ"] {
        assert!(document.descendants().any(|node| node.text().is_some_and(|text| text.trim() == name)), "{name}");
    }
}

/// Whatever is asked, a dry run fits on a page.
#[test]
fn no_line_of_a_dry_run_is_wider_than_a_page() {
    let desk = Desk::with_visits("page");
    let many = "SELECT region, COUNT(*) AS n, COUNT(age), SUM(age), AVG(age), STDDEV(age), MEDIAN(age), \
                HISTOGRAM(age, 4), SUM(age) / COUNT(*) AS a_ratio_with_a_rather_long_name FROM visits GROUP BY region";
    let unit = "--unit user --max-rows 2 --max-groups 3";
    for (sql, arguments) in [
        (many, format!("{unit} --epsilon 1 --delta 1e-8 --bounds age=0..100")),
        (many, format!("{unit} --epsilon 1 --delta 1e-8 --bounds age=auto")),
        (MEANS, "--unit user --epsilon 1 --delta 1e-8 --bounds age=0..100".into()),
        (MEANS, "--rho 0.1 --keys region=north,south --bounds age=0..100".into()),
        ("SELECT STABLE_MEDIAN(age) AS m FROM visits", "--epsilon 1 --delta 1e-8 --bounds age=0..100".into()),
    ] {
        let output = desk.ask_visits(sql, &format!("{arguments} --dry-run"));
        assert_eq!(output.status.code(), Some(0), "{sql} {arguments}: {}", text(&output.stderr));
        for line in text(&output.stdout).lines().chain(text(&output.stderr).lines()) {
            assert!(line.chars().count() <= 100, "{line}");
        }
    }
}
