//! Parties on one machine: real TCP and TLS, one thread for each.
//!
//! | module | holds |
//! |---|---|
//! | `village` | parties with keys, ledgers and state directories of their own |
//! | `wires` | transports that listen in, change what is said, or die |
//! | `clock` | a clock that stands still while anything can still happen |
//! | `proxy` | a network that cuts connections |
//! | `honest` | everybody does what is agreed |
//! | `faults` | somebody does not: vanishes, lies, replays, equivocates, sends too much |
//! | `network` | connections are cut; strangers come |
//! | `ledgers` | charges come first, and attempts are never used twice |
//! | `fuzz` | changed messages, and changed transcripts |

mod clock;
mod faults;
mod fuzz;
mod honest;
mod ledgers;
mod network;
mod proxy;
mod village;
mod wires;
