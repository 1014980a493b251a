//! Rows that change how others are read. Each was found by someone trying to learn about one row.

mod common;

use std::fs;
use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::*;
use common::*;
use parquet::arrow::ArrowWriter;
use reticent_table::{Type, UnitType};

/// The attack: a first line that starts with `[` made the whole file an array, and everyone's rows were gone.
#[test]
fn a_line_that_is_no_row_is_dropped_alone_wherever_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.ndjson");
    let objects: Vec<String> = (0..50).map(|row| format!("{{\"x\":{row}}}")).collect();
    for junk in ["[\"junk\"]", "[", "]", "[{\"x\":1}", "\"", "{", "nothing", "PK", "\u{feff}["] {
        for place in [0, 25, 50] {
            let mut lines = objects.clone();
            lines.insert(place, junk.into());
            fs::write(&path, lines.join("\n") + "\n").unwrap();
            let found = rows(&open(&path).unwrap(), &columns(&[("x", Type::Number)])).len();
            assert_eq!(found, 50, "{junk} as line {place}");
        }
    }
}

/// The format of a file follows from its name: an array starts with `[`, which is not part of any row.
#[test]
fn lines_named_as_an_array_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.json");
    fs::write(&path, "{\"x\":1}\n{\"x\":2}\n").unwrap();
    assert_eq!(
        reason(open(&path)),
        "t.json does not begin with `[`, as a JSON array does; if each line is an object, name it .ndjson"
    );
}

/// The attack: a dictionary with 8-bit keys, in batches of few rows each, so that the file is valid. Read in larger
/// batches, it had room for 127 distinct values, and one more made the run fail.
#[test]
fn one_more_value_of_a_dictionary_does_not_fail() {
    let folder = tempfile::tempdir().unwrap();
    for values in [100, 127, 128, 129, 300] {
        let path = folder.path().join(format!("{values}.parquet"));
        let mut writer = None;
        for start in (0..values).step_by(50) {
            let numbers: Vec<i64> = (start..values.min(start + 50)).collect();
            let keys = Int8Array::from_iter_values(0..i8::try_from(numbers.len()).unwrap());
            let texts: Vec<String> = numbers.iter().map(i64::to_string).collect();
            let bytes: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
            let packed = |values: ArrayRef| -> ArrayRef {
                Arc::new(DictionaryArray::<Int8Type>::try_new(keys.clone(), values).unwrap())
            };
            let batch = batch(vec![
                ("n", packed(Arc::new(Int64Array::from(numbers.clone())))),
                ("f", packed(Arc::new(Float64Array::from_iter_values(numbers.iter().map(|&number| number as f64))))),
                ("d", packed(Arc::new(Date32Array::from_iter_values(numbers.iter().map(|&number| number as i32))))),
                ("t", packed(Arc::new(TimestampSecondArray::from(numbers.clone())))),
                ("s", packed(Arc::new(StringArray::from(texts.clone())))),
                ("b", packed(Arc::new(BinaryArray::from_vec(bytes)))),
            ]);
            let file = || ArrowWriter::try_new(fs::File::create(&path).unwrap(), batch.schema(), None).unwrap();
            writer.get_or_insert_with(file).write(&batch).unwrap();
        }
        writer.unwrap().close().unwrap();
        let table = open(&path).unwrap();
        for request in [natural(&table, &["n", "f", "d", "t", "s"]), unit("b", UnitType::Text), columns(&[])] {
            assert_eq!(rows(&table, &request).len(), values as usize, "{values}");
        }
    }
}
