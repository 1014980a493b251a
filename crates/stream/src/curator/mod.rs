//! Streams of a trusted curator: exact sums, durable.
//!
//! | module | holds |
//! |---|---|
//! | `live` | a stream in memory: its counter, the open step, what is written down of them |
//! | `sums` | what was counted since the last transaction |
//! | `window` | which ids were seen lately |
//! | `queue` | who waits for what |
//! | `writer` | the one thread that changes streams: one transaction for all who wait |

pub(crate) mod live;
pub(crate) mod queue;
mod sums;
mod window;
pub(crate) mod writer;
