//! The rows of any table as text.

use reticent_table::{Request, Table, Type, UnitColumn, UnitType};

use crate::algebra::Function;
use crate::algebra::column::{Column, Reader, Texts};
use crate::{Error, Result};

/// Calls `act` for every row of a table, in order: with its unit, and its cells as text in column order. NULL is the
/// empty text; numbers and times are in their usual notation.
///
/// # Privacy
/// Units are compared as in private SQL, as the [canonical text](UnitType) of the column `unit`. A cell is not a unit:
/// a value that does not fit its type is NULL, and many people may share that. A row without a unit is one that private
/// SQL drops.
///
/// # Errors
/// [`Error::Table`] if the table has no columns of its own, or the column cannot be the unit; [`Error::Reading`] if it
/// cannot be read to the end.
pub fn each_row(table: &Table, unit: Option<&str>, mut act: impl FnMut(Option<&[u8]>, &[&[u8]])) -> Result<()> {
    if let Some(unit) = unit {
        table.unit_type(unit)?;
    }
    let names = table.columns().unwrap_or_default();
    let columns: Vec<(String, Type)> =
        names.into_iter().map(|name| (name.clone(), table.column_type(&name).unwrap_or(Type::Text))).collect();
    let kinds: Vec<Type> = columns.iter().map(|(_, kind)| *kind).collect();
    let unit = unit.map(|name| UnitColumn { name: name.to_owned(), form: UnitType::Text });
    let units = usize::from(unit.is_some());
    let scan = table.scan(&Request { unit, columns }, 1)?;
    for batch in (0..scan.parts()).flat_map(|part| scan.read(part)) {
        // Whatever the cause, it may depend on a row.
        let batch = batch.map_err(|_| Error::Reading)?;
        let rows = batch.num_rows();
        let (unit, columns) = batch.columns().split_at(units);
        let unit = unit.first().map(|unit| Column::Array(unit.clone()));
        let unit: Option<Reader<'_, Texts>> = unit.as_ref().map(Reader::of);
        let text = |(column, kind): (&arrow_array::ArrayRef, &Type)| {
            Function::Cast(Type::Text).apply(&[*kind], Type::Text, &[Column::Array(column.clone())], rows)
        };
        let texts: Vec<Column> = columns.iter().zip(&kinds).map(text).collect();
        let readers: Vec<Reader<'_, Texts>> = texts.iter().map(Reader::of).collect();
        for row in 0..rows {
            let cells: Vec<&[u8]> =
                readers.iter().map(|reader| reader.get(row).unwrap_or_default().as_bytes()).collect();
            act(unit.as_ref().and_then(|unit| unit.get(row)).map(str::as_bytes), &cells);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::path::Path;
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, TimestampMillisecondArray, UInt64Array};
    use reticent_table::MOST_TEXT;

    use super::*;

    fn open(path: &Path) -> Table {
        Table::open("data", path.to_str().unwrap()).unwrap()
    }

    fn units(path: &Path) -> Vec<Option<String>> {
        let mut units = Vec::new();
        each_row(&open(path), Some("id"), |unit, cells| {
            assert_eq!(cells.len(), 2);
            units.push(unit.map(|unit| String::from_utf8(unit.to_vec()).unwrap()));
        })
        .unwrap();
        units
    }

    #[test]
    fn rows_come_in_order_and_null_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("people.tsv");
        std::fs::write(&path, "name\tage\nada\t36\n\"a\tb\"\nalan\t\"4\n1\"\t9\n").unwrap();
        let mut rows = Vec::new();
        each_row(&open(&path), None, |unit, cells| {
            assert_eq!(unit, None);
            rows.push(cells.iter().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect::<Vec<_>>());
        })
        .unwrap();
        assert_eq!(rows[0], ["ada", "36"]);
        assert_eq!(rows[1], ["a\tb", ""]);
    }

    /// Ids that are NULL as column values are still units, in every format.
    #[test]
    fn units_are_compared_exactly() {
        let folder = tempfile::tempdir().unwrap();
        let long = "x".repeat(MOST_TEXT + 1);
        let tsv = folder.path().join("people.tsv");
        std::fs::write(&tsv, format!("id\tx\n 7.00\t1\n{long}\t2\n\t3\n")).unwrap();
        let found = units(&tsv);
        assert_eq!((found[1].as_ref(), found[2].as_ref()), (None, None), "as private SQL, which drops such rows");
        assert!(found[0].as_deref().is_some_and(|unit| unit.trim() == "7.00"), "{found:?}");

        let values: ArrayRef = Arc::new(UInt64Array::from(vec![1, 2, 3]));
        let columns: [(ArrayRef, [Option<&str>; 3]); 2] = [
            (
                Arc::new(UInt64Array::from(vec![Some(1 << 63), Some(u64::MAX), None])),
                [Some("9223372036854775808"), Some("18446744073709551615"), None],
            ),
            (Arc::new(StringArray::from(vec![Some("7"), Some("07"), None])), [Some("7"), Some("07"), None]),
        ];
        for (ids, expected) in columns {
            let kind = ids.data_type().clone();
            let batch = RecordBatch::try_from_iter([("id", ids), ("x", values.clone())]).unwrap();
            for path in written(folder.path(), &batch) {
                let found = units(&path);
                assert_eq!(found.iter().map(Option::as_deref).collect::<Vec<_>>(), expected, "{path:?}: {kind}");
            }
        }
        // Beyond the years that column values can have.
        let late: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![i64::MAX, i64::MAX, i64::MAX - 1]));
        let batch = RecordBatch::try_from_iter([("id", late), ("x", values.clone())]).unwrap();
        for path in written(folder.path(), &batch) {
            let found = units(&path);
            assert!(found[0].is_some() && found[0] == found[1] && found[1] != found[2], "{path:?}: {found:?}");
        }
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.0, f64::INFINITY, f64::NAN]));
        let batch = RecordBatch::try_from_iter([("id", floats), ("x", values)]).unwrap();
        for path in written(folder.path(), &batch) {
            let error = each_row(&open(&path), Some("id"), |_, _| panic!("no row is read")).unwrap_err();
            assert!(error.to_string().contains("floating-point"), "{error}");
        }
    }

    /// As Parquet and as Arrow.
    fn written(folder: &Path, batch: &RecordBatch) -> [std::path::PathBuf; 2] {
        let [parquet, arrow] = ["people.parquet", "people.arrow"].map(|name| folder.join(name));
        let mut writer =
            parquet::arrow::ArrowWriter::try_new(File::create(&parquet).unwrap(), batch.schema(), None).unwrap();
        writer.write(batch).unwrap();
        writer.close().unwrap();
        let mut writer =
            arrow_ipc::writer::FileWriter::try_new(File::create(&arrow).unwrap(), &batch.schema()).unwrap();
        writer.write(batch).unwrap();
        writer.finish().unwrap();
        [parquet, arrow]
    }
}
