//! Tables from real files: their contents, in every format.

mod common;

use std::fs;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::*;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::{DataType, Field, Schema};
use common::*;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, GzipLevel};
use parquet::data_type::{Int96, Int96Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use reticent_table::{MOST_TEXT, Table, Type, UnitType};

const PEOPLE: [(&str, Type); 2] = [("id", Type::Text), ("age", Type::Number)];

#[test]
fn every_format_gives_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = |ending: &str| folder.path().join("t").with_extension(ending);
    fs::write(path("csv"), "age,id\n1.5,a\n,\"b, c\"\n-3,\ninf,é\n").unwrap();
    fs::write(path("tsv"), "age\tid\n1.5\ta\n\tb, c\n-3\t\ninf\té\n").unwrap();
    let json = "{\"age\":1.5,\"id\":\"a\"}\n{\"id\":\"b, c\"}\n{\"age\":\"-3\",\"id\":null}\n{\"id\":\"\\u00e9\",\"age\":\"inf\"}\n";
    ["ndjson", "jsonl"].iter().for_each(|ending| fs::write(path(ending), json).unwrap());
    fs::write(path("json"), format!("[{}]", json.trim().replace('\n', ","))).unwrap();
    TYPED.iter().for_each(|ending| write(&path(ending), &people(), 3));
    for ending in ["csv", "tsv", "ndjson", "jsonl", "json", "parquet", "arrow", "ipc"] {
        let table = open(&path(ending)).expect(ending);
        assert_eq!(rows(&table, &columns(&PEOPLE)), ["a|1.5", "b, c|", "|-3", "é|inf"], "{ending}");
        assert_eq!(rows(&table, &columns(&[])), [""; 4], "{ending}");
        let named = table.columns().unwrap_or_default();
        assert_eq!(named.len(), if ending.contains("js") { 0 } else { 2 }, "{ending}");
        assert_eq!(table.is_text(), !TYPED.contains(&ending));
        assert_eq!(table.column_type("age"), (!table.is_text()).then_some(Type::Number));
        assert_eq!(table.unit_type("id").unwrap(), UnitType::Text);
        let mut request = unit("id", UnitType::Text);
        request.columns = columns(&[("age", Type::Number), ("id", Type::Text)]).columns;
        let schema = table.scan(&request, 1).unwrap().schema();
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!(names, ["u", "0", "1"], "{ending}");
        assert_eq!(rows(&table, &request)[1], "b, c||b, c", "{ending}");
    }
}

#[test]
fn a_folder_is_its_files_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let lines: Vec<String> = (0..100).map(|row| format!("u{row},\"{row}\"\n")).collect();
    fs::create_dir(folder.path().join("parts")).unwrap();
    for (number, part) in lines.chunks(17).enumerate() {
        let text = format!("id,age\r\n{}", part.concat());
        fs::write(folder.path().join(format!("parts/{number}.csv")), text).unwrap();
    }
    fs::write(folder.path().join("one.csv"), format!("id,age\n{}", lines.concat())).unwrap();
    let one = rows(&open(&folder.path().join("one.csv")).unwrap(), &columns(&PEOPLE));
    assert_eq!(one.len(), 100);
    assert_eq!(rows(&open(&folder.path().join("parts")).unwrap(), &columns(&PEOPLE)), one);
    let pattern = open(&folder.path().join("parts/[0-9].csv")).unwrap();
    assert_eq!(rows(&pattern, &columns(&PEOPLE)), one);
    assert_eq!(pattern.files().len(), 6);
    assert!(pattern.files().iter().all(|file| file.is_absolute() && file.is_file()));
}

#[test]
fn a_large_file_is_read_in_parts() {
    const ROWS: usize = 15_000;
    let folder = tempfile::tempdir().unwrap();
    let filler = "quoted\r\nlines, \"\"and\"\" more of it; ".repeat(12);
    let line = filler.replace("\r\n", " ");
    let csv: String = (0..ROWS).map(|row| format!("{row},\"{line}\",{}\n", row % 7)).collect();
    fs::write(folder.path().join("t.csv"), format!("id,text,age\n{csv}")).unwrap();
    let json: String =
        (0..ROWS).map(|row| format!("{{\"id\":{row},\"t\":{filler:?},\"age\":{}}}\n", row % 7)).collect();
    fs::write(folder.path().join("t.ndjson"), json).unwrap();
    let expected: Vec<String> = (0..ROWS).map(|row| format!("{row}|{}", row % 7)).collect();
    for ending in ["csv", "ndjson"] {
        let table = open(&folder.path().join("t").with_extension(ending)).unwrap();
        for parts in [1, 2] {
            let scan = table.scan(&columns(&PEOPLE), parts).unwrap();
            assert_eq!(scan.parts(), parts, "{ending}");
            let read = |part| cells(&scan.read(part).collect::<Result<Vec<_>, _>>().unwrap());
            let rows: Vec<Vec<String>> = (0..parts).map(read).collect();
            assert!(rows.iter().all(|rows| rows.len().abs_diff(ROWS / parts) < ROWS / 20), "{ending}");
            assert_eq!(rows.concat(), expected, "{ending}");
        }
    }
}

/// One column of each type.
fn many_types() -> RecordBatch {
    let extremes = || vec![Some(i64::MIN), Some(i64::MAX), Some(-1_500), None];
    let keys = Int8Array::from(vec![Some(1), None, Some(0), Some(1)]);
    let text: ArrayRef = Arc::new(StringArray::from(vec!["x", "y"]));
    let moments: ArrayRef = Arc::new(TimestampSecondArray::from(vec![i64::MAX, 1]));
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>(vec![Some(vec![Some(1)]), None, None, None]);
    let decimals = Decimal128Array::from(vec![Some(12345), Some(-1), None, Some(i128::MAX / 2)]);
    batch(vec![
        ("i8", Arc::new(Int8Array::from(vec![Some(i8::MIN), Some(1), None, Some(2)]))),
        ("u32", Arc::new(UInt32Array::from(vec![Some(u32::MAX), Some(1), None, Some(2)]))),
        ("u64", Arc::new(UInt64Array::from(vec![Some(u64::MAX), Some(1), None, Some(2)]))),
        ("f32", Arc::new(Float32Array::from(vec![Some(f32::NAN), Some(0.5), None, Some(f32::NEG_INFINITY)]))),
        ("decimal", Arc::new(decimals.with_precision_and_scale(38, 2).unwrap())),
        ("large", Arc::new(LargeStringArray::from(vec![Some("a"), Some(""), None, Some("a long text of some bytes")]))),
        ("dictionary", Arc::new(DictionaryArray::new(keys.clone(), text))),
        ("moments", Arc::new(DictionaryArray::new(keys, moments))),
        ("bool", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None, None]))),
        ("s", Arc::new(TimestampSecondArray::from(extremes()).with_timezone("UTC"))),
        ("local", Arc::new(TimestampSecondArray::from(extremes()).with_timezone("Europe/Berlin"))),
        ("ms", Arc::new(TimestampMillisecondArray::from(extremes()))),
        ("us", Arc::new(TimestampMicrosecondArray::from(vec![Some(0), None, Some(-1_500), Some(1)]))),
        ("ns", Arc::new(TimestampNanosecondArray::from(extremes()))),
        ("date32", Arc::new(Date32Array::from(vec![Some(0), None, Some(-1), Some(1)]))),
        ("date64", Arc::new(Date64Array::from(vec![Some(0), Some(86_400_000), None, Some(-86_400_000)]))),
        ("bytes", Arc::new(BinaryArray::from(vec![Some(&b"\xff"[..]), None, None, None]))),
        ("time", Arc::new(Time64MicrosecondArray::from(vec![1, 2, 3, 4]))),
        ("list", Arc::new(list)),
    ])
}

#[test]
fn types_become_fewer_and_no_value_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for ending in TYPED {
        let path = folder.path().join("t").with_extension(ending);
        write(&path, &many_types(), 3);
        let table = open(&path).expect(ending);
        let unusable = table.unusable();
        let names: Vec<&str> = unusable.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["local", "bytes", "time", "list"], "{ending}");
        assert!(unusable[0].1.contains("time zone Europe/Berlin"), "{unusable:?}");
        assert!(unusable[3].1.contains("Int32"), "{unusable:?}");
        let types = |names: &[&str], expected: Type| {
            names.iter().for_each(|name| assert_eq!(table.column_type(name), Some(expected), "{name} in {ending}"));
        };
        types(&["i8", "u32", "u64"], Type::Integer);
        types(&["f32", "decimal"], Type::Number);
        types(&["large", "dictionary"], Type::Text);
        types(&["bool"], Type::Boolean);
        types(&["s", "ms", "us", "ns", "moments"], Type::Timestamp);
        types(&["date32", "date64"], Type::Date);
        let ask = |names: &[&str]| rows(&table, &natural(&table, names));
        assert_eq!(ask(&["i8", "u32", "u64"]), ["-128|4294967295|", "1|1|1", "||", "2|2|2"], "{ending}");
        assert_eq!(
            ask(&["f32", "decimal"]),
            ["NaN|123.45", "0.5|-0.01", "|", "-inf|850705917302346200000000000000000000"],
            "{ending}"
        );
        assert_eq!(ask(&["large", "dictionary"]), ["a|y", "|", "|x", "a long text of some bytes|y"], "{ending}");
        assert_eq!(ask(&["bool", "i8"]), ["true|-128", "false|1", "|", "|2"], "{ending}");
        assert_eq!(ask(&["s", "ms", "moments"]), ["||1000000", "||", "-1500000000|-1500000|", "||1000000"], "{ending}");
        assert_eq!(ask(&["us", "ns"]), ["0|-9223372036854776", "|9223372036854775", "-1500|-2", "1|"], "{ending}");
        assert_eq!(ask(&["date32", "date64"]), ["0|0", "|1", "-1|", "1|-1"], "{ending}");
        assert_eq!(rows(&table, &unit("bytes", UnitType::Text)), ["ff", "", "", ""], "{ending}");
        let all = table.columns().unwrap();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        assert_eq!(ask(&all)[0].split('|').count(), 15, "{ending}");
    }
}

#[test]
fn a_column_is_asked_for_in_its_own_type() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    write(&path, &many_types(), 4);
    let table = open(&path).unwrap();
    let ask = |name, wanted| reason(table.scan(&columns(&[(name, wanted)]), 1));
    assert_eq!(ask("i8", Type::Number), "the column `i8` is a whole number, not a number");
    assert_eq!(ask("bytes", Type::Text), "the column `bytes` is Binary, which a query cannot use");
    assert!(ask("none", Type::Text).starts_with("there is no column `none`; there are i8, u32,"));
    let unit = |name, form| reason(table.scan(&unit(name, form), 1));
    assert_eq!(
        unit("u64", UnitType::Signed),
        "the unit `u64` is an unsigned whole number of 64 bits, not a whole number; \
         request it as an unsigned whole number of 64 bits or as text"
    );
    assert!(unit("f32", UnitType::Text).starts_with("the column `f32` holds floating-point numbers"));
    assert!(unit("list", UnitType::Text).starts_with("the column `list` cannot be the privacy unit"));
    assert!(reason(table.unit_type("none")).starts_with("there is no column `none`"));
    let csv = folder.path().join("t.csv");
    fs::write(&csv, "id,age\n").unwrap();
    let table = open(&csv).unwrap();
    let ask = |name, wanted| reason(table.scan(&columns(&[(name, wanted)]), 1));
    assert_eq!(ask("age", Type::Date), "the column `age` is text or a number, not a date: the file has no other types");
    assert_eq!(ask("ages", Type::Text), "there is no column `ages`; there are id, age");
}

#[test]
fn an_imagined_table_has_any_column_and_no_rows() {
    let table = Table::imagined("t");
    assert!(table.is_text() && table.columns().is_none() && table.files().is_empty());
    assert_eq!(table.unit_type("anything").unwrap(), UnitType::Text);
    assert!(rows(&table, &columns(&PEOPLE)).is_empty());
    let error = table.scan(&columns(&[("a", Type::Boolean)]), 1).unwrap_err();
    assert!(error.to_string().starts_with("table t: the column `a` is text or a number"));
}

#[test]
fn text_that_is_too_long_is_null_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let path = |ending: &str| folder.path().join("t").with_extension(ending);
    let (most, more) = ("1".repeat(MOST_TEXT), "1".repeat(MOST_TEXT + 1));
    fs::write(path("csv"), format!("id\n{most}\n{more}\n")).unwrap();
    fs::write(path("ndjson"), format!("{{\"id\":\"{most}\"}}\n{{\"id\":{more}}}\n")).unwrap();
    let texts: ArrayRef = Arc::new(StringArray::from(vec![most.as_str(), &more]));
    TYPED.iter().for_each(|ending| write(&path(ending), &batch(vec![("id", texts.clone())]), 2));
    for ending in ["csv", "ndjson", "parquet", "arrow", "ipc"] {
        let table = open(&path(ending)).unwrap();
        assert!(rows(&table, &columns(&[("id", Type::Text)])) == [most.as_str(), ""], "{ending}");
        assert!(rows(&table, &unit("id", UnitType::Text)) == [most.as_str(), ""], "{ending}");
    }
}

#[test]
fn timestamps_of_96_bits_reach_beyond_2262() {
    let folder = tempfile::tempdir().unwrap();
    let schema = Arc::new(parse_message_type("message m { required int96 old; optional int32 n; }").unwrap());
    let file = fs::File::create(folder.path().join("t.parquet")).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut moment = Int96::new();
    // The Julian day of 9999-12-31, a second after midnight.
    moment.set_data(1_000_000_000, 0, 5_373_484);
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int96Type>().write_batch(&[moment], None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<parquet::data_type::Int32Type>().write_batch(&[7], Some(&[1]), None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    let table = open(&folder.path().join("t.parquet")).unwrap();
    assert_eq!(rows(&table, &natural(&table, &["old", "n"])), ["253402214401000000|7"]);
    assert!(reason(table.unit_type("old")).contains("timestamps of 96 bits"));
}

#[test]
fn columns_of_other_writers_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let schema = "message m { required binary name (UTF8) = 7; required binary e (ENUM); required binary j (JSON) = 9; \
         required binary raw; required int32 day (DATE); required int32 small (INTEGER(8,false)); }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer = SerializedFileWriter::new(fs::File::create(&path).unwrap(), schema, Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for text in ["Ada", "A", "{}", "\u{1}"] {
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<parquet::data_type::ByteArrayType>().write_batch(&[text.into()], None, None).unwrap();
        column.close().unwrap();
    }
    for number in [1, 255] {
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<parquet::data_type::Int32Type>().write_batch(&[number], None, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    let table = open(&path).unwrap();
    assert_eq!(rows(&table, &natural(&table, &["name", "e", "j", "day", "small"])), ["Ada|A|{}|1|255"]);
    assert_eq!(rows(&table, &unit("raw", UnitType::Text)), ["01"]);
    // An extension type is treated as its storage type.
    let extension = [("ARROW:extension:name".to_owned(), "arrow.json".to_owned())].into();
    let field = Field::new("j", DataType::LargeUtf8, true).with_metadata(extension);
    let texts: ArrayRef = Arc::new(LargeStringArray::from(vec!["{}"]));
    let texts = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![texts]).unwrap();
    for ending in TYPED {
        let path = folder.path().join("e").with_extension(ending);
        write(&path, &texts, 1);
        assert_eq!(rows(&open(&path).unwrap(), &columns(&[("j", Type::Text)])), ["{}"], "{ending}");
    }
}

#[test]
fn files_of_one_table_may_differ_where_a_query_cannot_see_it() {
    let folder = tempfile::tempdir().unwrap();
    let one = batch(vec![
        ("n", Arc::new(Int16Array::from(vec![1, 2]))),
        ("s", Arc::new(StringArray::from(vec!["x", "y"]))),
        ("t", Arc::new(TimestampSecondArray::from(vec![1, 2]))),
    ]);
    let other = batch(vec![
        ("t", Arc::new(TimestampMillisecondArray::from(vec![3]))),
        ("s", Arc::new(DictionaryArray::<Int32Type>::from_iter(["z"]))),
        ("n", Arc::new(UInt64Array::from(vec![u64::MAX]))),
    ]);
    for ending in TYPED {
        let path = |name: &str| folder.path().join(ending).join(name).with_extension(ending);
        fs::create_dir(folder.path().join(ending)).unwrap();
        write(&path("a"), &one, 2);
        write(&path("b"), &other, 2);
        let table = open(&folder.path().join(ending)).expect(ending);
        assert_eq!(rows(&table, &natural(&table, &["s", "n", "t"])), ["x|1|1000000", "y|2|2000000", "z||3000"]);
        assert_eq!(table.unit_type("n").unwrap(), UnitType::Text);
        assert_eq!(rows(&table, &unit("n", UnitType::Text)), ["1", "2", "18446744073709551615"]);
        write(&path("c"), &one.project(&[0, 1]).unwrap(), 2);
        let expected = format!("c.{ending} has no column `t`, but a.{ending} does");
        assert_eq!(reason(open(&folder.path().join(ending))), expected);
    }
}

#[test]
fn compressed_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let expected = ["a|1.5", "b, c|", "|-3", "é|inf"];
    let path = folder.path().join("t.parquet");
    for codec in [
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::BROTLI(Default::default()),
        Compression::LZ4_RAW,
        Compression::LZ4,
        Compression::ZSTD(Default::default()),
    ] {
        let properties = WriterProperties::builder().set_compression(codec).build();
        let mut writer =
            ArrowWriter::try_new(fs::File::create(&path).unwrap(), people().schema(), Some(properties)).unwrap();
        writer.write(&people()).unwrap();
        writer.close().unwrap();
        assert_eq!(rows(&open(&path).unwrap(), &columns(&PEOPLE)), expected, "{codec:?}");
    }
    let path = folder.path().join("t.feather");
    for codec in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
        let options = IpcWriteOptions::default().try_with_compression(Some(codec)).unwrap();
        let file = fs::File::create(&path).unwrap();
        let mut writer = FileWriter::try_new_with_options(file, &people().schema(), options).unwrap();
        writer.write(&people()).unwrap();
        writer.finish().unwrap();
        assert_eq!(rows(&open(&path).unwrap(), &columns(&PEOPLE)), expected, "{codec:?}");
    }
}

#[test]
fn names_of_files_may_have_any_character() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a b%20#[1]*.parquet", "ü?.parquet"] {
        write(&folder.path().join(name), &people(), 4);
        let table = open(&folder.path().join(name)).expect(name);
        assert_eq!(rows(&table, &columns(&[])).len(), 4, "{name}");
    }
}

#[test]
fn batches_are_small_and_may_all_be_null() {
    let folder = tempfile::tempdir().unwrap();
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..20_000));
    let numbers = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
    for ending in TYPED {
        let path = folder.path().join("t").with_extension(ending);
        write(&path, &numbers, 20_000);
        let table = open(&path).unwrap();
        let scan = table.scan(&natural(&table, &["n"]), 1).unwrap();
        let batches = read(&scan).unwrap();
        assert!(batches.iter().all(|batch| batch.num_rows() <= 8192 && batch.schema() == scan.schema()), "{ending}");
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 20_000, "{ending}");
        assert!(scan.schema().fields().iter().all(|field| field.is_nullable()));
        assert_eq!(scan.schema().field(0).data_type(), &DataType::Int64);
    }
}
