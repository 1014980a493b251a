//! Mistakes outside the rows: named, and not charged.

use super::*;

#[test]
fn mistakes_are_named_before_anything_is_charged() {
    let desk = Desk::with_visits("mistakes");
    desk.write("none.csv", "");
    desk.write("broken.toml", "unit = ");
    desk.write("typo.toml", "units = \"user\"");
    desk.write("reversed.toml", "bounds.age = \"9..1\"");
    let count = "SELECT COUNT(*) AS n FROM visits";
    let by_region = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region";
    let sum = "SELECT SUM(age) AS s FROM visits";
    for (sql, arguments, expected) in [
        (count, "--table visits=visit.csv --epsilon 1", "visits=visit.csv: there is no such file; nearest: visits.csv"),
        (count, "--table visits=none.csv --epsilon 1", "none.csv has no header"),
        (count, "--epsilon 1", "add --table NAME=FILE"),
        (count, "--table visits --epsilon 1", "--table visits: write it as"),
        (count, "--table visits=visits.csv --table visits=plans.csv --epsilon 1", "there are two tables visits"),
        (
            count,
            "--table visits=visits.csv --public-table visits=bosses.csv --epsilon 1",
            "there are two tables visits",
        ),
        ("SELECT COUNT(*) FROM vists", "VISITS --epsilon 1", "there is no table vists; did you mean visits?"),
        ("SELECT COUNT(*) FROM other.visits", "VISITS --epsilon 1", "there is no table other.visits"),
        ("SELECT SUM(agee) FROM visits", "VISITS --epsilon 1", "there is no column agee; did you mean age?"),
        ("SELECT COUNT(*) FROM visits WHERE regoin = 'x'", "VISITS --epsilon 1", "did you mean region?"),
        (count, "VISITS", "add --epsilon 1"),
        (count, "VISITS --epsilon 0", "--epsilon is 0, but it must be"),
        (count, "VISITS --epsilon -1", "--epsilon is -1, but it must be"),
        (count, "VISITS --epsilon NaN", "--epsilon is NaN, but it must be"),
        (count, &format!("VISITS --epsilon {}1/{}3", "7".repeat(30), "7".repeat(30)), "--epsilon has too many digits"),
        (count, "VISITS --epsilon inf", "--epsilon is inf, but it must be"),
        (count, "VISITS --epsilon 1e400", "scale is 1e-400, but it must be"),
        (count, "VISITS --epsilon 1 --delta 0", "--delta is 0, but it must be"),
        (count, "VISITS --epsilon 1 --delta 1", "--delta is 1, but it must be"),
        (count, "VISITS --epsilon 1 --delta -1e-6", "--delta is -1e-6, but it must be"),
        (count, "VISITS --epsilon 1 --delta NaN", "--delta is NaN, but it must be"),
        (count, "VISITS --delta 1e-6", "add --epsilon"),
        (count, "VISITS --epsilon 1 --rho 1", "cannot be used with"),
        (count, "VISITS --epsilon 1 --unit usr", "its unit is missing: there is no column usr; did you mean user?"),
        (count, "VISITS --epsilon 1 --unit visits.usr", "did you mean user?"),
        (
            "SELECT MODE(region) FROM visits",
            "VISITS --epsilon 1 --delta 1e-8 --unit user",
            "contribution limits for MODE(region) cannot be chosen automatically: add --max-rows N (max rows per user and group).",
        ),
        (
            "SELECT region, MODE(user) AS m FROM visits GROUP BY region",
            "VISITS --epsilon 1 --delta 1e-8 --unit user",
            "--max-rows N (max rows per user and group) and --max-groups N (max groups per user)",
        ),
        (by_region, "VISITS --epsilon 1 --delta 1e-8 --unit user --max-rows 3", "are required: add --max-groups N"),
        (by_region, "VISITS --epsilon 1 --delta 1e-8 --unit user --max-groups 3", "are required: add --max-rows N"),
        (count, "VISITS --epsilon 1 --unit user --max-groups 0", "--max-groups is 0, but it must be"),
        (count, "VISITS --epsilon 1 --unit user --max-rows many", "--max-rows is many, but it must be"),
        (count, "VISITS --epsilon 1 --adjacency swap", "--adjacency is swap, but it must be"),
        (sum, "VISITS --epsilon 1", "age needs bounds, chosen without looking at the data: add --bounds age=LO..HI"),
        (sum, "VISITS --epsilon 1 --bounds age", "--bounds age: write it as"),
        (sum, "VISITS --epsilon 1 --bounds age=9..1", "age=9..1: bounds is 9..1, but it must be"),
        (sum, "VISITS --epsilon 1 --bounds age=1..1", "the smaller first"),
        (sum, "VISITS --epsilon 1 --bounds age=young..old", "bounds is young..old, but it must be"),
        (sum, "VISITS --epsilon 1 --bounds age=0..inf", "bounds is 0..inf, but it must be"),
        (count, "VISITS --epsilon 1 --bounds typo=0..1", "--bounds typo=…: there is no column typo; there are"),
        (sum, "VISITS --epsilon 1 --bounds age=0..1 --bounds aeg=0..1", "no column aeg; did you mean age?"),
        (by_region, "VISITS --epsilon 1 --keys region", "--keys region: write it as"),
        (by_region, "VISITS --epsilon 1 --keys regoin=a,b", "there is no key in GROUP BY regoin; did you mean region?"),
        (by_region, "VISITS --epsilon 1 --keys region=keys.csv", "--keys region=keys.csv: there is no such file"),
        (by_region, "VISITS --epsilon 1", "add --delta 1e-8, or list the keys with --keys"),
        (
            "SELECT floor(age) AS a, COUNT(*) FROM visits GROUP BY a",
            "VISITS --epsilon 1 --keys a=20,many",
            "\"many\" is not a number, the column's type",
        ),
        (count, "VISITS --epsilon 1 --weight n", "--weight n: write it as"),
        (count, "VISITS --epsilon 1 --weight n=0", "--weight n=0: a weight must be"),
        (count, "VISITS --epsilon 1 --weight n=1.5", "--weight n=1.5: a weight must be"),
        (count, "VISITS --epsilon 1 --weight m=2", "--weight m=…: there is no aggregate m; did you mean n?"),
        (count, "VISITS --epsilon 1 --policy no.toml", "the policy no.toml: "),
        (count, "VISITS --epsilon 1 --policy broken.toml", "the policy broken.toml: "),
        (count, "VISITS --epsilon 1 --policy typo.toml", "unknown field `units`"),
        (count, "VISITS --epsilon 1 --policy reversed.toml", "the policy reversed.toml: "),
        (
            "SELECT COUNT(*) FROM visits JOIN plans ON visits.user = plans.user",
            "VISITS --table plans=plans.csv --unit user --epsilon 1",
            "name their dataset with --dataset",
        ),
        ("SELECT MEDIAN(age) FROM visits", "VISITS --rho 0.1 --bounds age=0..120", "with --rho only"),
        (by_region, "VISITS --rho 0.1", "list the keys with --keys"),
    ] {
        let said = desk.fails(2, sql, &arguments.replace("VISITS", "--table visits=visits.csv"));
        assert!(said.contains(expected), "{sql} {arguments}: {said}");
        assert!(!said.contains("u1,"), "{sql} {arguments}: {said}");
    }
    assert_eq!(desk.charges(), []);
}

/// An epsilon that gives almost no protection must be confirmed, wherever it is given, and is then reported as such.
#[test]
fn a_large_epsilon_must_be_confirmed() {
    let desk = Desk::with_visits("large");
    desk.write("large.toml", "unit = \"row\"\n[budget]\nepsilon = 11\n");
    let count = "SELECT COUNT(*) AS n FROM visits";
    let ask = |sql: &str, arguments: &str| {
        let arguments = format!("--table visits=visits.csv {arguments}");
        desk.program().arg("query").arg(sql).args(arguments.split_whitespace()).output().expect("it starts")
    };
    for (sql, arguments, expected) in [
        (
            count,
            "--epsilon 10.1",
            "epsilon is 10.1, but it must be at most 10, or confirmed with --allow-large-epsilon",
        ),
        (count, "--epsilon 1000 --delta 1e-6", "--epsilon is 1000, but it must be at most 10"),
        (count, "--rho 100", "--rho is 100, but it must be such that epsilon is at most 10"),
        (
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 11) COUNT(*) FROM visits",
            "",
            "epsilon is 11, but it must be at most 10",
        ),
        (count, "--epsilon 1 --policy large.toml", "the policy large.toml: epsilon is 11, but it must be at most 10"),
    ] {
        let output = ask(sql, arguments);
        let said = text(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{sql} {arguments}: {said}");
        assert!(said.contains(expected), "{sql} {arguments}: {said}");
    }
    assert_eq!(desk.charges(), []);
    assert_eq!(ask(count, "--epsilon 10 --rho 1").status.code(), Some(2), "the control: one or the other");
    assert_eq!(ask(count, "--epsilon 10 --no-ledger").status.code(), Some(0));
    let dry = |epsilon: &str| text(&ask(count, &format!("{epsilon} --dry-run")).stdout);
    assert!(dry("--epsilon 1000 --allow-large-epsilon").contains("but ε = 1000 gives almost no protection"));
    assert!(!dry("--epsilon 10").contains("next to nothing"));
}

#[test]
fn options_in_the_sql_must_not_contradict_arguments() {
    let desk = Desk::with_visits("contradictions");
    let visits = "--table visits=visits.csv";
    for (options, arguments, expected) in [
        ("epsilon = 2", "--epsilon 1", "epsilon is 1 in the arguments but 2 in the SQL"),
        ("epsilon = 1, delta = 1e-3", "--delta 1e-4", "delta is 1e-4 in the arguments but 1e-3 in the SQL"),
        ("epsilon = 1, privacy_unit_column = user", "--unit region", "unit is region in the arguments but user"),
        ("epsilon = 1, privacy_unit_column = user", "--unit row", "unit is row in the arguments but user"),
        ("epsilon = 1, max_groups_contributed = 2", "--max-groups 3", "max-groups is 3 in the arguments but 2"),
        ("epsilon = 1, max_rows_contributed = 2", "--max-rows 3", "max-rows is 3 in the arguments but 2"),
        ("epsilon = 1", "--rho 1", "either --epsilon or --rho"),
        ("epsilon = -1", "", "epsilon is -1, but it must be"),
        ("epsilon", "", "epsilon must be written NAME = VALUE"),
        ("eps = 1", "", "unknown option eps in OPTIONS"),
        ("epsilon = 1, epsilon = 1", "", "epsilon is given twice"),
    ] {
        let sql = format!("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({options}) COUNT(*) FROM visits");
        let said = desk.fails(2, &sql, &format!("{visits} {arguments}"));
        assert!(said.contains(expected), "{options} {arguments}: {said}");
    }
    assert_eq!(desk.charges(), []);
    let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 200, privacy_unit_column = user, max_rows_contributed = 1) \
         COUNT(*) FROM visits";
    assert_eq!(desk.number(sql, &format!("{visits} --epsilon 200 --unit user --no-ledger")), 100.0);
}
