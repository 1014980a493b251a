//! Tables from real files: what they hold, what is said when they are broken, and that no row is ever an error.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::*;
use datafusion::arrow::datatypes::*;
use datafusion::arrow::ipc::writer::{FileWriter, StreamWriter};
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::Compression;
use datafusion::parquet::data_type::{Int96, Int96Type};
use datafusion::parquet::file::properties::WriterProperties;
use datafusion::parquet::file::writer::SerializedFileWriter;
use datafusion::parquet::schema::parser::parse_message_type;
use datafusion::physical_plan::displayable;
use datafusion::prelude::{SessionConfig, SessionContext};
use proptest::prelude::*;
use reticent_sql::Error;
use reticent_sql::table::{Kind, Table, reading};
use tempfile::TempDir;

const NUMBERS: [(&str, Kind); 2] = [("id", Kind::Text), ("age", Kind::Number)];

fn open(path: &Path) -> Result<Table, Error> {
    Table::open("t", path.to_str().expect("a path in UTF-8"))
}

fn context(table: &Table, columns: &[(&str, Kind)], partitions: usize) -> SessionContext {
    let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(partitions));
    let columns: Vec<_> = columns.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect();
    context.register_table("t", table.provider(&columns).expect("a provider")).expect("a table");
    context
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(work)
}

fn collect(context: &SessionContext, sql: &str) -> Result<Vec<RecordBatch>, Error> {
    run(reading(async { context.sql(sql).await?.collect().await }))
}

fn ask(table: &Table, columns: &[(&str, Kind)], sql: &str) -> String {
    let batches = collect(&context(table, columns, 2), sql).expect("an answer");
    pretty_format_batches(&batches).expect("a table").to_string()
}

/// The rows alone, cells trimmed and separated by `|`.
fn cells(table: &Table, columns: &[(&str, Kind)], sql: &str) -> Vec<String> {
    let answer = ask(table, columns, sql);
    let rows = answer.lines().filter(|line| line.starts_with('|')).skip(1);
    let row = |line: &str| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>().join("|");
    rows.map(row).collect()
}

fn reason(result: Result<Table, Error>) -> String {
    match result.expect_err("an error") {
        Error::Table { reason, .. } => reason,
        other => panic!("another error: {other}"),
    }
}

fn write_parquet(path: &Path, batch: &RecordBatch) {
    // No compression, so that a test can find and break a page.
    let properties = WriterProperties::builder().set_compression(Compression::UNCOMPRESSED).build();
    let file = fs::File::create(path).expect("a file");
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).expect("a writer");
    writer.write(batch).expect("written");
    writer.close().expect("closed");
}

fn write_arrow(path: &Path, batches: &[RecordBatch]) {
    let mut writer = FileWriter::try_new(fs::File::create(path).unwrap(), &batches[0].schema()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
}

fn write_arrow_stream(path: &Path, batch: &RecordBatch) {
    let mut writer = StreamWriter::try_new(fs::File::create(path).unwrap(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

fn people() -> RecordBatch {
    let ids: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), Some("b, c"), None, Some("é")]));
    let ages: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.5), None, Some(-3.0), Some(f64::INFINITY)]));
    batch(vec![("age", ages), ("id", ids)])
}

#[test]
fn every_format_gives_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("t.csv"), "age,id\n1.5,a\n,\"b, c\"\n-3,\ninf,é\n").unwrap();
    fs::write(path("t.tsv"), "age\tid\n1.5\ta\n\tb, c\n-3\t\ninf\té\n").unwrap();
    let json = "{\"age\":1.5,\"id\":\"a\"}\n{\"id\":\"b, c\"}\n{\"age\":\"-3\",\"id\":null}\n{\"id\":\"\\u00e9\",\"age\":\"inf\"}\n";
    for ending in ["ndjson", "jsonl", "json"] {
        fs::write(path("t").with_extension(ending), json).unwrap();
    }
    write_parquet(&path("t.parquet"), &people());
    write_arrow(&path("t.arrow"), &[people().slice(0, 1), people().slice(1, 3)]);
    write_arrow_stream(&path("t.ipc"), &people());
    for ending in ["csv", "tsv", "ndjson", "jsonl", "json", "parquet", "arrow", "ipc"] {
        let table = open(&path("t").with_extension(ending)).expect(ending);
        let sorted = cells(&table, &NUMBERS, "SELECT id, age FROM t ORDER BY id, age");
        assert_eq!(sorted, ["a|1.5", "b, c|", "é|inf", "|-3.0"], "{ending}");
        assert_eq!(cells(&table, &NUMBERS, "SELECT count(*) FROM t"), ["4"], "{ending}");
        assert_eq!(cells(&table, &NUMBERS, "SELECT id FROM t WHERE age < 0 OR id = 'a' ORDER BY age LIMIT 1"), [""]);
        let named = table.columns().unwrap_or_default();
        assert_eq!(named.len(), if ending.contains("js") { 0 } else { 2 }, "{ending}");
        assert_eq!(table.is_text(), !["parquet", "arrow", "ipc"].contains(&ending));
        let schema = table.provider(&NUMBERS.map(|(name, kind)| (name.to_owned(), kind))).unwrap().schema();
        assert_eq!(schema.field_with_name("id").unwrap().data_type(), &DataType::Utf8View, "{ending}");
        assert_eq!(schema.field_with_name("age").unwrap().data_type(), &DataType::Float64, "{ending}");
    }
}

#[test]
fn a_folder_is_its_files_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<String> = (0..100).map(|row| format!("u{row},\"{row}\"\n")).collect();
    fs::create_dir(folder.path().join("parts")).unwrap();
    for (number, part) in rows.chunks(17).enumerate() {
        let text = format!("id,age\r\n{}", part.concat());
        fs::write(folder.path().join(format!("parts/{number}.csv")), text).unwrap();
    }
    fs::write(folder.path().join("one.csv"), format!("id,age\n{}", rows.concat())).unwrap();
    let sql = "SELECT id, age FROM t ORDER BY age";
    let one = cells(&open(&folder.path().join("one.csv")).unwrap(), &NUMBERS, sql);
    assert_eq!(one.len(), 100);
    assert_eq!(cells(&open(&folder.path().join("parts")).unwrap(), &NUMBERS, sql), one);
    let pattern = open(&folder.path().join("parts/[0-9].csv")).unwrap();
    assert_eq!(cells(&pattern, &NUMBERS, sql), one);
    assert_eq!(pattern.files().len(), 6);
    assert!(pattern.files().iter().all(|file| file.is_absolute() && file.is_file()));
}

#[test]
fn a_large_file_is_read_by_several_partitions() {
    const ROWS: usize = 30_000;
    let folder = tempfile::tempdir().unwrap();
    let filler = "quoted\r\nlines, \"\"and\"\" more of it; ".repeat(12);
    let csv: String = (0..ROWS).map(|row| format!("{row},\"{filler}\",{}\n", row % 7)).collect();
    fs::write(folder.path().join("t.csv"), format!("id,text,age\n{csv}")).unwrap();
    let json: String =
        (0..ROWS).map(|row| format!("{{\"id\":{row},\"t\":{filler:?},\"age\":{}}}\n", row % 7)).collect();
    fs::write(folder.path().join("t.ndjson"), json).unwrap();
    for ending in ["csv", "ndjson"] {
        let table = open(&folder.path().join("t").with_extension(ending)).unwrap();
        for partitions in [1, 3] {
            let context = context(&table, &NUMBERS, partitions);
            let plan = run(async { context.table("t").await.unwrap().create_physical_plan().await.unwrap() });
            assert_eq!(plan.properties().output_partitioning().partition_count(), partitions, "{ending}");
            let sql = "SELECT count(*), count(DISTINCT id), sum(age) FROM t";
            let answer = pretty_format_batches(&collect(&context, sql).unwrap()).unwrap().to_string();
            let sum: usize = (0..ROWS).map(|row| row % 7).sum();
            assert!(
                answer.contains(&format!("| {ROWS}    | {ROWS}")) && answer.contains(&format!("| {sum}.0")),
                "{answer}"
            );
        }
    }
}

#[test]
fn types_become_fewer_and_no_value_is_an_error() {
    let extremes = || vec![Some(i64::MIN), Some(i64::MAX), Some(-1_500), None];
    let keys = Int8Array::from(vec![Some(1), None, Some(0), Some(1)]);
    let text: ArrayRef = Arc::new(StringArray::from(vec!["x", "y"]));
    let moments: ArrayRef = Arc::new(TimestampSecondArray::from(vec![i64::MAX, 1]));
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>(vec![Some(vec![Some(1)]), None, None, None]);
    let batch = batch(vec![
        ("i8", Arc::new(Int8Array::from(vec![Some(i8::MIN), Some(1), None, Some(2)]))),
        ("u32", Arc::new(UInt32Array::from(vec![Some(u32::MAX), Some(1), None, Some(2)]))),
        ("u64", Arc::new(UInt64Array::from(vec![Some(u64::MAX), Some(1), None, Some(2)]))),
        ("f32", Arc::new(Float32Array::from(vec![Some(f32::NAN), Some(0.5), None, Some(f32::NEG_INFINITY)]))),
        (
            "decimal",
            Arc::new(
                Decimal128Array::from(vec![Some(12345), Some(-1), None, Some(i128::MAX / 2)])
                    .with_precision_and_scale(38, 2)
                    .unwrap(),
            ),
        ),
        ("large", Arc::new(LargeStringArray::from(vec![Some("a"), Some(""), None, Some("a long text of some bytes")]))),
        ("dictionary", Arc::new(DictionaryArray::new(keys.clone(), text))),
        ("moments", Arc::new(DictionaryArray::new(keys, moments))),
        ("bool", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None, None]))),
        ("s", Arc::new(TimestampSecondArray::from(extremes()).with_timezone("Europe/Berlin"))),
        ("ms", Arc::new(TimestampMillisecondArray::from(extremes()))),
        ("us", Arc::new(TimestampMicrosecondArray::from(vec![Some(0), None, Some(-1_500), Some(1)]))),
        ("ns", Arc::new(TimestampNanosecondArray::from(extremes()))),
        ("date32", Arc::new(Date32Array::from(vec![Some(0), None, Some(-1), Some(1)]))),
        ("date64", Arc::new(Date64Array::from(vec![Some(0), Some(86_400_000), None, Some(-86_400_000)]))),
        ("bytes", Arc::new(BinaryArray::from(vec![Some(&b"\xff"[..]), None, None, None]))),
        ("list", Arc::new(list)),
    ]);
    let folder = tempfile::tempdir().unwrap();
    write_parquet(&folder.path().join("t.parquet"), &batch);
    write_arrow(&folder.path().join("t.arrow"), std::slice::from_ref(&batch));
    write_arrow_stream(&folder.path().join("t.feather"), &batch);
    for ending in ["parquet", "arrow", "feather"] {
        let table = open(&folder.path().join("t").with_extension(ending)).expect(ending);
        let unusable = table.unusable();
        assert_eq!(unusable.len(), 1, "{ending}");
        assert!(unusable[0].0 == "list" && unusable[0].1.contains("Int32"), "{unusable:?}");
        let schema = table.provider(&[]).unwrap().schema();
        let types = |names: &[&str], data_type: DataType| {
            names.iter().for_each(|name| {
                let found = schema.field_with_name(name).unwrap().data_type();
                assert_eq!(found, &data_type, "{name} in {ending}");
            });
        };
        types(&["i8", "u32"], DataType::Int64);
        types(&["u64"], DataType::UInt64);
        types(&["f32", "decimal"], DataType::Float64);
        types(&["large", "dictionary"], DataType::Utf8View);
        types(&["bool"], DataType::Boolean);
        types(&["s", "ms", "us", "ns", "moments"], DataType::Timestamp(TimeUnit::Microsecond, None));
        types(&["date32", "date64"], DataType::Date32);
        let ask = |columns: &str| cells(&table, &[], &format!("SELECT {columns} FROM t"));
        assert_eq!(ask("i8, u32, u64"), ["-128|4294967295|18446744073709551615", "1|1|1", "||", "2|2|2"]);
        assert_eq!(ask("f32, decimal")[..3], ["NaN|123.45", "0.5|-0.01", "|"]);
        assert_eq!(ask("large, dictionary"), ["a|y", "|", "|x", "a long text of some bytes|y"]);
        assert_eq!(ask("count(large)"), ["3"]);
        assert_eq!(ask("s, s IS NULL"), ["|true", "|true", "1969-12-31T23:35:00|false", "|true"], "{ending}");
        assert_eq!(ask("ms IS NULL"), ["true", "true", "false", "true"], "{ending}");
        assert_eq!(ask("ns IS NULL"), ["false", "false", "false", "true"], "{ending}");
        assert_eq!(ask("moments"), ["1970-01-01T00:00:01", "", "", "1970-01-01T00:00:01"], "{ending}");
        assert_eq!(ask("us")[2], "1969-12-31T23:59:59.998500");
        assert_eq!(
            ask("date32, date64"),
            ["1970-01-01|1970-01-01", "|1970-01-02", "1969-12-31|", "1970-01-02|1969-12-31"]
        );
        assert_eq!(ask("*")[0].split('|').count(), 16, "{ending}");
    }
}

#[test]
fn dates_that_do_not_fit_are_null() {
    let folder = tempfile::tempdir().unwrap();
    let days: ArrayRef = Arc::new(Date64Array::from(vec![i64::MAX, i64::MIN, 0]));
    // Parquet itself cannot hold such dates.
    write_arrow(&folder.path().join("t.arrow"), &[batch(vec![("day", days)])]);
    let table = open(&folder.path().join("t.arrow")).unwrap();
    assert_eq!(cells(&table, &[], "SELECT day FROM t"), ["", "", "1970-01-01"]);
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
    column.typed::<datafusion::parquet::data_type::Int32Type>().write_batch(&[7], Some(&[1]), None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    let table = open(&folder.path().join("t.parquet")).unwrap();
    assert_eq!(cells(&table, &[], "SELECT old, n FROM t"), ["9999-12-31T00:00:01|7"]);
}

#[test]
fn files_of_one_table_may_differ_where_a_query_cannot_see_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let narrow: ArrayRef = Arc::new(Int16Array::from(vec![1, 2]));
    let wide: ArrayRef = Arc::new(Int64Array::from(vec![i64::MAX]));
    let text: ArrayRef = Arc::new(StringArray::from(vec!["x", "y"]));
    let keys: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::from_iter(["z"]));
    let seconds: ArrayRef = Arc::new(TimestampSecondArray::from(vec![1, 2]));
    let millis: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![3]));
    let one = batch(vec![("n", narrow), ("s", text)]);
    let other = batch(vec![("s", keys), ("n", wide)]);
    let moments = [batch(vec![("t", seconds)]), batch(vec![("t", millis)])];
    for ending in ["parquet", "arrow"] {
        for folder in ["good", "moments"] {
            fs::create_dir_all(path(ending).join(folder)).unwrap();
        }
        let write = |name: &str, batch: &RecordBatch| {
            let path = path(ending).join(name).with_extension(ending);
            if ending == "parquet" {
                write_parquet(&path, batch)
            } else {
                write_arrow(&path, std::slice::from_ref(batch))
            }
        };
        write("good/a", &one);
        write("good/b", &other);
        let table = open(&path(ending).join("good")).expect(ending);
        let rows = cells(&table, &[], "SELECT s, n FROM t ORDER BY s");
        assert_eq!(rows, ["x|1", "y|2", "z|9223372036854775807"], "{ending}");
        write("moments/a", &moments[0]);
        write("moments/b", &moments[1]);
        let mixed = open(&path(ending).join("moments"));
        if ending == "parquet" {
            let expected =
                "the column `t` is Timestamp(s) in a.parquet but Timestamp(ms) in b.parquet; write it in the same type";
            assert_eq!(reason(mixed), expected);
        } else {
            assert_eq!(cells(&mixed.unwrap(), &[], "SELECT count(t) FROM t"), ["3"]);
        }
    }
    write_parquet(
        &path("parquet/good/c.parquet"),
        &batch(vec![("n", Arc::new(Int16Array::from(vec![1])) as ArrayRef)]),
    );
    assert_eq!(reason(open(&path("parquet/good"))), "c.parquet has no column `s`, but a.parquet has");
}

#[test]
fn what_parquet_says_of_its_values_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    write_parquet(&path, &people());
    let table = open(&path).unwrap();
    let context = context(&table, &[], 2);
    let plan = |sql: &str| {
        let plan = run(async { context.sql(sql).await.unwrap().create_physical_plan().await.unwrap() });
        displayable(plan.as_ref()).set_show_statistics(true).indent(true).to_string()
    };
    // The number of rows and the extremes stand in the footer; an answer from there would not need the scan.
    let plan = plan("SELECT count(*), min(age) FROM t");
    let scan = plan.lines().find(|line| line.contains("DataSourceExec")).unwrap_or_else(|| panic!("no scan in {plan}"));
    assert!(scan.ends_with("statistics=[Rows=Absent, Bytes=Absent, [(Col[0]:)]]"), "{scan}");
}

#[test]
fn names_of_files_may_have_any_character() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a b%20#[1]*.parquet", "ü?.parquet"] {
        write_parquet(&folder.path().join(name), &people());
        let table = open(&folder.path().join(name)).expect(name);
        assert_eq!(cells(&table, &[], "SELECT count(*) FROM t"), ["4"], "{name}");
    }
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
    assert!(reason(open(&path("people.xlsx"))).contains("people.xlsx is not known: name it .csv, .tsv,"));
    fs::write(path("nothing.csv"), "").unwrap();
    assert!(reason(open(&path("nothing.csv"))).starts_with("nothing.csv has no header"));
    fs::create_dir(path("two")).unwrap();
    fs::write(path("two/a.csv"), "id,age\n").unwrap();
    fs::write(path("two/b.csv"), "age,id\n").unwrap();
    assert_eq!(reason(open(&path("two"))), "b.csv has another header than a.csv");
    fs::write(path("two/c.ndjson"), "").unwrap();
    assert!(reason(open(&path("two"))).starts_with("all files of a table have one format"));
    for name in ["text.parquet", "text.arrow"] {
        fs::write(path(name), "id,age\n1,2\n").unwrap();
        assert!(reason(open(&path(name))).starts_with(&format!("{name} is not a whole")), "{name}");
        fs::write(path(name), "").unwrap();
        assert!(reason(open(&path(name))).starts_with(&format!("{name} is not a whole")), "{name}");
    }
    let table = open(&path("people.csv")).unwrap();
    let column = |names: &[&str]| {
        let columns: Vec<_> = names.iter().map(|name| ((*name).to_owned(), Kind::Text)).collect();
        table.provider(&columns).unwrap_err().to_string()
    };
    assert!(column(&["ages"]).ends_with("there is no column `ages`; there are id, age"));
    assert!(column(&["age", "age"]).ends_with("the column `age` is asked for twice"));
}

/// A Parquet file and an Arrow file whose values are broken but whose footers are whole.
fn broken_values(folder: &TempDir, ages: Vec<f64>) -> Vec<Table> {
    let ages: ArrayRef = Arc::new(Float64Array::from(ages));
    let batch = batch(vec![("age", ages)]);
    let paths = ["t.parquet", "t.arrow"].map(|name| folder.path().join(name));
    write_parquet(&paths[0], &batch);
    write_arrow(&paths[1], &[batch]);
    for (path, footer) in paths.iter().zip([8, 10]) {
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
    let mut texts = Vec::new();
    for ages in [vec![1.0, 2.0, 3.0], vec![7.5]] {
        let folder = tempfile::tempdir().unwrap();
        let mut tables = broken_values(&folder, ages.clone());
        for (name, text) in [("gone.csv", "id,age\n"), ("gone.ndjson", "")] {
            fs::write(folder.path().join(name), text).unwrap();
            tables.push(open(&folder.path().join(name)).unwrap());
            fs::remove_file(folder.path().join(name)).unwrap();
        }
        for table in &tables {
            let error = collect(&context(table, &NUMBERS, 2), "SELECT sum(age) FROM t").expect_err("an error");
            texts.push(error.to_string());
        }
    }
    assert_eq!(texts.len(), 8);
    assert!(texts.iter().all(|text| text == "the table could not be read to its end; what was charged stays charged"));
}

#[test]
fn footers_that_are_cut_off_are_told_at_once() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["t.parquet", "t.arrow"] {
        let path = folder.path().join(name);
        if name.ends_with("parquet") {
            write_parquet(&path, &people())
        } else {
            write_arrow(&path, &[people()])
        }
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            assert!(reason(open(&path)).starts_with(&format!("{name} is not a whole")), "{length} bytes of {name}");
        }
    }
}

#[test]
fn a_flipped_byte_breaks_nothing_but_the_answer() {
    // Decoders panic often here; what they say is of no use.
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.location().is_some_and(|place| place.file().contains("/registry/")) {
            usual(panic);
        }
    }));
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for name in ["t.parquet", "t.arrow", "t.ipc"] {
        let path = folder.path().join(name);
        match name {
            "t.parquet" => write_parquet(&path, &people()),
            "t.arrow" => write_arrow(&path, &[people()]),
            _ => write_arrow_stream(&path, &people()),
        }
        let whole = fs::read(&path).unwrap();
        let (mut refused, mut broken, mut answered) = (0, 0, 0);
        for place in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[place] ^= 0xff;
            fs::write(&path, bytes).unwrap();
            let Ok(table) = open(&path) else {
                refused += 1;
                continue;
            };
            let context = context(&table, &[], 1);
            let answer = runtime.block_on(reading(async { context.table("t").await?.collect().await }));
            match answer {
                Ok(_) => answered += 1,
                Err(Error::Reading) => broken += 1,
                Err(other) => panic!("another error: {other}"),
            }
        }
        assert!(refused > 0 && broken > 0 && answered > 0, "{name}: {refused}, {broken}, {answered}");
    }
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
            let answer = collect(&context(&table, &NUMBERS, 2), "SELECT count(*), count(id), sum(age) FROM t");
            prop_assert!(answer.is_ok());
        }
    }
}
