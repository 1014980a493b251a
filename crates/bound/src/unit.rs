//! A unit as words that can be compared.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BinaryArray, BinaryViewArray, LargeBinaryArray};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type, Int64Type, UInt64Type};
use datafusion::arrow::row::{RowConverter, Rows, SortField};
use datafusion::error::Result;

use super::canonical::{canonical, canonical_type, cast};
use super::choice::Chooser;

/// How a unit is written in front of a row: as one 64-bit number, or as the number of its bytes and then these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnitForm {
    Number,
    Bytes,
}

impl UnitForm {
    pub fn of(kind: &DataType) -> Self {
        use DataType::*;
        match canonical_type(kind) {
            Some(Boolean | Float32 | Float64) => Self::Number,
            Some(kind) if kind.is_integer() => Self::Number,
            Some(Date32 | Date64 | Time32(_) | Time64(_) | Timestamp(..) | Duration(_)) => Self::Number,
            _ => Self::Bytes,
        }
    }

    /// How many words of a record are its unit.
    #[inline]
    pub fn words(self, record: &[u32]) -> usize {
        match self {
            Self::Number => 2,
            Self::Bytes => 1 + (record[0] as usize).div_ceil(4),
        }
    }

    /// What stands for the unit when its groups and rows are chosen.
    pub fn identity(self, words: &[u32], chooser: &Chooser) -> u128 {
        match self {
            Self::Number => u128::from(number(words)),
            Self::Bytes => {
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                chooser.shorten(&bytes)
            }
        }
    }
}

#[inline]
fn number(words: &[u32]) -> u64 {
    u64::from(words[0]) | u64::from(words[1]) << 32
}

/// A hash of a unit's words, for tables: what it finds is compared.
#[inline]
pub(super) fn hash(seed: u64, words: &[u32]) -> u64 {
    /// An odd number with about as many ones as zeros.
    const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
    let fold = |state: u64| {
        let wide = u128::from(state) * u128::from(MULTIPLIER);
        (wide >> 64) as u64 ^ wide as u64
    };
    let mut pairs = words.chunks_exact(2);
    let state = pairs.by_ref().fold(seed, |state, pair| fold(state ^ number(pair)));
    let state = pairs.remainder().iter().fold(state, |state, &word| fold(state ^ u64::from(word)));
    fold(state ^ seed.rotate_left(32))
}

/// A batch's units.
pub(super) struct Units {
    values: Values,
    nulls: Option<NullBuffer>,
}

enum Values {
    Numbers(Vec<u64>),
    Binary(BinaryArray),
    LargeBinary(LargeBinaryArray),
    View(BinaryViewArray),
    Rows(Rows),
}

impl Units {
    pub fn of(column: &ArrayRef) -> Result<Self> {
        use DataType::*;
        let column = canonical(column)?;
        let values = match column.data_type() {
            Float64 => {
                Values::Numbers(column.as_primitive::<Float64Type>().values().iter().map(|x| x.to_bits()).collect())
            }
            Float32 => {
                let bits = column.as_primitive::<Float32Type>().values().iter().map(|x| u64::from(x.to_bits()));
                Values::Numbers(bits.collect())
            }
            UInt64 => Values::Numbers(column.as_primitive::<UInt64Type>().values().to_vec()),
            kind if UnitForm::of(kind) == UnitForm::Number => {
                let narrow = matches!(kind, Date32 | Time32(_));
                let column = if narrow { cast(&column, &Int32)? } else { column.clone() };
                let numbers = cast(&column, &Int64)?;
                Values::Numbers(numbers.as_primitive::<Int64Type>().values().iter().map(|&x| x as u64).collect())
            }
            Utf8 | Binary => Values::Binary(cast(&column, &Binary)?.as_binary().clone()),
            LargeUtf8 | LargeBinary => Values::LargeBinary(cast(&column, &LargeBinary)?.as_binary().clone()),
            Utf8View | BinaryView => Values::View(cast(&column, &BinaryView)?.as_binary_view().clone()),
            kind => {
                let converter = RowConverter::new(vec![SortField::new(kind.clone())])?;
                Values::Rows(converter.convert_columns(std::slice::from_ref(&column))?)
            }
        };
        Ok(Self { values, nulls: column.logical_nulls() })
    }

    /// Writes the unit of a row; `false`, and nothing, if it has none.
    #[inline]
    pub fn write(&self, row: usize, record: &mut Vec<u32>) -> bool {
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return false;
        }
        match &self.values {
            Values::Numbers(numbers) => {
                record.extend_from_slice(&[numbers[row] as u32, (numbers[row] >> 32) as u32]);
                true
            }
            Values::Binary(values) => write_bytes(values.value(row), record),
            Values::LargeBinary(values) => write_bytes(values.value(row), record),
            Values::View(values) => write_bytes(values.value(row), record),
            Values::Rows(rows) => write_bytes(rows.row(row).data(), record),
        }
    }
}

/// A unit of 4 GiB and more is none.
fn write_bytes(bytes: &[u8], record: &mut Vec<u32>) -> bool {
    let Ok(length) = u32::try_from(bytes.len()) else { return false };
    record.push(length);
    let mut words = bytes.chunks_exact(4);
    record.extend(words.by_ref().map(|word| u32::from_le_bytes(word.try_into().expect("four bytes"))));
    let rest = words.remainder();
    if !rest.is_empty() {
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        record.push(u32::from_le_bytes(last));
    }
    true
}
