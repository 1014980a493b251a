//! Files of all formats: visits of people, with cells that say nothing.

use std::fmt::Write;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, TimestampSecondArray};
use datafusion::arrow::ipc::writer::FileWriter;
use datafusion::parquet::arrow::ArrowWriter;
use tempfile::TempDir;

/// Rows of the small tables, and of each batch of an Arrow file.
pub const ROWS: u64 = 3_000;
/// Rows of text files that are cut: more than the smallest part.
pub const MANY_ROWS: u64 = 130_000;
const PEOPLE: u64 = 400;
const PLACES: [&str; 5] = ["north", "south", "east", "west", "a \"quoted\", place"];

/// One visit; the number decides all of it.
struct Visit {
    person: Option<String>,
    place: Option<&'static str>,
    spent: Option<f64>,
    minutes: Option<i64>,
    note: String,
}

impl Visit {
    fn new(number: u64) -> Self {
        // A number with few visible patterns.
        let random = |salt: u64| {
            let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(salt << 40);
            (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33
        };
        let spent = match random(3) % 11 {
            0 => None,
            1 => Some(-0.0),
            2 => Some(1e300),
            _ => Some(random(4) as f64 % 1000.0 / 7.0),
        };
        let note = match random(5) % 5 {
            0 => "2024-02-30".to_owned(),
            1 => format!("2024-0{}-15", random(6) % 9 + 1),
            2 => String::new(),
            _ => format!("{}", random(7) % 40),
        };
        Self {
            person: (random(1) % 50 != 0).then(|| format!("p{}", random(8) % PEOPLE)),
            place: (random(2) % 20 != 0).then(|| PLACES[(random(9) % PLACES.len() as u64) as usize]),
            spent,
            minutes: (random(10) % 9 != 0).then(|| random(11) as i64 % 200 - 20),
            note,
        }
    }
}

pub struct Tables {
    folder: TempDir,
}

impl Tables {
    /// All small ones.
    pub fn small() -> Self {
        let tables = Self { folder: tempfile::tempdir().unwrap() };
        fs::write(tables.path("visits.csv"), csv(ROWS)).unwrap();
        fs::write(tables.path("visits.ndjson"), ndjson(ROWS)).unwrap();
        write_arrow(&tables.path("visits.arrow"), &[batch(0..ROWS), batch(ROWS..2 * ROWS), batch(2 * ROWS..3 * ROWS)]);
        // Two partitions, of which either could take over the other's file.
        write_parquet(&tables.path("visits-1.parquet"), &batch(0..ROWS / 2));
        write_parquet(&tables.path("visits-2.parquet"), &batch(ROWS / 2..ROWS));
        let sizes = "name,size,opened\nnorth,1,2001\nsouth,2,x\neast,3,2003\n";
        fs::write(tables.path("places.csv"), sizes).unwrap();
        tables
    }

    /// Those that are cut into parts.
    pub fn large() -> Self {
        let tables = Self { folder: tempfile::tempdir().unwrap() };
        fs::write(tables.path("visits.csv"), csv(MANY_ROWS)).unwrap();
        fs::write(tables.path("visits.ndjson"), ndjson(MANY_ROWS)).unwrap();
        let batches: Vec<RecordBatch> = (0..MANY_ROWS / ROWS).map(|n| batch(n * ROWS..(n + 1) * ROWS)).collect();
        write_arrow(&tables.path("visits.arrow"), &batches);
        tables
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn csv(rows: u64) -> String {
    let mut text = "person,place,spent,minutes,note\n".to_owned();
    for visit in (0..rows).map(Visit::new) {
        let quoted = |cell: &str| format!("\"{}\"", cell.replace('"', "\"\""));
        let number = visit.spent.map_or("none".to_owned(), |spent| spent.to_string());
        let minutes = visit.minutes.map_or(String::new(), |minutes| minutes.to_string());
        let (person, place) = (visit.person.unwrap_or_default(), visit.place.map(quoted).unwrap_or_default());
        // Line ends in quotes are where a careless cut would fall.
        let note = if visit.note.is_empty() { "\"one\n\"\"two\"\"\n\"".to_owned() } else { visit.note };
        writeln!(text, "{person},{place},{number},{minutes},{note}").unwrap();
    }
    text
}

fn ndjson(rows: u64) -> String {
    let mut text = String::new();
    for visit in (0..rows).map(Visit::new) {
        let string = |cell: &str| format!("\"{}\"", cell.replace('"', "\\\""));
        let person = visit.person.as_deref().map_or("null".to_owned(), string);
        let place = visit.place.map_or("null".to_owned(), string);
        let spent = visit.spent.map_or("\"none\"".to_owned(), |spent| format!("{spent:e}"));
        let minutes = visit.minutes.map_or("[]".to_owned(), |minutes| minutes.to_string());
        let note = string(&visit.note);
        writeln!(text, r#"{{"person":{person},"place":{place},"spent":{spent},"minutes":{minutes},"note":{note}}}"#)
            .unwrap();
    }
    text
}

fn batch(rows: std::ops::Range<u64>) -> RecordBatch {
    let visits: Vec<Visit> = rows.map(Visit::new).collect();
    let columns: [(&str, ArrayRef); 6] = [
        ("person", Arc::new(StringArray::from_iter(visits.iter().map(|visit| visit.person.clone())))),
        ("place", Arc::new(StringArray::from_iter(visits.iter().map(|visit| visit.place)))),
        ("spent", Arc::new(Float64Array::from_iter(visits.iter().map(|visit| visit.spent)))),
        ("minutes", Arc::new(Int64Array::from_iter(visits.iter().map(|visit| visit.minutes)))),
        ("note", Arc::new(StringArray::from_iter_values(visits.iter().map(|visit| visit.note.clone())))),
        ("at", Arc::new(TimestampSecondArray::from_iter(visits.iter().map(|visit| visit.minutes.map(|m| m * 86_400))))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap()
}

fn write_arrow(path: &Path, batches: &[RecordBatch]) {
    let mut writer = FileWriter::try_new(File::create(path).unwrap(), &batches[0].schema()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
}

fn write_parquet(path: &Path, batch: &RecordBatch) {
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}
