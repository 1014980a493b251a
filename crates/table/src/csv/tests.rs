//! Rows follow the rules, however the bytes arrive and wherever the file is cut.

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, RecordBatch};
use proptest::prelude::*;

use super::records::LONGEST_RECORD;
use super::*;
use crate::cells::BATCH_ROWS;
use crate::request::{Column, Form, schema};
use crate::{MOST_TEXT, Type};

/// A reader that returns its data in pieces of one size.
struct Pieces<'a>(&'a [u8], usize);

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.1.min(self.0.len()).min(buffer.len());
        let (piece, rest) = self.0.split_at(length);
        buffer[..length].copy_from_slice(piece);
        self.0 = rest;
        Ok(length)
    }
}

type Row = Vec<Option<String>>;

fn batches(input: impl Read, types: &[Type]) -> Vec<RecordBatch> {
    let column = |wanted: &Type| Column { name: String::new(), form: Form::Value(*wanted) };
    let schema = schema(&types.iter().map(column).collect::<Vec<_>>());
    let places: Vec<usize> = (0..types.len()).collect();
    let batches = Batches::new(input, b',', &places, schema);
    batches.collect::<Result<_, _>>().expect("rows are never an error")
}

/// The first two fields of each row.
fn rows(input: impl Read) -> Vec<Row> {
    let row = |batch: &RecordBatch, row: usize| {
        let columns = batch.columns().iter().map(|column| column.as_string_view());
        columns.map(|column| column.is_valid(row).then(|| column.value(row).to_owned())).collect()
    };
    let batches = batches(input, &[Type::Text, Type::Text]);
    batches.iter().flat_map(|batch| (0..batch.num_rows()).map(move |number| row(batch, number))).collect()
}

fn some(cells: &[&str]) -> Row {
    cells.iter().map(|cell| (!cell.is_empty()).then(|| (*cell).to_owned())).collect()
}

#[test]
fn rows_by_the_rules() {
    for (text, expected) in [
        (&b"1,2\n3,4"[..], vec![some(&["1", "2"]), some(&["3", "4"])]),
        (b"1\n3,4,5,6\n", vec![some(&["1", ""]), some(&["3", "4"])]),
        (b"\n\r\n1,2\r\n\r\n\n3,4\r", vec![some(&["1", "2"]), some(&["3", "4"])]),
        (b"\"a,b\",\"say \"\"c\"\"\"\nd,e", vec![some(&["a,b", "say \"c\""]), some(&["d", "e"])]),
        (b"\"a\nb\",c\nd,e", vec![some(&["a", ""]), some(&["b\"", "c"]), some(&["d", "e"])]),
        (b",\"\"\nx,", vec![some(&["", ""]), some(&["x", ""])]),
        (b"\xff,\xc3\xa9\nx\xff,y", vec![some(&["\u{ff}", "\u{e9}"]), some(&["x\u{ff}", "y"])]),
        (b"a\0b,\0\n", vec![some(&["a\0b", "\0"])]),
        (b"a\"b,\"c\"d\n", vec![some(&["a\"b", "cd"])]),
        (b"\"a\"b\"c,d\"\n\"\"\"\",\"a\"\"\"\n", vec![some(&["ab\"c", "d\""]), some(&["\"", "a\""])]),
        (b"1,2\n3,\"4,\n5,6\n", vec![some(&["1", "2"]), some(&["3", "4,"]), some(&["5", "6"])]),
        (b"\xef\xbb\xbfx,y\n", vec![some(&["\u{feff}x", "y"])]),
        (b"", vec![]),
    ] {
        for piece in [1, 2, 3, usize::MAX] {
            assert_eq!(
                rows(Pieces(text, piece)),
                expected,
                "{:?} in pieces of {piece}",
                text.escape_ascii().to_string()
            );
        }
    }
}

#[test]
fn numbers_are_null_unless_they_are_numbers() {
    let text = b"1.5\n-9223372036854775808\n1e999\n-inf\nnan\n\"1,000\"\n x \n\"2\"\n\xff\n";
    let batches = batches(&text[..], &[Type::Number]);
    let numbers: Vec<Option<f64>> = batches[0].column(0).as_primitive::<Float64Type>().iter().collect();
    let infinity = f64::INFINITY;
    let least = i64::MIN as f64;
    let expected =
        [Some(1.5), Some(least), Some(infinity), Some(-infinity), None, None, None, Some(2.0), None].map(Some);
    assert_eq!(numbers.into_iter().map(Some).collect::<Vec<_>>(), expected);
}

#[test]
fn rows_without_columns_are_counted() {
    let counted: usize = batches(&b"1,2\n\n3\n\"4\n5\"\n"[..], &[]).iter().map(RecordBatch::num_rows).sum();
    assert_eq!(counted, 4);
}

#[test]
fn a_long_field_is_read_and_one_that_is_too_long_is_null() {
    let (long, too_long) = ("x".repeat(MOST_TEXT), "x".repeat(MOST_TEXT + 1));
    assert_eq!(rows(format!("{long},1\n2,3").as_bytes()), [some(&[&long, "1"]), some(&["2", "3"])]);
    assert_eq!(rows(format!("{too_long},1\n2,3").as_bytes()), [some(&["", "1"]), some(&["2", "3"])]);
    let given_up = "x".repeat(LONGEST_RECORD + 1);
    assert_eq!(rows(format!("{given_up},1\n2,3").as_bytes()), [some(&["", ""]), some(&["2", "3"])]);
    assert_eq!(rows(format!("1,{given_up}\n2,3").as_bytes()), [some(&["1", ""]), some(&["2", "3"])]);
}

#[test]
fn a_row_of_a_million_fields_is_a_row() {
    let commas = ",".repeat(1 << 20);
    assert_eq!(rows(format!("1,2{commas}\n3,4").as_bytes()), [some(&["1", "2"]), some(&["3", "4"])]);
}

#[test]
fn batches_have_a_largest_size() {
    let text = "1\n".repeat(2 * BATCH_ROWS + 1);
    let sizes: Vec<usize> = batches(text.as_bytes(), &[Type::Number]).iter().map(RecordBatch::num_rows).collect();
    assert_eq!(sizes, [BATCH_ROWS, BATCH_ROWS, 1]);
}

/// Bytes that matter to the reader, often; and some that do not.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        8 => prop::sample::select(&b"\",\n\r"[..]),
        4 => prop::sample::select(&b"a \t\xef\xbb\xbf\0"[..]),
        1 => any::<u8>(),
    ];
    proptest::collection::vec(byte, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn cutting_changes_no_row(text in hostile(), parts in 1_u64..6) {
        const START: u64 = 1000;
        let targets: Vec<u64> = (1..parts).map(|part| START + text.len() as u64 * part / parts).collect();
        let mut starts = vec![START];
        let mut file = std::io::Cursor::new([&vec![b'x'; START as usize][..], &text].concat());
        starts.extend(cut::cuts(&mut file, &targets).unwrap());
        starts.push(START + text.len() as u64);
        let parts = starts.windows(2).map(|ends| &text[(ends[0] - START) as usize..(ends[1] - START) as usize]);
        let cut: Vec<Row> = parts.flat_map(rows).collect();
        prop_assert_eq!(cut, rows(text.as_slice()));
    }

    /// The rows of a file are those of its lines: no line changes how another is read.
    #[test]
    fn no_line_changes_the_rows_of_another(
        lines in proptest::collection::vec(hostile(), 0..5), odd in hostile(), place in 0_usize..5, piece in 1_usize..9,
    ) {
        let place = place.min(lines.len());
        let text = |lines: &[Vec<u8>]| lines.iter().flat_map(|line| [line.as_slice(), b"\n"].concat()).collect::<Vec<u8>>();
        let (before, after) = (text(&lines[..place]), text(&lines[place..]));
        let whole = [&before[..], &odd, b"\n", &after].concat();
        let apart: Vec<Row> = [before, odd, after].iter().flat_map(|part| rows(part.as_slice())).collect();
        prop_assert_eq!(rows(Pieces(&whole, piece)), apart);
    }

    /// Compares with `csv-core`, which reads each line by itself in the same way.
    #[test]
    fn fields_are_those_of_the_format(line in hostile()) {
        let line: Vec<u8> = line.into_iter().filter(|byte| !b"\n\r".contains(byte)).collect();
        let mut reader = csv_core::Reader::new();
        // An empty line, so that the reader does not strip a byte order mark from what follows.
        reader.read_record(b"\n", &mut [0], &mut [0]);
        let (mut output, mut ends) = ([0; 128], [0; 128]);
        let (_, _, written, count) = reader.read_record(&line, &mut output, &mut ends);
        let (_, _, _, last) = reader.read_record(&[], &mut output[written..], &mut ends[count..]);
        let starts = [0].iter().chain(&ends);
        let reference: Vec<&[u8]> = starts.zip(&ends[..count + last]).map(|(start, end)| &output[*start..*end]).collect();
        let mut records = Records::new(line.as_slice(), b',', 100);
        prop_assert_eq!(records.advance().unwrap(), !line.is_empty());
        let fields: Vec<&[u8]> = (0..records.len()).map(|place| records.field(place).unwrap()).collect();
        prop_assert_eq!(fields, reference);
    }

    #[test]
    fn any_bytes_are_rows(text in proptest::collection::vec(any::<u8>(), 0..200), piece in 1_usize..50) {
        let whole = batches(text.as_slice(), &[Type::Text, Type::Number, Type::Text]);
        prop_assert_eq!(whole, batches(Pieces(&text, piece), &[Type::Text, Type::Number, Type::Text]));
    }
}
