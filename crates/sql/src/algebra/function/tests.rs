//! Every function, on values chosen to break it.

use arrow_array::{Array, ArrayRef, cast::AsArray};
use reticent_table::MOST_TEXT;

use super::all::types;
use super::*;
use crate::algebra::calendar::{DAY, Span};
use crate::algebra::column::cell;
use crate::algebra::{Expr, Value};

/// Rows that each function is tested on, for each combination of types it accepts.
const ROWS: usize = 96;

/// Values that functions have failed on, here or elsewhere.
pub(crate) fn hostile(kind: Type) -> Vec<Value> {
    let mut values: Vec<Value> = match kind {
        Type::Boolean => [true, false].map(Value::Boolean).into(),
        Type::Integer => {
            let edge = [i64::MIN, i64::MIN + 1, i64::MAX, -1, 0, 1, 2, 3, 65_536, 65_537, -65_536, 1 << 53];
            edge.map(Value::Integer).into()
        }
        Type::Number => {
            let edge = [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 0.1, -1.0, 1e300, 5e-324];
            let more = [i64::MIN as f64, i64::MAX as f64, f64::MAX, f64::MIN_POSITIVE, 0.5, 2.5, -2.5, 1e22, 700.0];
            edge.into_iter().chain(more).map(Value::Number).collect()
        }
        Type::Text => {
            let long = [
                "x".repeat(MOST_TEXT),
                "é".repeat(MOST_TEXT / 2),
                "ΐ".repeat(MOST_TEXT / 2),
                " ".repeat(MOST_TEXT),
                format!("{}𝔘", "x".repeat(MOST_TEXT - 4)),
            ];
            let short = [
                "",
                "x",
                "xx",
                "\0",
                "a\0b",
                "e\u{301}",
                "ß",
                "İ",
                "ﬃ",
                "𝔘",
                "\u{202e}abc",
                "'",
                "%_\\",
                "$0",
                "nan",
                "-inf",
                "1e400",
                "0x10",
                " 7 ",
                "9223372036854775808",
                "-9223372036854775808",
                "true",
                "2024-02-30",
                "2024-02-29",
                "-9999-01-01",
                "9999-12-31T23:59:60.999999999Z",
                "2024-02-29T00:00:00+25:59",
                "2024-02-29T12:00:00[Europe/Paris]",
                "+262143-01-01",
                "-000000-01-01",
            ];
            short.into_iter().map(str::to_owned).chain(long).map(|text| Value::Text(text.into())).collect()
        }
        Type::Date => [i32::MIN, i32::MIN + 1, i32::MAX, -1, 0, 1, 59, 19_782, -4_371_222].map(Value::Date).into(),
        Type::Timestamp => {
            let edge = [i64::MIN, i64::MIN + 1, i64::MAX, -1, 0, 1, 253_402_300_799_999_999, -377_705_116_800_000_001];
            edge.map(Value::Timestamp).into()
        }
    };
    values.push(Value::Null);
    values
}

/// Reproducible random numbers.
pub(crate) struct Dice(pub u64);

impl Dice {
    pub(crate) fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most
    }
}

/// A column of values.
pub(crate) fn array(kind: Type, values: &[Value]) -> ArrayRef {
    let one = |value: &Value| Column::Constant(value.clone()).into_array(kind, 1);
    let each: Vec<ArrayRef> = values.iter().map(one).collect();
    let each: Vec<&dyn Array> = each.iter().map(AsRef::as_ref).collect();
    arrow_select::concat::concat(&each).expect("of one type")
}

fn cells(column: Column, kind: Type, rows: usize) -> Vec<Value> {
    let array = column.into_array(kind, rows);
    assert_eq!((array.data_type(), array.len()), (&kind.data_type(), rows));
    (0..rows).map(|row| cell(&array, row)).collect()
}

/// All combinations of one, two and three types.
fn signatures() -> Vec<Vec<Type>> {
    let longer = |some: &Vec<Vec<Type>>| -> Vec<Vec<Type>> {
        some.iter().flat_map(|some| types().into_iter().map(|kind| [some.clone(), vec![kind]].concat())).collect()
    };
    let one = longer(&vec![Vec::new()]);
    let two = longer(&one);
    let three = longer(&two);
    [one, two, three].concat()
}

/// Each row's value is the same whether the rows come together, one by one or in pieces, and whether an argument is a
/// column or a constant; there is one for every row, and it is not too long.
#[test]
fn functions_are_total_local_deterministic_and_bounded() {
    let (mut dice, mut tried) = (Dice(20_261_117), 0);
    for function in Function::all() {
        let mut takes = 0;
        for inputs in signatures() {
            let Some(output) = function.output(&inputs) else { continue };
            takes += 1;
            tried += 1;
            let words = format!("{function:?} of {inputs:?}");
            let words = words.chars().take(200).collect::<String>();
            let pick = |dice: &mut Dice, kind: Type, row: usize| {
                let all = hostile(kind);
                // Each value at least once.
                let place = if row < all.len() { row } else { dice.below(all.len()) };
                all[place].clone()
            };
            let mut columns: Vec<Vec<Value>> =
                inputs.iter().map(|&kind| (0..ROWS).map(|row| pick(&mut dice, kind, row)).collect()).collect();
            // Shifts the columns so that equal values are not side by side.
            columns.iter_mut().enumerate().for_each(|(place, column)| column.rotate_left(7 * place));
            let arrays: Vec<ArrayRef> =
                inputs.iter().zip(&columns).map(|(&kind, values)| array(kind, values)).collect();
            let apply =
                |columns: &[Column], rows: usize| cells(function.apply(&inputs, output, columns, rows), output, rows);
            let slices = |from: usize, rows: usize| -> Vec<Column> {
                arrays.iter().map(|array| Column::Array(array.slice(from, rows))).collect()
            };
            let together = apply(&slices(0, ROWS), ROWS);
            assert_eq!(together, apply(&slices(0, ROWS), ROWS), "{words}");
            for value in &together {
                let fits = if let Value::Text(text) = value { text.len() <= MOST_TEXT } else { true };
                assert!(fits, "{words} is too long");
                assert!(value.kind().is_none_or(|kind| kind == output), "{words} is {value}");
            }
            for (row, value) in together.iter().enumerate() {
                let alone = slices(row, 1);
                assert_eq!(apply(&alone, 1), std::slice::from_ref(value), "{words}, row {row}");
                let constant = 1 + dice.below((1 << inputs.len()) - 1);
                let mixed: Vec<Column> = alone
                    .into_iter()
                    .enumerate()
                    .map(|(place, column)| match constant >> place & 1 {
                        1 => Column::Constant(columns[place][row].clone()),
                        _ => column,
                    })
                    .collect();
                assert_eq!(apply(&mixed, 1), std::slice::from_ref(value), "{words}, row {row}, constants {constant:b}");
            }
            let (mut from, mut pieces) = (0, Vec::new());
            while from < ROWS {
                let rows = (1 + dice.below(20)).min(ROWS - from);
                pieces.extend(apply(&slices(from, rows), rows));
                from += rows;
            }
            assert_eq!(together, pieces, "{words}");
            assert_eq!(apply(&slices(0, 0), 0), [], "{words}");
        }
        let truncates_nothing = matches!(function, Function::Time(Time::Truncate(part)) if part.truncate(0).is_none());
        assert!(takes > 0 || truncates_nothing, "{function:?} takes nothing");
    }
    assert!(tried > 250, "{tried}");
}

/// CASE satisfies the same requirements, whichever branches are constant.
#[test]
fn case_is_total_local_and_deterministic() {
    let mut dice = Dice(7);
    for kind in types() {
        let pick = |dice: &mut Dice, kind: Type| -> Vec<Value> {
            let all = hostile(kind);
            (0..ROWS).map(|_| all[dice.below(all.len())].clone()).collect()
        };
        let kinds = [Type::Boolean, Type::Boolean, kind, kind, kind];
        let values: Vec<Vec<Value>> = kinds.iter().map(|&kind| pick(&mut dice, kind)).collect();
        let arrays: Vec<ArrayRef> = kinds.iter().zip(&values).map(|(&kind, values)| array(kind, values)).collect();
        let column = |place: usize| Expr::column(place, kinds[place]);
        let case = |branches, otherwise| Expr::case(branches, otherwise).expect("of fitting types");
        let cases = [
            case(vec![(column(0), column(2)), (column(1), column(3))], column(4)),
            case(vec![(column(0), column(2))], Expr::null(kind)),
            case(vec![(Expr::constant(Value::Boolean(true)), column(2)), (column(1), Expr::null(kind))], column(3)),
            case(Vec::new(), column(2)),
        ];
        for (number, case) in cases.iter().enumerate() {
            let value = |from: usize, rows: usize| {
                let columns: Vec<ArrayRef> = arrays.iter().map(|array| array.slice(from, rows)).collect();
                cells(case.evaluate(&columns, rows), kind, rows)
            };
            let together = value(0, ROWS);
            let alone: Vec<Value> = (0..ROWS).flat_map(|row| value(row, 1)).collect();
            assert_eq!(together, alone);
            let expected = |row: usize| {
                let truth = |place: usize| values[place][row] == Value::Boolean(true);
                match number {
                    0 if truth(0) => values[2][row].clone(),
                    0 if truth(1) => values[3][row].clone(),
                    0 => values[4][row].clone(),
                    1 if !truth(0) => Value::Null,
                    _ => values[2][row].clone(),
                }
            };
            assert_eq!(together, (0..ROWS).map(expected).collect::<Vec<_>>(), "{kind}, {number}");
        }
    }
}

/// A text that is chosen over and over refers to as many buffers as at first: if the buffers of both sides were kept
/// each time, fifty levels would have 2⁵⁰.
#[test]
fn texts_chosen_again_and_again_stay_as_small_as_they_are() {
    let text = Value::Text("longer than twelve bytes, so that it is kept in a buffer".into());
    let mut columns =
        vec![array(Type::Boolean, &[Value::Boolean(true)]), array(Type::Text, std::slice::from_ref(&text))];
    let column = |place: usize, kind: Type| Expr::column(place, kind);
    let case = Expr::case(vec![(column(0, Type::Boolean), column(1, Type::Text))], column(1, Type::Text)).unwrap();
    for _ in 0..50 {
        columns[1] = case.evaluate(&columns, 1).into_array(Type::Text, 1);
        assert!(columns[1].as_string_view().data_buffers().len() <= 2);
    }
    assert_eq!(cell(&columns[1], 0), text);
}

/// The results for a few ordinary values.
#[test]
fn functions_mean_what_they_are_called() {
    let text = |text: &str| Value::Text(text.into());
    let whole = Value::Integer;
    let cases: Vec<(Function, Vec<Value>, Value)> = vec![
        (Function::Text(Text::Right), vec![text("abc"), whole(0)], text("")),
        (Function::Text(Text::Right), vec![text("abc"), whole(2)], text("bc")),
        (Function::Text(Text::Right), vec![text("abc"), whole(-1)], text("bc")),
        (Function::Text(Text::Right), vec![text("abc"), whole(i64::MIN)], text("")),
        (Function::Text(Text::Right), vec![text("abc"), whole(i64::MAX)], text("abc")),
        (Function::Text(Text::Left), vec![text("abc"), whole(0)], text("")),
        (Function::Text(Text::Left), vec![text("abc"), whole(-1)], text("ab")),
        (Function::Text(Text::Left), vec![text("abc"), whole(i64::MIN)], text("")),
        (Function::Text(Text::Substring), vec![text("abc"), whole(0), whole(2)], text("a")),
        (Function::Text(Text::Trim), vec![text("xxabcx"), text("yx")], text("abc")),
        (Function::Arithmetic(Arithmetic::Divide), vec![whole(i64::MIN), whole(-1)], Value::Null),
        (Function::Arithmetic(Arithmetic::Remainder), vec![whole(i64::MIN), whole(-1)], Value::Null),
    ];
    for (function, arguments, expected) in cases {
        let words = format!("{function:?} {arguments:?}");
        let arguments = arguments.into_iter().map(Expr::constant).collect();
        assert_eq!(Expr::call(function, arguments).unwrap().as_constant(), Some(&expected), "{words}");
    }
}

/// A month that would end after the last representable day.
#[test]
fn the_last_months_of_all_have_no_overflow() {
    // The number of months whose eras, from 0000-03-01 on, fit in 64 bits; the months around the end are tried one by
    // one.
    let era_months = i64::MAX / 146_097 * 4800;
    for day in [0, 30, 59, 11_016] {
        for month in era_months - 24_000..era_months + 9600 {
            let _ = Span { months: month, ..Span::default() }.after(day * DAY);
            let _ = Span { months: -month, ..Span::default() }.after(day * DAY);
        }
    }
}
