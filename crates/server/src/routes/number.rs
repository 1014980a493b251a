//! An exact number in JSON: text, or a number, taken as its shortest decimal form.

use serde::{Deserialize, Deserializer};
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, SchemaType, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// `0.1`, `"0.1"` or `"1/3"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number(pub String);

impl<'data> Deserialize<'data> for Number {
    fn deserialize<D: Deserializer<'data>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected a number, such as 0.5 or \"0.5\"")]
        enum Written {
            Text(String),
            Whole(u64),
            Float(f64),
        }
        Ok(Self(match Written::deserialize(deserializer)? {
            Written::Text(text) => text,
            Written::Whole(number) => number.to_string(),
            Written::Float(number) => number.to_string(),
        }))
    }
}

impl PartialSchema for Number {
    fn schema() -> RefOr<Schema> {
        let of = |kind| ObjectBuilder::new().schema_type(SchemaType::Type(kind));
        OneOfBuilder::new()
            .item(of(Type::Number))
            .item(of(Type::String))
            .description(Some("an exact number: 0.1, \"0.1\" or \"1/3\""))
            .into()
    }
}

impl ToSchema for Number {}
