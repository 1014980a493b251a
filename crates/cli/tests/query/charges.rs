//! What is charged, and to which dataset.

use super::*;

const COUNT: &str = "SELECT COUNT(*) AS n FROM visits";

#[test]
fn every_answer_is_charged_to_its_file() {
    let desk = Desk::with_visits("charged");
    let full = desk.0.join("visits.csv").display().to_string();
    desk.answer(COUNT, "--table visits=visits.csv --epsilon 0.5");
    let output = desk.ask_visits(COUNT, "--epsilon 0.25");
    assert!(text(&output.stderr).contains("spent on it so far: ε = 0.75 (unit row, add-remove)"));
    assert_eq!(desk.charges(), [(full, 2)]);
}

#[test]
fn a_request_is_answered_and_charged_once() {
    let desk = Desk::with_visits("request");
    // With this much noise two draws are hardly ever equal.
    let arguments = "--table visits=visits.csv --epsilon 1e-6 --request monday --format csv";
    let first = desk.answer(COUNT, arguments);
    assert_eq!(desk.answer(COUNT, arguments), first);
    assert_eq!(desk.all_charges(), 1);
    let said = desk.fails(2, "SELECT COUNT(*) AS n FROM visits WHERE age > 30", arguments);
    assert!(said.contains("request id monday") && said.contains("was already used for a different request"), "{said}");
    assert_eq!(desk.all_charges(), 1);
    assert_ne!(desk.answer(COUNT, &arguments.replace("monday", "tuesday")), first);
    assert_eq!(desk.all_charges(), 2);
}

#[test]
fn a_refused_answer_is_charged() {
    let desk = Desk::with_visits("tie");
    let sql = "SELECT STABLE_MODE(region) AS mode FROM visits";
    let arguments = "--table visits=visits.csv --epsilon 1 --delta 1e-9 --format json";
    let output = desk.ask(sql, arguments);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with("{\"mode\":{\"refused\":true}}\n"), "{}", text(&output.stdout));
    assert_eq!(desk.all_charges(), 1);
    desk.answer("SELECT STABLE_MODE(note) AS mode FROM visits", arguments);
}

#[test]
fn nothing_is_read_when_the_budget_is_exhausted() {
    let desk = Desk::with_visits("overdrawn");
    desk.write("small.toml", "unit = \"row\"\n[budget]\nepsilon = 1\n");
    let once = "--table visits=visits.csv --policy small.toml --epsilon 0.75";
    desk.answer(COUNT, once);
    // If a row were read now, this would be noticed.
    desk.write("visits.csv", "user,region,age,note\n");
    let said = desk.fails(4, COUNT, once);
    assert!(said.contains("ε = 0.25 of ε = ") && said.contains("ε = 0.25 would fit"), "{said}");
    assert_eq!(desk.all_charges(), 1);
    desk.answer(COUNT, "--table visits=visits.csv --epsilon 0.25");
    assert_eq!(desk.all_charges(), 2);
}

#[test]
fn a_budget_cannot_be_walked_around() {
    let desk = Desk::new("around");
    desk.write("data/visits.csv", visits(30));
    desk.write("data/more.csv", visits(30));
    desk.write("plans.csv", "user,plan\nu1,gold\n");
    desk.write("small.toml", "unit = \"user\"\nmax_rows = 1\n[budget]\nepsilon = 1\n");
    desk.answer(COUNT, "--table visits=data/visits.csv --policy small.toml --epsilon 1");
    let two = "--table visits=data/visits.csv --table plans=plans.csv --dataset both";
    for around in [
        "--table visits=data/visits.csv --no-ledger",
        "--table visits=data/visits.csv --dataset other",
        "--table visits=data",
        "--table visits=data/*.csv",
        "--table visits=data --no-ledger",
        "--table visits=data --dataset other",
        two,
        &format!("{two} --no-ledger"),
    ] {
        let said = desk.fails(2, COUNT, &format!("{around} --unit user --max-rows 1 --epsilon 1"));
        let (own, unledgered) =
            ("data/visits.csv has its own budget (ε = 1)", "data/visits.csv has a budget of ε = 1 in the ledger");
        let elsewhere = "data/visits.csv has a budget of ε = 1 in this ledger";
        let is_said = [own, unledgered, elsewhere].into_iter().any(|words| said.contains(words));
        assert!(is_said, "{around}: {said}");
    }
    assert_eq!(desk.all_charges(), 1);

    // Nor by querying a part of a folder.
    desk.write("whole/a.csv", visits(30));
    desk.write("whole/b.csv", visits(30));
    desk.answer(COUNT, "--table visits=whole --policy small.toml --epsilon 1");
    for part in ["--table visits=whole/a.csv", "--table visits=whole/a* --no-ledger"] {
        let said = desk.fails(2, COUNT, &format!("{part} --unit user --max-rows 1 --epsilon 1"));
        assert!(said.contains("whole has a budget of ε = 1"), "{part}: {said}");
    }
    desk.fails(4, COUNT, "--table visits=whole/*.csv --unit user --max-rows 1 --epsilon 1");
}

#[test]
fn a_dry_run_charges_nothing() {
    let desk = Desk::with_visits("dry");
    let sql = "SELECT region, COUNT(*) AS n, AVG(age) AS mean FROM visits GROUP BY region";
    let arguments = "--epsilon 1 --delta 1e-8 --unit user --max-rows 1 --max-groups 1 --bounds age=auto --dry-run";
    let output = desk.ask_visits(sql, arguments);
    let (printed, said) = (text(&output.stdout), text(&output.stderr));
    let words = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "Protected with ε = 1, δ = 1e-8 (unit user, add-remove).",
        "rows",
        "count and sum of age",
        "group selection",
        "bounds of age",
        "the same user belong to one person",
        "in a group of 1000 rows (--expect-rows)",
        "--epsilon 2 n −54 %; mean half of that; groups below 85 units may be withheld",
        "--keys region=FILE n −31 %; mean −34 %; no group is withheld (if the list is public)",
        "--bounds age=LO..HI n −38 %; mean −40 %",
    ] {
        assert!(words.contains(part), "{part}: {printed}");
    }
    assert!(printed.lines().all(|line| line.chars().count() <= 100), "{printed}");
    assert!(said.contains("nothing was charged; it would cost ε = 1, δ = 1e-8"), "{said}");
    assert_eq!(desk.charges(), []);
    let json = text(&desk.ask_visits(sql, &format!("{arguments} --format json")).stdout);
    let json: Value = serde_json::from_str(&json).expect("one object");
    assert_eq!(json["dry_run"]["guarantee"], "ε = 1, δ = 1e-8");
    // Whatever the rows are.
    desk.write("visits.csv", "user,region,age,note\n");
    assert_eq!(text(&desk.ask_visits(sql, arguments).stdout), printed);
}
