//! Folders, patterns and formats.

use std::io::Write;

use super::*;

const COUNT: &str = "SELECT COUNT(*) AS n FROM visits";

#[test]
fn folders_and_patterns_are_one_table() {
    let desk = Desk::new("folders");
    desk.write("data/a.csv", visits(10));
    desk.write("data/b.csv", visits(20));
    desk.write("data/notes.txt", "not a table");
    for (location, rows) in [("data", 30.0), ("data/*.csv", 30.0), ("data/[b-z].csv", 20.0), ("./data/a.csv", 10.0)] {
        assert_eq!(desk.number(COUNT, &format!("--table visits={location} --epsilon 200")), rows, "{location}");
    }
    let folder = desk.0.join("data").display().to_string();
    assert_eq!(desk.charges()[0], (folder, 3), "a folder and a pattern in it are the same");
    let said = desk.fails(2, COUNT, "--table visits=data/c*.csv --epsilon 1");
    assert!(said.contains("no file matches"), "{said}");
    desk.write("data/c.csv", "user,other\n");
    let said = desk.fails(2, COUNT, "--table visits=data --epsilon 1");
    assert!(said.contains("c.csv"), "{said}");
}

#[test]
fn objects_and_tabs_are_read() {
    let desk = Desk::new("formats");
    desk.write(
        "visits.ndjson",
        "{\"user\":\"u1\",\"age\":30}\n{\"user\":\"u2\",\"age\":\"old\"}\nno object\n{\"age\":40.5}\n",
    );
    desk.write("visits.tsv", "user\tage\nu1\t30\nu2\told\n\t40.5\n");
    for file in ["visits.ndjson", "visits.tsv"] {
        let number = |sql: &str, more: &str| {
            desk.number(sql, &format!("--table visits={file} --no-ledger --epsilon 900 --bounds age=0..100 {more}"))
        };
        assert_eq!(number(COUNT, ""), 3.0, "{file}");
        assert_eq!(number("SELECT COUNT(age) FROM visits", ""), 2.0, "{file}");
        assert!((number("SELECT SUM(age) FROM visits", "") - 70.5).abs() < 1.0, "{file}");
        assert_eq!(number(COUNT, "--unit user --max-rows 1"), 2.0, "{file}: a row that is nobody's is dropped");
    }
}

/// As `DataFrame.to_json(orient="records")` writes it, on one line or on many.
#[test]
fn an_array_of_objects_is_a_table() {
    let desk = Desk::new("array");
    desk.write("short.json", r#"[{"user":"u1","note":"],[{"},{"user":"u2","note":null}]"#);
    desk.write(
        "long.json",
        "\u{feff} [\n  {\n    \"user\": \"u1\"\n  },\n  7,\n  {\"user\": \"u2\", \"more\": [{}]}\n]\n",
    );
    for file in ["short.json", "long.json"] {
        let arguments = format!("--table visits={file} --no-ledger --epsilon 200");
        assert_eq!(desk.number(COUNT, &arguments), 2.0, "{file}");
        assert_eq!(desk.number("SELECT COUNT(*) FROM visits WHERE user = 'u2'", &arguments), 1.0, "{file}");
    }
}

/// Spreadsheets still write Windows-1252: it is decoded, in names and in cells.
#[test]
fn text_that_is_not_utf_8_is_read() {
    let desk = Desk::new("latin");
    desk.write("visits.csv", b"user,stra\xdfe\nu1,Z\xfcrich\nu2,Z\xc3\xbcrich\nu3,Gen\xe8ve\n");
    let sql = "SELECT \"straße\", COUNT(*) AS n FROM visits GROUP BY \"straße\"";
    let arguments = "--table visits=visits.csv --no-ledger --epsilon 200 --keys straße=Zürich,Genève";
    let (rows, _) = desk.json(sql, arguments);
    let counts: Vec<(&str, i64)> = rows
        .iter()
        .map(|row| (row["straße"].as_str().expect("text"), row["n"]["value"].as_i64().expect("a count")))
        .collect();
    assert_eq!(counts, [("Genève", 1), ("Zürich", 2)]);
}

#[test]
fn what_is_not_text_is_refused_before_the_charge() {
    let desk = Desk::new("not-text");
    let gzip: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03";
    for (file, content, said) in [
        ("visits.csv", gzip, "compressed with gzip; rename it to end in .csv.gz"),
        ("visits.ndjson", gzip, "compressed with gzip; rename it to end in .ndjson.gz"),
        ("visits.csv.gz", b"user,age\n", "visits.csv.gz is not compressed; rename it to end in .csv"),
        ("visits.parquet.gz", gzip, "visits.parquet.gz must be decompressed first"),
        ("visits.csv", TINY, "is a Parquet file; rename it to end in .parquet"),
        ("visits.csv", b"\xff\xfeu\0s\0e\0r\0", "UTF-16"),
    ] {
        desk.write(file, content);
        let answer = desk.fails(2, COUNT, &format!("--table visits={file} --epsilon 1"));
        assert!(answer.contains(said), "{file}: {answer}");
    }
    assert_eq!(desk.charges(), []);
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).expect("packed");
    encoder.finish().expect("packed")
}

#[test]
fn compressed_text_is_read_and_a_damaged_file_has_the_one_text() {
    let desk = Desk::new("packed");
    desk.write("visits.csv.gz", [gzip(&visits(10)), gzip("u1,1\nu2,2\n")].concat());
    assert_eq!(desk.number(COUNT, "--table visits=visits.csv.gz --epsilon 200"), 12.0);
    let mut damaged = gzip(&visits(10_000));
    let middle = damaged.len() / 2;
    damaged.truncate(middle);
    desk.write("damaged.csv.gz", damaged);
    desk.answer(COUNT, "--table visits=damaged.csv.gz --epsilon 1 --dry-run");
    let said = desk.fails(1, COUNT, "--table visits=damaged.csv.gz --epsilon 1");
    let fixed = "error: the table could not be read to its end; what was charged stays charged\n";
    assert!(said.ends_with(fixed), "{said}");
    assert_eq!(desk.all_charges(), 2);
}

/// A request is remembered with the delimiter that was chosen: with another one, it is another request.
#[test]
fn a_delimiter_is_found_or_chosen_and_charged_under() {
    let desk = Desk::new("delimiter");
    desk.write("visits.csv", "user;age\nu1;30\nu2;40,5\n");
    let sql = "SELECT COUNT(age) AS n FROM visits";
    for more in ["", "--delimiter ;", "--public-table other=other.tsv --delimiter ;"] {
        desk.write("other.tsv", "user\tregion\n");
        assert_eq!(desk.number(sql, &format!("--table visits=visits.csv --no-ledger --epsilon 200 {more}")), 2.0);
    }
    let ask = |more: &str| format!("--table visits=visits.csv --epsilon 1 --request monday {more}");
    desk.answer(COUNT, &ask("--delimiter tab"));
    desk.answer(COUNT, &ask("--delimiter tab"));
    for other in ["", "--delimiter ;"] {
        desk.fails(2, COUNT, &ask(other));
    }
    assert_eq!(desk.all_charges(), 1);
    let history = desk.program().args(["ledger", "history", "--format", "json"]).output().expect("it starts");
    let history = text(&history.stdout);
    assert!(history.contains("table visits = visits.csv separated by tabs"), "{history}");
    let said = desk.fails(2, COUNT, "--table visits=visits.csv --epsilon 1 --delimiter x");
    assert!(said.contains("a delimiter is one of , ; | and tab"), "{said}");
    let said = desk.fails(2, COUNT, "--table visits=other.tsv --epsilon 1 --delimiter ;");
    assert!(said.contains("--delimiter is for CSV tables"), "{said}");
}

/// Two columns, user and age, and four rows: u1 30, u2 40, u2 41, u3 −5; each column is one plain page.
const TINY: &[u8] = include_bytes!("tiny.parquet");

#[test]
fn parquet_is_read() {
    let desk = Desk::new("parquet");
    desk.write("visits.parquet", TINY);
    let arguments = "--table visits=visits.parquet --no-ledger --epsilon 900 --bounds age=0..100";
    assert_eq!(desk.number(COUNT, arguments), 4.0);
    assert_eq!(desk.number(COUNT, &format!("{arguments} --unit user --max-rows 1")), 3.0);
    assert_eq!(desk.number("SELECT COUNT(*) FROM visits WHERE age > 30", arguments), 2.0);
    assert!((desk.number("SELECT SUM(age) FROM visits", arguments) - 111.0).abs() < 1.0);
    let (rows, _) = desk.json(
        "SELECT age, COUNT(*) AS n FROM visits GROUP BY age",
        "--table visits=visits.parquet --no-ledger --epsilon 900 --keys age=41,7",
    );
    assert_eq!(rows.iter().map(|row| row["age"].clone()).collect::<Vec<_>>(), [7, 41]);
    let said = desk.fails(2, "SELECT SUM(user) FROM visits", arguments);
    assert!(said.contains("it is text, not a number"), "{said}");
}

#[test]
fn a_dry_run_reads_no_row_and_a_broken_table_has_one_text() {
    /// Where the rows of the first column begin, after the letters PAR1.
    const ROWS: std::ops::Range<usize> = 4..30;
    let desk = Desk::new("broken");
    let mut broken = TINY.to_vec();
    broken[ROWS].fill(0xff);
    desk.write("visits.parquet", broken);
    let sql = "SELECT COUNT(user) FROM visits";
    desk.answer(sql, "--table visits=visits.parquet --epsilon 1 --dry-run");
    assert_eq!(desk.charges(), []);
    let said = desk.fails(1, sql, "--table visits=visits.parquet --epsilon 1");
    assert!(
        said.ends_with("error: the table could not be read to its end; what was charged stays charged\n"),
        "{said}"
    );
    assert_eq!(desk.all_charges(), 1, "it was charged before a row was read");
    desk.write("visits.parquet", &TINY[..TINY.len() - 1]);
    let said = desk.fails(2, sql, "--table visits=visits.parquet --epsilon 1");
    assert!(said.contains("visits.parquet"), "{said}");
    assert_eq!(desk.all_charges(), 1);
}
