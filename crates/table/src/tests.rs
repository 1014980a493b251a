//! However a table is divided, it has the same rows.

use std::fs;
use std::io::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, StringArray};
use proptest::prelude::*;

use self::common::*;
use crate::{Request, Scan, Table, Type, UnitColumn, UnitType};

#[path = "../tests/common/mod.rs"]
pub mod common;

type People = Vec<(Option<String>, Option<f64>)>;

/// Text with everything that matters to a format.
fn people() -> impl Strategy<Value = People> {
    let id = proptest::option::of("[a-c\",\n\r{}\\\\é]{1,8}");
    proptest::collection::vec((id, proptest::option::of(-9.0..9.0)), 1..40)
}

/// A line of CSV contains no line break.
fn in_lines(people: &People) -> People {
    let id = |id: &Option<String>| id.as_ref().map(|id| id.replace(['\n', '\r'], " "));
    people.iter().map(|(text, age)| (id(text), *age)).collect()
}

fn csv(people: &People) -> String {
    let quoted = |id: &String| format!("\"{}\"", id.replace('"', "\"\""));
    let row = |(id, age): &(Option<String>, Option<f64>)| {
        let age: Option<&f64> = age.as_ref();
        format!("{},{}\n", id.as_ref().map_or(String::new(), quoted), age.map_or(String::new(), f64::to_string))
    };
    format!("id,age\n{}", people.iter().map(row).collect::<String>())
}

fn ndjson(people: &People) -> String {
    people.iter().map(|(id, age)| format!("{}\n", serde_json::json!({"id": id, "age": age}))).collect()
}

fn array(people: &People) -> String {
    format!("[{}]", ndjson(people).trim_end().replace('\n', ",\n"))
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn zstd(text: &str) -> Vec<u8> {
    zstd::encode_all(text.as_bytes(), 1).unwrap()
}

fn request() -> Request {
    let unit = UnitColumn { name: "id".to_owned(), form: UnitType::Text };
    Request { unit: Some(unit), columns: vec![("age".to_owned(), Type::Number)] }
}

fn sorted(mut rows: Vec<String>) -> Vec<String> {
    rows.sort_unstable();
    rows
}

/// The rows of every part, each read by a separate scan, as another process would.
fn rows_of_parts(table: &Table, parts: usize) -> Vec<String> {
    let scan = table.divide(&request(), |bytes| crate::split::Shares::exactly(bytes, parts)).unwrap();
    assert_eq!(scan.parts(), parts);
    let told = serde_json::to_string(&scan).unwrap();
    let read = |part| serde_json::from_str::<Scan>(&told).unwrap().read(part).collect::<Result<Vec<_>, _>>().unwrap();
    let rows = (0..parts).flat_map(|part| cells(&read(part))).collect();
    assert_eq!(cells(&common::read(&scan).unwrap()), rows, "one scan that reads all parts");
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn parts_have_every_row_once(people in people(), files in 1_usize..4, parts in 1_usize..12, group in 1_usize..9) {
        let folder = tempfile::tempdir().unwrap();
        let cell = |(id, age): &(Option<String>, Option<f64>)| {
            let age = age.map_or(String::new(), |age| age.to_string());
            format!("{}|{age}", id.as_deref().unwrap_or_default())
        };
        let expected = |people: &People| sorted(people.iter().map(cell).collect());
        let files: Vec<People> = people.chunks(people.len().div_ceil(files)).map(<[_]>::to_vec).collect();
        for ending in ["csv", "csv.zst", "ndjson", "ndjson.gz", "json.zst", "parquet", "arrow", "ipc"] {
            fs::create_dir(folder.path().join(ending)).unwrap();
            for (number, people) in files.iter().enumerate() {
                let path = folder.path().join(ending).join(format!("{number}.{ending}"));
                match ending {
                    "csv" => fs::write(&path, csv(&in_lines(people))).unwrap(),
                    "csv.zst" => fs::write(&path, zstd(&csv(&in_lines(people)))).unwrap(),
                    "ndjson" => fs::write(&path, ndjson(people)).unwrap(),
                    "ndjson.gz" => fs::write(&path, gzip(&ndjson(people))).unwrap(),
                    "json.zst" => fs::write(&path, zstd(&array(people))).unwrap(),
                    _ => {
                        let ids: ArrayRef = Arc::new(people.iter().map(|(id, _)| id.as_deref()).collect::<StringArray>());
                        let ages: ArrayRef = Arc::new(people.iter().map(|(_, age)| *age).collect::<Float64Array>());
                        write(&path, &batch(vec![("id", ids), ("age", ages)]), group);
                    }
                }
            }
            let table = open(&folder.path().join(ending)).unwrap();
            let people = if ending.starts_with("csv") { in_lines(&people) } else { people.clone() };
            prop_assert_eq!(sorted(rows_of_parts(&table, parts)), expected(&people), "{}", ending);
        }
    }
}

#[test]
fn a_scan_from_elsewhere_checks_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    fs::write(&path, "id,age\n1,2\n3,4\n5,6\n").unwrap();
    let scan = open(&path).unwrap().divide(&request(), |bytes| crate::split::Shares::exactly(bytes, 3)).unwrap();
    let told = serde_json::to_value(&scan).unwrap();
    assert!(serde_json::from_value::<Scan>(told.clone()).is_ok());
    let changes: [(&str, serde_json::Value); 8] = [
        ("/parts", 0.into()),
        ("/parts", 2.into()),
        ("/parts", u64::MAX.into()),
        ("/source/csv/places/0", u64::MAX.into()),
        ("/source/csv/places", serde_json::json!([0])),
        ("/source/csv/files/0/targets", serde_json::json!([9, 8])),
        ("/source/csv/files/0/packing", "gzip".into()),
        ("/columns/1/form/value", "date".into()),
    ];
    for (place, value) in changes {
        let mut told = told.clone();
        *told.pointer_mut(place).expect(place) = value;
        assert!(serde_json::from_value::<Scan>(told).is_err(), "{place}");
    }
}

#[test]
fn a_scan_can_be_shared() {
    fn shared<T: Send + Sync + Clone>() {}
    fn sent<T: Send>() {}
    shared::<Scan>();
    sent::<crate::Reader>();
}
