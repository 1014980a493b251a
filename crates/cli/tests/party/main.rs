//! `reticent party` as organisations run it: one process each, on loopback.
//!
//! | file | holds |
//! |---|---|
//! | `hospitals` | several parties in one folder, and their processes |
//! | `answers` | three and twenty processes, late ones, another attempt; transcripts |
//! | `aborts` | a party that is killed, has a different task, has no budget, never joins |
//! | `aggregators` | clients that report to two aggregators |
//! | `mistakes` | mistakes outside the rows: named, and not charged |
//! | `neighbours` | nothing but the answer depends on the rows |
//! | `rehearsal` | simulations, views, and transcripts that were tampered with |
//! | `ports` | free ports on loopback |
//! | `namespaces` | a party that is cut off, or slow, on its own network; needs root |

mod aborts;
mod aggregators;
mod answers;
mod hospitals;
mod mistakes;
#[cfg(target_os = "linux")]
mod namespaces;
mod neighbours;
#[path = "../support/ports.rs"]
mod ports;
mod rehearsal;
