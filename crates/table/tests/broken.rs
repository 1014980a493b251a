//! Files that are broken or hostile: what is reported before rows are read, and that nothing is reported after.

mod common;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::*;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use common::*;
use parquet::basic::{Repetition, Type as PhysicalType};
use parquet::data_type::ByteArrayType;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::Type as ParquetType;
use proptest::prelude::*;
use reticent_table::{Broken, Table, Type};
use tempfile::TempDir;

const PEOPLE: [(&str, Type); 2] = [("id", Type::Text), ("age", Type::Number)];

/// Silences the messages of decoders that panic.
fn hush() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let ours = |file: &str| !file.contains("/registry/") && !file.starts_with("/rustc/");
            if panic.location().is_none_or(|place| ours(place.file())) {
                usual(panic);
            }
        }));
    });
}

/// All usable columns, and the unit if `id` can be one.
fn read_all(table: &Table) -> Result<Vec<RecordBatch>, Broken> {
    let names = table.columns().unwrap_or_default();
    let mut request = natural(table, &names.iter().map(String::as_str).collect::<Vec<_>>());
    if let Ok(form) = table.unit_type("id") {
        request.unit = Some(reticent_table::UnitColumn { name: "id".to_owned(), form });
    }
    read(&table.scan(&request, 1).expect("a scan"))
}

#[test]
fn what_lies_outside_the_rows_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("people.csv"), "id,age\n").unwrap();
    let location = path("peple.csv").display().to_string();
    let error = Table::open("people", &location).unwrap_err();
    let near = path("people.csv").display().to_string();
    assert_eq!(error.to_string(), format!("table people={location}: there is no such file; nearest: {near}"));
    fs::create_dir(path("empty")).unwrap();
    assert!(reason(open(&path("empty"))).starts_with("there are no tables in this folder"));
    fs::write(path("people.xlsx"), "").unwrap();
    assert!(
        reason(open(&path("people.xlsx")))
            .contains("people.xlsx has an unknown format; supported file endings are .csv, .tsv,")
    );
    fs::write(path("nothing.csv"), "").unwrap();
    assert!(reason(open(&path("nothing.csv"))).starts_with("nothing.csv has no header"));
    fs::write(path("twice.csv"), "id,age,id\n1,2,3\n").unwrap();
    assert!(reason(open(&path("twice.csv"))).starts_with("twice.csv has two columns named `id`"));
    fs::create_dir(path("two")).unwrap();
    fs::write(path("two/a.csv"), "id,age\n").unwrap();
    fs::write(path("two/b.csv"), "age,id\n").unwrap();
    assert_eq!(reason(open(&path("two"))), "b.csv has a different header than a.csv");
    fs::write(path("two/c.ndjson"), "").unwrap();
    assert!(reason(open(&path("two"))).starts_with("all files of a table must have the same format"));
    for name in ["text.parquet", "text.arrow"] {
        for text in ["id,age\n1,2\n", "", "PAR1", "PAR1PAR1", "ARROW1", "\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}"]
        {
            fs::write(path(name), text).unwrap();
            assert!(reason(open(&path(name))).starts_with(&format!("{name} is not a complete")), "{name}");
        }
    }
}

/// A Parquet file and an Arrow file with broken values but intact footers.
fn broken_values(folder: &TempDir, ages: Vec<f64>) -> Vec<Table> {
    let ages: ArrayRef = Arc::new(Float64Array::from(ages));
    let batch = batch(vec![("age", ages)]);
    let paths = ["t.parquet", "t.arrow"].map(|name| folder.path().join(name));
    for (path, footer) in paths.iter().zip([8, 10]) {
        write(path, &batch, 10);
        let mut bytes = fs::read(path).unwrap();
        let end = bytes.len() - footer;
        let length = u32::from_le_bytes(bytes[end..end + 4].try_into().unwrap()) as usize;
        bytes[8..end - length].fill(0xff);
        fs::write(path, bytes).unwrap();
    }
    paths.iter().map(|path| open(path).expect("a footer that can be read")).collect()
}

#[test]
fn what_breaks_while_reading_has_one_text() {
    hush();
    for ages in [vec![1.0, 2.0, 3.0], vec![7.5]] {
        let folder = tempfile::tempdir().unwrap();
        let mut tables = broken_values(&folder, ages.clone());
        for (name, text) in [("gone.csv", "id,age\n"), ("gone.ndjson", "")] {
            fs::write(folder.path().join(name), text).unwrap();
            tables.push(open(&folder.path().join(name)).unwrap());
            fs::remove_file(folder.path().join(name)).unwrap();
        }
        for table in &tables {
            let scan = table.scan(&columns(&[("age", Type::Number)]), 2).unwrap();
            let mut reader = scan.read(0);
            let error = reader.next().unwrap().unwrap_err();
            assert_eq!(error.to_string(), "the table could not be read to its end");
            assert!(reader.next().is_none(), "nothing follows");
        }
    }
}

#[test]
fn text_that_is_not_utf_8_is_windows_1252_in_a_cell_and_breaks_a_typed_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |ending: &str| folder.path().join("t").with_extension(ending);
    fs::write(path("csv"), b"id,age\n\xff,1\n\0,2\n").unwrap();
    assert_eq!(rows(&open(&path("csv")).unwrap(), &columns(&PEOPLE)), ["\u{ff}|1", "\0|2"]);
    let schema = Arc::new(parse_message_type("message m { required binary id (UTF8); }").unwrap());
    let file = fs::File::create(path("parquet")).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<ByteArrayType>().write_batch(&[vec![0xff].into()], None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    let ids: ArrayRef = Arc::new(StringArray::from(vec!["a text to be found"]));
    write(&path("arrow"), &batch(vec![("id", ids)]), 1);
    let mut bytes = fs::read(path("arrow")).unwrap();
    let place = bytes.windows(6).position(|bytes| bytes == b"a text").unwrap();
    bytes[place] = 0xff;
    replace(&path("arrow"), &bytes);
    for ending in ["parquet", "arrow"] {
        let scan = open(&path(ending)).unwrap().scan(&columns(&[("id", Type::Text)]), 1).unwrap();
        assert_eq!(read(&scan), Err(Broken), "{ending}");
    }
}

#[test]
fn a_file_that_was_replaced_is_broken() {
    let folder = tempfile::tempdir().unwrap();
    for ending in TYPED {
        let path = folder.path().join("t").with_extension(ending);
        write(&path, &people(), 4);
        let scan = open(&path).unwrap().scan(&columns(&PEOPLE), 1).unwrap();
        let ages: ArrayRef = Arc::new(Float64Array::from(vec![1.0]));
        let names: ArrayRef = Arc::new(Int8Array::from(vec![1]));
        for other in [vec![("age", ages.clone())], vec![("age", ages), ("id", names)]] {
            write(&path, &batch(other), 4);
            assert_eq!(read(&scan), Err(Broken), "{ending}");
        }
        if ending != "ipc" {
            write(&path, &people(), 1);
            assert_eq!(read(&scan), Err(Broken), "{ending} with more pieces than before");
        }
    }
}

#[test]
fn footers_that_are_cut_off_are_told_at_once() {
    hush();
    let folder = tempfile::tempdir().unwrap();
    for name in ["t.parquet", "t.arrow"] {
        let path = folder.path().join(name);
        write(&path, &people(), 2);
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            replace(&path, &whole[..length]);
            assert!(reason(open(&path)).starts_with(&format!("{name} is not a complete")), "{length} bytes of {name}");
        }
    }
}

#[test]
fn a_stream_that_is_cut_off_is_an_error_or_shorter() {
    hush();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.ipc");
    write(&path, &people(), 2);
    let whole = fs::read(&path).unwrap();
    for length in 0..whole.len() {
        replace(&path, &whole[..length]);
        if let Ok(table) = open(&path) {
            let _: Result<_, Broken> = read_all(&table);
        }
    }
}

/// Opens and reads a file with one of its bytes changed, every `step`th in turn.
fn flip(path: &Path, change: u8, step: usize) -> (usize, usize, usize) {
    let whole = fs::read(path).unwrap();
    let (mut refused, mut broken, mut answered) = (0, 0, 0);
    for place in (0..whole.len()).step_by(step) {
        let mut bytes = whole.clone();
        bytes[place] ^= change;
        replace(path, &bytes);
        match open(path) {
            Err(error) => {
                refused += 1;
                let text = error.to_string();
                assert!(!text.contains("secret"), "{text}");
            }
            Ok(table) => match read_all(&table) {
                Ok(_) => answered += 1,
                Err(Broken) => broken += 1,
            },
        }
    }
    (refused, broken, answered)
}

#[test]
fn a_flipped_byte_breaks_nothing_but_the_answer() {
    hush();
    let folder = tempfile::tempdir().unwrap();
    let ids: ArrayRef = Arc::new(StringArray::from(vec![Some("secret"), None, Some("secret, but longer than a view")]));
    let ages: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.5), None, Some(f64::INFINITY)]));
    let days: ArrayRef = Arc::new(Date32Array::from(vec![1, 2, 3]));
    let rows = batch(vec![("id", ids), ("age", ages), ("day", days)]);
    for ending in ["parquet", "arrow", "ipc", "feather"] {
        let path = folder.path().join("t").with_extension(ending);
        for (change, step) in [(0xff, 1), (0x01, 5), (0x80, 5)] {
            write(&path, &rows, 2);
            let (refused, broken, answered) = flip(&path, change, step);
            assert!(refused > 0 && broken > 0 && answered > 0, "{ending}: {refused}, {broken}, {answered}");
        }
    }
}

#[test]
fn a_compressed_stream_cannot_claim_all_memory() {
    hush();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.ipc");
    let numbers: ArrayRef = Arc::new(Float64Array::from(vec![1.5; 100]));
    let numbers = batch(vec![("n", numbers)]);
    for codec in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
        let options = IpcWriteOptions::default().try_with_compression(Some(codec)).unwrap();
        let file = fs::File::create(&path).unwrap();
        let mut writer = StreamWriter::try_new_with_options(file, &numbers.schema(), options).unwrap();
        writer.write(&numbers).unwrap();
        writer.finish().unwrap();
        let (refused, broken, answered) = flip(&path, 0xff, 1);
        assert!(refused > 0 && broken > 0 && answered > 0, "{refused}, {broken}, {answered}");
    }
}

#[test]
fn a_schema_without_end_does_not_end_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let file = fs::File::create(&path).unwrap();
    // Building and dropping such a schema needs a deep stack, too.
    let nested = std::thread::Builder::new().stack_size(1 << 30).spawn(move || {
        let column = ParquetType::primitive_type_builder("a", PhysicalType::INT32).build().unwrap();
        let group = |inside| {
            ParquetType::group_type_builder("g")
                .with_repetition(Repetition::OPTIONAL)
                .with_fields(vec![Arc::new(inside)])
                .build()
                .unwrap()
        };
        let nested = (0..5_000).fold(column, |inside, _| group(inside));
        let root = ParquetType::group_type_builder("m").with_fields(vec![Arc::new(nested)]).build().unwrap();
        SerializedFileWriter::new(file, Arc::new(root), Default::default()).unwrap().close().unwrap();
    });
    nested.unwrap().join().unwrap();
    assert!(reason(open(&path)).starts_with("t.parquet is not a complete Parquet file"));
}

#[test]
fn opening_says_the_same_whatever_the_rows_are() {
    let rows: [&[u8]; 6] = [b"", b"1,2\n", b"\"", b"\xff\0,,,,\n\"\"\"", b"id,age\n", b"\xef\xbb\xbf\r\r\r"];
    for header in ["id,age\n", "id,id\n", "id,\n", "\"id,age\n", ",\r\n"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        let open_with = |rows: &[u8]| {
            fs::write(&path, [header.as_bytes(), rows].concat()).unwrap();
            open(&path).map(|table| table.columns()).map_err(|error| error.to_string())
        };
        let first = open_with(rows[0]);
        rows.iter().for_each(|rows| assert_eq!(open_with(rows), first, "{header:?} and {rows:?}"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_row_is_an_error(rows in proptest::collection::vec(any::<u8>(), 0..400), spice in "[\",\n\\{\\}:0-9ide]{0,200}") {
        let folder = tempfile::tempdir().unwrap();
        let rows = [rows.as_slice(), spice.as_bytes()].concat();
        for (name, header) in [("t.csv", "id,age\n"), ("t.tsv", "id\tage\n"), ("t.ndjson", "")] {
            let path = folder.path().join(name);
            fs::write(&path, [header.as_bytes(), &rows].concat()).unwrap();
            let table = open(&path).unwrap();
            let scan = table.scan(&columns(&PEOPLE), 2).unwrap();
            prop_assert!(read(&scan).is_ok());
        }
    }
}
