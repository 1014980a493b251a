//! Text that is not in UTF-8.

use super::*;

const TOWNS: &str = "SELECT town, COUNT(*) AS n FROM visits GROUP BY town";

fn utf_16(text: &str, order: fn(u16) -> [u8; 2]) -> Vec<u8> {
    std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(order).collect()
}

/// Every character below U+0100, of which each is one byte.
fn latin(text: &str) -> Vec<u8> {
    text.chars().map(|letter| u8::try_from(u32::from(letter)).expect("a byte")).collect()
}

fn towns(desk: &Desk, file: &str, more: &str) -> Vec<(String, i64)> {
    let arguments = format!("--table visits={file} --no-ledger --epsilon 200 --delta 1e-9 {more}");
    let (rows, _) = desk.json(TOWNS, &arguments);
    let town = |row: &Value| (row["town"].as_str().expect("text").to_owned(), row["n"]["value"].as_i64().expect("n"));
    rows.iter().map(town).collect()
}

#[test]
fn the_same_table_in_each_encoding() {
    let desk = Desk::new("encodings");
    let row = |row: usize| format!("u{row};{}\n", ["Zürich", "Genève", "Ã¼"][row % 3]);
    let csv = format!("user;town\n{}", (0..90).map(row).collect::<String>());
    let json = |row: usize| format!("{{\"town\": \"{}\"}}", ["Zürich", "Genève", "Ã¼"][row % 3]);
    let ndjson: String = (0..90).map(|row| json(row) + "\n").collect();
    let array = format!("[{}]", (0..90).map(json).collect::<Vec<_>>().join(","));
    let expected = [("Genève".to_owned(), 30), ("Zürich".to_owned(), 30), ("Ã¼".to_owned(), 30)];
    for (ending, text) in [("csv", &csv), ("tsv", &csv.replace(';', "\t")), ("ndjson", &ndjson), ("json", &array)] {
        desk.write(&format!("utf-8.{ending}"), text);
        desk.write(&format!("latin.{ending}"), latin(text));
        desk.write(&format!("little.{ending}"), utf_16(text, u16::to_le_bytes));
        desk.write(&format!("big.{ending}"), utf_16(text, u16::to_be_bytes));
        assert_eq!(towns(&desk, &format!("utf-8.{ending}"), ""), expected, "{ending}");
        for (file, encoding) in
            [("latin", "latin1"), ("latin", "windows-1252"), ("little", "utf-16"), ("big", "utf-16")]
        {
            let more = format!("--encoding {encoding}");
            assert_eq!(towns(&desk, &format!("{file}.{ending}"), &more), expected, "{ending} in {encoding}");
        }
    }
    // Without the option, what happens to be UTF-8 is read as that.
    let found = towns(&desk, "latin.csv", "");
    assert!(found.contains(&("ü".to_owned(), 30)) && found.contains(&("Zürich".to_owned(), 30)), "{found:?}");
}

/// No cell is NULL because of its encoding, and none decides how another is read.
#[test]
fn hostile_bytes_are_text() {
    let desk = Desk::new("encodings-hostile");
    let not_null = "SELECT COUNT(town) AS n FROM visits";
    let all: Vec<u8> = (1..=255).filter(|byte| !b"\r\n\",;".contains(byte)).collect();
    let rows = [b"a", &all[..], b"\xff\xfe", b"\xed\xa0\x80", b"\xc3", b"b"];
    let csv: Vec<u8> =
        [b"town"].into_iter().map(|cell| &cell[..]).chain(rows).flat_map(|row| [row, b"\n"].concat()).collect();
    desk.write("visits.csv", &csv);
    for more in ["", "--encoding latin1", "--encoding windows-1252"] {
        let arguments = format!("--table visits=visits.csv --no-ledger --epsilon 200 {more}");
        assert_eq!(desk.number(not_null, &arguments), 6.0, "{more}");
        assert_eq!(desk.number("SELECT COUNT(*) FROM visits WHERE town IN ('a', 'b')", &arguments), 2.0, "{more}");
    }
    let mut wide = utf_16("town\na\n", u16::to_le_bytes);
    for unit in [0xd800_u16, 0x0a, 0xdc00, 0xdc00, 0x0a, 0xffff, 0xfeff, 0x0a, 0x62, 0x0a, 0x0a0a, 0x0a] {
        wide.extend(unit.to_le_bytes());
    }
    wide.push(b'x');
    desk.write("wide.csv", wide);
    let arguments = "--table visits=wide.csv --no-ledger --epsilon 200 --encoding utf-16";
    assert_eq!(desk.number(not_null, arguments), 7.0);
    assert_eq!(desk.number("SELECT COUNT(*) FROM visits WHERE town IN ('a', 'b')", arguments), 2.0);
}

#[test]
fn an_encoding_is_charged_under_and_errors_name_it() {
    let desk = Desk::new("encodings-charges");
    let count = "SELECT COUNT(*) AS n FROM visits";
    desk.write("visits.csv", b"user\nZ\xfcrich\n");
    desk.write("wide.csv", utf_16("user\nZürich\n", u16::to_le_bytes));
    desk.write("marked.csv", "\u{feff}user\nZürich\n");
    let ask = |more: &str| format!("--table visits=visits.csv --epsilon 1 --request monday {more}");
    desk.answer(count, &ask("--encoding latin1"));
    desk.answer(count, &ask("--encoding latin1"));
    for other in ["", "--encoding windows-1252"] {
        desk.fails(2, count, &ask(other));
    }
    assert_eq!(desk.all_charges(), 1);
    let history = desk.program().args(["ledger", "history", "--format", "json"]).output().expect("it starts");
    let history = text(&history.stdout);
    assert!(history.contains("table visits = visits.csv in the encoding latin1"), "{history}");
    for (arguments, message) in [
        ("wide.csv", "wide.csv is text in UTF-16; choose --encoding utf-16, or save it in UTF-8"),
        ("wide.csv --encoding latin1", "wide.csv is text in UTF-16, not text in latin1"),
        ("visits.csv --encoding utf-16", "visits.csv does not start with the byte-order mark of UTF-16"),
        ("marked.csv --encoding windows-1252", "starts with the byte-order mark of UTF-8"),
        ("visits.csv --encoding utf-7", "an encoding is one of latin1, windows-1252 and utf-16"),
    ] {
        let said = desk.fails(2, count, &format!("--epsilon 1 --table visits={arguments}"));
        assert!(said.contains(message), "{arguments}: {said}");
    }
    desk.write("visits.parquet", include_bytes!("tiny.parquet"));
    let said = desk.fails(2, count, "--table visits=visits.parquet --epsilon 1 --encoding latin1");
    assert!(said.contains("--encoding is for text"), "{said}");
    assert_eq!(desk.all_charges(), 1);
}
