//! `reticent local` as its users run it.
//!
//! | file | holds |
//! |---|---|
//! | `place` | a separate folder for each test |
//! | `tasks` | creating, checking and showing tasks |
//! | `survey` | from devices to estimates |
//! | `devices` | what a device sends, and what it remembers |

mod devices;
mod place;
mod survey;
mod tasks;
