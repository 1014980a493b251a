//! The privacy unit of a row.

use std::fmt::{self, Display, Formatter};

use arrow_schema::DataType;
use serde::{Deserialize, Serialize};

use crate::types::plain;

/// How the privacy units of a table are compared: always exactly, so that two people are never mistaken for one.
///
/// # Canonical text
/// Any unit can be requested as [`UnitType::Text`], so that tables whose types differ can be compared. Distinct values
/// of the same type have distinct texts:
///
/// - integers: decimal digits, `-7`;
/// - decimals of any width: plain notation without trailing zeros, never through floats. 7.00 is `7`, −0 is `0`;
/// - dates: ISO 8601, `2026-03-02`. Years of more than four digits have a sign;
/// - timestamps: RFC 3339 in UTC to their full precision without a zone, the fraction only as long as needed:
///   `2026-03-02T09:30:00`, `2026-03-02T09:30:00.000000001`;
/// - bytes: lower-case hexadecimal digits; 16 bytes in the form of a UUID, `67e55044-10b1-426f-9247-bb680e5fe0c8`;
/// - booleans: `true` and `false`;
/// - text, and every cell of a CSV or NDJSON file: unchanged. `7.00` in a CSV file is not `7`.
///
/// A text longer than [`MOST_TEXT`](crate::MOST_TEXT) is NULL: the row has no unit.
///
/// # What cannot be a unit
/// Floats, since two ids may be the same float; the 96-bit timestamps of old Parquet files, for a similar reason; times of
/// day, durations, and nested types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnitType {
    /// Integers that fit into 64 bits with a sign, as `Int64`.
    Signed,
    /// Unsigned 64-bit integers, as `UInt64`.
    Unsigned,
    /// Everything else, as canonical text in `Utf8View`.
    Text,
}

impl UnitType {
    /// Returns the type of the column in a batch.
    pub fn data_type(self) -> DataType {
        match self {
            Self::Signed => DataType::Int64,
            Self::Unsigned => DataType::UInt64,
            Self::Text => DataType::Utf8View,
        }
    }

    /// How units of a file's type are compared; the error says what is wrong with such a column.
    pub(crate) fn of(data_type: &DataType) -> Result<Self, &'static str> {
        use DataType::*;
        match plain(data_type) {
            Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 => Ok(Self::Signed),
            UInt64 => Ok(Self::Unsigned),
            Boolean | Utf8 | LargeUtf8 | Utf8View | Date32 | Date64 | Timestamp(..) => Ok(Self::Text),
            Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..) => Ok(Self::Text),
            Binary | LargeBinary | BinaryView | FixedSizeBinary(_) => Ok(Self::Text),
            Float16 | Float32 | Float64 => {
                Err("holds floating-point numbers, which cannot tell people apart exactly; \
                 write it to the file as whole numbers or as text")
            }
            _ => Err("cannot be the privacy unit; write it to the file as whole numbers or as text"),
        }
    }
}

impl Display for UnitType {
    /// In words, as in "the unit is text".
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Signed => "a whole number",
            Self::Unsigned => "an unsigned whole number of 64 bits",
            Self::Text => "text",
        })
    }
}

/// The column of the privacy unit, and how it is compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitColumn {
    /// The column's name in the table.
    pub name: String,
    /// The result of [`Table::unit_type`](crate::Table::unit_type), or [`UnitType::Text`].
    pub form: UnitType,
}
