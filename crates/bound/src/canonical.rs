//! Values that mean the same made the same, and numbers out of columns.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, UInt64Array};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type, Int64Type, UInt64Type};
use datafusion::error::Result;

/// The type in which values are compared; `None` for types that have parts, whose parts would need the same care.
pub(super) fn canonical_type(kind: &DataType) -> Option<DataType> {
    use DataType::*;
    match kind {
        Dictionary(_, values) => canonical_type(values),
        RunEndEncoded(_, values) => canonical_type(values.data_type()),
        // A day and 24 hours may or may not be the same.
        Interval(_) => None,
        Null | Boolean | Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView | FixedSizeBinary(_) => {
            Some(kind.clone())
        }
        primitive if primitive.is_primitive() => Some(kind.clone()),
        _ => None,
    }
}

/// The column with every value in the one form in which it is compared: all NaN alike, −0 as 0, dictionaries looked up.
pub(super) fn canonical(column: &ArrayRef) -> Result<ArrayRef> {
    match column.data_type() {
        DataType::Dictionary(_, values) => canonical(&cast(column, values)?),
        DataType::RunEndEncoded(_, values) => canonical(&cast(column, values.data_type())?),
        DataType::Float64 => {
            let one_form = |value: f64| if value.is_nan() { f64::NAN } else { value + 0.0 };
            Ok(Arc::new(column.as_primitive::<Float64Type>().unary::<_, Float64Type>(one_form)))
        }
        DataType::Float32 => {
            let one_form = |value: f32| if value.is_nan() { f32::NAN } else { value + 0.0 };
            Ok(Arc::new(column.as_primitive::<Float32Type>().unary::<_, Float32Type>(one_form)))
        }
        DataType::Float16 => {
            // Exactly, there and back.
            cast(&canonical(&cast(column, &DataType::Float32)?)?, &DataType::Float16)
        }
        _ => Ok(column.clone()),
    }
}

/// The type through which values become numbers; `None` if they are none.
pub(super) fn number_type(kind: &DataType) -> Option<DataType> {
    use DataType::*;
    match kind {
        Dictionary(_, values) => number_type(values),
        RunEndEncoded(_, values) => number_type(values.data_type()),
        Null | Boolean | Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 => Some(Int64),
        Date32 | Date64 | Time32(_) | Time64(_) | Timestamp(..) | Duration(_) => Some(Int64),
        UInt64 => Some(UInt64),
        Float16 | Float32 | Float64 | Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..) => Some(Float64),
        _ => None,
    }
}

/// A column of numbers. Dates and times are numbers of their own unit, truth is 1.
pub(super) enum Numbers {
    Float(Float64Array),
    Integer(Int64Array),
    Unsigned(UInt64Array),
}

impl Numbers {
    pub fn of(column: &ArrayRef) -> Result<Self> {
        let Some(kind) = number_type(column.data_type()) else {
            return datafusion::common::plan_err!("{} is no number", column.data_type());
        };
        let column = match column.data_type() {
            DataType::Dictionary(_, values) => cast(column, values)?,
            DataType::RunEndEncoded(_, values) => cast(column, values.data_type())?,
            _ => column.clone(),
        };
        let column = match column.data_type() {
            // Arrow has no cast from days to 64 bits, only through 32.
            DataType::Date32 | DataType::Time32(_) => cast(&cast(&column, &DataType::Int32)?, &kind)?,
            _ => cast(&column, &kind)?,
        };
        Ok(match kind {
            DataType::Float64 => Self::Float(column.as_primitive::<Float64Type>().clone()),
            DataType::UInt64 => Self::Unsigned(column.as_primitive::<UInt64Type>().clone()),
            _ => Self::Integer(column.as_primitive::<Int64Type>().clone()),
        })
    }
}

/// A cast that makes NULL of what does not fit, and never an error of a value.
pub(super) fn cast(column: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    if column.data_type() == to {
        return Ok(column.clone());
    }
    Ok(cast_with_options(column, to, &CastOptions { safe: true, ..Default::default() })?)
}
