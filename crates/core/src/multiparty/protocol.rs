//! The protocols.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::exact::Rational;

/// The maximum number of parties in a plan.
pub const MOST_PARTIES: u32 = 1 << 20;

/// How parties add up their numbers.
///
/// | protocol | each party sends | variance of the sum, one curator's being 1 | holds against |
/// |---|---|---|---|
/// | broadcast | its statistic with its own noise | m | any number of colluders |
/// | masked | its statistic with a share of the noise, under masks that cancel out | m/(m−t) | t colluders; fewer than m with a larger ε |
///
/// With t = m − 1 the masked protocol has the same noise as broadcast: a party that trusts only itself gains nothing
/// from masks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// Each party publishes its own noisy statistic.
    Broadcast,
    /// Each party publishes its statistic with a share of the noise, under masks that cancel only in the sum of all.
    Masked {
        /// t: how many parties may pool everything they know before the guarantee is weaker than ε.
        colluders: u32,
    },
}

impl Protocol {
    /// The number of colluding parties, among `parties`, against which ε holds.
    pub fn colluders(self, parties: u32) -> u32 {
        match self {
            Self::Broadcast => parties.saturating_sub(1),
            Self::Masked { colluders } => colluders,
        }
    }

    /// The number of parties whose noise must together be that of one curator: m − t; 1 for broadcast.
    ///
    /// # Errors
    /// If there are no parties, too many, or if all of them may collude.
    pub(super) fn honest(self, parties: u32) -> Result<u32> {
        if parties == 0 || parties > MOST_PARTIES {
            return Err(Error::parameter("number of parties", parties, "from 1 to 1048576"));
        }
        match parties.checked_sub(self.colluders(parties)) {
            None | Some(0) => Err(Error::parameter(
                "number of colluders",
                self.colluders(parties),
                "less than the number of parties: if all parties collude, no rows are left to protect",
            )),
            Some(honest) => Ok(honest),
        }
    }

    /// The shape of one party's share of noise, r = 1/(m−t).
    pub(super) fn shape(self, parties: u32) -> Result<Rational> {
        Rational::new(1, self.honest(parties)?.into())
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broadcast => formatter.write_str("broadcast"),
            Self::Masked { colluders } => write!(formatter, "masked (t = {colluders})"),
        }
    }
}
