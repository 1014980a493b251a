//! `reticent serve` as its users meet it: a real process, asked over HTTP.
//!
//! | file | holds |
//! |---|---|
//! | `http` | a client that says exactly what it is told to say |
//! | `service` | a service of its own for each test |
//! | `access` | who may do what: every route, every role |
//! | `streams` | creating streams, sending events, reading releases |
//! | `queries` | private SQL, its charges and its idempotence |
//! | `attacks` | queries and configurations that want to learn more, or keep the service busy |
//! | `ledgers` | a ledger that is gone, older than it was, or another one |
//! | `surveys` | tasks, reports and estimates of the local model |
//! | `limits` | too much, too often, too strange |
//! | `silence` | nothing but releases depends on events |
//! | `endings` | being told to stop, and being killed |
//! | `commands` | `reticent stream` and `reticent token` |
//! | `seizure` | what is found in memory, on the disk and in the logs of a service whose machine is taken |
//! | `nats` | events from NATS JetStream |
//! | `schema` | the description of the interface, tried out by schemathesis |
//! | `webdriver`, `browser`, `survey_page` | the dashboard and a survey in a real browser |

mod access;
mod attacks;
mod browser;
mod commands;
mod endings;
mod http;
mod ledgers;
mod limits;
mod nats;
mod queries;
mod schema;
#[cfg(target_os = "linux")]
mod seizure;
mod service;
mod silence;
mod streams;
mod survey_page;
mod surveys;
mod webdriver;
