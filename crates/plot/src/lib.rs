//! Charts as SVG: one small vocabulary for the terminal, the documentation and the dashboard.
//!
//! A [`Chart`] is a title, two axes and a few [`Series`]; [`Chart::to_svg`] draws it. Drawing never fails: an empty
//! series, NaN, a single point, all values equal, numbers of any size and a million points all
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
//! | `chart` | [`Chart`], [`Series`], [`Style`], [`Scale`]: what to draw |
//! | [`terminal`] | bars and short numbers for a terminal |
//! | `releases` | the releases of counters, with their error bands |
//! | [`plans`] | predicted errors, before anything is spent |
//! | `axis`, `ticks`, `label` | from values to positions and labels |
//! | `thin` | reduces many points to few: the smallest and the largest in each column |
//! | `layout` | positions of everything |
//! | `text` | the widths of texts |
//! | `draw` | lines, bands, bars, dots and text, by `plotters` |
//! | `colour` | colours that people with any colour vision can distinguish |

mod axis;
mod chart;
mod colour;
mod draw;
mod label;
mod layout;
pub mod plans;
mod releases;
pub mod terminal;
mod text;
mod thin;
mod ticks;

pub use chart::{Background, Chart, Hue, Scale, Series, Style};
pub use releases::{releases, releases_by_key};
