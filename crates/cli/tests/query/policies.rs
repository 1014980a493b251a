//! Policy files.

use super::*;

const POLICY: &str = "table = \"visits\"\nunit = \"user\"\nmax_rows = 3\nmax_groups = 1\n[bounds]\nage = \"0..120\"\n\
                      [keys]\nregion = \"lists/regions.csv\"\nnote = [\"x\", \"y\"]\n[budget]\nepsilon = 1000\ndelta = \"1e-6\"\nallow_large_epsilon = true\n";

fn desk(name: &str) -> Desk {
    let desk = Desk::with_visits(name);
    desk.write("rules/visits.toml", POLICY);
    desk.write("rules/lists/regions.csv", "code,region\n1,north\n2,\"west\"\n");
    desk
}

#[test]
fn a_policy_says_what_arguments_would() {
    let desk = desk("policy");
    let arguments = "--table visits=visits.csv --policy rules/visits.toml --epsilon 400";
    let sql = "SELECT region, COUNT(*) AS n, AVG(age) AS mean FROM visits GROUP BY region";
    let (rows, summary) = desk.json(sql, arguments);
    let found: Vec<(&str, i64)> = rows
        .iter()
        .map(|row| (row["region"].as_str().expect("a name"), row["n"]["value"].as_i64().expect("a number")))
        .collect();
    assert_eq!(found, [("north", 100), ("west", 0)]);
    assert_eq!((&summary["unit"], &summary["max_rows"]), (&"user".into(), &3.into()));

    let said = desk.fails(2, "SELECT COUNT(*) FROM visits", "--table visits=visits.csv --epsilon 1");
    assert!(said.contains("is for the privacy unit user, but this release is for row"), "{said}");
    let said = desk.fails(4, sql, &arguments.replace("400", "601"));
    assert!(said.contains("not enough budget left"), "{said}");
    let said = desk.fails(2, sql, &format!("{arguments} --no-ledger"));
    assert!(said.contains("has a budget"), "{said}");
    assert_eq!(desk.all_charges(), 1);
}

#[test]
fn a_policy_is_not_overruled() {
    let desk = desk("overruled");
    let policy = "--table visits=visits.csv --policy rules/visits.toml --epsilon 1";
    for unit in ["row", "region", "visits.region"] {
        let said = desk.fails(2, "SELECT COUNT(*) FROM visits", &format!("{policy} --unit {unit}"));
        assert!(said.contains("but user in its policy; give it once"), "{unit}: {said}");
    }
    desk.answer("SELECT COUNT(*) FROM visits", &format!("{policy} --unit user"));
    desk.write("rules/visits.toml", POLICY.replace("1000", "2000"));
    let said = desk.fails(2, "SELECT COUNT(*) FROM visits", policy);
    assert!(said.contains("its budget is fixed"), "{said}");
    let said = desk.fails(2, "SELECT COUNT(*) FROM v", "--table v=visits.csv --policy rules/visits.toml --epsilon 1");
    assert!(said.contains("it is for the table visits, which is not among the tables of the query"), "{said}");
    assert_eq!(desk.all_charges(), 1);
}
