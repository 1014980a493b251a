//! Queries written to learn more than an answer, or to keep the machine busy.

use std::process::Stdio;
use std::time::{Duration, Instant};

use super::*;

/// One person with many rows tries to count as many people by giving another column the unit's name.
#[test]
fn a_unit_is_a_column_of_the_table_and_not_a_name() {
    let desk = Desk::new("unit-by-name");
    let mut csv = String::from("user,id,age\n");
    for row in 0..500 {
        let _ = writeln!(csv, "u1,n{row},30");
    }
    desk.write("t.csv", csv);
    for sql in [
        "SELECT COUNT(*) AS n FROM (SELECT id AS user, age FROM t)",
        "SELECT COUNT(*) AS n FROM (SELECT id AS user, user AS id FROM t)",
        "WITH t AS (SELECT id AS user FROM t) SELECT COUNT(*) AS n FROM t",
        "SELECT COUNT(*) AS n FROM t AS x (id, user, age)",
        "SELECT COUNT(*) AS n FROM (SELECT id AS \"user\" FROM t) AS t",
        "SELECT COUNT(DISTINCT user) AS n FROM (SELECT id AS user, age FROM t)",
        "SELECT COUNT(*) AS n FROM (SELECT id AS user, COUNT(*) AS c FROM t GROUP BY id)",
        "SELECT COUNT(*) AS n FROM (SELECT id AS user FROM t) AS a JOIN (SELECT id AS user FROM t) AS b ON a.user = b.user",
    ] {
        let arguments =
            format!("--table t=t.csv --unit user --max-rows 1 --epsilon {WITHOUT_NOISE} --format csv --no-ledger");
        let output = desk.ask(sql, &arguments);
        let printed = text(&output.stdout);
        let number = || printed.lines().nth(1).and_then(|line| line.split(',').next()?.parse::<f64>().ok());
        match output.status.code() {
            Some(0) => assert!(number().is_some_and(|number| number <= 1.0), "{sql}: {printed}"),
            code => assert_eq!(code, Some(2), "{sql}: {}", text(&output.stderr)),
        }
    }
}

/// A public side that fails, but only if a private row reaches it: whether it was reached must not show.
#[test]
fn a_public_side_fails_before_the_charge_or_not_at_all() {
    let desk = Desk::new("public-side");
    let mut broken = include_bytes!("tiny.parquet").to_vec();
    broken[4..30].fill(0xff);
    desk.write("broken.parquet", broken);
    desk.write("bosses.csv", "region,boss\nnorth,Ada\nwest,0\n");
    for (sql, public) in [
        ("SELECT COUNT(*) AS n FROM visits JOIN b ON visits.user = b.user", "broken.parquet"),
        ("SELECT COUNT(*) AS n FROM visits LEFT JOIN b ON visits.user = b.user WHERE b.age > 3", "broken.parquet"),
        (
            "SELECT COUNT(*) AS n FROM visits JOIN b ON visits.region = b.region WHERE 1 / CAST(b.boss AS BIGINT) > 0",
            "bosses.csv",
        ),
        (
            "SELECT COUNT(*) AS n FROM visits JOIN (SELECT region, 1 / CAST(boss AS BIGINT) AS x FROM b) AS c ON \
             visits.region = c.region WHERE c.x > 0",
            "bosses.csv",
        ),
    ] {
        let seen = |table: String| {
            desk.write("visits.csv", table);
            let arguments = format!("--public-table b={public} --epsilon 1 --no-ledger");
            let output = desk.ask_visits(sql, &arguments);
            (output.status.code(), text(&output.stderr))
        };
        let header = visits(0);
        let reached = format!("{header}u1,west,30,x\n");
        let other = seen(header);
        assert_eq!(seen(reached), other, "{sql}");
        assert_eq!(seen(visits(30)), other, "{sql}");
    }
}

/// Planning is free, so it must not take long either.
#[test]
fn a_query_that_is_hard_to_plan_ends_soon() {
    let desk = Desk::with_visits("hard");
    let terms = (0..20_000).map(|term| format!("age > {term}")).collect::<Vec<_>>().join(" OR ");
    let sums = (0..20_000).map(|_| "age").collect::<Vec<_>>().join(" + ");
    let chain = |step: &str| {
        let steps: String =
            (1..=9).map(|level| format!(", c{level} AS ({})", step.replace('#', &(level - 1).to_string()))).collect();
        format!("WITH c0 AS (SELECT user, age FROM visits){steps} SELECT COUNT(*) AS n FROM c9")
    };
    for sql in [
        format!("SELECT COUNT(*) AS n FROM visits WHERE {terms}"),
        format!("SELECT SUM({sums}) AS n FROM visits"),
        format!("SELECT COUNT(*) AS n FROM visits WHERE {}", "(".repeat(20_000)),
        chain("SELECT a.user AS user, a.age + b.age AS age FROM c# AS a JOIN c# AS b ON a.user = b.user"),
        chain("SELECT user, age + age AS age FROM c#"),
        chain("SELECT user, age FROM c# UNION ALL SELECT user, age FROM c#"),
    ] {
        let began = Instant::now();
        // Some are longer than an argument may be: then the system rejects it, which is fine, too.
        let mut command = desk.program();
        command.arg("query").arg(&sql).args(
            "--table visits=visits.csv --unit user --max-rows 1 --bounds age=0..100 --epsilon 1 --dry-run".split(' '),
        );
        let Ok(output) = command.output() else { continue };
        let (start, said) = (&sql[..sql.len().min(120)], text(&output.stderr));
        assert!(matches!(output.status.code(), Some(0 | 2)), "{start}: {:?} {said}", output.status);
        assert!(began.elapsed() < Duration::from_secs(120), "{start}: {:?}", began.elapsed());
        assert!(said.len() < 10_000, "{start}: an error of {} bytes", said.len());
    }
}

/// One private row meets hundreds of public rows with a long text, which is in memory once. Copied for all rows at once, it
/// would take several times the limit, and an end of the process would reveal that the row is there.
#[cfg(target_os = "linux")]
#[test]
fn one_row_does_not_take_memory_beyond_the_limit() {
    const LIMIT: usize = 64;
    let desk = Desk::new("memory");
    desk.write("people.csv", "user\nu1\n");
    let numbers: String = (0..400).map(|number| format!("{number}\n")).collect();
    desk.write("numbers.csv", format!("n\n{numbers}"));
    let list = |of: &str| (0..16).map(|item| of.replace('#', &item.to_string())).collect::<Vec<_>>().join(", ");
    let joined = "people CROSS JOIN (SELECT n, repeat('x', 60000) AS s FROM numbers) AS b";
    let distinct = "people CROSS JOIN (SELECT lpad(CAST(n AS TEXT), 60000, 'x') AS s FROM numbers WHERE n < 300) AS b";
    let levels: String =
        (1..=60).map(|level| format!(", c{level} AS (SELECT reverse(s) AS s FROM c{})", level - 1)).collect();
    let histograms = (1..=50).map(|bins| format!("HISTOGRAM(n, {bins}) AS h{bins}")).collect::<Vec<_>>().join(", ");
    for sql in [
        format!(
            "SELECT COUNT(*) FROM {joined} JOIN (SELECT {}) AS c ON {}",
            list("repeat('x', 60000) AS s#"),
            list("b.s = c.s#").replace(',', " AND")
        ),
        format!(
            "SELECT COUNT(*) FROM (SELECT user, {} FROM {joined} GROUP BY user) AS q WHERE m0 <> ''",
            list("max(reverse(substr(s, # + 1))) AS m#")
        ),
        format!("SELECT {}, COUNT(*) FROM (SELECT {} FROM {distinct}) AS q GROUP BY {0}", list("k#"), list("s AS k#")),
        format!("WITH c0 AS (SELECT s FROM {joined} WHERE n < 80){levels} SELECT COUNT(*) FROM c60 WHERE s <> ''"),
        // One of 100,000 groups has a row that counts; all of them would take 400 MiB.
        format!(
            "SELECT n, m, {histograms} FROM (SELECT user, a.n + 0 AS n, b.n AS m FROM people CROSS JOIN numbers AS a \
             CROSS JOIN numbers AS b WHERE b.n < 250) AS q GROUP BY n, m"
        ),
    ] {
        let mut command = desk.program();
        command.arg("query").arg(&sql).args(["--table", "people=people.csv", "--public-table", "numbers=numbers.csv"]);
        command.args("--unit user --max-rows 1 --max-groups 1 --epsilon 1 --delta 1e-6 --no-ledger".split(' '));
        if sql.contains("HISTOGRAM") {
            command.args(["--bounds", "n=0..400"]);
        }
        command.arg(format!("--memory-limit={LIMIT}MiB")).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the program starts");
        let mut most = 0;
        while child.try_wait().expect("it runs").is_none() {
            let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<usize>().ok());
            most = most.max(kibibytes.unwrap_or_default() >> 10);
            std::thread::sleep(Duration::from_millis(3));
        }
        let code = child.wait().expect("it ended").code();
        assert!(matches!(code, Some(0 | 1)), "{sql}: {code:?}");
        // A thread takes at most 128 MiB beyond the limit, and the program itself 40.
        assert!((10..=LIMIT + 128 + 40).contains(&most), "{sql}: {most} MiB");
    }
}
