//! The stream service: HTTP API, private SQL over HTTP and a dashboard, all in one process with everything it needs.
//!
//! | module | holds |
//! |---|---|
//! | [`serve`] | [`Server`]: from a configuration to a service that runs until it is told to stop |
//! | [`listen`] | connections: how many there may be, and how long they may be silent |
//! | [`config`] | [`Config`]: how it is set up |
//! | [`app`] | all that it holds: streams, ledger, tables, surveys, tokens |
//! | [`ledger`] | its ledger: opened where it was before, and never silently made anew |
//! | [`routes`] | what can be asked |
//! | [`access`], [`role`], [`tokens`], [`rate`] | who asks, whether they may, and how often |
//! | [`places`] | how many connections and followers there may be at a time |
//! | [`asking`] | requests that are being answered: each is computed once |
//! | [`sources`] | events from NATS JetStream |
//! | [`tables`] | the tables that can be asked about |
//! | [`surveys`] | surveys of the local model, and their reports |
//! | [`reserve`] | places beyond that, for short requests |
//! | [`body`], [`room`] | what a request brings, and room for it in memory |
//! | [`metrics`] | figures for operators |
//! | [`error`] | what can go wrong, and how it is told |
//!
//! # What is not promised
//! There is no TLS: whoever is not on the same machine must come through a proxy that has it. How long an answer takes, and how
//! many requests there are, can be seen by whoever watches the network.

pub mod access;
pub mod app;
pub mod asking;
pub mod body;
pub mod config;
pub mod error;
pub mod ledger;
pub mod listen;
pub mod metrics;
pub mod places;
pub mod rate;
pub mod reserve;
pub mod role;
pub mod room;
pub mod routes;
pub mod serve;
pub mod sources;
pub mod surveys;
pub mod tables;
pub mod tokens;

pub use config::Config;
pub use error::{Error, Result};
pub use role::Role;
pub use serve::Server;
pub use tokens::Tokens;
