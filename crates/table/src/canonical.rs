//! Units as canonical text; the rules are documented at [`UnitType`].

use std::fmt::{Display, Write};
use std::sync::Arc;

use arrow_array::builder::StringViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::{DataType, TimeUnit};

use crate::convert::{value, with_values};
use crate::text::is_too_long;
use crate::types::Type;
use crate::{Broken, UnitType};

const SECONDS_A_DAY: i64 = 86_400;

/// Converts a column to units of this form.
pub fn unit(array: &ArrayRef, form: UnitType) -> Result<ArrayRef, Broken> {
    with_values(array, |array| match form {
        UnitType::Signed if UnitType::of(array.data_type()) == Ok(form) => value(array, Type::Integer),
        UnitType::Unsigned if UnitType::of(array.data_type()) == Ok(form) => Ok(array.clone()),
        UnitType::Text => text(array),
        _ => Err(Broken),
    })
}

fn text(array: &ArrayRef) -> Result<ArrayRef, Broken> {
    use DataType::*;
    Ok(match array.data_type() {
        Utf8 | LargeUtf8 | Utf8View => value(array, Type::Text)?,
        Int8 => numbers::<Int8Type>(array),
        Int16 => numbers::<Int16Type>(array),
        Int32 => numbers::<Int32Type>(array),
        Int64 => numbers::<Int64Type>(array),
        UInt8 => numbers::<UInt8Type>(array),
        UInt16 => numbers::<UInt16Type>(array),
        UInt32 => numbers::<UInt32Type>(array),
        UInt64 => numbers::<UInt64Type>(array),
        Decimal32(_, scale) => decimals::<Decimal32Type>(array, *scale),
        Decimal64(_, scale) => decimals::<Decimal64Type>(array, *scale),
        Decimal128(_, scale) => decimals::<Decimal128Type>(array, *scale),
        Decimal256(_, scale) => decimals::<Decimal256Type>(array, *scale),
        Boolean => {
            let values = array.as_boolean();
            each(array, |row, out| out.push_str(if values.value(row) { "true" } else { "false" }))
        }
        Date32 => primitives::<Date32Type>(array, |day, out| date(day.into(), out)),
        Date64 => primitives::<Date64Type>(array, date64),
        Timestamp(TimeUnit::Second, _) => primitives::<TimestampSecondType>(array, |value, out| instant(value, 0, out)),
        Timestamp(TimeUnit::Millisecond, _) => {
            primitives::<TimestampMillisecondType>(array, |value, out| instant(value, 3, out))
        }
        Timestamp(TimeUnit::Microsecond, _) => {
            primitives::<TimestampMicrosecondType>(array, |value, out| instant(value, 6, out))
        }
        Timestamp(TimeUnit::Nanosecond, _) => {
            primitives::<TimestampNanosecondType>(array, |value, out| instant(value, 9, out))
        }
        Binary => each(array, |row, out| hex(array.as_binary::<i32>().value(row), out)),
        LargeBinary => each(array, |row, out| hex(array.as_binary::<i64>().value(row), out)),
        BinaryView => each(array, |row, out| hex(array.as_binary_view().value(row), out)),
        FixedSizeBinary(_) => each(array, |row, out| hex(array.as_fixed_size_binary().value(row), out)),
        _ => return Err(Broken),
    })
}

/// Writes the texts of the rows that are not NULL.
fn each(array: &ArrayRef, mut write: impl FnMut(usize, &mut String)) -> ArrayRef {
    let mut texts = StringViewBuilder::with_capacity(array.len());
    let mut text = String::new();
    for row in 0..array.len() {
        text.clear();
        if array.is_valid(row) {
            write(row, &mut text);
        }
        texts.append_option((array.is_valid(row) && !is_too_long(text.len())).then_some(&text));
    }
    Arc::new(texts.finish())
}

fn primitives<T: ArrowPrimitiveType>(array: &ArrayRef, write: impl Fn(T::Native, &mut String)) -> ArrayRef {
    let values: &PrimitiveArray<T> = array.as_primitive();
    each(array, |row, out| write(values.value(row), out))
}

fn numbers<T: ArrowPrimitiveType<Native: Display>>(array: &ArrayRef) -> ArrayRef {
    primitives::<T>(array, display)
}

fn decimals<T: ArrowPrimitiveType<Native: Display>>(array: &ArrayRef, scale: i8) -> ArrayRef {
    primitives::<T>(array, |value, out| decimal(value, scale, out))
}

fn display(value: impl Display, out: &mut String) {
    // Writing to a String cannot fail.
    let _ = write!(out, "{value}");
}

/// An integer divided by a power of ten.
fn decimal(unscaled: impl Display, scale: i8, out: &mut String) {
    display(unscaled, out);
    if out == "0" || scale == 0 {
        return;
    }
    if scale < 0 {
        out.extend(std::iter::repeat_n('0', scale.unsigned_abs().into()));
        return;
    }
    let scale = usize::from(scale.unsigned_abs());
    let sign = usize::from(out.starts_with('-'));
    let digits = out.len() - sign;
    if digits <= scale {
        // At least one digit precedes the point.
        out.insert_str(sign, &"0".repeat(scale + 1 - digits));
    }
    out.insert(out.len() - scale, '.');
    out.truncate(out.trim_end_matches('0').trim_end_matches('.').len());
}

/// A day, counted from 1970-01-01, in the Gregorian calendar: eras of 400 years, starting in March.
pub fn date(day: i64, out: &mut String) {
    const DAYS_TO_1970: i64 = 719_468;
    const DAYS_AN_ERA: i64 = 146_097;
    let day = day + DAYS_TO_1970;
    let (era, day) = (day.div_euclid(DAYS_AN_ERA), day.rem_euclid(DAYS_AN_ERA));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    let year = era * 400 + year;
    if (0..=9_999).contains(&year) {
        display(format_args!("{year:04}-{month:02}-{day:02}"), out);
    } else {
        display(format_args!("{year:+05}-{month:02}-{day:02}"), out);
    }
}

/// A date in milliseconds. One that is not a whole day, which should not exist, is written in full.
fn date64(milliseconds: i64, out: &mut String) {
    let day = SECONDS_A_DAY * 1_000;
    match milliseconds.rem_euclid(day) {
        0 => date(milliseconds.div_euclid(day), out),
        _ => instant(milliseconds, 3, out),
    }
}

/// An instant, in seconds since 1970 with `digits` decimal digits.
pub fn instant(value: i64, digits: u32, out: &mut String) {
    let unit = 10_i64.pow(digits);
    let (seconds, fraction) = (value.div_euclid(unit), value.rem_euclid(unit));
    date(seconds.div_euclid(SECONDS_A_DAY), out);
    let second = seconds.rem_euclid(SECONDS_A_DAY);
    display(format_args!("T{:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60), out);
    if fraction != 0 {
        display(format_args!(".{fraction:0width$}", width = digits as usize), out);
        out.truncate(out.trim_end_matches('0').len());
    }
}

fn hex(bytes: &[u8], out: &mut String) {
    for (place, byte) in bytes.iter().enumerate() {
        if bytes.len() == 16 && matches!(place, 4 | 6 | 8 | 10) {
            out.push('-');
        }
        display(format_args!("{byte:02x}"), out);
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::*;
    use arrow_buffer::i256;

    use super::*;

    fn texts(array: impl Array + 'static) -> Vec<Option<String>> {
        let array: ArrayRef = Arc::new(array);
        let units = unit(&array, UnitType::Text).unwrap();
        units.as_string_view().iter().map(|text| text.map(str::to_owned)).collect()
    }

    fn some(texts: &[&str]) -> Vec<Option<String>> {
        texts.iter().map(|text| Some((*text).to_owned())).collect()
    }

    #[test]
    fn decimals_are_plain_and_exact() {
        let wide = |values: Vec<i128>, scale| {
            Decimal128Array::from(values).with_precision_and_scale(38, scale).expect("a scale")
        };
        assert_eq!(
            texts(wide(vec![700, -700, 705, 70, 7, -7, 0], 2)),
            some(&["7", "-7", "7.05", "0.7", "0.07", "-0.07", "0"])
        );
        assert_eq!(texts(wide(vec![7, 0, -7], -2)), some(&["700", "0", "-700"]));
        assert_eq!(
            texts(wide(vec![1, 1_000], 38)),
            some(&[&format!("0.{}1", "0".repeat(37)), &format!("0.{}1", "0".repeat(34))])
        );
        // Ids that floats cannot tell apart.
        let large = 10_i128.pow(20);
        assert_eq!(
            texts(wide(vec![large, large + 1, large * 100], 0)),
            some(&["100000000000000000000", "100000000000000000001", "10000000000000000000000"])
        );
        let widest = i256::from_i128(i128::MAX).wrapping_mul(i256::from_i128(100));
        let widest = Decimal256Array::from(vec![widest, widest.wrapping_add(i256::ONE), i256::ZERO])
            .with_precision_and_scale(76, 2)
            .unwrap();
        let most = i128::MAX.to_string();
        assert_eq!(texts(widest), some(&[&most, &format!("{most}.01"), "0"]));
        let narrow = Decimal32Array::from(vec![i32::MIN, 10]).with_precision_and_scale(9, 1).unwrap();
        assert_eq!(texts(narrow), some(&["-214748364.8", "1"]));
        let narrow = Decimal64Array::from(vec![i64::MIN]).with_precision_and_scale(18, 18).unwrap();
        assert_eq!(texts(narrow), some(&["-9.223372036854775808"]));
    }

    #[test]
    fn whole_numbers_are_digits() {
        assert_eq!(
            texts(UInt64Array::from(vec![u64::MAX, u64::MAX - 1])),
            some(&["18446744073709551615", "18446744073709551614"])
        );
        assert_eq!(texts(Int64Array::from(vec![Some(i64::MIN), None])), [Some(i64::MIN.to_string()), None]);
        assert_eq!(texts(Int8Array::from(vec![-1])), some(&["-1"]));
    }

    #[test]
    fn dates_of_all_years() {
        let days = vec![0, -1, 20_514, 2_932_896, 2_932_897, -719_528, -719_529, i32::MAX, i32::MIN, 11_016, 11_017];
        assert_eq!(
            texts(Date32Array::from(days)),
            some(&[
                "1970-01-01",
                "1969-12-31",
                "2026-03-02",
                "9999-12-31",
                "+10000-01-01",
                "0000-01-01",
                "-0001-12-31",
                "+5881580-07-11",
                "-5877641-06-23",
                "2000-02-29",
                "2000-03-01",
            ])
        );
        let day = 86_400_000;
        assert_eq!(
            texts(Date64Array::from(vec![day, day + 1, i64::MAX])),
            some(&["1970-01-02", "1970-01-02T00:00:00.001", "+292278994-08-17T07:12:55.807"])
        );
    }

    #[test]
    fn timestamps_keep_their_last_digit() {
        let nanoseconds =
            vec![1_772_443_800_000_000_000, 1_772_443_800_000_000_001, 1_772_443_800_120_000_000, -1, i64::MIN];
        assert_eq!(
            texts(TimestampNanosecondArray::from(nanoseconds).with_timezone("Europe/Berlin")),
            some(&[
                "2026-03-02T09:30:00",
                "2026-03-02T09:30:00.000000001",
                "2026-03-02T09:30:00.12",
                "1969-12-31T23:59:59.999999999",
                "1677-09-21T00:12:43.145224192",
            ])
        );
        assert_eq!(texts(TimestampSecondArray::from(vec![1_772_443_800])), some(&["2026-03-02T09:30:00"]));
        assert_eq!(texts(TimestampMillisecondArray::from(vec![1_010])), some(&["1970-01-01T00:00:01.01"]));
        assert_eq!(texts(TimestampMicrosecondArray::from(vec![1_000_001])), some(&["1970-01-01T00:00:01.000001"]));
        // Far outside the range of calendars, but distinct.
        let far = texts(TimestampSecondArray::from(vec![i64::MAX, i64::MAX - 1, i64::MIN]));
        assert_eq!(far[0].as_deref(), Some("+292277026596-12-04T15:30:07"));
        assert_eq!(far[1].as_deref(), Some("+292277026596-12-04T15:30:06"));
    }

    #[test]
    fn bytes_are_hexadecimal() {
        let id: [u8; 16] =
            [0x67, 0xe5, 0x50, 0x44, 0x10, 0xb1, 0x42, 0x6f, 0x92, 0x47, 0xbb, 0x68, 0x0e, 0x5f, 0xe0, 0xc8];
        let uuid = "67e55044-10b1-426f-9247-bb680e5fe0c8";
        assert_eq!(texts(FixedSizeBinaryArray::try_from_iter([id].iter()).unwrap()), some(&[uuid]));
        assert_eq!(texts(BinaryArray::from(vec![&id[..], b"\x00\xff", b""])), some(&[uuid, "00ff", ""]));
        assert_eq!(texts(BinaryViewArray::from(vec![Some(&id[..]), None])), [Some(uuid.to_owned()), None]);
        let long = vec![0; crate::MOST_TEXT / 2 + 1];
        assert_eq!(
            texts(LargeBinaryArray::from(vec![&long[..], &long[1..]])),
            [None, Some("0".repeat(crate::MOST_TEXT))]
        );
    }

    #[test]
    fn the_rest_is_itself() {
        assert_eq!(texts(BooleanArray::from(vec![true, false])), some(&["true", "false"]));
        assert_eq!(texts(StringArray::from(vec!["7.00", ""])), some(&["7.00", ""]));
        let keys = Int8Array::from(vec![Some(1), None, Some(0)]);
        let values: ArrayRef = Arc::new(UInt64Array::from(vec![7, u64::MAX]));
        let expected = [Some(u64::MAX.to_string()), None, Some("7".to_owned())];
        assert_eq!(texts(DictionaryArray::new(keys, values)), expected);
    }

    #[test]
    fn a_form_that_does_not_suit_is_not_read() {
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.0]));
        let unsigned: ArrayRef = Arc::new(UInt64Array::from(vec![1]));
        assert_eq!(unit(&floats, UnitType::Text), Err(Broken));
        assert_eq!(unit(&unsigned, UnitType::Signed), Err(Broken));
    }
}
