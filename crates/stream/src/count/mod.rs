//! A running sum over the lines of a file or pipe, released after every step.
//!
//! A [`Draft`] holds the user's parameters. It becomes a [`Definition`] (how lines become steps) and a [`Plan`] (how
//! the noise is made). After the charge, an [`Engine`] reads [`Lines`], closes steps, saves the counter and shows the
//! releases to an [`Audience`], in this order.
//!
//! | module | holds |
//! |---|---|
//! | [`draft`] | [`Draft`]: the parameters, and every rule that must hold before anything is charged |
//! | [`definition`] | [`Definition`], [`Fields`], [`Input`]: what is read from a line, and how lines become steps |
//! | `words` | what a definition means for the people in the data, in words for the ledger and its readers |
//! | `same` | whether parameters match those of a saved counter |
//! | `seizure` | what can be counted when the memory may be seized |
//! | [`source`] | [`Source`]: a file, a pipe or standard input; compressed text, Parquet and Arrow as lines |
//! | [`lines`] | [`Lines`]: lines as they arrive |
//! | [`reader`] | [`Reader`]: parses lines; NDJSON is parsed as in a [`Stream`](crate::Stream) |
//! | [`mode`], `line_steps`, `time_steps` | [`Mode`]: how steps are closed, by lines or by time |
//! | [`released`] | [`Released`], [`Highest`]: what is released |
//! | [`engine`] | [`Engine`], [`Audience`]: count, save, show |
//! | [`showing`] | [`Showing`]: the value and the half-width that are shown of a release |
//! | [`listing`] | [`Listing`](listing::Listing): releases as lines of text |
//! | [`store`] | [`Store`]: a counter on disk |
//! | [`stored`] | [`StoredCount`]: all releases of a request, as stored in a ledger |
//! | [`error`](mod@error) | [`Error`](enum@Error): what went wrong, with the caller's own names for the parameters |
//!
//! # Privacy
//! Every line is one record, whatever it contains, and does not affect the next. No error, and nothing else that an
//! observer sees apart from the releases, depends on the content of a line, except for the header of a CSV file.
//!
//! # Example
//! ```
//! use reticent::Permit;
//! use reticent_stream::SystemClock;
//! use reticent_stream::count::{Draft, StoredCount, Lines, Mode, Reader};
//!
//! # let file = tempfile::NamedTempFile::new()?;
//! # let path = file.path();
//! std::fs::write(path, "3\n4\n")?;
//! let draft = Draft {
//!     epsilon: Some("1".into()),
//!     horizon: Some(8),
//!     range: Some((0, 9)),
//!     ..Draft::default()
//! };
//! let definition = draft.definition(None, false, &SystemClock)?;
//! let plan = draft.plan(&definition, None, &SystemClock)?;
//! let mode = Mode::new(&definition, plan.stream().steps(), false, &SystemClock)?;
//! let lines = Lines::new(std::fs::File::open(path)?, false);
//! let reader = Reader::new(&definition.fields, "the file", None)?;
//! // Charge a ledger instead, and let it keep the text.
//! let tally = plan.start(Permit::unaccounted()?)?;
//! let text = StoredCount::count(definition, tally, lines, reader, mode)?;
//! assert_eq!(StoredCount::from_text(&text)?.releases.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod definition;
pub mod draft;
pub mod engine;
pub mod error;
mod line_steps;
pub mod lines;
pub mod listing;
pub mod mode;
pub mod reader;
pub mod released;
mod same;
mod seizure;
pub mod showing;
pub mod source;
pub mod store;
pub mod stored;
mod time_steps;
mod words;

pub use self::definition::{Definition, Fields, Input};
pub use self::draft::Draft;
pub use self::engine::{Attention, Audience, Engine};
pub use self::error::{Error, Result};
pub use self::lines::Lines;
pub use self::mode::Mode;
pub use self::reader::Reader;
pub use self::released::{Highest, Released};
pub use self::showing::Showing;
pub use self::source::Source;
pub use self::store::{State, Store};
pub use self::stored::StoredCount;
pub use crate::plan::Plan;
