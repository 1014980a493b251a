//! How frames get from one party to all others.
//!
//! | module | holds |
//! |---|---|
//! | `mod` | [`Transport`]: what a session needs |
//! | [`mesh`] | [`Mesh`]: TCP and mutual TLS between everybody and everybody |
//! | `tls` | raw public keys, pinned to those of the task |
//! | [`memory`] | parties within one process |

pub mod memory;
pub mod mesh;
pub(crate) mod tls;

use std::sync::Arc;
use std::time::Instant;

pub use self::memory::Memory;
pub use self::mesh::Mesh;

/// Carries frames: whole, in order, for as long as the sender lives; possibly several times each, after a connection was cut.
/// Who sent a frame is certain.
pub trait Transport {
    /// Sends a frame to the party at a place, now or as soon as it can be reached.
    fn send(&mut self, to: usize, frame: &Arc<[u8]>);

    /// The next thing that was heard; `None` if nothing came before the deadline.
    fn receive(&mut self, deadline: Instant) -> Option<Arrival>;

    /// Says no more; returns when everybody who is connected has heard all of it, or at the deadline.
    fn close(self, deadline: Instant);
}

/// What was heard from a party.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// Its place.
    pub from: usize,
    /// What it was.
    pub heard: Heard,
}

/// What was heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// A frame, not larger than allowed.
    Frame(Vec<u8>),
    /// The announcement of a larger one. It was not read.
    Oversized,
    /// That its connection has ended. If it comes back, all it said is heard again.
    Lost,
}
