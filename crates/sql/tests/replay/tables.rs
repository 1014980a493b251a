//! Random tables, and their neighbours.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use reticent::privacy::Adjacency;
use reticent_sql::Unit;

use super::dice::Dice;
use super::grammar::Question;

const USERS: u64 = 6;
const ROWS: u64 = 30;
/// A unit with many more rows than others.
const MANY: u64 = 60;

/// A row of either private table: user, region, a, b, note.
#[derive(Debug, Clone)]
pub struct Row {
    user: Option<String>,
    region: Option<String>,
    a: Option<f64>,
    b: Option<f64>,
    note: Option<String>,
    /// Whether it is in the second table.
    second: bool,
}

/// Neighbouring tables, written to the same files one after the other.
pub struct Tables {
    pub rows: Vec<Row>,
    pub neighbour: Vec<Row>,
    folder: PathBuf,
    parquet: bool,
}

impl Row {
    fn roll(dice: &mut Dice, user: u64) -> Self {
        let number = |dice: &mut Dice| match dice.below(14) {
            0 => None,
            1 => Some(f64::NAN),
            2 => Some(f64::INFINITY),
            3 => Some(f64::NEG_INFINITY),
            4 => Some(0.0),
            5 => Some(i64::MIN as f64),
            6 => Some(-1.0),
            7 => Some(1e300),
            8 => Some(-0.0),
            _ => Some(dice.below(400) as f64 / 8.0 - 10.0),
        };
        let notes = [
            "a",
            "7",
            "-3",
            "1e400",
            "nan",
            "2019-02-30",
            "2019-02-28",
            "262143-01-01",
            "x'y\"z",
            "",
            "½",
            "9223372036854775808",
            "north",
            "0001-01-01T00:00:00",
        ];
        let user = match dice.one_in(15) {
            true => None,
            false => Some(format!("u{user}")),
        };
        let region = match dice.below(9) {
            0 => None,
            _ => Some(dice.pick(&["north", "south", "east", "elsewhere"]).to_owned()),
        };
        let note = (!dice.one_in(8)).then(|| dice.pick(&notes).to_owned());
        Self { user, region, a: number(dice), b: number(dice), note, second: dice.one_in(4) }
    }
}

impl Tables {
    pub fn roll(dice: &mut Dice, question: &Question, folder: &Path) -> Self {
        let many = dice.one_in(4).then(|| dice.below(USERS));
        let mut rows: Vec<Row> = (0..dice.below(ROWS))
            .map(|_| {
                let user = dice.below(USERS);
                Row::roll(dice, user)
            })
            .collect();
        rows.extend(many.iter().flat_map(|&user| (0..MANY).map(move |_| user)).map(|user| Row::roll(dice, user)));
        let by_user = matches!(question.options.unit, Unit::Column(_));
        let gone = format!("u{}", many.unwrap_or_else(|| dice.below(USERS)));
        let mut neighbour = rows.clone();
        if by_user {
            neighbour.retain(|row| row.user.as_deref() != Some(&gone));
            if question.options.adjacency == Adjacency::Replace {
                let user = USERS + dice.below(2);
                for _ in 0..dice.below(20) {
                    let row = Row::roll(dice, user);
                    let place = dice.below(neighbour.len() as u64 + 1) as usize;
                    neighbour.insert(place, row);
                }
                // Rows without a unit are dropped, so they may differ.
            }
        } else if !neighbour.is_empty() {
            let place = dice.below(neighbour.len() as u64) as usize;
            match question.options.adjacency {
                Adjacency::AddRemove => drop(neighbour.remove(place)),
                Adjacency::Replace => {
                    let second = neighbour[place].second;
                    neighbour[place] = Row { second, ..Row::roll(dice, 0) };
                }
            }
        }
        Self { rows, neighbour, folder: folder.into(), parquet: dice.one_in(2) }
    }

    /// Name, location, and whether it is public.
    pub fn files(&self) -> Vec<(&'static str, String, bool)> {
        let end = if self.parquet { "parquet" } else { "csv" };
        let at = |name: &str, end: &str| self.folder.join(format!("{name}.{end}")).display().to_string();
        vec![("t", at("t", end), false), ("u", at("u", end), false), ("r", at("r", "csv"), true)]
    }

    pub fn write(&self, rows: &[Row]) {
        let public = self.folder.join("r.csv");
        if !public.exists() {
            fs::write(public, "label,size\nnorth,1\nsouth,2\neast,3\n").expect("a file");
        }
        for (name, second) in [("t", false), ("u", true)] {
            let rows: Vec<&Row> = rows.iter().filter(|row| row.second == second).collect();
            if self.parquet { self.write_parquet(name, &rows) } else { self.write_csv(name, &rows) }
        }
    }

    /// Replaces an old file by a new one. A file that is truncated and rewritten is flushed to disk on close, which
    /// takes longer than reading it.
    fn fresh(&self, name: &str) -> fs::File {
        let path = self.folder.join(name);
        let _ = fs::remove_file(&path);
        fs::File::create(path).expect("a file")
    }

    fn write_csv(&self, name: &str, rows: &[&Row]) {
        let mut text = "user_id,region,a,b,note\n".to_owned();
        for Row { user, region, a, b, note, .. } in rows {
            let quoted = |cell: &Option<String>| {
                cell.as_ref().map_or_else(String::new, |cell| format!("\"{}\"", cell.replace('"', "\"\"")))
            };
            let number = |cell: &Option<f64>| cell.map_or_else(String::new, |cell| cell.to_string());
            let cells = [quoted(user), quoted(region), number(a), number(b), quoted(note)];
            text += &(cells.join(",") + "\n");
        }
        let mut file = self.fresh(&format!("{name}.csv"));
        file.write_all(text.as_bytes()).expect("written");
    }

    fn write_parquet(&self, name: &str, rows: &[&Row]) {
        let text = |cell: fn(&Row) -> &Option<String>| -> ArrayRef {
            Arc::new(StringArray::from_iter(rows.iter().map(|row| cell(row).clone())))
        };
        let number = |cell: fn(&Row) -> Option<f64>| -> ArrayRef {
            Arc::new(Float64Array::from_iter(rows.iter().map(|row| cell(row))))
        };
        let columns = [
            ("user_id", text(|row| &row.user)),
            ("region", text(|row| &row.region)),
            ("a", number(|row| row.a)),
            ("b", number(|row| row.b)),
            ("note", text(|row| &row.note)),
        ];
        let batch = RecordBatch::try_from_iter(columns.map(|(name, column)| (name, column))).expect("a batch");
        let file = self.fresh(&format!("{name}.parquet"));
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None).expect("a writer");
        writer.write(&batch).expect("written");
        writer.close().expect("written");
    }
}
