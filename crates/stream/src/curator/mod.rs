//! Streams of a trusted curator: exact, durable sums.
//!
//! | module | holds |
//! |---|---|
//! | `live` | a stream in memory: its counter, the open step, and how they are written to disk |
//! | `sums` | what was counted since the last transaction |
//! | `window` | recently seen ids |
//! | `queue` | jobs for the writer |
//! | `writer` | the thread that changes streams: one transaction for all waiting jobs |

pub(crate) mod live;
pub(crate) mod queue;
mod sums;
mod window;
pub(crate) mod writer;
