//! A blocking client of the Reticent service: create streams, send events, read releases.
//!
//! ```no_run
//! use reticent_client::Client;
//!
//! let client = Client::new(Some("http://127.0.0.1:8080"), |_| None)?;
//! client.send("visits", b"1\n1\n")?;
//! let newest = client.get("/v1/streams/visits/releases/now")?;
//! println!("{newest}");
//! # Ok::<(), reticent_client::Error>(())
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `client` | [`Client`]: requests to the service |
//! | [`streams`] | streams and their releases |
//! | `send` | events from a file or a pipe, in batches |
//! | `error` | the error type |
//!
//! # What is not promised
//! Lines without an id that were sent and not acknowledged may or may not have been counted.

mod client;
mod error;
mod send;
pub mod streams;

pub use client::{Client, Sent};
pub use error::{Error, Result};
