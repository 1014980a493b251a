//! Where events come from.
//!
//! A source reads, hands over, and remembers how far it has read. In curator mode that is kept in the same transaction as the
//! events, so that after a crash nothing is lost and nothing counted twice, with ids or without. In pan-private mode nothing is kept: what was handed over counts at most once.
//!
//! | module | holds |
//! |---|---|
//! | [`file`](mod@file) | [`FileSource`]: a file or a pipe |
//! | [`nats`] | [`NatsSource`](nats::NatsSource): a durable consumer of NATS JetStream |
//! | `lines` | whole lines out of whatever arrives |

pub mod file;
mod lines;
#[cfg(feature = "nats")]
pub mod nats;

pub use file::FileSource;
