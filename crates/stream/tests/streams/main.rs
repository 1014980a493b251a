//! Streams from outside.
//!
//! | module | asks |
//! |---|---|
//! | `counting` | what is counted, and when steps end |
//! | `creating` | is everything checked and charged, once, before a stream counts? |
//! | `restarting` | is everything as it was? |
//! | `crashes` | what if the process of a pan-private stream ends at any point, and its memory and disk are taken? |
//! | `disk` | what if the power fails, or the disk, at any point? |
//! | `kills` | what if the process is killed? |
//! | `pan_private` | what is on the disk, and what is counted after a restart? |
//! | `memory` | what is found in memory and on the disk? |
//! | `files` | what is read from files and pipes? |
//! | `nats` | what is read from JetStream? |
//! | `formats` | does a data directory in the formats of today open? |
//! | `bench`, `child` | – a directory with a ledger and a clock; this program again, to be killed |

mod bench;
mod child;
mod counting;
mod crashes;
mod creating;
mod disk;
mod files;
mod formats;
mod kills;
mod memory;
mod nats;
mod pan_private;
mod restarting;
