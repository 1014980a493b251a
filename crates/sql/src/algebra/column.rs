//! Columns of values, and lifting of row functions to columns.
//!
//! Every function of the algebra is written as a function of one row's values and lifted here to whole columns. Its
//! result for a row can therefore depend only on that row: not on the other rows of a batch, their number or their
//! order.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, StringViewArray, TimestampMicrosecondArray,
    UInt32Array,
};
use arrow_schema::DataType;
use arrow_select::take::take;

use super::data::sound;
use super::stop::is_stopped;
use super::{Type, Value};

/// The values of an expression for a number of rows.
#[derive(Debug, Clone)]
pub enum Column {
    /// The same value for every row.
    Constant(Value),
    /// One value per row.
    Array(ArrayRef),
}

impl Column {
    /// Converts to an Arrow array with one value for each of `rows` rows.
    pub fn into_array(self, kind: Type, rows: usize) -> ArrayRef {
        match self {
            Self::Array(array) => array,
            Self::Constant(value) => repeated(&value, kind, rows),
        }
    }

    /// Converts to a condition: true, false or NULL for each row.
    pub fn into_condition(self, rows: usize) -> BooleanArray {
        self.into_array(Type::Boolean, rows).as_boolean().clone()
    }
}

/// Stores the text only once, and looks at it only once.
fn repeated_text(text: &str, rows: usize) -> ArrayRef {
    let once = StringViewArray::from_iter_values([text]);
    sound(take(&once, &UInt32Array::from_value(0, rows), None))
}

/// An Arrow array with the same value in every row.
fn repeated(value: &Value, kind: Type, rows: usize) -> ArrayRef {
    match value {
        Value::Null => arrow_array::new_null_array(&kind.data_type(), rows),
        Value::Boolean(value) => Arc::new(BooleanArray::from(vec![*value; rows])),
        Value::Integer(value) => Arc::new(Int64Array::from_value(*value, rows)),
        Value::Number(value) => Arc::new(Float64Array::from_value(*value, rows)),
        Value::Text(value) => repeated_text(value, rows),
        Value::Date(value) => Arc::new(Date32Array::from_value(*value, rows)),
        Value::Timestamp(value) => Arc::new(TimestampMicrosecondArray::from_value(*value, rows)),
    }
}

/// Returns one cell of an array.
pub fn cell(array: &dyn Array, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    match array.data_type() {
        DataType::Boolean => Value::Boolean(array.as_boolean().value(row)),
        DataType::Int64 => Value::Integer(array.as_primitive::<Int64Type>().value(row)),
        DataType::Float64 => Value::Number(array.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8View => Value::Text(array.as_string_view().value(row).into()),
        DataType::Date32 => Value::Date(array.as_primitive::<Date32Type>().value(row)),
        DataType::Timestamp(..) => Value::Timestamp(array.as_primitive::<TimestampMicrosecondType>().value(row)),
        // The algebra has no columns of other types.
        _ => Value::Null,
    }
}

/// Maps a [`Type`] to Rust types: how its values are read from columns and collected into them.
pub trait Native {
    /// The Arrow array of these values.
    type Array: Array + FromIterator<Option<Self::Owned>> + 'static;
    /// A value when read.
    type Item<'a>: Copy;
    /// A value when written.
    type Owned;
    /// Returns the value in a row that is not NULL.
    fn value(array: &Self::Array, row: usize) -> Self::Item<'_>;
    /// Reads a constant; `None` if it is of another type.
    fn constant(value: &Value) -> Option<Self::Item<'_>>;
}

macro_rules! native {
    ($name:ident, $doc:literal, $array:ty, $item:ty, $owned:ty, $pattern:pat => $constant:expr) => {
        #[doc = $doc]
        pub struct $name;

        impl Native for $name {
            type Array = $array;
            type Item<'a> = $item;
            type Owned = $owned;

            #[inline]
            fn value(array: &Self::Array, row: usize) -> Self::Item<'_> {
                array.value(row)
            }

            fn constant(value: &Value) -> Option<Self::Item<'_>> {
                match value {
                    $pattern => Some($constant),
                    _ => None,
                }
            }
        }
    };
}

native!(Booleans, "[`Type::Boolean`]", BooleanArray, bool, bool, Value::Boolean(value) => *value);
native!(Integers, "[`Type::Integer`]", Int64Array, i64, i64, Value::Integer(value) => *value);
native!(Numbers, "[`Type::Number`]", Float64Array, f64, f64, Value::Number(value) => *value);
native!(Texts, "[`Type::Text`]", StringViewArray, &'a str, String, Value::Text(value) => value);
native!(Dates, "[`Type::Date`], in days", Date32Array, i32, i32, Value::Date(value) => *value);
native!(Timestamps, "[`Type::Timestamp`], in microseconds", TimestampMicrosecondArray, i64, i64, Value::Timestamp(value) => *value);

/// Reads the values of a column; a column of another type reads as NULL.
pub struct Reader<'a, T: Native> {
    array: Option<&'a T::Array>,
    constant: Option<T::Item<'a>>,
}

impl<'a, T: Native> Reader<'a, T> {
    /// Reads a column.
    pub fn of(column: &'a Column) -> Self {
        match column {
            Column::Constant(value) => Self { array: None, constant: T::constant(value) },
            Column::Array(array) => Self { array: array.as_any().downcast_ref(), constant: None },
        }
    }

    /// Returns the value in a row; `None` if it is NULL.
    #[inline]
    pub fn get(&self, row: usize) -> Option<T::Item<'a>> {
        match self.array {
            Some(array) => array.is_valid(row).then(|| T::value(array, row)),
            None => self.constant,
        }
    }
}

/// Lifts a function from row number to value. Once [the run was stopped](super::stop), everything is NULL.
pub fn each<R: Native>(columns: &[Column], rows: usize, mut of_row: impl FnMut(usize) -> Option<R::Owned>) -> Column {
    if columns.iter().all(|column| matches!(column, Column::Constant(_))) {
        // The same for all rows, so computing one is enough.
        return Column::Constant(cell(&(0..1).map(of_row).collect::<R::Array>(), 0));
    }
    /// Rows between two looks at the clock.
    const BETWEEN: usize = 64;
    let mut stopped = false;
    let of_row = |row: usize| {
        if row.is_multiple_of(BETWEEN) {
            stopped = is_stopped();
        }
        if stopped { None } else { of_row(row) }
    };
    Column::Array(Arc::new((0..rows).map(of_row).collect::<R::Array>()))
}

/// Lifts a function of one value; NULL gives NULL.
pub fn map<A: Native, R: Native>(
    columns: &[Column],
    rows: usize,
    of_row: impl Fn(A::Item<'_>) -> Option<R::Owned>,
) -> Column {
    let [a] = columns else { return Column::Constant(Value::Null) };
    let a = Reader::<A>::of(a);
    each::<R>(columns, rows, |row| of_row(a.get(row)?))
}

/// Lifts a function of two values; NULL in either gives NULL.
pub fn map2<A: Native, B: Native, R: Native>(
    columns: &[Column],
    rows: usize,
    of_row: impl Fn(A::Item<'_>, B::Item<'_>) -> Option<R::Owned>,
) -> Column {
    let [a, b] = columns else { return Column::Constant(Value::Null) };
    let (a, b) = (Reader::<A>::of(a), Reader::<B>::of(b));
    each::<R>(columns, rows, |row| of_row(a.get(row)?, b.get(row)?))
}

/// Lifts a function of three values; NULL in any gives NULL.
pub fn map3<A: Native, B: Native, C: Native, R: Native>(
    columns: &[Column],
    rows: usize,
    of_row: impl Fn(A::Item<'_>, B::Item<'_>, C::Item<'_>) -> Option<R::Owned>,
) -> Column {
    let [a, b, c] = columns else { return Column::Constant(Value::Null) };
    let (a, b, c) = (Reader::<A>::of(a), Reader::<B>::of(b), Reader::<C>::of(c));
    each::<R>(columns, rows, |row| of_row(a.get(row)?, b.get(row)?, c.get(row)?))
}
