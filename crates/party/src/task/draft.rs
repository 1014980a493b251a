//! A task as written in TOML.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use reticent::message;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::keys::{PrivateKey, PublicKey};

/// A task as written in TOML; only checked for unknown fields. The fields are documented at [`Task`](super::Task).
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "documented with the task's fields")]
pub struct Draft {
    pub title: String,
    pub session: String,
    pub protocol: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub colluders: Option<u32>,
    pub epsilon: Number,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_large_epsilon: bool,
    pub unit: String,
    pub adjacency: String,
    pub sql: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub bounds: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub keys: BTreeMap<String, Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rows: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_groups: Option<u64>,
    pub bound: i64,
    pub sensitivity: u64,
    pub cells: Vec<DraftCell>,
    #[serde(rename = "party")]
    pub parties: Vec<Member>,
}

/// A number: exact as text, or as a TOML number.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
#[allow(missing_docs, reason = "the three ways to write a number")]
pub enum Number {
    Text(String),
    Integer(i64),
    Float(f64),
}

impl Number {
    /// As text: exact if it was written as such.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Integer(number) => number.to_string(),
            Self::Float(number) => number.to_string(),
        }
    }
}

/// A cell: a name, or a name and the value of a step.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum DraftCell {
    /// Whole numbers: a step is worth 1.
    Name(String),
    /// Another grid step.
    Grid(Grid),
}

/// A cell with an explicit grid.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// Its name.
    pub name: String,
    /// The value of a step.
    pub step: Number,
}

/// A party, as all others know it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// Its name: letters a–z, digits, `-` and `_`.
    pub name: String,
    /// Its public key.
    pub key: PublicKey,
    /// Its address: `HOST:PORT`.
    pub address: String,
}

impl Member {
    /// A party written as `NAME,KEY,HOST:PORT`, where KEY is the public key or a file that holds it.
    ///
    /// # Errors
    /// If it is written otherwise, or the file does not hold a public key: least of all a private one.
    pub fn written(text: &str) -> Result<Self> {
        let parts: Vec<&str> = text.split(',').map(str::trim).collect();
        let [name, key, address] = parts[..] else {
            return Err(Error::Request(message!(
                ["party"],
                " {text}: write it as ",
                ["party"],
                " NAME,KEY,HOST:PORT, as in ",
                ["party"],
                " north,north.pub,127.0.0.1:7001"
            )));
        };
        let file = Path::new(key);
        let key = match key.parse::<PublicKey>() {
            Ok(key) => key,
            Err(_) if file.is_file() => {
                if let Ok(private) = PrivateKey::read(file) {
                    let public = private.public();
                    return Err(Error::Request(message!(
                        ["party"],
                        " {name}: {key} is a private key; keep it to yourself, and give the public key, {public}"
                    )));
                }
                let text = fs::read_to_string(file).map_err(|error| Error::file("read", file, error))?;
                let wrong = |error| message!(["party"], " {name}: {key} does not contain a public key: {error}");
                text.trim().parse().map_err(|error: Error| Error::Request(wrong(error)))?
            }
            Err(error) => {
                let wrong = message!(["party"], " {name}: there is no file {key}, and it is not a key: {error}");
                return Err(Error::Request(wrong));
            }
        };
        Ok(Self { name: name.into(), key, address: address.into() })
    }
}
