//! What is shown of a release: its value, and its half-width.

use reticent::continual::{Stream, Throughout};
use reticent::message;

use super::engine::HalfWidth;
use super::error::{Error, Result};
use super::released::{Highest, Released};

/// How releases are shown. This is post-processing: it costs nothing.
#[derive(Debug)]
pub struct Showing {
    level: f64,
    non_negative: bool,
    monotone: bool,
    /// A running maximum is wrong if any release before it is, so its half-width must hold for all of them at once.
    throughout: Throughout,
    /// The newest step, and its half-width.
    newest: (u64, f64),
}

impl Showing {
    /// With half-widths at this level; negative values as 0 if they are to be `non_negative`, and never less than before if
    /// they are to be `monotone`.
    ///
    /// # Errors
    /// If the level is not between 0 and 1.
    pub fn new(level: f64, non_negative: bool, monotone: bool) -> Result<Self> {
        if !(level > 0.0 && level < 1.0) {
            let allowed = "greater than 0 and less than 1; write for example 0.95";
            return Err(Error::Parameter { parameter: "level", value: level.to_string(), allowed });
        }
        Ok(Self { level, non_negative, monotone, throughout: Throughout::new(level), newest: (0, 0.0) })
    }

    /// Checks that the sums of a stream can be shown this way.
    ///
    /// # Errors
    /// If they are to be monotone, and can fall.
    pub fn check(&self, stream: &Stream) -> Result<()> {
        match stream.range() {
            (low, high) if self.monotone && low < 0 => Err(Error::combination(
                "monotone",
                message!(
                    ["monotone"],
                    " is for sums that never fall, but ",
                    ["range"],
                    " {low}..{high} has negative values; leave one of them out"
                ),
            )),
            _ => Ok(()),
        }
    }

    /// The confidence level of the half-widths.
    pub fn level(&self) -> f64 {
        self.level
    }

    /// The value and the half-width to show; `highest` is raised. Releases come in the order of their steps.
    ///
    /// # Errors
    /// If there is no half-width at this level.
    pub fn of(&mut self, release: &Released, highest: &mut Highest, half_width: HalfWidth<'_>) -> Result<(i64, f64)> {
        if release.step != self.newest.0 {
            let width = match self.monotone {
                true => self.throughout.up_to(release.step, half_width)?,
                false => half_width(release.step, self.level)?,
            };
            self.newest = (release.step, width);
        }
        let highest = highest.raise(release);
        let value = if self.monotone { highest } else { release.value };
        Ok((if self.non_negative { value.max(0) } else { value }, self.newest.1))
    }
}
