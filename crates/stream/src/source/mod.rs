//! Where events come from.
//!
//! A source reads events, hands them over, and remembers how far it has read. In curator mode this position is stored
//! in the same transaction as the events, so that after a crash nothing is lost and nothing is counted twice, with or
//! without ids. In pan-private mode nothing is stored: each event counts at most once.
//!
//! | module | holds |
//! |---|---|
//! | [`file`](mod@file) | [`FileSource`]: a file or a pipe |
//! | [`nats`] | [`NatsSource`](nats::NatsSource): a durable consumer of NATS JetStream |
//! | `lines` | splits incoming bytes into whole lines |

pub mod file;
mod lines;
#[cfg(feature = "nats")]
pub mod nats;

pub use file::FileSource;
