//! What an intruder finds.

use std::ops::RangeInclusive;

/// One number that a counter holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// A noisy sum of the values of these steps, not published. (Of steps that are still to come, too: their values are
    /// missing.)
    Sum {
        /// Which steps.
        steps: RangeInclusive<u64>,
        /// Noise plus the values so far.
        value: i128,
    },
    /// Noise that belongs to these steps.
    Noise {
        /// Which steps.
        steps: RangeInclusive<u64>,
        /// The noise.
        value: i128,
    },
    /// A noisy sum of the values of these steps that was published already.
    Published {
        /// Which steps.
        steps: RangeInclusive<u64>,
        /// As it was published.
        value: i128,
    },
}

impl Cell {
    /// The number itself.
    pub fn value(&self) -> i128 {
        match self {
            Self::Sum { value, .. } | Self::Noise { value, .. } | Self::Published { value, .. } => *value,
        }
    }

    /// The steps it is about.
    pub fn steps(&self) -> RangeInclusive<u64> {
        match self {
            Self::Sum { steps, .. } | Self::Noise { steps, .. } | Self::Published { steps, .. } => steps.clone(),
        }
    }
}

/// Everything that lies in a counter's memory between two steps and depends on data or noise, in a fixed order.
///
/// The number of steps and the last release are there, too; both are public. So is a generator, which knows no noise of
/// earlier steps and decides none of later ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seized {
    /// After how many steps.
    pub after: u64,
    /// What is held.
    pub cells: Vec<Cell>,
}

impl Seized {
    /// The unpublished noisy sum of exactly these steps, if it is held.
    pub fn sum(&self, steps: RangeInclusive<u64>) -> Option<i128> {
        let held = |cell: &&Cell| matches!(cell, Cell::Sum { steps: of, .. } if *of == steps);
        self.cells.iter().find(held).map(Cell::value)
    }
}
