//! Private streams: events go in, running sums come out after every step, and one charge covers all of them.
//!
//! A stream is defined once, charged once, and counts until its horizon. Steps are closed by the clock, even if nothing
//! arrived, so that silence reveals nothing.
//!
//! ```
//! # use std::sync::Arc;
//! # use std::time::Duration;
//! use reticent_ledger::{DurableLedger, Location};
//! use reticent_stream::{Definition, HandClock, Released, Streams};
//!
//! # let folder = tempfile::tempdir()?;
//! let ledger = Arc::new(DurableLedger::create(&Location::File(folder.path().join("ledger.sqlite")))?);
//! let clock = Arc::new(HandClock::at(0)); // usually SystemClock
//! let streams = Streams::open(&folder.path().join("data"), ledger, clock.clone())?;
//! let definition: Definition = toml::from_str("name = 'visits'\nstep = '1m'\nepsilon = '1'\nhorizon = 1440")?;
//! let visits = streams.create(definition, "ada")?; // charged to dataset stream/visits
//!
//! visits.ingest(visits.events_from_ndjson(b"{\"id\": 1}\n{\"id\": 2}\n{\"id\": 1}\n"))?; // durable, each id once
//! clock.advance(Duration::from_secs(60));
//! streams.close_due()?;
//! let release = visits.now().expect("a minute is over");
//! let Released::One(total) = release.released else { panic!("there are no keys") };
//! println!("{} ± {}", total.value, total.half_width);
//! streams.stop();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | mode | what is kept | an event is counted |
//! |---|---|---|
//! | curator | exact sums, ids and noise, durably, as secret as the data | exactly once if it has an id |
//! | pan-private | on disk, only what was published; in memory, noisy sums | at most once |
//!
//! | module | holds |
//! |---|---|
//! | `definition` | [`Definition`]: what a stream is, and what is checked before it is charged |
//! | `streams` | [`Streams`]: all streams of a data directory |
//! | `hold` | [`Hold`]: the lock that gives a data directory to one process at a time |
//! | `stream` | [`Stream`]: one stream |
//! | `event` | [`Events`]: a batch of parsed events |
//! | `ndjson`, `integer` | one record per line, parsed without copying and without errors |
//! | `release` | [`StepRelease`]: what is released at the end of a step |
//! | `board` | [`Subscription`]: waiting for the next release |
//! | `clock` | [`Clock`]: the current time; also a clock that tests set by hand |
//! | `plan` | how counters make their noise |
//! | `timeline`, [`times`] | [`Timeline`]: time steps; times and durations as text |
//! | [`count`](mod@count) | counting the lines of a file or pipe in one process, without a data directory |
//! | `curator` | durable streams: journal, checkpoint, ids, group commit |
//! | `pan_private` | streams whose memory and disk may be seized |
//! | [`source`] | events from files, pipes and NATS JetStream |
//! | `health` | current failures |
//! | `charge`, `catalogue`, `archive`, `database`, `shared` | the charge, and the files of a data directory |
//! | `error` | the one error type |
//!
//! # What is not promised
//! Anyone who can write to a curator's data directory can restore an older copy of it, and the same steps would then be
//! released again with fresh noise. The time to close a step and the memory and disk in use depend on the events: on
//! the number of ids, and with `keys = "selected"` on the number of keys.
//!
//! # Features
//! - `nats` (default): events from NATS JetStream.
//! - `test-util`: `simulation`, processes that crash wherever a test wants.

mod archive;
mod board;
mod catalogue;
mod charge;
mod clock;
pub mod count;
mod curator;
mod database;
mod definition;
mod error;
mod event;
mod health;
mod hold;
mod integer;
mod ndjson;
mod pan_private;
mod plan;
mod release;
mod shared;
pub mod source;
mod stream;
mod streams;
mod timeline;
pub mod times;

#[cfg(feature = "test-util")]
pub use pan_private::simulation;

pub use board::Subscription;
pub use clock::{Clock, HandClock, SystemClock};
pub use definition::{Definition, Draft, Keys, Mode, Step};
pub use error::{Error, Result};
pub use event::Events;
pub use hold::Hold;
pub use release::{KeyedValues, Released, StepRelease, Value};
pub use stream::{Status, Stream};
pub use streams::Streams;
pub use timeline::Timeline;
