//! Tables of a real PostgreSQL server.
#![cfg(target_os = "linux")]

mod common;
// Ledgers need more of it.
#[allow(dead_code)]
#[path = "../../ledger/tests/suite/server.rs"]
mod server;

use std::fmt::Debug;
use std::sync::Arc;

use arrow_array::*;
use common::{batch, cells, columns, natural, read, reason, rows, unit, write};
use postgres::Client;
use reticent_table::{Broken, MOST_TEXT, Request, Table, Type, UnitType};
use server::Server;

/// A database of its own.
struct Database {
    server: Arc<Server>,
    name: String,
}

impl Database {
    fn new() -> Self {
        let server = Server::shared();
        let name = server.database();
        Self { server, name }
    }

    fn run(&self, sql: &str) {
        self.client().batch_execute(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }

    fn client(&self) -> Client {
        self.server.administrator(&self.name)
    }

    fn url(&self, table: &str) -> String {
        let table: String = table.bytes().map(|byte| format!("%{byte:02x}")).collect();
        format!("{}?table={table}", self.server.local(&self.name))
    }

    fn open(&self, table: &str) -> Table {
        Table::open("t", &self.url(table)).unwrap()
    }

    fn refused(&self, table: &str) -> String {
        reason(Table::open("t", &self.url(table)))
    }

    /// A table with the rows of this query, and one column `v`.
    fn column(&self, data_type: &str, values: &str) -> Table {
        self.run(&format!("DROP TABLE IF EXISTS t; CREATE TABLE t (v {data_type}); INSERT INTO t VALUES {values}"));
        self.open("t")
    }

    fn values(&self, data_type: &str, values: &str) -> Vec<String> {
        let table = self.column(data_type, values);
        rows(&table, &natural(&table, &["v"]))
    }

    fn units(&self, data_type: &str, values: &str) -> Vec<String> {
        rows(&self.column(data_type, values), &unit("v", UnitType::Text))
    }
}

fn never_shows_the_password(shown: &dyn Debug) {
    let shown = format!("{shown:?}");
    assert!(!shown.contains("top") && !shown.contains("secret"), "{shown}");
}

#[test]
#[ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one"]
fn every_type_is_read() {
    let database = Database::new();
    assert_eq!(database.values("bool", "(true), (false), (NULL)"), ["true", "false", ""]);
    assert_eq!(database.values("int2", "(-32768), (32767), (NULL)"), ["-32768", "32767", ""]);
    assert_eq!(database.values("int4", "(-2147483648), (2147483647)"), ["-2147483648", "2147483647"]);
    let eight = ["-9223372036854775808", "9223372036854775807"];
    assert_eq!(database.values("int8", "(-9223372036854775808), (9223372036854775807)"), eight);
    assert_eq!(database.units("int8", "(-9223372036854775808), (9223372036854775807)"), eight);
    let floats = "('NaN'), ('Infinity'), ('-Infinity'), ('-0'), (1.5), (NULL)";
    for data_type in ["float4", "float8"] {
        assert_eq!(database.values(data_type, floats), ["NaN", "inf", "-inf", "-0", "1.5", ""]);
    }
    let texts = "(''), (NULL), ('Zürich 🦀'), (E'a\\nb\\t\"'), ('NULL')";
    for data_type in ["text", "varchar", "varchar(20)"] {
        assert_eq!(database.values(data_type, texts), ["", "", "Zürich 🦀", "a\nb\t\"", "NULL"]);
        assert_eq!(database.units(data_type, texts)[2], "Zürich 🦀");
    }
    // Padding does not count, as in the database's own comparisons; other whitespace does.
    for data_type in ["char(5)", "char(70000)", "bpchar"] {
        assert_eq!(database.values(data_type, "('a'), (' b  '), (''), (E'\\t ')"), ["a", " b", "", "\t"]);
        assert_eq!(database.units(data_type, "('a'), (' b  ')"), ["a", " b"]);
    }
    assert_eq!(database.values("name", "('x')"), ["x"]);
    database.run(
        "CREATE TYPE mood AS ENUM ('sad', 'happy', ''); CREATE DOMAIN years AS int4 CHECK (VALUE > 0);
        CREATE DOMAIN more_years AS years; CREATE DOMAIN note AS text NOT NULL CHECK (length(VALUE) < 100000)",
    );
    assert_eq!(database.values("mood", "('happy'), (NULL), ('')"), ["happy", "", ""]);
    assert_eq!(database.units("mood", "('happy')"), ["happy"]);
    assert_eq!(database.values("years", "(7), (NULL)"), ["7", ""]);
    assert_eq!(database.values("more_years", "(7)"), ["7"]);
    assert_eq!(database.values("note", "('short'), (repeat('x', 70000))"), ["short", ""]);
    let dates = "('1970-01-01'), ('2000-01-01'), ('infinity'), ('-infinity'), ('4713-01-01 BC'), ('5874897-12-31')";
    assert_eq!(database.values("date", dates), ["0", "10957", "", "", "-2440550", "2145042905"]);
    let days = ["1970-01-01", "2000-01-01", "", "", "-4712-01-01", "+5874897-12-31"];
    assert_eq!(database.units("date", dates), days);
    let times = "('2000-01-01 00:00:00.000001'), ('1969-12-31 23:59:59.999999'), ('infinity'), ('-infinity'),
        ('294276-12-31 23:59:59'), ('4713-01-01 00:00:00 BC')";
    let microseconds = ["946684800000001", "-1", "", "", "", "-210863520000000000"];
    let instants = ["2000-01-01T00:00:00.000001", "1969-12-31T23:59:59.999999", "", "", "", "-4712-01-01T00:00:00"];
    assert_eq!(database.values("timestamp", times), microseconds);
    assert_eq!(database.units("timestamp", times), instants);
    database.run(&format!("ALTER DATABASE {} SET timezone = 'Asia/Tokyo'", database.name));
    let zoned = "('2000-01-01 09:00:00.000001+09'), ('infinity'), ('2000-01-01 00:00:00')";
    assert_eq!(database.values("timestamptz", zoned), ["946684800000001", "", "946652400000000"]);
    assert_eq!(database.units("timestamptz", zoned)[0], "2000-01-01T00:00:00.000001");
    let uuid = "67e55044-10b1-426f-9247-bb680e5fe0c8";
    assert_eq!(database.units("uuid", &format!("('{uuid}'), (NULL)")), [uuid, ""]);
    assert_eq!(database.units("bytea", r"('\x00ff'), (''), (NULL)"), ["00ff", "", ""]);
    let sixteen = uuid.replace('-', "");
    assert_eq!(database.units("bytea", &format!(r"('\x{sixteen}')")), [uuid]);
}

#[test]
#[ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one"]
fn decimals_are_exact_units_and_the_nearest_numbers() {
    let database = Database::new();
    let long = format!("{}.{}", "7".repeat(1000), "3".repeat(1000));
    let large = "9".repeat(131_072);
    let small = format!("0.{}1", "0".repeat(16_382));
    let values =
        ["7.00", "-0.0", "100000000000000000001", "-12.345", "0.00010", "1e20", "9007199254740993.0", &long, &small];
    let list = values.map(|value| format!("('{value}')")).join(", ");
    let units = database.units("numeric", &list);
    let expected = [
        "7",
        "0",
        "100000000000000000001",
        "-12.345",
        "0.0001",
        "100000000000000000000",
        "9007199254740993",
        &long,
        &small,
    ];
    assert_eq!(units, expected);
    let numbers = database.values("numeric", &list);
    for (found, value) in numbers.iter().zip(values) {
        assert_eq!(found.parse::<f64>(), value.parse::<f64>().map(|value| value + 0.0), "{value}");
    }
    // Longer than a unit may be.
    assert_eq!(
        database.units("numeric", &format!("('{large}'), ('{}')", &large[..MOST_TEXT])),
        ["", &large[..MOST_TEXT]]
    );
    assert_eq!(database.values("numeric", &format!("('{large}')")), ["inf"]);
    let special = "('NaN'), ('Infinity'), ('-Infinity'), (NULL)";
    assert_eq!(database.values("numeric", special), ["NaN", "inf", "-inf", ""]);
    assert_eq!(database.units("numeric", special), ["NaN", "Infinity", "-Infinity", ""]);
    assert_eq!(database.values("numeric(6,2)", "(1234.5)"), ["1234.5"]);
    // Every decimal of a few digits, against the text that the server makes of it.
    let list = (0..2000).map(|one| format!("({}e{})", one * 7919 % 20011 - 10000, one % 23 - 11)).collect::<Vec<_>>();
    let table = database.column("numeric", &list.join(", "));
    let (numbers, units) = (rows(&table, &natural(&table, &["v"])), rows(&table, &unit("v", UnitType::Text)));
    let texts = database.client().query("SELECT trim_scale(v)::text FROM t ORDER BY ctid", &[]).unwrap();
    for (place, row) in texts.iter().enumerate() {
        let text: String = row.get(0);
        assert_eq!((&units[place], numbers[place].parse()), (&text, text.parse::<f64>()), "{text}");
    }
}

#[test]
#[ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one"]
fn a_cell_that_is_too_long_is_null_before_it_is_sent() {
    let database = Database::new();
    let lengths = [MOST_TEXT - 1, MOST_TEXT, MOST_TEXT + 1, 50 << 20];
    let list = |value: &str| lengths.map(|length| format!("({})", value.replace('#', &length.to_string()))).join(", ");
    for data_type in ["text", "varchar", "varchar(10000000)", "bpchar"] {
        if data_type == "varchar(10000000)" {
            database.run("DROP TABLE IF EXISTS t; CREATE TABLE t (v varchar(10000000))");
            database.run("INSERT INTO t SELECT repeat('x', n) FROM unnest(ARRAY[65535, 65536, 65537, 10000000]) AS n");
            let table = database.open("t");
            let read: Vec<usize> = rows(&table, &natural(&table, &["v"])).iter().map(String::len).collect();
            assert_eq!(read, [MOST_TEXT - 1, MOST_TEXT, 0, 0]);
            continue;
        }
        let read: Vec<usize> = database.values(data_type, &list("repeat('x', #)")).iter().map(String::len).collect();
        assert_eq!(read, [MOST_TEXT - 1, MOST_TEXT, 0, 0], "{data_type}");
    }
    // Two bytes each, and compressed or not.
    let read = database.values("text", "(repeat('é', 32768)), (repeat('é', 32769))");
    assert_eq!(read.iter().map(String::len).collect::<Vec<_>>(), [MOST_TEXT, 0]);
    let bytes = "(decode(repeat('ab', 32768), 'hex')), (decode(repeat('ab', 32769), 'hex'))";
    let read = database.units("bytea", bytes);
    assert_eq!(read.iter().map(String::len).collect::<Vec<_>>(), [MOST_TEXT, 0]);
}

#[test]
#[ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one"]
fn the_same_rows_as_in_other_formats() {
    let database = Database::new();
    database.run(
        "CREATE TABLE t (b bool, i int4, n float8, s text, d date, m timestamp, z timestamptz, u uuid);
         INSERT INTO t VALUES (true, 7, 1.5, 'a', '2026-03-02', '2026-03-02 09:30:00.5', '2026-03-02 09:30:00.5+00',
             'abababab-abab-abab-abab-abababababab'), (false, -7, 'NaN', 'é', '0044-03-15 BC', '1900-01-01', NULL, NULL),
             (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    );
    let moments =
        || TimestampMicrosecondArray::from(vec![Some(1_772_443_800_500_000), Some(-2_208_988_800_000_000), None]);
    let zoned = TimestampMicrosecondArray::from(vec![Some(1_772_443_800_500_000), None, None]).with_timezone("UTC");
    let ids = [Some([0xab; 16]), None, None];
    let ids = FixedSizeBinaryArray::try_from_sparse_iter_with_size(ids.into_iter(), 16).unwrap();
    let all: Vec<(&str, ArrayRef)> = vec![
        ("b", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]))),
        ("i", Arc::new(Int32Array::from(vec![Some(7), Some(-7), None]))),
        ("n", Arc::new(Float64Array::from(vec![Some(1.5), Some(f64::NAN), None]))),
        ("s", Arc::new(StringArray::from(vec![Some("a"), Some("é"), None]))),
        ("d", Arc::new(Date32Array::from(vec![Some(20_514), Some(-735_160), None]))),
        ("m", Arc::new(moments())),
        ("z", Arc::new(zoned)),
        ("u", Arc::new(ids)),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    write(&path, &batch(all), 2);
    let (file, table) = (common::open(&path).unwrap(), database.open("public.t"));
    assert_eq!(table.columns(), file.columns());
    let names = ["b", "i", "n", "s", "d", "m", "z"];
    let types = |table: &Table| names.map(|name| table.column_type(name));
    assert_eq!(types(&table), types(&file));
    assert_eq!(rows(&table, &natural(&table, &names)), rows(&file, &natural(&file, &names)));
    for name in ["b", "i", "s", "d", "m", "z", "u"] {
        assert_eq!(table.unit_type(name), file.unit_type(name), "{name}");
        let form = unit(name, UnitType::Text);
        assert_eq!(rows(&table, &form), rows(&file, &form), "{name}");
    }
    assert!(table.unit_type("n").is_err() && file.unit_type("n").is_err());
    // A column can be both, and rows can be counted without columns.
    let mut both = unit("i", UnitType::Signed);
    both.columns = vec![("i".into(), Type::Integer), ("s".into(), Type::Text)];
    assert_eq!(rows(&table, &both), ["7|7|a", "-7|-7|é", "||"]);
    assert_eq!(rows(&table, &Request::default()).len(), 3);
    assert!(!table.is_text() && table.files().is_empty());
}

#[test]
#[ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one"]
fn columns_that_a_query_cannot_use_are_named() {
    let database = Database::new();
    database.run(
        "CREATE TYPE pair AS (a int, b int); CREATE DOMAIN tags AS text[];
         CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
         CREATE TABLE t (a int[], j json, p pair, g tags, h time, r int4range, n int4, f float8, u uuid, o oid,
             c text COLLATE folded, s int4 GENERATED ALWAYS AS (n + 1) STORED, x int4);
         ALTER TABLE t DROP COLUMN x;
         INSERT INTO t (n, a, c) VALUES (1, '{1}', 'A')",
    );
    let table = database.open("t");
    assert_eq!(table.columns().unwrap(), ["n", "f", "c", "s"]);
    let unusable: Vec<String> = table.unusable().into_iter().map(|(name, what)| format!("{name}: {what}")).collect();
    let expected = [
        "a: integer[]",
        "j: json",
        "p: public.pair",
        "g: public.tags",
        "h: time without time zone",
        "r: int4range",
        "u: uuid",
        "o: oid",
    ];
    assert_eq!(unusable, expected);
    assert_eq!(rows(&table, &natural(&table, &["n", "c", "s"])), ["1|A|2"]);
    assert!(reason(table.unit_type("f")).contains("floating-point"));
    assert!(reason(table.unit_type("c")).contains("collation"));
    assert!(reason(table.unit_type("a")).contains("cannot be the privacy unit"));
    assert!(reason(table.unit_type("x")).contains("there is no column `x`"));
    assert!(reason(table.scan(&columns(&[("j", Type::Text)]), 1)).contains("`j` is json, which a query cannot use"));
    database.run("CREATE TABLE none (a int[])");
    assert_eq!(database.refused("none"), "public.none has no column of a type that a query can use");
}

#[test]
#[ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one"]
fn names_are_only_names() {
    let database = Database::new();
    let hostile =
        ["a\"; DROP TABLE victim; --", "x) TO PROGRAM 'touch /tmp/hacked'; --", "$1", "Größe 🦀", "%s", "a.b", "'"];
    let quote = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    database.run("CREATE TABLE victim (a int)");
    for name in hostile {
        let quoted = quote(name);
        database.run(&format!(
            "CREATE SCHEMA {quoted}; CREATE TABLE {quoted}.{quoted} ({quoted} text, other int);
             INSERT INTO {quoted}.{quoted} VALUES ('here', 1)"
        ));
        let table = database.open(&format!("{quoted}.{quoted}"));
        assert_eq!(rows(&table, &columns(&[(name, Type::Text)])), ["here"], "{name}");
        let identity = table.database_table().unwrap().name();
        assert!(!identity.contains([' ', '"', ';', '\'', '=']), "{identity}");
    }
    assert_eq!(database.open("victim").columns().unwrap(), ["a"]);
    assert!(database.refused("a.b.c").contains("not a table's name"));
    assert!(reason(Table::open("t", &database.server.local(&database.name))).contains("?table=SCHEMA.TABLE"));
}

#[test]
#[ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one"]
fn what_would_have_to_be_computed_is_refused() {
    let database = Database::new();
    database.run(
        "CREATE TABLE t (n int); INSERT INTO t VALUES (0), (1);
         CREATE VIEW v AS SELECT 1 / n AS n FROM t;
         CREATE MATERIALIZED VIEW m AS SELECT n + 1 AS n FROM t; CREATE MATERIALIZED VIEW e AS SELECT n FROM t WITH NO DATA;
         CREATE SEQUENCE s; CREATE INDEX i ON t (n);
         CREATE EXTENSION IF NOT EXISTS file_fdw; CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
         CREATE FOREIGN TABLE f (n int) SERVER files OPTIONS (filename '/dev/null');
         CREATE TABLE p (n int) PARTITION BY RANGE (n); CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
         CREATE FOREIGN TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20) SERVER files OPTIONS (filename '/dev/null');
         CREATE TABLE r (n int); ALTER TABLE r ENABLE ROW LEVEL SECURITY; ALTER TABLE r FORCE ROW LEVEL SECURITY;
         INSERT INTO r VALUES (1); CREATE TABLE g (n int); CREATE TABLE half (seen int, hidden int);
         INSERT INTO half VALUES (1, 2);
         DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN; GRANT SELECT ON t, r, m, p1 TO reader;
         GRANT SELECT (seen) ON half TO reader",
    );
    assert!(database.refused("v").contains("public.v is a view"), "{}", database.refused("v"));
    assert!(database.refused("f").contains("foreign table"));
    assert!(database.refused("p").contains("public.p2, a part of public.p, is not a table"));
    assert!(database.refused("e").contains("has not been filled"));
    assert!(database.refused("s").contains("is not a table") && database.refused("i").contains("is not a table"));
    let all = |table: &Table| rows(table, &natural(table, &["n"]));
    assert_eq!(all(&database.open("m")), ["1", "2"]);
    // A superuser is exempt from row-level security.
    assert_eq!(all(&database.open("r")), ["1"]);
    let as_reader = |table: &str| Table::open("t", &database.url(table).replace("postgres@", "reader@"));
    assert!(reason(as_reader("r")).contains("row-level security applies to this role on public.r"));
    assert!(reason(as_reader("g")).contains("this role may not read public.g"));
    assert_eq!(all(&as_reader("t").unwrap()), ["0", "1"]);
    assert_eq!(all(&as_reader("m").unwrap()), ["1", "2"]);
    let half = as_reader("half").unwrap();
    assert_eq!(half.columns().unwrap(), ["seen"]);
    assert_eq!(half.unusable()[0].1, "a column that this role may not read");
    assert_eq!(rows(&half, &natural(&half, &["seen"])), ["1"]);
    database.run("DROP OWNED BY reader; DROP ROLE reader");
}

#[test]
#[ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one"]
fn who_cannot_be_reached_is_told_why_and_no_password() {
    let database = Database::new();
    database.run("CREATE SCHEMA shop; CREATE TABLE shop.visits (n int); CREATE TABLE visitors (n int)");
    assert!(database.refused("shop.visit").ends_with("; nearest: shop.visits"), "{}", database.refused("shop.visit"));
    assert!(database.refused("visitor").ends_with("; nearest: public.visitors"));
    assert!(database.refused("zzzz.qqqq").contains("there is no table zzzz.qqqq in the database"));
    let remote = |host: &str| format!("{}?table=shop.visits", database.server.remote(host, &database.name));
    let failed = |url: String| {
        let error = Table::open("t", &url).unwrap_err();
        never_shows_the_password(&error);
        error.to_string()
    };
    Table::open("t", &remote("127.0.0.1")).unwrap();
    never_shows_the_password(&Table::open("t", &remote("127.0.0.1")).unwrap());
    let wrong = failed(remote("127.0.0.1").replace("top%20secret", "another%20secret"));
    assert!(wrong.contains("password authentication failed"), "{wrong}");
    let missing = failed(remote("127.0.0.1").replace(":top%20secret", ""));
    assert!(missing.contains("PGPASSWORD"), "{missing}");
    assert!(failed(remote("127.0.0.1") + "&sslmode=require").contains("sslmode=disable"));
    assert!(failed(remote("127.0.0.1") + "&sslmode=often").contains("sslmode must be"));
    assert!(failed(remote("127.0.0.1").replace(&database.name, "nowhere")).contains("nowhere"));
    assert!(failed("postgresql://u:top%20secret@127.0.0.1:1/d?table=t".to_owned()).contains("refused"));
    assert!(failed("postgres://u:a@secret@127.0.0.1/d?table=t".to_owned()).contains("more than one @"));
    assert!(failed("pg://u:top%20secret@127.0.0.1/d?table=t".to_owned()).contains("no file matches"));
    database.run("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'");
    let latin = format!("{}?table=t", database.server.local("latin"));
    assert!(failed(latin).contains("encoded in LATIN1"));
    database.run("DROP DATABASE latin");
}

#[test]
#[ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one"]
fn a_table_is_the_same_however_it_is_reached() {
    let database = Database::new();
    database.run(
        "CREATE TABLE t (n int) PARTITION BY RANGE (n); CREATE TABLE one PARTITION OF t FOR VALUES FROM (0) TO (10);
         CREATE TABLE two PARTITION OF t FOR VALUES FROM (10) TO (20); CREATE TABLE other (n int);
         CREATE VIEW v AS SELECT n FROM one WHERE n > 0; CREATE MATERIALIZED VIEW m AS SELECT n FROM v;
         CREATE TABLE parent (n int); CREATE TABLE child () INHERITS (parent);
         DROP ROLE IF EXISTS asker; CREATE ROLE asker LOGIN PASSWORD 'top secret'; GRANT SELECT ON t TO asker",
    );
    let server = &database.server;
    let name = |url: String| Table::open("t", &url).unwrap().database_table().unwrap().name().to_owned();
    let known = name(database.url("public.t"));
    assert!(known.ends_with(&format!("/{}/public.t", database.name)), "{known}");
    let urls = [
        database.url("t"),
        format!("{}?table=t&connect_timeout=3", server.remote("localhost", &database.name)),
        format!("{}?sslmode=prefer&table=%22public%22.t", server.remote("127.0.0.1", &database.name)),
        server.remote("localhost", &database.name).replace("postgres:top", "asker:top") + "?table=t",
        server.remote("localhost", &database.name).replace("postgres://", "PostgreSQL://") + "?table=t",
    ];
    for url in urls {
        assert_eq!(name(url.clone()), known, "{url}");
    }
    let open = |table: &str| database.open(table);
    let sharing = |table: &str| {
        let table = open(table);
        let names = table.database_table().unwrap().sharing().iter();
        names.map(|name| name.rsplit_once('.').unwrap().1.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(sharing("t"), ["m", "one", "t", "two"]);
    assert_eq!(sharing("one"), ["m", "one", "t"]);
    assert_eq!(sharing("two"), ["t", "two"]);
    assert_eq!(sharing("m"), ["m", "one", "t"]);
    assert_eq!(sharing("other"), ["other"]);
    assert_eq!(sharing("parent"), ["child", "parent"]);
    assert!(open("t").has_a_file_of(&open("one")) && open("m").has_a_file_of(&open("t")));
    assert!(!open("one").has_a_file_of(&open("two")) && !open("t").has_a_file_of(&open("other")));
    // Where the server does not tell who it is, its own address has to do.
    database.run("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM public");
    let plain = |host| server.remote(host, &database.name).replace("postgres:top", "asker:top") + "?table=t";
    let address = name(plain("localhost"));
    assert!(address.starts_with("postgresql://127.0.0.1:"), "{address}");
    assert_eq!(name(plain("127.0.0.1")), address);
    database.run("DROP OWNED BY asker; DROP ROLE asker");
}

/// 400,000 rows in a table of 50 MB, and the same in partitions.
fn large(database: &Database) {
    database.run(
        "CREATE TABLE large (n int, s text); INSERT INTO large SELECT n, repeat('x', 100) FROM generate_series(1, 400000) AS n;
         CREATE TABLE parts (n int, s text) PARTITION BY HASH (n);
         CREATE TABLE parts1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
         CREATE TABLE parts2 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
         INSERT INTO parts SELECT n, s FROM large",
    );
}

fn sum(batches: &[RecordBatch]) -> (usize, i64) {
    use arrow_array::cast::AsArray;
    let numbers = |batch: &RecordBatch| {
        batch.column(0).as_primitive::<arrow_array::types::Int64Type>().iter().flatten().sum::<i64>()
    };
    (batches.iter().map(RecordBatch::num_rows).sum(), batches.iter().map(numbers).sum())
}

const ALL: (usize, i64) = (400_000, 400_000 * 400_001 / 2);

#[test]
#[ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one"]
fn parts_have_every_row_once() {
    let database = Database::new();
    large(&database);
    for name in ["large", "parts"] {
        let table = database.open(name);
        for most in [1, 3, 16] {
            let scan = table.scan(&columns(&[("n", Type::Integer)]), most).unwrap();
            assert_eq!(scan.parts(), most);
            let of_part = |part| {
                let scan = scan.clone();
                std::thread::spawn(move || scan.read(part).collect::<Result<Vec<_>, _>>().unwrap())
            };
            let threads: Vec<_> = (0..most).map(of_part).collect();
            let parts: Vec<Vec<RecordBatch>> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
            let filled = parts.iter().filter(|part| sum(part).0 > 0).count();
            assert_eq!((sum(&parts.concat()), filled > 1), (ALL, most > 1), "{name} in {most} parts");
            assert!(parts.concat().iter().all(|batch| batch.num_rows() <= 8192));
        }
        assert!(serde_json::to_string(&table.scan(&Request::default(), 2).unwrap()).is_err());
    }
}

#[test]
#[ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one"]
fn every_reading_sees_one_snapshot() {
    let database = Database::new();
    large(&database);
    database.run("CREATE TABLE small (n int); INSERT INTO small VALUES (1)");
    let (mut large, mut small) = (database.open("large"), database.open("small"));
    Table::read_together([&mut large, &mut small]).unwrap();
    let numbers = |table: &Table, parts| table.scan(&columns(&[("n", Type::Integer)]), parts).unwrap();
    let scan = numbers(&large, 4);
    let mut first = scan.read(0);
    let start = first.next().unwrap().unwrap();
    // What is written now is not seen by the rest, nor by the other table, nor when the rows are read again.
    database.run("INSERT INTO small VALUES (2); UPDATE large SET n = -1; DELETE FROM parts; TRUNCATE parts");
    let mut all = vec![start];
    all.extend(first.map(Result::unwrap));
    all.extend((1..scan.parts()).flat_map(|part| scan.read(part)).map(Result::unwrap));
    assert_eq!(sum(&all), ALL);
    assert_eq!(cells(&read(&numbers(&small, 1)).unwrap()), ["1"]);
    assert_eq!(sum(&read(&numbers(&large, 3)).unwrap()), ALL);
    // One that is opened later sees it.
    assert_eq!(rows(&database.open("small"), &columns(&[("n", Type::Integer)])), ["1", "2"]);
    let (mut here, mut there) = (
        database.open("small"),
        Table::open("r", &format!("{}?table=large", database.server.remote("localhost", &database.name))).unwrap(),
    );
    let why = reason(Table::read_together([&mut here, &mut there]));
    assert!(why.contains("reached with another login"), "{why}");
    drop((large, small, scan));
    // Nobody is kept waiting by a table that is no longer read.
    database.run("SET lock_timeout = '5s'; ALTER TABLE large ADD COLUMN x int");
}

#[test]
#[ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one"]
fn whatever_goes_wrong_later_has_one_text() {
    let database = Database::new();
    large(&database);
    let open = || database.open("large").scan(&columns(&[("n", Type::Integer), ("s", Type::Text)]), 1).unwrap();
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let scan = open();
    let mut reader = scan.read(0);
    assert_eq!(reader.next().unwrap().unwrap().num_rows(), 8192);
    database.run(end);
    let rest: Vec<_> = reader.collect();
    assert_eq!(rest.last(), Some(&Err(Broken)));
    assert_eq!(rest.iter().filter(|batch| batch.is_err()).count(), 1);
    // There is no second snapshot.
    assert!(read(&scan).is_err());
    // A table that changed since it was opened, in what its catalogue says.
    for change in [
        "ALTER TABLE large ALTER COLUMN n TYPE int8",
        "ALTER TABLE large RENAME COLUMN s TO r",
        "ALTER TABLE large RENAME TO was; CREATE VIEW large AS SELECT n, 'x'::text AS r FROM was",
        "DROP VIEW large",
    ] {
        let table = if change.starts_with("DROP") { "was" } else { "large" };
        let names = database.open(table).columns().unwrap();
        let table = database.open(table);
        let scan = table.scan(&natural(&table, &[&names[0], &names[1]]), 2).unwrap();
        database.run(change);
        let changed = read(&scan);
        assert_eq!(changed.is_err(), !change.starts_with("DROP"), "{change}");
    }
    database.run("ALTER TABLE was RENAME TO large; ALTER TABLE large RENAME COLUMN r TO s");
    // A lock is waited for only so long; an interrupted reader leaves nothing behind.
    let scan = open();
    let mut reader = scan.read(0);
    reader.next().unwrap().unwrap();
    drop(reader);
    drop(scan);
    let mut client = database.client();
    let busy = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let left = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        client.query_one(busy, &[]).unwrap().get::<_, i64>(0) == 0
    });
    assert!(left, "a connection is left");
}

#[test]
#[ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one"]
fn whoever_waits_for_rows_can_look_up() {
    let database = Database::new();
    large(&database);
    let table = database.open("large");
    let scan = table.scan(&columns(&[("n", Type::Integer)]), 1).unwrap();
    let mut reader = scan.read(0);
    reader.next().unwrap().unwrap();
    // The process that sends the rows stands still.
    let mut client = database.client();
    let pid: i32 = client
        .query_one("SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'COPY%'", &[])
        .unwrap()
        .get(0);
    let signal = |signal| rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), signal).unwrap();
    signal(rustix::process::Signal::STOP);
    let start = std::time::Instant::now();
    let waited = reader.by_ref().map(Result::unwrap).take(10_000).any(|batch| batch.num_rows() == 0);
    signal(rustix::process::Signal::CONT);
    assert!(waited && start.elapsed().as_secs() < 60);
    let rest: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    assert!(sum(&rest).0 > 0);
}
