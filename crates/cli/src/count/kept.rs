//! What a ledger keeps of a request that was named: all releases, as one text.

use anyhow::{Result, anyhow};
use reticent::Error;
use serde::{Deserialize, Serialize};

use super::released::Released;

/// Requests with more releases are too large to be kept as one; streams like that are saved.
pub const MOST_RELEASES: u64 = 1 << 20;

/// All that was released for a request.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// In order.
    pub releases: Vec<Released>,
    /// There were more lines than steps.
    pub horizon_reached: bool,
}

impl Kept {
    /// As it is kept.
    ///
    /// # Errors
    /// None in practice: it is plain data.
    pub fn to_text(&self) -> Result<String> {
        Ok(serde_json::to_string(self)?)
    }

    /// As it was kept.
    ///
    /// # Errors
    /// If the ledger holds something else under this request.
    pub fn from_text(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|_| anyhow!("what the ledger keeps for this request is not a count"))
    }

    /// The same end as the first time.
    ///
    /// # Errors
    /// [`Error::HorizonReached`] if it ended so.
    pub fn end(&self, horizon: Option<u64>) -> Result<()> {
        match (self.horizon_reached, horizon) {
            (true, Some(horizon)) => Err(Error::HorizonReached { horizon }.into()),
            _ => Ok(()),
        }
    }
}
