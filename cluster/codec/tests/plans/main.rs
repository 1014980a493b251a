//! Plans of real queries over real files, as bytes and in other processes.
//!
//! | module | holds |
//! |---|---|
//! | `child` | this program again, as a process that runs one partition of one plan |
//! | `stages` | plans run as a cluster would: stage by stage, each partition in a process of its own |
//! | `tables` | the files |
//! | `queries` | what is asked of them, here and elsewhere |
//! | `scans` | parts of files, each cut by whoever reads it; how Parquet is read |
//! | `hostile` | bytes that nobody wrote |

mod child;
mod hostile;
mod queries;
mod scans;
mod stages;
mod tables;
