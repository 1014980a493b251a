//! The rows of a Parquet or Arrow file as lines of NDJSON, in the order of the file.
//!
//! For programs that count lines. Each row is one line, an object whose fields are named after what is read from them
//! ([`Roles`]). Nothing in a row is an error: a cell that is not what was asked for is `null`.

use std::fmt::{self, Debug, Formatter, Write as _};
use std::io::{self, Read};
use std::path::Path;
use std::slice;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema};

use crate::format::Format;
use crate::locate::FileFormat;
use crate::reader::Reader;
use crate::request::{Column, Form};
use crate::scan::{Inner, Source};
use crate::split::Shares;
use crate::typed::{Columns, Known};
use crate::types::plain;
use crate::{Error, Result, Type, UnitType, arrow, canonical, parquet};

/// Lines are made in advance up to about this many bytes.
const AHEAD: usize = 64 << 10;
/// Floats are exact up to this whole number; beyond it they have no decimal point either.
const EXACT: f64 = 9_007_199_254_740_992.0;
const MILLISECONDS_A_DAY: i64 = 86_400_000;

/// Which columns are read, and as what.
///
/// | field | of a column of | holds |
/// |---|---|---|
/// | `value` | whole numbers, decimals, floats | the number, exactly |
/// | | true and false | `true` and `false` |
/// | | text | the text, if it may be a number |
/// | `value`, of events | any type | `1`, or `null` where the cell is missing, or text without letters |
/// | `time` | timestamps, in any time zone | seconds since 1970 with three decimal digits, rounded towards the past |
/// | | dates | the same, at midnight UTC |
/// | | numbers | the number |
/// | | text | the text, if it may be a time |
/// | `key` | any type that a query can group by | the text that it has in the answer of a query |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Roles<'name> {
    /// The column of the field `value`.
    pub value: Option<&'name str>,
    /// Whether it is enough that there is a value.
    pub events: bool,
    /// The column of the field `time`.
    pub time: Option<&'name str>,
    /// The column of the field `key`.
    pub key: Option<&'name str>,
}

/// Reads the lines of a file; the rows of at most one batch are in memory.
///
/// # Example
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::io::Read;
/// use std::path::Path;
///
/// use reticent_table::{Roles, TypedLines};
///
/// let roles = Roles { value: Some("age"), key: Some("town"), ..Roles::default() };
/// let mut lines = String::new();
/// TypedLines::open(Path::new("people.parquet"), "parquet".parse()?, &roles)?.read_to_string(&mut lines)?;
/// assert_eq!(lines, "{\"value\":36,\"key\":\"London\"}\n{\"value\":41,\"key\":null}\n");
/// # Ok(())
/// # }
/// ```
pub struct TypedLines {
    batches: Reader,
    /// What the columns hold, and whether their texts are numbers.
    columns: Vec<(Field, bool)>,
    batch: Option<RecordBatch>,
    /// The next row of the batch.
    row: usize,
    /// Lines that were not passed on yet, from here on.
    text: String,
    passed: usize,
    /// Reading failed, and fails again.
    broken: bool,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Value,
    Event,
    Time,
    Key,
}

impl TypedLines {
    /// Opens a file by its footer or schema alone.
    ///
    /// # Errors
    /// [`Error::Table`] if it is not a complete file of this format, a typed one, or has no such column of a suitable type.
    pub fn open(path: &Path, format: Format, roles: &Roles<'_>) -> Result<Self> {
        let failed = |reason| Error::Table { table: path.display().to_string(), reason };
        Self::of(path, format, roles).map_err(failed)
    }

    fn of(path: &Path, format: Format, roles: &Roles<'_>) -> Result<Self, String> {
        let footer = match format.0 {
            FileFormat::Parquet => parquet::footer(path)?,
            FileFormat::Arrow => arrow::footer(path)?,
            FileFormat::Text(..) => return Err(format!("{format} has no columns with types")),
        };
        let known = Columns::of(&[path.to_owned()], slice::from_ref(&footer))?;
        let value = if roles.events { Field::Event } else { Field::Value };
        let asked = [(roles.value, value), (roles.time, Field::Time), (roles.key, Field::Key)];
        let (mut columns, mut fields) = (Vec::new(), Vec::new());
        for (name, field) in asked.into_iter().filter_map(|(name, field)| Some((name?, field))) {
            let column = known.find(name).ok_or_else(|| {
                let names: Vec<&str> = known.iter().map(|column| column.name.as_str()).collect();
                format!("there is no column `{name}`; there are {}", names.join(", "))
            })?;
            columns.push(Column { name: name.to_owned(), form: field.form(column, &footer.schema)? });
            fields.push((field, matches!(column.seen, Some(Type::Integer | Type::Number))));
        }
        let shares = Shares::new(0, 1);
        let file = vec![shares.chunks(path, 0, &footer.chunks)];
        let source = if format.0 == FileFormat::Parquet { Source::Parquet(file) } else { Source::Arrow(file) };
        let batches = Reader::new(Inner { parts: shares.parts(), columns, source }.into(), 0);
        let (batch, text) = (None, String::new());
        Ok(Self { batches, columns: fields, batch, row: 0, text, passed: 0, broken: false })
    }

    /// Makes the next lines; there are no more if there are none afterwards.
    fn advance(&mut self) -> io::Result<()> {
        self.text.clear();
        self.passed = 0;
        while self.text.len() < AHEAD {
            let Some(batch) = self.batch.as_ref().filter(|batch| self.row < batch.num_rows()) else {
                (self.batch, self.row) = (None, 0);
                self.batch = match self.batches.next() {
                    None => return Ok(()),
                    Some(Ok(batch)) => Some(batch),
                    // What was read before is passed on first.
                    Some(Err(_)) => {
                        self.broken = true;
                        return Ok(());
                    }
                };
                continue;
            };
            self.text.push('{');
            for (place, ((field, are_numbers), column)) in self.columns.iter().zip(batch.columns()).enumerate() {
                self.text.push_str(if place > 0 { "," } else { "" });
                field.write(column, *are_numbers, self.row, &mut self.text);
            }
            self.text.push_str("}\n");
            self.row += 1;
        }
        Ok(())
    }
}

impl Read for TypedLines {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        if self.passed == self.text.len() && !self.broken {
            self.advance()?;
        }
        let rest = &self.text.as_bytes()[self.passed..];
        if rest.is_empty() && self.broken {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let length = rest.len().min(space.len());
        space[..length].copy_from_slice(&rest[..length]);
        self.passed += length;
        Ok(length)
    }
}

impl Debug for TypedLines {
    /// Omits what was read.
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.batches.fmt(formatter)
    }
}

impl Field {
    /// The form in which a column is read; the error says why it cannot be.
    fn form(self, column: &Known, schema: &Schema) -> Result<Form, String> {
        let Known { name, data_type, seen, unit } = column;
        let exactly = unit.is_ok().then_some(Form::Unit(UnitType::Text));
        let unsuitable = |what: &str| {
            format!("the column `{name}` is {}, not {what}", seen.map_or(data_type.clone(), |seen| seen.to_string()))
        };
        let is_zoned = || {
            let field = schema.field_with_name(name);
            field.is_ok_and(|field| matches!(plain(field.data_type()), DataType::Timestamp(_, Some(_))))
        };
        let number = "a number";
        match (self, *seen) {
            (Self::Value, Some(Type::Integer)) => exactly.ok_or_else(|| unsuitable(number)),
            (Self::Value, Some(Type::Number)) => Ok(exactly.unwrap_or(Form::Value(Type::Number))),
            (Self::Value, Some(of @ (Type::Boolean | Type::Text))) => Ok(Form::Value(of)),
            (Self::Value, _) => Err(unsuitable(number)),
            (Self::Event, seen) => {
                let form = exactly.or(seen.map(Form::Value));
                form.ok_or_else(|| format!("the column `{name}` is {data_type}, which cannot be counted"))
            }
            (Self::Time, Some(Type::Integer)) => exactly.ok_or_else(|| unsuitable("a time")),
            (Self::Time, Some(Type::Number)) => Ok(exactly.unwrap_or(Form::Value(Type::Number))),
            (Self::Time, Some(of @ (Type::Text | Type::Date | Type::Timestamp))) => Ok(Form::Value(of)),
            // Which instant it is does not depend on the zone.
            (Self::Time, None) if is_zoned() => exactly.ok_or_else(|| unsuitable("a time")),
            (Self::Time, _) => Err(unsuitable("a time, a date or a number of seconds since 1970")),
            (Self::Key, Some(of)) => Ok(Form::Value(of)),
            (Self::Key, None) => Err(format!("the column `{name}` is {data_type}, which cannot be a key")),
        }
    }

    fn write(self, column: &ArrayRef, are_numbers: bool, row: usize, out: &mut String) {
        let name = match self {
            Self::Value | Self::Event => "value",
            Self::Time => "time",
            Self::Key => "key",
        };
        push(out, format_args!("\"{name}\":"));
        let start = out.len();
        if column.is_valid(row) {
            match self {
                // Whole numbers and decimals are read as text, which is exact.
                Self::Value | Self::Time if are_numbers && column.data_type() == &DataType::Utf8View => {
                    out.push_str(column.as_string_view().value(row));
                }
                Self::Value => value(column, row, out),
                Self::Event => out.push_str(if is_blank(column, row) { "" } else { "1" }),
                Self::Time => time(column, row, out),
                Self::Key => key(column, row, out),
            }
        }
        if out.len() == start {
            out.push_str("null");
        }
    }
}

/// Writing to a String cannot fail.
fn push(out: &mut String, text: fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

fn is_blank(column: &ArrayRef, row: usize) -> bool {
    column.as_string_view_opt().is_some_and(|texts| texts.value(row).trim_ascii().is_empty())
}

fn value(column: &ArrayRef, row: usize, out: &mut String) {
    match column.data_type() {
        DataType::Boolean => out.push_str(if column.as_boolean().value(row) { "true" } else { "false" }),
        DataType::Float64 => float(column.as_primitive::<Float64Type>().value(row), out),
        _ => plain_text(column, row, out),
    }
}

fn time(column: &ArrayRef, row: usize, out: &mut String) {
    let mut write = |milliseconds: i64| {
        let (sign, distance) = (if milliseconds < 0 { "-" } else { "" }, milliseconds.unsigned_abs());
        push(out, format_args!("{sign}{}.{:03}", distance / 1000, distance % 1000));
    };
    match column.data_type() {
        DataType::Date32 => write(i64::from(column.as_primitive::<Date32Type>().value(row)) * MILLISECONDS_A_DAY),
        DataType::Timestamp(..) => {
            write(column.as_primitive::<TimestampMicrosecondType>().value(row).div_euclid(1000));
        }
        DataType::Float64 => float(column.as_primitive::<Float64Type>().value(row), out),
        _ => plain_text(column, row, out),
    }
}

/// Text that may be a number or a time. Any other is nothing: it has letters that no number or time has.
fn plain_text(column: &ArrayRef, row: usize, out: &mut String) {
    let text = column.as_string_view().value(row).trim_ascii();
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\') {
        push(out, format_args!("\"{text}\""));
    }
}

/// In plain notation, as in text.
fn float(number: f64, out: &mut String) {
    if number.is_finite() {
        push(out, format_args!("{number}"));
    }
}

/// As in the answer of a query.
fn key(column: &ArrayRef, row: usize, out: &mut String) {
    out.push('"');
    match column.data_type() {
        DataType::Boolean => out.push_str(if column.as_boolean().value(row) { "true" } else { "false" }),
        DataType::Int64 => push(out, format_args!("{}", column.as_primitive::<Int64Type>().value(row))),
        DataType::Float64 => match column.as_primitive::<Float64Type>().value(row) {
            whole if whole.fract() == 0.0 && whole.abs() <= EXACT => push(out, format_args!("{}", whole as i64)),
            number => float(number, out),
        },
        DataType::Date32 => canonical::date(column.as_primitive::<Date32Type>().value(row).into(), out),
        DataType::Timestamp(..) => {
            canonical::instant(column.as_primitive::<TimestampMicrosecondType>().value(row), 6, out);
        }
        _ => {
            out.pop();
            let text = serde_json::to_string(column.as_string_view().value(row));
            return out.push_str(&text.unwrap_or_default());
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use arrow_array::*;
    use arrow_buffer::i256;

    use super::*;
    use crate::tests::common::{batch, write};

    type Found = Result<Vec<String>, String>;

    /// The lines of a batch, in groups of two rows, which must be the same in each format.
    fn lines(columns: Vec<(&str, ArrayRef)>, roles: &Roles<'_>) -> Found {
        let folder = tempfile::tempdir().unwrap();
        let batch = batch(columns);
        let of = |ending: &str| {
            let path = folder.path().join(format!("t.{ending}"));
            write(&path, &batch, 2);
            let mut text = String::new();
            match TypedLines::open(&path, Format::of_name(&path).unwrap(), roles) {
                Ok(mut lines) => lines.read_to_string(&mut text).unwrap(),
                Err(Error::Table { reason, .. }) => return Err(reason),
                Err(other) => panic!("{other}"),
            };
            Ok(text.lines().map(str::to_owned).collect::<Vec<_>>())
        };
        let found = of("parquet");
        assert_eq!(of("arrow"), found);
        assert_eq!(of("ipc"), found);
        found
    }

    /// The fields of one column.
    fn fields(column: impl Array + 'static, roles: &Roles<'_>) -> Found {
        let lines = lines(vec![("c", Arc::new(column))], roles)?;
        let field =
            |line: &String| line.split_once(':').and_then(|(_, rest)| rest.strip_suffix('}')).unwrap().to_owned();
        Ok(lines.iter().map(field).collect())
    }

    fn values(column: impl Array + 'static) -> Found {
        fields(column, &Roles { value: Some("c"), ..Roles::default() })
    }

    fn times(column: impl Array + 'static) -> Found {
        fields(column, &Roles { time: Some("c"), ..Roles::default() })
    }

    fn keys(column: impl Array + 'static) -> Found {
        fields(column, &Roles { key: Some("c"), ..Roles::default() })
    }

    fn all(texts: &[&str]) -> Found {
        Ok(texts.iter().map(|text| (*text).to_owned()).collect())
    }

    #[test]
    fn rows_stay_in_order_and_have_the_fields_that_were_asked_for() {
        let number = || -> ArrayRef { Arc::new((0..9).map(|row| (row != 4).then_some(row)).collect::<Int16Array>()) };
        let town: ArrayRef = Arc::new((0..9).map(|row| Some(format!("t{row}"))).collect::<StringArray>());
        let roles = Roles { value: Some("n"), time: Some("n"), key: Some("town"), ..Roles::default() };
        let found = lines(vec![("town", town), ("n", number())], &roles).unwrap();
        assert_eq!(found.len(), 9);
        assert_eq!(found[0], r#"{"value":0,"time":0,"key":"t0"}"#);
        assert_eq!(found[4], r#"{"value":null,"time":null,"key":"t4"}"#);
        assert_eq!(found[8], r#"{"value":8,"time":8,"key":"t8"}"#);
        assert_eq!(lines(vec![("n", number())], &Roles::default()), Ok(vec!["{}".to_owned(); 9]));
    }

    #[test]
    fn values_are_exact() {
        assert_eq!(values(UInt64Array::from(vec![u64::MAX, 0])), all(&["18446744073709551615", "0"]));
        let floats = vec![3.0, 1.5, 1e20, f64::NAN, f64::INFINITY];
        assert_eq!(values(Float64Array::from(floats)), all(&["3", "1.5", "100000000000000000000", "null", "null"]));
        assert_eq!(values(BooleanArray::from(vec![Some(true), Some(false), None])), all(&["true", "false", "null"]));
        let decimals = Decimal128Array::from(vec![700, -1250]).with_precision_and_scale(9, 2).unwrap();
        assert_eq!(values(decimals), all(&["7", "-12.5"]));
        let wide = i256::from_string(&"9".repeat(70));
        let wide = Decimal256Array::from(vec![wide]).with_precision_and_scale(76, 0).unwrap();
        assert_eq!(values(wide), all(&[&"9".repeat(70)]));
        let texts = ["12", " 7\t", "say \"x\"", "é", "\\", ""];
        let expected = [r#""12""#, r#""7""#, "null", "null", "null", r#""""#];
        assert_eq!(values(StringArray::from(texts.to_vec())), all(&expected));
        assert_eq!(values(Date32Array::from(vec![1])).unwrap_err(), "the column `c` is a date, not a number");
        assert!(values(BinaryArray::from(vec![&b"1"[..]])).unwrap_err().contains("not a number"));
    }

    #[test]
    fn times_are_exact_to_the_millisecond() {
        const NOON: i64 = 1_769_860_800_123;
        let milliseconds = TimestampMillisecondArray::from(vec![NOON, -1]);
        assert_eq!(times(milliseconds), all(&["1769860800.123", "-0.001"]));
        let microseconds = TimestampMicrosecondArray::from(vec![NOON * 1000 + 999, -1]);
        assert_eq!(times(microseconds), all(&["1769860800.123", "-0.001"]));
        assert_eq!(times(TimestampNanosecondArray::from(vec![999_999, -1])), all(&["0.000", "-0.001"]));
        let zoned = TimestampMillisecondArray::from(vec![NOON]).with_timezone("Europe/Berlin");
        assert_eq!(times(zoned), all(&[r#""2026-01-31T12:00:00.123""#]));
        assert_eq!(times(Date32Array::from(vec![1, -1])), all(&["86400.000", "-86400.000"]));
        assert_eq!(times(Int32Array::from(vec![7])), all(&["7"]));
        assert_eq!(times(Float32Array::from(vec![1.5])), all(&["1.5"]));
        assert_eq!(times(StringArray::from(vec!["2026-01-31"])), all(&[r#""2026-01-31""#]));
        assert!(times(BooleanArray::from(vec![true])).unwrap_err().contains("is true or false, not a time"));
    }

    #[test]
    fn keys_are_those_of_a_query() {
        assert_eq!(keys(UInt64Array::from(vec![7, u64::MAX])), all(&[r#""7""#, "null"]));
        assert_eq!(keys(BooleanArray::from(vec![true])), all(&[r#""true""#]));
        assert_eq!(keys(StringArray::from(vec!["a\"\n", "é", ""])), all(&[r#""a\"\n""#, r#""é""#, r#""""#]));
        assert_eq!(keys(Date32Array::from(vec![1])), all(&[r#""1970-01-02""#]));
        assert_eq!(keys(TimestampNanosecondArray::from(vec![1_500_000_001])), all(&[r#""1970-01-01T00:00:01.5""#]));
        assert_eq!(keys(Float64Array::from(vec![7.0, -0.0, 1.5])), all(&[r#""7""#, r#""0""#, r#""1.5""#]));
        assert!(keys(BinaryArray::from(vec![&b"1"[..]])).unwrap_err().contains("cannot be a key"));
    }

    #[test]
    fn an_event_is_whatever_is_there() {
        let roles = Roles { value: Some("c"), events: true, ..Roles::default() };
        assert_eq!(fields(Int8Array::from(vec![Some(0), None]), &roles), all(&["1", "null"]));
        assert_eq!(fields(StringArray::from(vec!["x", " \t", ""]), &roles), all(&["1", "null", "null"]));
        assert_eq!(fields(Float64Array::from(vec![f64::NAN]), &roles), all(&["1"]));
        assert_eq!(fields(BinaryArray::from(vec![&b"1"[..]]), &roles), all(&["1"]));
    }

    #[test]
    fn a_damaged_file_ends_with_an_error_that_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        let names: ArrayRef = Arc::new((0..50_000).map(|row| Some(format!("name {row}"))).collect::<StringArray>());
        write(&path, &batch(vec![("n", names)]), 25_000);
        let mut bytes = fs::read(&path).unwrap();
        // In the second group of rows.
        let late = bytes.len() * 3 / 4;
        bytes[late..late + 4000].fill(0xff);
        fs::write(&path, bytes).unwrap();
        let roles = Roles { key: Some("n"), ..Roles::default() };
        let mut lines = TypedLines::open(&path, "parquet".parse().unwrap(), &roles).unwrap();
        let mut text = Vec::new();
        assert!(lines.read_to_end(&mut text).is_err());
        assert!(text.starts_with(b"{\"key\":\"name 0\"}\n{\"key\":\"name 1\"}\n"));
        assert!(lines.read(&mut [0; 9]).is_err());
    }

    #[test]
    fn what_is_not_there_is_an_error_at_once() {
        let roles = Roles { key: Some("b"), ..Roles::default() };
        let error = lines(vec![("a", Arc::new(Int8Array::from(vec![1])))], &roles).unwrap_err();
        assert_eq!(error, "there is no column `b`; there are a");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        fs::write(&path, "a\n1\n").unwrap();
        assert!(TypedLines::open(&path, Format::CSV, &Roles::default()).is_err());
        let error = TypedLines::open(&path, "parquet".parse().unwrap(), &Roles::default()).unwrap_err();
        assert!(error.to_string().contains("not a complete Parquet file"), "{error}");
    }
}
