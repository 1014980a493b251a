//! The service: an HTTP API for streams, private SQL and surveys, and a dashboard, in one self-contained process.
//!
//! | module | holds |
//! |---|---|
//! | `serve` | [`Server`]: runs a configured service until it is stopped |
//! | `listen` | connections: how many there may be, and how long they may be idle |
//! | [`logs`] | log lines on standard error: only this project's own, without secrets |
//! | `config` | [`Config`]: the configuration file |
//! | [`app`] | the service's state: streams, ledger, tables, surveys, tokens |
//! | `ledger` | its ledger: opened where it was before, and never silently recreated |
//! | [`routes`] | the HTTP routes |
//! | `access`, [`role`], [`tokens`], `rate` | authentication, permissions and rate limits |
//! | `places` | limits on simultaneous connections and followers |
//! | `reserve` | reserved places beyond these limits, for short requests |
//! | `asking` | requests in progress: each is computed once |
//! | `sources` | events from NATS JetStream |
//! | `tables` | the tables that can be queried |
//! | `surveys` | surveys of the local model, and their reports |
//! | `body`, `reply`, `room` | the bodies of requests and replies, the memory they take, and for how long |
//! | `shares` | what is limited in total and per sender |
//! | `metrics` | metrics for operators |
//! | `error` | errors, and how they are reported |
//!
//! # What is not promised
//! There is no TLS: clients on other machines must connect through a proxy that provides it. An observer of the network
//! can see how long answers take and how many requests there are.

mod access;
pub mod app;
mod asking;
mod body;
mod config;
mod error;
mod ledger;
mod listen;
pub mod logs;
mod metrics;
mod places;
mod rate;
mod reply;
mod reserve;
pub mod role;
mod room;
pub mod routes;
mod serve;
mod shares;
mod sources;
mod surveys;
mod tables;
pub mod tokens;

pub use config::Config;
pub use error::{Error, Result};
pub use role::Role;
pub use serve::Server;
pub use tokens::Tokens;
