//! A definition as written in TOML or JSON.

use serde::de::{Deserializer, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A definition as written, not yet checked. For the defaults of optional fields, see
/// [`Definition`](super::Definition).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "as the fields of a definition")]
pub struct Draft {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adjacency: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<String>,
    pub step: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub horizon: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "number")]
    pub epsilon: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "number")]
    pub delta: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "number")]
    pub rho: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_large_epsilon: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counter: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<DraftKeys>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dedup: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<u64>,
}

/// Keys as written: `"none"`, `"selected"`, or a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum DraftKeys {
    /// `none` or `selected`.
    Word(String),
    /// Public keys, known in advance.
    Known(Vec<String>),
}

/// An exact number in quotes, or a number, taken as its shortest decimal form.
fn number<'data, D: Deserializer<'data>>(deserializer: D) -> Result<Option<String>, D::Error> {
    struct Number;

    impl Visitor<'_> for Number {
        type Value = Option<String>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a number, such as 0.5 or \"0.5\"")
        }

        fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
            Ok(Some(text.to_owned()))
        }

        fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
            Ok(Some(number.to_string()))
        }

        fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
            Ok(Some(number.to_string()))
        }

        fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
            Ok(Some(number.to_string()))
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
    }

    deserializer.deserialize_any(Number)
}
