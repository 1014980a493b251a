//! `reticent local` as its users meet it.
//!
//! | file | holds |
//! |---|---|
//! | `place` | a folder of its own for each test |
//! | `tasks` | making, checking and showing tasks |
//! | `survey` | from devices to estimates |
//! | `devices` | what a device says, and what it remembers |

mod devices;
mod place;
mod survey;
mod tasks;
