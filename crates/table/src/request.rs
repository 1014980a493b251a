//! What a scan reads.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use serde::{Deserialize, Serialize};

use crate::{Type, UnitColumn, UnitType};

/// The columns that a scan reads.
///
/// A column may be requested more than once: as the unit and as a value, or as text and as a number.
///
/// # Example
/// ```
/// use reticent_table::{Request, Type, UnitColumn, UnitType};
///
/// let unit = UnitColumn { name: "id".to_owned(), form: UnitType::Text };
/// let request = Request { unit: Some(unit), columns: vec![("age".to_owned(), Type::Number)] };
/// # assert_eq!(request.columns.len(), 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The privacy unit; `None` if each row is its own unit.
    pub unit: Option<UnitColumn>,
    /// The other columns. Formats without types have [`Type::Text`] and [`Type::Number`]; in others, a column has one
    /// type, [`Table::column_type`](crate::Table::column_type).
    pub columns: Vec<(String, Type)>,
}

impl Request {
    /// The columns in batch order.
    pub(crate) fn all(&self) -> Vec<Column> {
        let unit = self.unit.iter().map(|unit| Column { name: unit.name.clone(), form: Form::Unit(unit.form) });
        let values =
            self.columns.iter().map(|(name, wanted)| Column { name: name.clone(), form: Form::Value(*wanted) });
        unit.chain(values).collect()
    }
}

/// A requested column, and its form.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Column {
    pub name: String,
    pub form: Form,
}

/// The form in which a column is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    Value(Type),
    Unit(UnitType),
}

impl Form {
    fn data_type(self) -> DataType {
        match self {
            Self::Value(wanted) => wanted.data_type(),
            Self::Unit(form) => form.data_type(),
        }
    }

    /// Whether formats without types support it.
    pub fn is_of_text(self) -> bool {
        matches!(self, Self::Value(Type::Text | Type::Number) | Self::Unit(UnitType::Text))
    }
}

/// The schema of batches: `u`, `0`, `1` and so on, all nullable. User-supplied text never names a column.
pub fn schema(columns: &[Column]) -> SchemaRef {
    let (mut fields, mut values) = (Vec::with_capacity(columns.len()), 0..);
    for Column { form, .. } in columns {
        let name = match form {
            Form::Unit(_) => "u".to_owned(),
            Form::Value(_) => values.next().map(|place: usize| place.to_string()).unwrap_or_default(),
        };
        fields.push(Field::new(name, form.data_type(), true));
    }
    Arc::new(Schema::new(fields))
}
