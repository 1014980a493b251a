//! Parties on one machine: real TCP and TLS, one thread each.
//!
//! | module | holds |
//! |---|---|
//! | `village` | parties with their own keys, ledgers and state directories |
//! | `wires` | transports that record frames, change them, or die |
//! | `clock` | a clock that stands still as long as anything can still happen |
//! | `proxy` | a network that cuts connections |
//! | `honest` | everyone follows the protocol |
//! | `faults` | one party does not: it vanishes, lies, replays, equivocates, sends too much |
//! | `network` | connections are cut; strangers connect |
//! | `ledgers` | charges come first, and attempts are never used twice |
//! | `fuzz` | mutated messages and transcripts |

mod clock;
mod faults;
mod fuzz;
mod honest;
mod ledgers;
mod network;
mod proxy;
mod village;
mod wires;
