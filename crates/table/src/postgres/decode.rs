//! Rows in PostgreSQL's binary form of COPY.

use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Date32Builder, Float64Builder, Int64Builder, StringViewBuilder, TimestampMicrosecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;

use super::catalogue::Kind;
use super::numeric::Numeric;
use crate::canonical::{date, hex, instant};
use crate::cells::{BATCH_BYTES, BATCH_ROWS};
use crate::request::Form;
use crate::text::is_too_long;
use crate::{Broken, Type, UnitType};

/// What every COPY starts with.
const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0";
/// The signature, flags, and the length of an extension.
const HEADER: usize = SIGNATURE.len() + 8;
/// No value is longer: texts and bytes are limited before they are sent, and a decimal has at most 147,455 digits.
const LONGEST: usize = 1 << 17;
/// The longest extension of a header, of which there are none yet.
const LONGEST_EXTENSION: usize = 1 << 16;
/// Where PostgreSQL's calendar starts, in days and microseconds since 1970.
const EPOCH_DAY: i32 = 10_957;
const EPOCH: i64 = EPOCH_DAY as i64 * 86_400_000_000;

/// A column under construction.
struct Cells {
    kind: Kind,
    builder: Builder,
}

enum Builder {
    Boolean(BooleanBuilder),
    Integer(Int64Builder),
    Number(Float64Builder),
    Text(StringViewBuilder),
    Date(Date32Builder),
    Timestamp(TimestampMicrosecondBuilder),
    /// A unit that is not text, as canonical text.
    Canonical(StringViewBuilder),
}

/// A batch under construction, and the bytes of an incomplete row.
pub struct Decoder {
    schema: SchemaRef,
    columns: Vec<Cells>,
    rows: usize,
    /// Bytes of text in the batch.
    bytes: usize,
    pending: Vec<u8>,
    state: State,
    /// A unit as text.
    text: String,
}

#[derive(PartialEq)]
enum State {
    Header,
    Rows,
    Ended,
}

impl Decoder {
    /// No rows yet, of columns of these kinds in these forms.
    pub fn new(columns: &[(Kind, Form)], schema: SchemaRef) -> Result<Self, Broken> {
        let cells = |(kind, form): &(Kind, Form)| Ok(Cells { kind: *kind, builder: Builder::new(*kind, *form)? });
        let columns = columns.iter().map(cells).collect::<Result<_, _>>()?;
        let (pending, text) = (Vec::new(), String::new());
        Ok(Self { schema, columns, rows: 0, bytes: 0, pending, state: State::Header, text })
    }

    /// Whether it is time for [`Decoder::take`].
    pub fn is_full(&self) -> bool {
        self.rows >= BATCH_ROWS || self.bytes >= BATCH_BYTES
    }

    /// Adds what was received. It may end anywhere, although servers send one row at a time.
    pub fn add(&mut self, received: &[u8]) -> Result<(), Broken> {
        if self.pending.is_empty() {
            let read = self.read(received)?;
            self.pending.extend_from_slice(&received[read..]);
        } else {
            let mut pending = std::mem::take(&mut self.pending);
            pending.extend_from_slice(received);
            let read = self.read(&pending)?;
            pending.drain(..read);
            self.pending = pending;
        }
        Ok(())
    }

    /// Whether everything was received.
    pub fn is_complete(&self) -> bool {
        self.state == State::Ended && self.pending.is_empty()
    }

    /// Returns the rows so far, which may be none, and starts the next batch.
    pub fn take(&mut self) -> Result<RecordBatch, Broken> {
        let columns = self.columns.iter_mut().map(|column| column.builder.finish()).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        (self.rows, self.bytes) = (0, 0);
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &options).map_err(|_| Broken)
    }

    /// Reads complete rows; returns how many bytes they take.
    fn read(&mut self, bytes: &[u8]) -> Result<usize, Broken> {
        let mut place = 0;
        if self.state == State::Header {
            let Some(header) = bytes.get(..HEADER) else { return Ok(0) };
            let flags = word(&header[SIGNATURE.len()..]);
            let extension = usize::try_from(word(&header[SIGNATURE.len() + 4..])).map_err(|_| Broken)?;
            if !header.starts_with(SIGNATURE) || flags != 0 || extension > LONGEST_EXTENSION {
                return Err(Broken);
            }
            if bytes.len() < HEADER + extension {
                return Ok(0);
            }
            place = HEADER + extension;
            self.state = State::Rows;
        }
        while place < bytes.len() {
            let read = self.row(&bytes[place..])?;
            if read == 0 {
                break;
            }
            place += read;
        }
        Ok(place)
    }

    /// Reads a row; returns how many bytes it takes, or 0 if it is not complete.
    fn row(&mut self, bytes: &[u8]) -> Result<usize, Broken> {
        if self.state == State::Ended {
            return Err(Broken);
        }
        let Some((count, _)) = bytes.split_first_chunk() else { return Ok(0) };
        let count = i16::from_be_bytes(*count);
        if count == -1 {
            self.state = State::Ended;
            return Ok(2);
        }
        if usize::try_from(count) != Ok(self.columns.len()) {
            return Err(Broken);
        }
        // A row is added as a whole.
        let mut end = 2;
        for _ in 0..self.columns.len() {
            let Some(length) = bytes.get(end..end + 4) else { return Ok(0) };
            end += 4 + length_of(length)?.unwrap_or(0);
        }
        if bytes.len() < end {
            return Ok(0);
        }
        let mut rest = &bytes[2..end];
        for column in &mut self.columns {
            let (length, after) = rest.split_at(4);
            let (value, after) = match length_of(length)? {
                None => (None, after),
                Some(length) => {
                    let (value, after) = after.split_at(length);
                    (Some(value), after)
                }
            };
            rest = after;
            match value {
                None => column.builder.append_null(),
                Some(value) => self.bytes += column.append(value, &mut self.text)?,
            }
        }
        self.rows += 1;
        Ok(end)
    }
}

/// Four bytes, of at least four.
fn word(bytes: &[u8]) -> i32 {
    bytes.first_chunk().map_or(0, |bytes| i32::from_be_bytes(*bytes))
}

/// The length of a value; `None` for NULL.
fn length_of(bytes: &[u8]) -> Result<Option<usize>, Broken> {
    match word(bytes) {
        -1 => Ok(None),
        length => usize::try_from(length).ok().filter(|length| *length <= LONGEST).map(Some).ok_or(Broken),
    }
}

fn fixed<const N: usize>(value: &[u8]) -> Result<[u8; N], Broken> {
    value.try_into().map_err(|_| Broken)
}

fn integer(kind: Kind, value: &[u8]) -> Result<i64, Broken> {
    match kind {
        Kind::Integer(2) => Ok(i16::from_be_bytes(fixed(value)?).into()),
        Kind::Integer(4) => Ok(i32::from_be_bytes(fixed(value)?).into()),
        Kind::Integer(8) => Ok(i64::from_be_bytes(fixed(value)?)),
        _ => Err(Broken),
    }
}

fn boolean(value: &[u8]) -> Result<bool, Broken> {
    match value {
        [0] => Ok(false),
        [1] => Ok(true),
        _ => Err(Broken),
    }
}

/// A day since 1970; `None` if it is infinite, or out of range.
fn day(value: &[u8]) -> Result<Option<i32>, Broken> {
    let day = i32::from_be_bytes(fixed(value)?);
    Ok(Some(day).filter(|day| ![i32::MIN, i32::MAX].contains(day)).and_then(|day| day.checked_add(EPOCH_DAY)))
}

/// Microseconds since 1970; `None` if they are infinite, or out of range.
fn moment(value: &[u8]) -> Result<Option<i64>, Broken> {
    let moment = i64::from_be_bytes(fixed(value)?);
    Ok(Some(moment)
        .filter(|moment| ![i64::MIN, i64::MAX].contains(moment))
        .and_then(|moment| moment.checked_add(EPOCH)))
}

fn words(kind: Kind, value: &[u8]) -> Result<&str, Broken> {
    let text = str::from_utf8(value).map_err(|_| Broken)?;
    Ok(if kind == Kind::Padded { text.trim_end_matches(' ') } else { text })
}

impl Cells {
    /// Appends a value; returns how many bytes of text it takes.
    fn append(&mut self, value: &[u8], text: &mut String) -> Result<usize, Broken> {
        match &mut self.builder {
            Builder::Boolean(values) => values.append_value(boolean(value)?),
            Builder::Integer(values) => values.append_value(integer(self.kind, value)?),
            Builder::Number(values) => values.append_value(match self.kind {
                Kind::Single => f32::from_be_bytes(fixed(value)?).into(),
                Kind::Double => f64::from_be_bytes(fixed(value)?),
                _ => Numeric::read(value)?.number(),
            }),
            Builder::Date(values) => values.append_option(day(value)?),
            Builder::Timestamp(values) => values.append_option(moment(value)?),
            Builder::Text(values) => return Ok(append_text(values, words(self.kind, value)?)),
            Builder::Canonical(values) => {
                text.clear();
                let is_there = canonical(self.kind, value, text)?;
                if !is_there {
                    values.append_null();
                    return Ok(0);
                }
                return Ok(append_text(values, text));
            }
        }
        Ok(0)
    }
}

fn append_text(values: &mut StringViewBuilder, text: &str) -> usize {
    if is_too_long(text.len()) {
        values.append_null();
        return 0;
    }
    values.append_value(text);
    text.len()
}

/// Writes a unit that is not text; returns whether there is one.
fn canonical(kind: Kind, value: &[u8], out: &mut String) -> Result<bool, Broken> {
    match kind {
        Kind::Boolean => out.push_str(if boolean(value)? { "true" } else { "false" }),
        Kind::Integer(_) => out.push_str(&integer(kind, value)?.to_string()),
        Kind::Numeric => Numeric::read(value)?.write(out),
        Kind::Date => match day(value)? {
            Some(day) => date(day.into(), out),
            None => return Ok(false),
        },
        Kind::Timestamp => match moment(value)? {
            Some(moment) => instant(moment, 6, out),
            None => return Ok(false),
        },
        Kind::Uuid => hex(&fixed::<16>(value)?, out),
        Kind::Bytes => hex(value, out),
        Kind::Single | Kind::Double | Kind::Text | Kind::Padded => return Err(Broken),
    }
    Ok(true)
}

impl Builder {
    fn new(kind: Kind, form: Form) -> Result<Self, Broken> {
        let rows = BATCH_ROWS;
        Ok(match (kind, form) {
            (Kind::Boolean, Form::Value(Type::Boolean)) => Self::Boolean(BooleanBuilder::with_capacity(rows)),
            (Kind::Integer(_), Form::Value(Type::Integer) | Form::Unit(UnitType::Signed)) => {
                Self::Integer(Int64Builder::with_capacity(rows))
            }
            (Kind::Single | Kind::Double | Kind::Numeric, Form::Value(Type::Number)) => {
                Self::Number(Float64Builder::with_capacity(rows))
            }
            (Kind::Text | Kind::Padded, Form::Value(Type::Text) | Form::Unit(UnitType::Text)) => {
                Self::Text(StringViewBuilder::with_capacity(rows))
            }
            (Kind::Date, Form::Value(Type::Date)) => Self::Date(Date32Builder::with_capacity(rows)),
            (Kind::Timestamp, Form::Value(Type::Timestamp)) => {
                Self::Timestamp(TimestampMicrosecondBuilder::with_capacity(rows))
            }
            (Kind::Single | Kind::Double, _) => return Err(Broken),
            (_, Form::Unit(UnitType::Text)) => Self::Canonical(StringViewBuilder::with_capacity(rows)),
            _ => return Err(Broken),
        })
    }

    fn append_null(&mut self) {
        match self {
            Self::Boolean(values) => values.append_null(),
            Self::Integer(values) => values.append_null(),
            Self::Number(values) => values.append_null(),
            Self::Date(values) => values.append_null(),
            Self::Timestamp(values) => values.append_null(),
            Self::Text(values) | Self::Canonical(values) => values.append_null(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Boolean(values) => Arc::new(values.finish()),
            Self::Integer(values) => Arc::new(values.finish()),
            Self::Number(values) => Arc::new(values.finish()),
            Self::Date(values) => Arc::new(values.finish()),
            Self::Timestamp(values) => Arc::new(values.finish()),
            Self::Text(values) | Self::Canonical(values) => Arc::new(values.finish()),
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use proptest::prelude::*;

    use super::*;
    use crate::request::{Column, schema};

    fn decoder(columns: &[(Kind, Form)]) -> Decoder {
        let all: Vec<Column> = columns.iter().map(|(_, form)| Column { name: String::new(), form: *form }).collect();
        Decoder::new(columns, schema(&all)).unwrap()
    }

    fn number_and_text() -> Decoder {
        decoder(&[(Kind::Integer(4), Form::Value(Type::Integer)), (Kind::Padded, Form::Value(Type::Text))])
    }

    fn header() -> Vec<u8> {
        [SIGNATURE, &[0; 8]].concat()
    }

    fn row(values: &[Option<&[u8]>]) -> Vec<u8> {
        let value = |value: &Option<&[u8]>| match value {
            None => (-1_i32).to_be_bytes().to_vec(),
            Some(value) => [&(value.len() as i32).to_be_bytes()[..], value].concat(),
        };
        [(values.len() as i16).to_be_bytes().to_vec(), values.iter().flat_map(value).collect()].concat()
    }

    fn sent() -> Vec<u8> {
        let one = row(&[Some(&7_i32.to_be_bytes()), Some("é  ".as_bytes())]);
        [header(), one, row(&[None, Some(b"")]), row(&[Some(&(-1_i32).to_be_bytes()), None]), vec![0xff; 2]].concat()
    }

    #[test]
    fn rows_may_be_cut_anywhere() {
        let bytes = sent();
        for size in 1..=bytes.len() {
            let mut decoder = number_and_text();
            bytes.chunks(size).for_each(|piece| decoder.add(piece).unwrap());
            assert!(decoder.is_complete(), "{size}");
            let batch = decoder.take().unwrap();
            let numbers: Vec<_> = batch.column(0).as_primitive::<Int64Type>().iter().collect();
            assert_eq!(numbers, [Some(7), None, Some(-1)]);
            let texts: Vec<_> = batch.column(1).as_string_view().iter().collect();
            assert_eq!(texts, [Some("é"), Some(""), None]);
        }
    }

    #[test]
    fn what_is_cut_off_is_not_complete() {
        let bytes = sent();
        for end in 0..bytes.len() {
            let mut decoder = number_and_text();
            decoder.add(&bytes[..end]).unwrap();
            assert!(!decoder.is_complete(), "{end}");
        }
        let mut decoder = number_and_text();
        decoder.add(&bytes).unwrap();
        assert!(decoder.add(b"x").is_err() || !decoder.is_complete());
    }

    #[test]
    fn what_is_unexpected_is_broken() {
        let broken = |bytes: &[u8]| number_and_text().add(bytes).is_err();
        let (mut flags, mut other) = (header(), header());
        flags[14] = 1;
        other[0] = b'p';
        assert!(broken(&flags) && broken(&other));
        let with = |row: Vec<u8>| [header(), row].concat();
        assert!(broken(&with(row(&[None]))) && broken(&with(row(&[None, None, None]))));
        assert!(broken(&with(row(&[Some(&[0; 8]), None]))), "another integer");
        assert!(broken(&with(row(&[None, Some(&[0xff])]))), "not UTF-8");
        let mut long = row(&[None]);
        long.extend_from_slice(&i32::MAX.to_be_bytes());
        long[1] = 2;
        assert!(broken(&with(long)), "longer than anything that is sent");
        assert!(!broken(&with(row(&[None, None]))));
    }

    #[test]
    fn days_and_moments_out_of_range_are_null() {
        let date = |day: i32| self::day(&day.to_be_bytes()).unwrap();
        assert_eq!([date(0), date(-EPOCH_DAY), date(i32::MIN), date(i32::MAX)], [Some(EPOCH_DAY), Some(0), None, None]);
        assert_eq!(date(i32::MAX - 1), None);
        let at = |moment: i64| self::moment(&moment.to_be_bytes()).unwrap();
        assert_eq!([at(0), at(i64::MIN), at(i64::MAX), at(i64::MAX - 1)], [Some(EPOCH), None, None, None]);
        assert!(day(&[0; 8]).is_err() && moment(&[0; 4]).is_err());
    }

    #[test]
    fn a_form_that_does_not_suit_is_not_read() {
        let forms = [
            (Kind::Double, Form::Unit(UnitType::Text)),
            (Kind::Text, Form::Value(Type::Number)),
            (Kind::Uuid, Form::Value(Type::Text)),
            (Kind::Numeric, Form::Unit(UnitType::Signed)),
            (Kind::Integer(4), Form::Unit(UnitType::Unsigned)),
        ];
        for form in forms {
            assert!(Builder::new(form.0, form.1).is_err(), "{form:?}");
        }
    }

    #[test]
    fn units_are_canonical() {
        let unit = |kind, value: &[u8]| {
            let mut text = String::new();
            canonical(kind, value, &mut text).unwrap().then_some(text)
        };
        assert_eq!(unit(Kind::Uuid, &[0xab; 16]).unwrap(), "abababab-abab-abab-abab-abababababab");
        assert_eq!(unit(Kind::Bytes, &[0, 255]).unwrap(), "00ff");
        assert_eq!(unit(Kind::Date, &0_i32.to_be_bytes()).unwrap(), "2000-01-01");
        assert_eq!(unit(Kind::Timestamp, &1_i64.to_be_bytes()).unwrap(), "2000-01-01T00:00:00.000001");
        assert_eq!(unit(Kind::Timestamp, &i64::MAX.to_be_bytes()), None);
        assert_eq!(unit(Kind::Boolean, &[1]).unwrap(), "true");
        assert_eq!(unit(Kind::Integer(2), &[0xff, 0xff]).unwrap(), "-1");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), size in 1_usize..50) {
            let mut decoder = number_and_text();
            decoder.add(&header()).unwrap();
            for piece in bytes.chunks(size) {
                if decoder.add(piece).is_err() {
                    break;
                }
            }
            let _ = Numeric::read(&bytes).map(|numeric| numeric.number());
        }
    }
}
