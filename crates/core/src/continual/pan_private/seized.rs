//! What an intruder finds.

use std::ops::RangeInclusive;

/// One number that a counter holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// An unpublished noisy sum of the values of these steps. (The range may include future steps, whose values are
    /// missing.)
    Sum {
        /// The steps.
        steps: RangeInclusive<u64>,
        /// Noise plus the values so far.
        value: i128,
    },
    /// Noise that belongs to these steps.
    Noise {
        /// The steps.
        steps: RangeInclusive<u64>,
        /// The noise.
        value: i128,
    },
    /// A noisy sum of the values of these steps that has been published.
    Published {
        /// The steps.
        steps: RangeInclusive<u64>,
        /// The published value.
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

    /// The steps that it covers.
    pub fn steps(&self) -> RangeInclusive<u64> {
        match self {
            Self::Sum { steps, .. } | Self::Noise { steps, .. } | Self::Published { steps, .. } => steps.clone(),
        }
    }
}

/// Everything in a counter's memory between two steps that depends on data or noise, in a fixed order.
///
/// The number of steps and the last release are in memory, too; both are public. So is a generator, which knows no
/// noise of earlier steps and determines none of later ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seized {
    /// The number of steps taken.
    pub after: u64,
    /// The numbers held.
    pub cells: Vec<Cell>,
}

impl Seized {
    /// The unpublished noisy sum of exactly these steps, if it is held.
    pub fn sum(&self, steps: RangeInclusive<u64>) -> Option<i128> {
        let held = |cell: &&Cell| matches!(cell, Cell::Sum { steps: of, .. } if *of == steps);
        self.cells.iter().find(held).map(Cell::value)
    }
}
