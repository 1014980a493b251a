//! How frames get from one party to all others.
//!
//! | module | holds |
//! |---|---|
//! | `mod` | [`Transport`]: what a session needs |
//! | [`mesh`] | [`Mesh`]: TCP and mutual TLS between all parties |
//! | [`tls`] | raw public keys, pinned to those of the task |
//! | [`memory`] | parties within one process |

pub mod memory;
pub mod mesh;
pub mod tls;

use std::sync::Arc;
use std::time::Instant;

pub use self::memory::Memory;
pub use self::mesh::Mesh;

/// Carries frames: whole, in order, as long as the sender lives; possibly more than once each, after a connection was
/// cut. The sender of a frame is authenticated.
pub trait Transport {
    /// Sends a frame to the party at this index, now or as soon as it can be reached.
    fn send(&mut self, to: usize, frame: &Arc<[u8]>);

    /// The next arrival; `None` if the deadline passes first.
    fn receive(&mut self, deadline: Instant) -> Option<Arrival>;

    /// Stops sending; returns when all connected parties have received everything, or at the deadline.
    fn close(self, deadline: Instant);
}

/// Something that arrived from a party.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// The sender's index.
    pub from: usize,
    /// What arrived.
    pub heard: Heard,
}

/// What arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// A frame within the size limit.
    Frame(Vec<u8>),
    /// The announcement of a larger frame, which was not read.
    Oversized,
    /// The end of its connection. If it reconnects, all its frames arrive again.
    Lost,
}
