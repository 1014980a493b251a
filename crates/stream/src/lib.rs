//! Private streams: events go in, running sums come out after every step, and one charge covers all of them.
//!
//! A stream is defined once, charged once, and counts until its horizon. Steps are closed by the clock, also when nothing
//! arrived: silence must not show. See [`Streams`] for an example.
//!
//! | mode | what is kept | an event is counted |
//! |---|---|---|
//! | curator | exact sums, ids and noise, durably, as secret as the data | exactly once, when it carries an id |
//! | pan-private | on disk what was published; in memory sums inside noise | at most once |
//!
//! | module | holds |
//! |---|---|
//! | [`definition`] | [`Definition`]: what a stream is, and what must hold before it is charged |
//! | [`streams`] | [`Streams`]: all streams of a data directory |
//! | [`hold`] | [`Hold`]: a data directory belongs to one process at a time |
//! | [`stream`] | [`Stream`]: one of them |
//! | [`event`] | [`Events`]: events as they are counted |
//! | `ndjson`, [`integer`] | one record per line, read without a copy and without an error |
//! | [`release`] | [`StepRelease`]: what is released at the end of a step |
//! | [`board`] | [`Subscription`]: whoever waits for the next release |
//! | [`clock`] | [`Clock`]: what time it is; one that is moved by hand |
//! | `plan` | how counters make their noise |
//! | [`timeline`], [`times`] | [`Timeline`]: steps of time; times and lengths as text |
//! | [`count`](mod@count) | the lines of a file or a pipe, counted by one process, without a data directory |
//! | `curator` | durable streams: journal, checkpoint, ids, one transaction for all who wait |
//! | `pan_private` | streams whose memory and disk may be taken |
//! | [`source`] | events from files, pipes and NATS JetStream |
//! | `health` | what does not work at present |
//! | `charge`, `catalogue`, `archive`, `database`, `shared` | the charge, and the files of a data directory |
//! | [`error`] | the one error type |
//!
//! # What is not promised
//! Whoever can write to a curator's data directory can put back an older copy of it, and the same steps would be released
//! again with other noise. How long a step takes to close, how much memory and disk is in use depends on the events: on how many
//! ids there are, and with `keys = "selected"` on how many keys came.
//!
//! # Features
//! - `nats` (default): events from NATS JetStream.
//! - `test-util`: `simulation`, processes that end wherever a test wants.

mod archive;
pub mod board;
mod catalogue;
mod charge;
pub mod clock;
pub mod count;
mod curator;
mod database;
pub mod definition;
pub mod error;
pub mod event;
mod health;
pub mod hold;
pub mod integer;
mod ndjson;
mod pan_private;
mod plan;
pub mod release;
mod shared;
pub mod source;
pub mod stream;
pub mod streams;
pub mod timeline;
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
