//! Conversion of typed columns to the types of a query. No value is an error: one that does not fit is NULL.

use std::fmt::Display;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, StringViewArray, UInt32Array, UInt64Array};
use arrow_schema::{DataType, TimeUnit};
use arrow_select::take::take;

use crate::text::limited;
use crate::{Broken, Type};

/// Converts an array. Of a dictionary, each value is converted once, and the rows that have it share the result: written
/// out, one long text in many rows would take more memory than the file, or more than an array can have.
pub fn with_values(
    array: &ArrayRef,
    convert: impl Fn(&ArrayRef) -> Result<ArrayRef, Broken>,
) -> Result<ArrayRef, Broken> {
    let Some(dictionary) = array.as_any_dictionary_opt() else { return convert(array) };
    let values = dictionary.values();
    let keys = if values.is_empty() { Vec::new() } else { dictionary.normalized_keys() };
    // A batch may use few of them.
    let (mut used, mut places) = (Vec::new(), vec![None; values.len()]);
    let mut place = |key: usize| {
        *places[key].get_or_insert_with(|| {
            used.push(key as u64);
            (used.len() - 1) as u32
        })
    };
    let of_row = |row: usize| keys.get(row).filter(|_| array.is_valid(row)).map(|&key| place(key));
    let rows: UInt32Array = (0..array.len()).map(of_row).collect();
    let used = take(values, &UInt64Array::from(used), None).map_err(|_| Broken)?;
    take(&convert(&used)?, &rows, None).map_err(|_| Broken)
}

/// Converts a column to a [`Type`], which must be the one that [`Type::of`] returns.
pub fn value(array: &ArrayRef, wanted: Type) -> Result<ArrayRef, Broken> {
    with_values(array, |array| of_type(array, wanted))
}

fn of_type(array: &ArrayRef, wanted: Type) -> Result<ArrayRef, Broken> {
    use DataType::*;
    let found = array.data_type();
    if Type::of(found) != Some(wanted) {
        return Err(Broken);
    }
    Ok(match found {
        Boolean | Int64 | Float64 | Date32 | Timestamp(TimeUnit::Microsecond, None) => array.clone(),
        Int8 => widened::<Int8Type, Int64Type>(array),
        Int16 => widened::<Int16Type, Int64Type>(array),
        Int32 => widened::<Int32Type, Int64Type>(array),
        UInt8 => widened::<UInt8Type, Int64Type>(array),
        UInt16 => widened::<UInt16Type, Int64Type>(array),
        UInt32 => widened::<UInt32Type, Int64Type>(array),
        UInt64 => fitted::<UInt64Type, Int64Type>(array, |value| value.try_into().ok()),
        Float16 => widened::<Float16Type, Float64Type>(array),
        Float32 => widened::<Float32Type, Float64Type>(array),
        Decimal32(_, scale) => decimals::<Decimal32Type>(array, |value| nearest(value, Some(value.into()), *scale)),
        Decimal64(_, scale) => decimals::<Decimal64Type>(array, |value| nearest(value, Some(value.into()), *scale)),
        Decimal128(_, scale) => decimals::<Decimal128Type>(array, |value| nearest(value, Some(value), *scale)),
        Decimal256(_, scale) => decimals::<Decimal256Type>(array, |value| nearest(value, value.to_i128(), *scale)),
        Utf8View => Arc::new(limited(array.as_string_view())),
        Utf8 => Arc::new(limited(&StringViewArray::from(array.as_string::<i32>()))),
        LargeUtf8 => Arc::new(limited(&StringViewArray::from(array.as_string::<i64>()))),
        Date64 => fitted::<Date64Type, Date32Type>(array, |value| value.div_euclid(86_400_000).try_into().ok()),
        Timestamp(TimeUnit::Second, _) => {
            fitted::<TimestampSecondType, TimestampMicrosecondType>(array, |value| value.checked_mul(1_000_000))
        }
        Timestamp(TimeUnit::Millisecond, _) => {
            fitted::<TimestampMillisecondType, TimestampMicrosecondType>(array, |value| value.checked_mul(1_000))
        }
        Timestamp(TimeUnit::Microsecond, Some(_)) => {
            // The only time zones are UTC.
            Arc::new(array.as_primitive::<TimestampMicrosecondType>().clone().with_timezone_opt(None::<&str>))
        }
        Timestamp(TimeUnit::Nanosecond, _) => {
            fitted::<TimestampNanosecondType, TimestampMicrosecondType>(array, |value| Some(value.div_euclid(1_000)))
        }
        _ => return Err(Broken),
    })
}

/// Converts to a type that has all values of the other.
fn widened<From: ArrowPrimitiveType, To: ArrowPrimitiveType<Native: std::convert::From<From::Native>>>(
    array: &ArrayRef,
) -> ArrayRef {
    Arc::new(array.as_primitive::<From>().unary::<_, To>(To::Native::from))
}

/// Converts to a type that may lack a value.
fn fitted<From: ArrowPrimitiveType, To: ArrowPrimitiveType>(
    array: &ArrayRef,
    fit: impl Fn(From::Native) -> Option<To::Native>,
) -> ArrayRef {
    Arc::new(array.as_primitive::<From>().unary_opt::<_, To>(fit))
}

fn decimals<T: ArrowPrimitiveType>(array: &ArrayRef, nearest: impl Fn(T::Native) -> f64) -> ArrayRef {
    let values: &PrimitiveArray<T> = array.as_primitive();
    Arc::new(values.unary::<_, Float64Type>(nearest))
}

/// The float nearest to an integer divided by a power of ten; `narrow` is the same integer if it fits in 128 bits.
pub fn nearest(unscaled: impl Display, narrow: Option<i128>, scale: i8) -> f64 {
    /// Floats are exact up to this number, and up to this power of ten.
    const EXACT: (u128, i8) = (1 << 53, 22);
    match narrow {
        // Only one rounding, in the division.
        Some(exact) if exact.unsigned_abs() <= EXACT.0 && (0..=EXACT.1).contains(&scale) => {
            exact as f64 / 10_f64.powi(scale.into())
        }
        // Parsing rounds once, too. A number with an exponent always parses.
        _ => format!("{unscaled}e{}", -i16::from(scale)).parse().unwrap_or(f64::NAN),
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::*;
    use arrow_buffer::i256;

    use super::*;

    fn converted(array: impl Array + 'static, wanted: Type) -> ArrayRef {
        let found = value(&(Arc::new(array) as ArrayRef), wanted).unwrap();
        assert_eq!(found.data_type(), &wanted.data_type());
        found
    }

    fn instants(array: impl Array + 'static) -> Vec<Option<i64>> {
        converted(array, Type::Timestamp).as_primitive::<TimestampMicrosecondType>().iter().collect()
    }

    #[test]
    fn instants_in_microseconds() {
        let extremes = || vec![Some(i64::MIN), Some(-1_500), None, Some(i64::MAX)];
        let universal = TimestampSecondArray::from(extremes()).with_timezone("UTC");
        assert_eq!(instants(universal), [None, Some(-1_500_000_000), None, None]);
        assert_eq!(instants(TimestampMillisecondArray::from(extremes())), [None, Some(-1_500_000), None, None]);
        assert_eq!(instants(TimestampMicrosecondArray::from(extremes()).with_timezone("+00:00")), extremes());
        let nanoseconds = instants(TimestampNanosecondArray::from(extremes()));
        assert_eq!(nanoseconds, [Some(i64::MIN / 1_000 - 1), Some(-2), None, Some(i64::MAX / 1_000)]);
    }

    #[test]
    fn days_that_do_not_fit_are_null() {
        let days = Date64Array::from(vec![i64::MAX, i64::MIN, 0, -1, 86_400_000]);
        let days: Vec<_> = converted(days, Type::Date).as_primitive::<Date32Type>().iter().collect();
        assert_eq!(days, [None, None, Some(0), Some(-1), Some(1)]);
    }

    #[test]
    fn decimals_are_rounded_once() {
        for (unscaled, scale, expected) in [
            (12_345, 2, 123.45),
            (-1, 2, -0.01),
            (9_007_199_254_740_993, 1, 900_719_925_474_099.3),
            // Rounded twice, this would be one step further.
            (9_007_199_254_740_993_000_000_000_000_001, 15, 9_007_199_254_740_994.0),
            (7, -3, 7_000.0),
            (i128::MAX, 38, 1.7014118346046923),
            (1, 38, 1e-38),
        ] {
            assert_eq!(nearest(unscaled, Some(unscaled), scale), expected, "{unscaled} / 10^{scale}");
        }
        assert_eq!(nearest(i256::MAX, None, -100), format!("{}e100", i256::MAX).parse::<f64>().unwrap());
        let values = Decimal32Array::from(vec![Some(150), None]).with_precision_and_scale(9, 2).unwrap();
        let numbers: Vec<_> = converted(values, Type::Number).as_primitive::<Float64Type>().iter().collect();
        assert_eq!(numbers, [Some(1.5), None]);
    }

    #[test]
    fn whole_numbers_that_do_not_fit_are_null() {
        let whole = |array: ArrayRef| value(&array, Type::Integer).unwrap().as_primitive::<Int64Type>().clone();
        let unsigned: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX, i64::MAX as u64, 1 << 63]));
        assert_eq!(whole(unsigned), Int64Array::from(vec![None, Some(i64::MAX), None]));
        assert_eq!(whole(Arc::new(Int8Array::from(vec![i8::MIN]))), Int64Array::from(vec![i64::from(i8::MIN)]));
        assert_eq!(whole(Arc::new(UInt32Array::from(vec![u32::MAX]))), Int64Array::from(vec![i64::from(u32::MAX)]));
    }

    #[test]
    fn dictionaries_are_what_they_hold() {
        let keys = Int8Array::from(vec![Some(1), None, Some(0)]);
        let values: ArrayRef = Arc::new(LargeStringArray::from(vec![Some("x"), None]));
        let texts = converted(DictionaryArray::new(keys, values), Type::Text);
        assert_eq!(texts.as_string_view(), &StringViewArray::from(vec![None, None, Some("x")]));
        let nothing: ArrayRef = Arc::new(StringArray::from(Vec::<&str>::new()));
        let texts = converted(DictionaryArray::new(Int8Array::new_null(2), nothing), Type::Text);
        assert_eq!(texts.as_string_view(), &StringViewArray::new_null(2));
    }

    /// Written out, these texts would take 2 GiB, and 512 MiB where they are not too long.
    #[test]
    fn rows_share_the_texts_of_a_dictionary() {
        let rows = 8192;
        for (length, is_null) in [(65_000, false), (262_144, true)] {
            let values: ArrayRef = Arc::new(StringArray::from(vec!["unused".to_owned(), "x".repeat(length)]));
            let keys = Int32Array::from_value(1, rows);
            let texts = converted(DictionaryArray::new(keys, values), Type::Text);
            assert_eq!(texts.null_count(), if is_null { rows } else { 0 });
            assert!(texts.get_array_memory_size() < 1 << 20, "{}", texts.get_array_memory_size());
        }
    }

    #[test]
    fn another_type_is_not_converted() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["7"]));
        assert_eq!(value(&texts, Type::Number), Err(Broken));
    }
}
