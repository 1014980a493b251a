//! Exact whole-number statistics, and how far one unit can move them.
//!
//! | module | holds |
//! |---|---|
//! | [`bounds`] | [`Bounds`]: the public range that values are clamped to |
//! | [`grid`] | [`Grid`]: real values as whole steps of a power of two, summed without rounding |
//! | [`contribution`] | [`Contribution`]: how much one unit can contribute, and the resulting [`Sensitivity`] |
//! | [`bounding`] | contribution bounding: at most a fixed number of groups and rows per unit, chosen at random |
//! | [`ends`] | [`Ends`]: distances to both ends of the range, from which count, sum and mean follow |
//! | [`histogram`] | counts per key, for keys known beforehand or not |
//! | [`moments`] | [`Moments`]: count, centred sum and centred squares, from which mean and variance follow |
//!
//! # Bad values
//! Values in the rows never cause an error. NaN and NULL are dropped, everything else (±∞ too) is clamped to the
//! bounds, and it is not reported how often.
//!
//! # Example
//! The sum of incomes, each person counted once:
//! ```
//! use reticent::Permit;
//! use reticent::mechanism::Laplace;
//! use reticent::privacy::Adjacency;
//! use reticent::statistic::{Bounds, Contribution, Grid, Rows};
//!
//! let incomes = [Some(31_000.0), Some(58_250.5), None, Some(f64::NAN), Some(9e9)];
//! let grid = Grid::new(&"0..100000".parse::<Bounds>()?);
//! let once = Contribution::overall(Adjacency::AddRemove, Rows::AtMost(1))?;
//!
//! let laplace = Laplace::new(once.of_sum(&grid)?.l1()?, &"1".parse()?)?;
//! let steps = laplace.release(grid.sum(incomes), &mut Permit::unaccounted()?)?;
//! let total = steps.map(|steps| grid.value(steps), |bar| bar.scaled(grid.step()));
//! println!("{:.0} ± {:.0}", total.value(), total.error_bar().half_width());
//! # assert!((total.value() - 189_250.5).abs() < 3e6);
//! # Ok::<(), reticent::Error>(())
//! ```

pub mod bounding;
pub mod bounds;
pub mod contribution;
pub mod ends;
pub mod grid;
pub mod histogram;
pub mod moments;

pub use bounding::bound_contributions;
pub use bounds::Bounds;
pub use contribution::{Contribution, Rows, Sensitivity};
pub use ends::Ends;
pub use grid::Grid;
pub use moments::{Divisor, Moments, MomentsOf};
