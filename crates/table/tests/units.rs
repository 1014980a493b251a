//! Two people are never merged, and one person is the same in every format.

mod common;

use std::collections::HashSet;
use std::fs;
use std::sync::Arc;

use arrow_array::*;
use arrow_buffer::i256;
use common::*;
use reticent_table::{Type, UnitType};

/// The units of a column as canonical text, from every typed format.
fn texts(column: ArrayRef) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let read = TYPED.map(|ending| {
        let path = folder.path().join("t").with_extension(ending);
        write(&path, &batch(vec![("id", column.clone())]), 2);
        let table = open(&path).unwrap();
        rows(&table, &unit("id", UnitType::Text))
    });
    assert!(read.iter().all(|texts| *texts == read[0]), "{read:?}");
    read[0].clone()
}

fn are_different(texts: &[String]) -> bool {
    texts.iter().collect::<HashSet<_>>().len() == texts.len()
}

#[test]
fn ids_that_no_float_tells_apart() {
    let large = 10_i128.pow(20);
    let decimals = Decimal128Array::from_iter_values(large..large + 5).with_precision_and_scale(38, 0).unwrap();
    let decimals = texts(Arc::new(decimals));
    assert!(are_different(&decimals), "{decimals:?}");
    assert_eq!(decimals[1], "100000000000000000001");
    let larger = i256::from_i128(10_i128.pow(38)).wrapping_mul(i256::from_i128(10_i128.pow(30)));
    let decimals = (0..5).map(|add| larger.wrapping_add(i256::from_i128(add)));
    let decimals = Decimal256Array::from_iter_values(decimals).with_precision_and_scale(76, 0).unwrap();
    let decimals = texts(Arc::new(decimals));
    assert!(are_different(&decimals), "{decimals:?}");
    assert_eq!(decimals[2], format!("1{}2", "0".repeat(67)));
    let cents = Decimal128Array::from(vec![700, 701, 710]).with_precision_and_scale(20, 2).unwrap();
    assert_eq!(texts(Arc::new(cents)), ["7", "7.01", "7.1"]);
}

#[test]
fn whole_numbers_of_64_bits() {
    let folder = tempfile::tempdir().unwrap();
    for ending in TYPED {
        let path = folder.path().join("t").with_extension(ending);
        let ids: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX, u64::MAX - 1, 1 << 63, 0]));
        let signed: ArrayRef = Arc::new(Int64Array::from(vec![i64::MAX, i64::MAX - 1, i64::MIN, 0]));
        write(&path, &batch(vec![("u", ids), ("s", signed)]), 4);
        let table = open(&path).unwrap();
        assert_eq!(table.unit_type("u").unwrap(), UnitType::Unsigned);
        assert_eq!(table.unit_type("s").unwrap(), UnitType::Signed);
        let unsigned = ["18446744073709551615", "18446744073709551614", "9223372036854775808", "0"];
        let signed = ["9223372036854775807", "9223372036854775806", "-9223372036854775808", "0"];
        for (name, form, expected) in [("u", UnitType::Unsigned, unsigned), ("s", UnitType::Signed, signed)] {
            assert_eq!(rows(&table, &unit(name, form)), expected, "{ending}");
            assert_eq!(rows(&table, &unit(name, UnitType::Text)), expected, "{ending}");
        }
        // As a value, what does not fit is NULL.
        assert_eq!(rows(&table, &columns(&[("u", Type::Integer)])), ["", "", "", "0"], "{ending}");
    }
}

#[test]
fn timestamps_that_differ_in_the_last_digit() {
    let nanoseconds = TimestampNanosecondArray::from(vec![1_772_443_800_000_000_000, 1_772_443_800_000_000_001]);
    let expected = ["2026-03-02T09:30:00", "2026-03-02T09:30:00.000000001"];
    assert_eq!(texts(Arc::new(nanoseconds.clone())), expected);
    assert_eq!(texts(Arc::new(nanoseconds.with_timezone("America/New_York"))), expected);
}

#[test]
fn bytes_and_uuids() {
    let ids: Vec<[u8; 16]> = (0..3).map(|last| [[0xab; 15].as_slice(), &[last]].concat().try_into().unwrap()).collect();
    let uuids = texts(Arc::new(FixedSizeBinaryArray::try_from_iter(ids.iter()).unwrap()));
    assert_eq!(uuids[2], "abababab-abab-abab-abab-ababababab02");
    assert!(are_different(&uuids));
    assert_eq!(texts(Arc::new(BinaryArray::from_iter_values(&ids))), uuids);
    assert_eq!(texts(Arc::new(BinaryViewArray::from_iter_values(&ids))), uuids);
}

#[test]
fn one_person_is_the_same_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let path = |ending: &str| folder.path().join("t").with_extension(ending);
    let ids = ["7", "-12", "100000000000000000001", ""];
    fs::write(path("csv"), format!("id,n\n{}", ids.map(|id| format!("{id},1\n")).concat())).unwrap();
    let json = |id: &str| format!("{{\"id\":{}}}\n", if id.is_empty() { "null" } else { id });
    fs::write(path("ndjson"), ids.map(json).concat()).unwrap();
    let decimals = ids.map(|id| id.parse::<i128>().ok());
    let decimals = Decimal128Array::from(decimals.to_vec()).with_precision_and_scale(38, 0).unwrap();
    write(&path("parquet"), &batch(vec![("id", Arc::new(decimals))]), 4);
    let words = StringViewArray::from(ids.map(|id| Some(id).filter(|id| !id.is_empty())).to_vec());
    write(&path("arrow"), &batch(vec![("id", Arc::new(words))]), 4);
    for ending in ["csv", "ndjson", "parquet", "arrow"] {
        assert_eq!(rows(&open(&path(ending)).unwrap(), &unit("id", UnitType::Text)), ids, "{ending}");
    }
}
