//! Roles and permissions.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::error::{Error, Result};

/// The role of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Everything.
    Owner,
    /// Sees releases and runs queries, within its own caps.
    Analyst,
    /// Sends events and reports, and sees only what that requires.
    Source,
    /// Sees releases and budgets.
    Viewer,
}

/// What a route requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Permission {
    /// Needs no protection: the page itself, the API description, health.
    Open,
    /// Shows a survey's task to those who answer it.
    Look,
    /// Shows releases, budgets and definitions.
    Read,
    /// Sends events or reports.
    Send,
    /// Spends budget on answers.
    Ask,
    /// Creates streams and sets budgets.
    Manage,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 4] = [Self::Owner, Self::Analyst, Self::Source, Self::Viewer];

    /// Whether the role has the permission.
    pub fn may(self, permission: Permission) -> bool {
        match permission {
            Permission::Open | Permission::Look => true,
            Permission::Read => self != Self::Source,
            Permission::Send => matches!(self, Self::Owner | Self::Source),
            Permission::Ask => matches!(self, Self::Owner | Self::Analyst),
            Permission::Manage => self == Self::Owner,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Analyst => "analyst",
            Self::Source => "source",
            Self::Viewer => "viewer",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Role {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|role| role.name() == text).ok_or_else(|| {
            Error::field("role", format!("there is no role {text:?}; use owner, analyst, source or viewer"))
        })
    }
}
