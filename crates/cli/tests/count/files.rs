//! Files as they are: compressed text, Parquet and Arrow.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray,
};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use super::accounting::count_at;
use super::*;

/// 2026-03-02T00:00:00Z, in milliseconds.
const START: i64 = 1_772_409_600_000;

/// The number, the milliseconds after [`START`] and the page of some rows, each of which may be missing.
type Row = (Option<i64>, Option<i64>, Option<&'static str>);

fn rows(count: i64) -> Vec<Row> {
    let page = |row: i64| [Some("home"), Some("help, please"), None, Some("say \"no\""), Some("")][row as usize % 5];
    let number = |row: i64| (row % 7 != 3).then_some(row % 11 - 2);
    (0..count).map(|row| (number(row), (row % 13 != 5).then_some(row * 7_919_731 % 14_400_000), page(row))).collect()
}

fn csv(rows: &[Row]) -> String {
    let line = |(number, at, page): &Row| {
        let at = at.map(time);
        let page = page.map(|page| format!("\"{}\"", page.replace('"', "\"\"")));
        let number = number.map(|number| number.to_string());
        format!("{},{},{}\n", page.unwrap_or_default(), number.unwrap_or_default(), at.unwrap_or_default())
    };
    format!("page,n,at\n{}", rows.iter().map(line).collect::<String>())
}

/// In seconds with three decimal digits.
fn time(at: i64) -> String {
    format!("{}.{:03}", (START + at) / 1000, (START + at) % 1000)
}

fn ndjson(rows: &[Row]) -> String {
    let line = |(number, at, page): &Row| {
        let at = at.map(time);
        format!("{}\n", serde_json::json!({"at": at, "n": number, "page": page}))
    };
    rows.iter().map(line).collect()
}

fn batch(rows: &[Row]) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(rows.iter().map(|row| row.0).collect::<Int64Array>());
    let times = rows.iter().map(|row| row.1.map(|at| START + at)).collect::<TimestampMillisecondArray>();
    let pages: ArrayRef = Arc::new(rows.iter().map(|row| row.2).collect::<StringArray>());
    RecordBatch::try_from_iter([("page", pages), ("n", numbers), ("at", Arc::new(times))]).expect("a batch")
}

/// Writes a batch in the format of the file's name, in groups of a few rows.
fn write(path: &Path, batch: &RecordBatch) {
    let file = fs::File::create(path).expect("a file");
    let pieces = (0..batch.num_rows()).step_by(70).map(|start| batch.slice(start, 70.min(batch.num_rows() - start)));
    match path.extension().and_then(|ending| ending.to_str()).expect("an ending") {
        "parquet" => {
            let groups = WriterProperties::builder().set_max_row_group_row_count(Some(70)).build();
            let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(groups)).expect("a writer");
            writer.write(batch).expect("written");
            writer.close().expect("closed");
        }
        "arrow" => {
            let mut writer = FileWriter::try_new(file, &batch.schema()).expect("a writer");
            pieces.for_each(|piece| writer.write(&piece).expect("written"));
            writer.finish().expect("closed");
        }
        _ => {
            let mut writer = StreamWriter::try_new(file, &batch.schema()).expect("a writer");
            pieces.for_each(|piece| writer.write(&piece).expect("written"));
            writer.finish().expect("closed");
        }
    }
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).expect("packed");
    encoder.finish().expect("packed")
}

fn zstandard(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 1).expect("packed")
}

/// The same rows in every format; the names of the files.
fn files(folder: &Path, rows: &[Row]) -> Vec<String> {
    let (csv, ndjson) = (csv(rows), ndjson(rows));
    let mut files = Vec::new();
    let mut text = |name: &str, bytes: Vec<u8>| {
        fs::write(folder.join(name), bytes).expect("written");
        files.push(name.to_owned());
    };
    text("rows.csv", csv.clone().into_bytes());
    text("rows.csv.gz", gzip(csv.as_bytes()));
    text("rows.CSV.ZST", zstandard(csv.as_bytes()));
    text("rows.ndjson", ndjson.clone().into_bytes());
    text("rows.ndjson.zst", zstandard(ndjson.as_bytes()));
    text("rows.jsonl.gz", gzip(ndjson.as_bytes()));
    for name in ["rows.parquet", "rows.arrow", "rows.feather", "rows.ipc"] {
        if name == "rows.feather" {
            fs::copy(folder.join("rows.arrow"), folder.join(name)).expect("copied");
        } else {
            write(&folder.join(name), &batch(rows));
        }
        files.push(name.to_owned());
    }
    files.into_iter().map(|name| folder.join(name).display().to_string()).collect()
}

fn printed(arguments: &str) -> String {
    let arguments = format!("{arguments} --epsilon {WITHOUT_NOISE} --format csv --no-ledger");
    let output = count_with(&arguments, b"");
    assert_eq!(output.status.code(), Some(0), "{arguments}: {}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn the_same_rows_give_the_same_counts_in_every_format() {
    let folder = directory("formats");
    fs::write(folder.join("keys"), "home\nhelp, please\nsay \"no\"\n").expect("written");
    let keys = folder.join("keys").display().to_string();
    let files = files(&folder, &rows(500));
    for arguments in [
        "--column n --range -2..9 --horizon 500".to_owned(),
        "--column n --events --horizon 500".into(),
        "--events --horizon 500".into(),
        "--column page --events --horizon 500".into(),
        "--column n --range -2..9 --time at --step 1h --from 2026-03-02 --horizon 4".into(),
        format!("--key page --keys {keys} --time at --step 10m --from 2026-03-02 --horizon 24"),
        format!("--key page --keys {keys} --column n --range -2..9 --horizon 500"),
    ] {
        let expected = printed(&format!("{} {arguments}", files[0]));
        assert!(expected.lines().count() > 4, "{expected}");
        for file in &files[1..] {
            assert_eq!(printed(&format!("{file} {arguments}")), expected, "{file} {arguments}");
        }
    }
}

/// Plain numbers, and types that text does not have.
#[test]
fn values_of_other_types_count_by_the_rules_of_ndjson() {
    let folder = directory("types");
    let lines = folder.join("lines.txt.gz");
    fs::write(&lines, [gzip(b"1\n2\n"), gzip(b"x\n3")].concat()).expect("written");
    assert_eq!(sums(&format!("{} --range 0..9 --horizon 9", lines.display()), b""), [1, 3, 3, 6]);
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![3.0, 1.5, f64::NAN, -2.0, 1e300]));
    let bits: ArrayRef = Arc::new(BooleanArray::from(vec![Some(true), Some(false), None, Some(true), Some(true)]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("4"), Some("4.5"), None, Some(" -1 "), Some("x")]));
    let batch = RecordBatch::try_from_iter_with_nullable([("f", floats, true), ("b", bits, true), ("t", texts, true)]);
    let path = folder.join("types.parquet");
    write(&path, &batch.expect("a batch"));
    for (column, expected) in [("f", [3, 3, 3, 1, 11]), ("b", [1, 1, 1, 2, 3]), ("t", [4, 4, 4, 3, 3])] {
        let arguments = format!("{} --column {column} --range -9..10 --horizon 9", path.display());
        assert_eq!(sums(&arguments, b""), expected, "{column}");
    }
    // Whatever its name is.
    let other = folder.join("types.bin");
    fs::copy(&path, &other).expect("copied");
    assert_eq!(sums(&format!("{} --column b --input parquet --horizon 9", other.display()), b""), [1, 1, 1, 2, 3]);
}

/// Like plain files: the file is the dataset, a request is remembered, and a saved counter goes on.
#[test]
fn requests_and_saved_counters_work_as_for_plain_files() {
    let home = directory("files-state");
    for file in files(&home, &rows(20)) {
        let arguments = format!("{file} --column n --range -2..9 --epsilon 1 --horizon 30 --request monday");
        let first = count_at(&home, &arguments, b"");
        assert_eq!(first.status.code(), Some(0), "{file}: {}", text(&first.stderr));
        assert!(text(&first.stderr).contains(&format!("charged to {file} in your ledger")), "{}", text(&first.stderr));
        let second = count_at(&home, &arguments, b"");
        assert_eq!(text(&first.stdout), text(&second.stdout), "{file}");

        let save = home.join("state.json");
        for ending in ["", ".epoch", ".lock"] {
            let _ = fs::remove_file(home.join(format!("state.json{ending}")));
        }
        let saved = format!("{file} --format json --save {}", save.display());
        let started = format!("{saved} --column n --range -2..9 --epsilon {WITHOUT_NOISE} --horizon 60");
        let started = count_at(&home, &started, b"");
        assert_eq!(started.status.code(), Some(0), "{file}: {}", text(&started.stderr));
        let sums = values_from(1, &started);
        let more = count_at(&home, &format!("{saved} --resume"), b"");
        let twice: Vec<i64> = sums.iter().map(|sum| sum + sums.last().expect("a sum")).collect();
        assert_eq!(values_from(21, &more), twice, "{file}: {}", text(&more.stderr));
        let skipped = count_at(&home, &format!("{saved} --resume --skip-counted"), b"");
        assert!(skipped.status.success() && skipped.stdout.is_empty(), "{file}: {}", text(&skipped.stderr));
    }
}

/// After the charge, with the one text; nothing tells how far it went, and nothing is a shorter file.
#[test]
fn a_file_that_is_damaged_in_the_middle_fails_after_the_charge() {
    let home = directory("files-damaged");
    let rows = rows(40_000);
    let (csv, batch) = (csv(&rows), batch(&rows));
    let cut = |bytes: Vec<u8>| bytes[..bytes.len() / 2].to_vec();
    fs::write(home.join("cut.csv.gz"), cut(gzip(csv.as_bytes()))).expect("written");
    fs::write(home.join("cut.csv.zst"), cut(zstandard(csv.as_bytes()))).expect("written");
    // The end of the only member is missing, and with it nothing but the checksum.
    let mut unchecked = gzip(&csv.as_bytes()[..2000]);
    unchecked.truncate(unchecked.len() - 4);
    fs::write(home.join("unchecked.csv.gz"), unchecked).expect("written");
    write(&home.join("whole.ipc"), &batch);
    let whole = fs::read(home.join("whole.ipc")).expect("read");
    fs::write(home.join("cut.ipc"), cut(whole)).expect("written");
    write(&home.join("damaged.parquet"), &batch);
    let mut damaged = fs::read(home.join("damaged.parquet")).expect("read");
    let middle = damaged.len() / 2;
    damaged[middle..middle + 3000].fill(0xff);
    fs::write(home.join("damaged.parquet"), damaged).expect("written");
    for name in ["cut.csv.gz", "cut.csv.zst", "unchecked.csv.gz", "cut.ipc", "damaged.parquet"] {
        let file = home.join(name).display().to_string();
        for more in
            ["--column n --horizon 50000", "--key page --keys home --time at --step 4h --from 2026-03-02 --horizon 1"]
        {
            let output = count_at(&home, &format!("{file} --epsilon 1 {more}"), b"");
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{name}: {said}");
            assert!(said.contains(&format!("charged to {file} in your ledger")), "{name}: {said}");
            assert!(said.ends_with("error: reading the input failed\n"), "{name}: {said}");
        }
    }
}

#[test]
fn what_cannot_be_read_is_refused_before_the_charge() {
    let home = directory("files-refused");
    let rows = rows(100);
    files(&home, &rows);
    fs::write(home.join("plain.csv.gz"), csv(&rows)).expect("written");
    fs::write(home.join("twice.csv.gz"), gzip(&gzip(b"n\n1\n"))).expect("written");
    fs::write(home.join("start.csv.gz"), &gzip(csv(&rows).as_bytes())[..12]).expect("written");
    fs::write(home.join("rows.parquet.gz"), gzip(b"PAR1")).expect("written");
    fs::write(home.join("cut.parquet"), &fs::read(home.join("rows.parquet")).expect("read")[..900]).expect("written");
    fs::write(home.join("rows.xlsx"), "PK\x03\x04").expect("written");
    for (arguments, message) in [
        ("plain.csv.gz --column n", "plain.csv.gz is not compressed; rename it to end in .csv"),
        ("twice.csv.gz --column n", "decompressed, is compressed with gzip"),
        ("start.csv.gz --column n", "cannot be read: the file is damaged or was cut off"),
        ("rows.parquet.gz --column n", "must be decompressed first"),
        ("cut.parquet --column n", "is not a complete Parquet file"),
        ("rows.xlsx --column n", "has no lines"),
        ("rows.parquet --column m", "there is no column `m`; there are page, n, at"),
        ("rows.parquet --column at", "the column `at` is a timestamp, not a number"),
        ("rows.csv.gz --column m", "has no column m"),
        ("rows.csv --column n --input parquet", "is not a complete Parquet file"),
        ("rows.csv.gz --column n --counter pan-private", "decoding gzip leaves copies of the values"),
        ("rows.parquet --column n --counter pan-private-surviving", "decoding parquet leaves copies of the values"),
    ] {
        let output = count_at(&home, &format!("{}/{arguments} --epsilon 1 --horizon 128", home.display()), b"");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {said}");
        assert!(said.contains(message), "{arguments}: {said}");
        assert!(!said.contains("charged to") && output.stdout.is_empty(), "{arguments}: {said}");
    }
}

/// Whatever one row holds, what is said about the file and how the command ends stay the same.
#[test]
fn a_row_changes_no_error() {
    let folder = directory("files-neighbours");
    let long = "x".repeat(70_000);
    let pages = [Some("home"), None, Some("\u{0}\"\\\n\r"), Some(long.as_str()), Some("")];
    for (number, page) in pages.into_iter().enumerate() {
        let pages: ArrayRef = Arc::new(StringArray::from(vec![Some("home"), page, Some("home")]));
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, i64::MIN, 1]));
        let batch = RecordBatch::try_from_iter_with_nullable([("page", pages, true), ("n", numbers, true)]);
        let path = folder.join(format!("{number}.parquet"));
        write(&path, &batch.expect("a batch"));
        let arguments = format!("{} --key page --keys home --column n --range 0..9 --horizon 3", path.display());
        let lines = printed(&arguments);
        assert_eq!((lines.lines().count(), lines.matches("home,2").count()), (4, 1), "{lines}");
        let values = printed(&format!("{} --column page --events --horizon 3", path.display()));
        assert_eq!(values.lines().count(), 4, "{values}");
    }
}
