//! Charts as SVG: one small vocabulary for the terminal, the documents and the dashboard.
//!
//! A [`Chart`] is a title, two axes and a few [`Series`]; [`Chart::to_svg`] draws it. What is drawn never fails: an empty
//! series, a value that is not a number, a single point, all values equal, numbers of any size and a million points all
//! give a readable picture of less than 300 kB.
//!
//! ```
//! use reticent_plot::{Chart, Scale, Series};
//!
//! let squares = (1..=10).map(|n| (f64::from(n), f64::from(n * n)));
//! let svg = Chart::new("Squares")
//!     .x("n", Scale::Linear)
//!     .y("n²", Scale::Log)
//!     .with(Series::line("n²", squares))
//!     .to_svg(720, 420);
//! assert!(svg.starts_with("<svg"));
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`chart`] | [`Chart`], [`Series`], [`Style`], [`Scale`]: what is to be drawn |
//! | [`mod@releases`] | the releases of counters, with their error bands |
//! | `axis`, `ticks`, `label` | from values to places, and what is written beside them |
//! | `thin` | many points become few: the smallest and the largest in each column |
//! | `layout` | what goes where |
//! | `draw` | lines, bands, bars, dots and words, by `plotters` |
//! | `colour` | colours that people with any colour vision can tell apart |

mod axis;
pub mod chart;
mod colour;
mod draw;
mod label;
mod layout;
pub mod releases;
mod text;
mod thin;
mod ticks;

pub use chart::{Background, Chart, Hue, Scale, Series, Style};
pub use releases::{releases, releases_by_key};
