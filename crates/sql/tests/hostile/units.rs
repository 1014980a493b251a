//! People who might be merged because a type cannot tell their ids apart.

use std::fs::File;
use std::sync::Arc;

use arrow_array::{ArrayRef, Decimal128Array, Float64Array, RecordBatch, TimestampNanosecondArray, UInt64Array};
use parquet::arrow::ArrowWriter;
use reticent::noise::Entropy;
use reticent_sql::bounding::ChoiceKey;
use reticent_sql::{Input, Query, Table};

use super::options;

/// People in each table, each with two rows.
const PEOPLE: i64 = 200;

/// Ids that a float, a 64-bit integer or a microsecond cannot tell apart: people who are merged count once together,
/// and most of their rows are dropped.
#[test]
fn two_hundred_people_are_two_hundred() {
    let rows = || (0..PEOPLE).chain(0..PEOPLE);
    let hundred_quintillions = 100_000_000_000_000_000_000_i128;
    let decimals = rows().map(|id| Some(hundred_quintillions + i128::from(id))).collect::<Decimal128Array>();
    let decimals = decimals.with_precision_and_scale(38, 0).unwrap();
    let nanoseconds = TimestampNanosecondArray::from_iter_values(rows().map(|id| 1_700_000_000_000_000_000 + id));
    let large = UInt64Array::from_iter_values(rows().map(|id| u64::MAX - id as u64));
    let forms: [ArrayRef; 3] = [Arc::new(decimals), Arc::new(nanoseconds), Arc::new(large)];
    for ids in forms {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        let a: ArrayRef = Arc::new(Float64Array::from_iter_values(rows().map(|_| 1.0)));
        let batch = RecordBatch::try_from_iter([("user_id", ids.clone()), ("a", a)]).unwrap();
        let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        for sql in [
            "SELECT COUNT(DISTINCT user_id) FROM t",
            "SELECT COUNT(*) FROM t",
            "SELECT COUNT(DISTINCT user_id) FROM t WHERE a > 0",
            "SELECT COUNT(*) FROM (SELECT user_id, COUNT(*) AS n FROM t GROUP BY user_id) AS q WHERE n = 2",
            "SELECT COUNT(*) FROM t JOIN t AS w ON t.user_id = w.user_id",
            "SELECT COUNT(*) FROM (SELECT * FROM t UNION ALL SELECT * FROM t) AS s",
        ] {
            let table = Table::open("t", path.to_str().unwrap()).unwrap();
            let query = Query::prepare(sql, vec![Input { table, public: false }], options()).unwrap();
            let exact = query.exact(ChoiceKey::draw(&mut Entropy::seeded(1).draw().unwrap())).unwrap();
            assert_eq!(exact.parts[0].numbers, [PEOPLE], "{sql}, {:?}", ids.data_type());
        }
    }
}
