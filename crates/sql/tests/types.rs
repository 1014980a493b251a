//! Columns of types that a query cannot use: they exist, and the error says what is wrong with them.

use std::fs::File;
use std::sync::Arc;

use arrow_array::{ArrayRef, DurationSecondArray, Int64Array, RecordBatch, TimestampSecondArray};
use parquet::arrow::ArrowWriter;
use reticent::privacy::Guarantee;
use reticent_sql::{Input, Options, Query, Table};

#[test]
fn a_column_that_cannot_be_used_is_named_with_its_type() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let local: ArrayRef = Arc::new(TimestampSecondArray::from(vec![0, 3600]).with_timezone("Europe/Berlin"));
    let universal: ArrayRef = Arc::new(TimestampSecondArray::from(vec![0, 3600]).with_timezone("UTC"));
    let lengths: ArrayRef = Arc::new(DurationSecondArray::from(vec![1, 2]));
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let columns = [("local", local), ("universal", universal), ("td", lengths), ("n", numbers)];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let said = |sql: &str| {
        let inputs = vec![Input { table: Table::open("t", path.to_str().unwrap()).unwrap(), public: false }];
        let options = Options::new(Guarantee::Pure("1".parse().unwrap()));
        Query::prepare(sql, inputs, options).map(|_| String::new()).unwrap_or_else(|error| error.to_string())
    };
    assert!(said("SELECT COUNT(td) FROM t").starts_with("the column td is Duration(s), which a query cannot use"));
    let hour = said("SELECT COUNT(*) FROM t WHERE EXTRACT(hour FROM local) = 9");
    assert!(hour.contains("the column local is a timestamp in the time zone Europe/Berlin"), "{hour}");
    assert!(said("SELECT COUNT(*) FROM t GROUP BY n HAVING td > 0").contains("the column td is"));
    assert_eq!(said("SELECT COUNT(*) FROM t WHERE EXTRACT(hour FROM universal) = 9"), "");
    assert!(said("SELECT COUNT(t) FROM t").contains("there is no column t"));
}
