//! `reticent serve` as its users run it: a real process, over HTTP.
//!
//! | file | holds |
//! |---|---|
//! | `http` | a client that sends exactly what it is told to |
//! | `service` | a separate service for each test |
//! | `access` | who may do what: every route, every role |
//! | `streams` | creating streams, sending events, reading releases |
//! | `queries` | private SQL, its charges and its idempotence |
//! | `attacks` | queries and configurations written to learn more, or to keep the service busy |
//! | `ledgers` | a ledger that is missing, older than before, or a different one |
//! | `surveys` | tasks, reports and estimates of the local model |
//! | `limits` | too much, too often, too strange |
//! | `replies` | replies that are long, and clients that do not read them |
//! | `silence` | nothing but releases depends on events |
//! | `endings` | signals to stop, kills, and a full disk |
//! | `commands` | `reticent stream` and `reticent token` |
//! | `seizure` | what an attacker who seizes the machine finds in memory, on disk and in the logs of a service |
//! | `nats` | events from NATS JetStream |
//! | `schema` | the description of the API, tested by schemathesis |
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
mod replies;
mod schema;
#[cfg(target_os = "linux")]
mod seizure;
mod service;
mod silence;
mod streams;
mod survey_page;
mod surveys;
mod webdriver;
