//! The collector of the local model: stores the reports of many devices, durably and each once, and computes estimates
//! from them.
//!
//! ```
//! use reticent::local::{Admission, Task};
//! use reticent_collector::Collector;
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("reports.sqlite");
//! # let json = r#"{"question": "Tea?", "domain": {"choices": ["yes", "no"]}, "epsilon": "1", "minimum-batch": 100,
//! #     "expires": "2030-01-01"}"#;
//! let task: Task = serde_json::from_str(json).unwrap();
//! let admission = Admission::new(task);
//! let collector = Collector::open(&path)?;
//! let collected = collector.collect_lines(&admission, &b"not a report\n"[..], 1_800_000_000)?;
//! assert_eq!((collected.counted, collected.rejected["unreadable"]), (0, 1));
//! assert!(collector.estimate(&admission).unwrap_err().is_too_few());
//! # Ok::<(), reticent_collector::Error>(())
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `collector` | [`Collector`]: the file of reports |
//! | `collected` | [`Collected`]: the outcome for a batch of reports |
//! | `estimated` | [`Estimated`]: estimates from all reports |
//! | `shown` | estimates for people, spreadsheets and programs |
//! | [`task_file`] | reading and writing a task file |
//! | [`facts`](mod@facts) | a task in words |
//! | `folder` | [`Folder`]: what a device must not forget |
//! | `error` | the error type |
//!
//! # What is not promised
//! Nothing here needs to be secret: every report was randomised before it arrived. But who sent which report, from
//! where and when is not randomised. None of that is stored: reports are ordered by their random ids, so that the
//! file's order is not that of arrival. Traces of that order in the disk, its log or a backup are not erased.

mod collected;
mod collector;
mod error;
mod estimated;
pub mod facts;
mod folder;
mod shown;
pub mod task_file;

pub use collected::Collected;
pub use collector::Collector;
pub use error::{Error, Result};
pub use estimated::Estimated;
pub use folder::{Folder, device};
