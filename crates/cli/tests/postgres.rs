//! `reticent query` on tables of a PostgreSQL server.
#![cfg(target_os = "linux")]

// Ledgers need more of it.
#[allow(dead_code)]
#[path = "../../ledger/tests/suite/server.rs"]
mod server;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use server::Server;

/// A test's own folder and database.
struct Desk {
    folder: PathBuf,
    server: Arc<Server>,
    database: String,
}

impl Desk {
    fn new(name: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("postgres-{name}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let server = Server::shared();
        let database = server.database();
        Self { folder, server, database }
    }

    fn run(&self, sql: &str) {
        self.server.administrator(&self.database).batch_execute(sql).unwrap();
    }

    /// 3,000 visits by 300 users to two regions, in a table, in its partitions, and in a CSV file.
    fn with_visits(name: &str) -> Self {
        let desk = Self::new(name);
        desk.run(
            "CREATE TABLE visits (id int8, person text, region text, minutes numeric(6,2), day date, at timestamptz)
                 PARTITION BY LIST (region);
             CREATE TABLE north PARTITION OF visits FOR VALUES IN ('north');
             CREATE TABLE rest PARTITION OF visits DEFAULT;
             INSERT INTO visits SELECT n, 'u' || n % 300, CASE WHEN n % 3 = 0 THEN 'north' ELSE 'south' END,
                 CASE WHEN n % 50 = 0 THEN NULL ELSE n % 90 + 0.25 END, date '2026-01-01' + n % 365,
                 timestamptz '2026-01-01 00:00:00Z' + make_interval(hours => n)
                 FROM generate_series(1, 3000) AS n",
        );
        let mut csv = Vec::new();
        let sql = "COPY (SELECT * FROM visits) TO STDOUT (FORMAT CSV, HEADER)";
        let mut client = desk.server.administrator(&desk.database);
        std::io::copy(&mut client.copy_out(sql).unwrap(), &mut csv).unwrap();
        fs::write(desk.folder.join("visits.csv"), csv).unwrap();
        desk
    }

    fn local(&self, table: &str) -> String {
        format!("{}?table={table}", self.server.local(&self.database))
    }

    fn remote(&self, host: &str, table: &str) -> String {
        format!("{}?table={table}", self.server.remote(host, &self.database))
    }

    fn program(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reticent"));
        command.current_dir(&self.folder).env("HOME", &self.folder).env("XDG_DATA_HOME", &self.folder);
        for variable in ["RETICENT_LEDGER", "RUST_BACKTRACE", "PGUSER", "PGPASSWORD", "PGPASSFILE"] {
            command.env_remove(variable);
        }
        command
    }

    /// A query with hardly any noise.
    fn query(&self, sql: &str, arguments: &[&str]) -> Command {
        let mut command = self.program();
        command.args(["query", sql, "--epsilon", "200", "--allow-large-epsilon", "--format", "json"]).args(arguments);
        command
    }

    #[track_caller]
    fn rows(&self, sql: &str, arguments: &[&str]) -> Vec<Value> {
        rows(&answered(self.query(sql, arguments)))
    }

    #[track_caller]
    fn refused(&self, sql: &str, arguments: &[&str]) -> String {
        let output = self.query(sql, arguments).output().unwrap();
        let said = text(&output.stderr);
        assert!(!output.status.success(), "{arguments:?}: {said}");
        assert!(!said.contains("secret"), "{said}");
        said
    }

    fn history(&self) -> String {
        let output = self.program().args(["ledger", "history", "--format", "json"]).output().unwrap();
        text(&output.stdout)
    }
}

#[track_caller]
fn answered(mut command: Command) -> Output {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    output
}

fn rows(output: &Output) -> Vec<Value> {
    let mut lines: Vec<Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect();
    lines.pop();
    lines
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn of(location: &str) -> String {
    format!("visits={location}")
}

/// Whether a file in the folder, or below, contains these bytes.
fn is_written(folder: &Path, wanted: &str) -> bool {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).any(|path| match path.is_dir() {
        true => is_written(&path, wanted),
        false => fs::read(&path).unwrap().windows(wanted.len()).any(|window| window == wanted.as_bytes()),
    })
}

#[test]
#[ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one"]
fn the_answers_are_those_of_the_same_rows_in_a_file() {
    let desk = Desk::with_visits("answers");
    // Counts have no noise at this epsilon, and sums little: these are far from where they would be rounded otherwise.
    let plain = |value: &Value| match value.as_f64() {
        Some(number) if number > 100_000.0 => (number / 100_000.0).round().to_string(),
        Some(number) if number.fract() != 0.0 => (number / 1_000.0).round().to_string(),
        _ => value.to_string(),
    };
    let values = |rows: Vec<Value>| {
        let value = |(name, entry): (&String, &Value)| (name.clone(), plain(entry.get("value").unwrap_or(entry)));
        let row = |row: &Value| row.as_object().unwrap().iter().map(value).collect::<Vec<_>>();
        let mut all: Vec<Vec<(String, String)>> = rows.iter().map(row).collect();
        all.sort_by_key(|row| format!("{row:?}"));
        all
    };
    let questions = [
        ("SELECT COUNT(*) AS n FROM visits", ""),
        (
            "SELECT region, COUNT(*) AS n, SUM(minutes) AS m FROM visits GROUP BY region",
            "--keys region=north,south --bounds minutes=0..100",
        ),
        ("SELECT COUNT(DISTINCT person) AS n FROM visits WHERE minutes > 30.5", "--unit person"),
        ("SELECT COUNT(*) AS n FROM visits WHERE region = 'north' AND minutes IS NULL", ""),
        ("SELECT SUM(id) AS n FROM visits", "--bounds id=0..3000"),
    ];
    for (sql, arguments) in questions {
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        let from = |location: &str| {
            let table = of(location);
            values(desk.rows(sql, &[&["--table", &table, "--no-ledger"], &arguments[..]].concat()))
        };
        assert_eq!(from(&desk.local("visits")), from("visits.csv"), "{sql}");
    }
    // What a file of text cannot say has its type here.
    let table = of(&desk.local("visits"));
    let since =
        "SELECT COUNT(*) AS n FROM visits WHERE day >= DATE '2026-07-01' AND at > TIMESTAMP '2026-03-01 00:00:00'";
    assert!(desk.rows(since, &["--table", &table, "--no-ledger"])[0]["n"]["value"].as_f64().unwrap() > 100.0);
    // Joined on the unit, from one snapshot; and with a public table of the same database.
    desk.run("CREATE TABLE plans (person text, plan text); INSERT INTO plans SELECT 'u' || n, 'gold' FROM generate_series(0, 99) AS n;
              CREATE TABLE bosses (region text, boss text); INSERT INTO bosses VALUES ('north', 'Ada'), ('south', 'Alan')");
    let (plans, bosses) = (format!("plans={}", desk.local("plans")), format!("bosses={}", desk.local("bosses")));
    let joined = "SELECT COUNT(DISTINCT v.person) AS n FROM visits AS v JOIN plans AS p ON v.person = p.person";
    let found = desk
        .rows(joined, &["--table", &table, "--table", &plans, "--unit", "person", "--no-ledger", "--dataset", "all"]);
    assert_eq!(found[0]["n"]["value"], 100);
    let joined = "SELECT COUNT(*) AS n FROM visits AS v JOIN bosses AS b ON v.region = b.region WHERE b.boss = 'Ada'";
    assert_eq!(
        desk.rows(joined, &["--table", &table, "--public-table", &bosses, "--no-ledger"])[0]["n"]["value"],
        1000
    );
    let twice = "SELECT COUNT(*) AS n FROM visits AS v JOIN north AS p ON v.person = p.person";
    let north = format!("north={}", desk.local("north"));
    let said = desk
        .refused(twice, &["--table", &table, "--table", &north, "--unit", "person", "--no-ledger", "--dataset", "all"]);
    assert!(said.contains("can have rows in common"), "{said}");
}

#[test]
#[ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one"]
fn a_password_is_found_where_libpq_finds_it_and_written_nowhere() {
    let desk = Desk::with_visits("passwords");
    let sql = "SELECT COUNT(*) AS n FROM visits";
    let counted = |command: Command| {
        let output = answered(command);
        assert_eq!(rows(&output)[0]["n"]["value"], 3000);
        let said = text(&output.stderr) + &text(&output.stdout);
        assert!(!said.contains("secret"), "{said}");
        said
    };
    let written = desk.remote("127.0.0.1", "visits");
    let said = counted(desk.query(sql, &["--table", &of(&written), "--request", "monday"]));
    assert!(said.contains("charged to postgresql://") && said.contains("/public.visits"), "{said}");
    let plain = written.replace(":top%20secret", "");
    let mut by_variable = desk.query(sql, &["--table", &of(&plain), "--request", "monday"]);
    by_variable.env("PGPASSWORD", "top secret");
    // The same request, however the table is reached.
    assert!(counted(by_variable).contains("answered before") || desk.history().matches("charged").count() > 0);
    let (mut by_file, passwords) = (desk.query(sql, &["--table", &of(&plain)]), desk.folder.join("pgpass"));
    fs::write(&passwords, format!("elsewhere:*:*:*:x\n127.0.0.1:*:{}:postgres:top secret\n", desk.database)).unwrap();
    fs::set_permissions(&passwords, fs::Permissions::from_mode(0o600)).unwrap();
    by_file.env("PGPASSFILE", &passwords);
    counted(by_file);
    let mut by_user = desk.query(sql, &["--table", &of(&plain.replace("postgres@", ""))]);
    by_user.env("PGUSER", "postgres").env("PGPASSWORD", "top secret");
    counted(by_user);
    fs::remove_file(&passwords).unwrap();
    let wrong = desk.refused(sql, &["--table", &of(&written.replace("top", "other"))]);
    assert!(wrong.contains("password authentication failed"), "{wrong}");
    // In place of a name.
    desk.refused(sql, &["--table", &written]);
    desk.refused(sql, &["--table", &of(&written.replace("postgres://", "posgres://"))]);
    for part in ["secret", "top%20"] {
        assert!(!is_written(&desk.folder, part), "{part}");
    }
}

#[test]
#[ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one"]
fn a_table_has_one_budget_under_all_its_names() {
    let desk = Desk::with_visits("budgets");
    desk.run("CREATE MATERIALIZED VIEW copy AS SELECT * FROM north");
    let sql = "SELECT COUNT(*) AS n FROM visits";
    let (visits, north, copy) = (of(&desk.local("visits")), of(&desk.local("north")), of(&desk.local("copy")));
    let said = text(&answered(desk.query(sql, &["--table", &north])).stderr);
    let name = said.split("charged to ").nth(1).and_then(|rest| rest.split_whitespace().next()).expect(&said);
    assert!(name.ends_with("/public.north"), "{name}");
    // What was ever charged is not public, neither itself nor what may hold its rows.
    for table in [&visits, &north, &copy] {
        let public = table.replace("visits=", "p=");
        let csv = "visits=visits.csv";
        let joined = "SELECT COUNT(*) AS n FROM visits JOIN p ON visits.region = p.region";
        let said = desk.refused(joined, &["--table", csv, "--public-table", &public]);
        assert!(said.contains("is given as public"), "{said}");
    }
    // A limit holds for everything that may hold its rows.
    let limit = [
        "ledger",
        "create",
        name,
        "--epsilon",
        "1000",
        "--allow-large-epsilon",
        "--unit",
        "row",
        "--ledger",
        "budgets.sqlite",
    ];
    let mut create = desk.program();
    create.args(limit);
    answered(create);
    let mut other = desk.program();
    other.args(limit.map(|word| if word == name { "people" } else { word }));
    answered(other);
    let charged = ["--ledger", "budgets.sqlite"];
    answered(desk.query(sql, &[&["--table", &north][..], &charged].concat()));
    let remote = of(&desk.remote("localhost", "public.north"));
    answered(desk.query(sql, &[&["--table", &remote][..], &charged].concat()));
    for table in [&visits, &north, &copy] {
        let said = desk.refused(sql, &[&["--table", table, "--dataset", "people"][..], &charged].concat());
        assert!(said.contains("has a budget of") || said.contains("has its own budget"), "{said}");
    }
    let said = desk.refused(sql, &["--table", &of(&desk.local("nort"))]);
    assert!(said.contains("nearest: public.north"), "{said}");
}

#[test]
#[ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one"]
fn what_fails_after_the_charge_says_nothing_and_stays_charged() {
    let desk = Desk::new("killed");
    desk.run("CREATE TABLE visits AS SELECT n, repeat('x', 200) AS s FROM generate_series(1, 1000000) AS n");
    let sql = "SELECT COUNT(*) AS n FROM visits WHERE s <> 'y'";
    let table = of(&desk.local("visits"));
    let mut killer = desk.server.administrator(&desk.database);
    let running =
        desk.query(sql, &["--table", &table, "--request", "monday"]).stderr(std::process::Stdio::piped()).spawn();
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE 'COPY%' AND pid <> pg_backend_pid()";
    let ended = (0..6000).any(|_| {
        std::thread::sleep(Duration::from_millis(5));
        !killer.query(end, &[]).unwrap().is_empty()
    });
    assert!(ended, "nothing was read");
    let output = running.unwrap().wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("charged to") && !said.contains("terminat"), "{said}");
    // The same request has the same outcome, and the dataset is suspended.
    assert!(!desk.query(sql, &["--table", &table, "--request", "monday"]).output().unwrap().status.success());
    let said = desk.refused(sql, &["--table", &table]);
    assert!(said.contains("reopen"), "{said}");
}
