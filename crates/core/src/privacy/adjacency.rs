//! Which datasets count as neighbours.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// What "one unit more or less" means. Every sensitivity is derived from this choice.
///
/// # Example
/// ```
/// use reticent::privacy::Adjacency;
///
/// assert_eq!("replace".parse::<Adjacency>()?, Adjacency::Replace);
/// assert_eq!(Adjacency::AddRemove.to_string(), "add-remove");
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Adjacency {
    /// One unit is added or removed; the number of units is itself protected.
    AddRemove,
    /// One unit's data is replaced by other data; the number of units is public.
    Replace,
}

impl fmt::Display for Adjacency {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::AddRemove => "add-remove",
            Self::Replace => "replace",
        })
    }
}

impl FromStr for Adjacency {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "add-remove" => Ok(Self::AddRemove),
            "replace" => Ok(Self::Replace),
            _ => Err(Error::parameter("adjacency", text, "add-remove or replace")),
        }
    }
}
