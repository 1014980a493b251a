//! What the statistic runs on: disjoint blocks, samples with repetition, or the whole table.

use reticent::message;

use crate::error::{Error, Result};

/// Positions of sampled rows are held in memory: at most 2^26 of them.
const MOST_SAMPLED: u64 = 1 << 26;

/// What the statistic runs on. All numbers are chosen without looking at the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// This many disjoint blocks.
    Blocks(u64),
    /// Samples with repetition from a table whose number of rows is public: the unit is a row, and neighbours differ by
    /// replacing one.
    Samples {
        /// The number of samples.
        number: u64,
        /// The number of rows in each.
        size: u64,
        /// The number of rows in the table.
        rows: u64,
    },
    /// The whole table, once: propose–test–release with a distance that the statistic computes itself.
    ///
    /// # Privacy
    /// The statistic prints, on one line, a distance and its answer, such as `57 north`. The guarantee holds if the
    /// caller's promise does, which nothing here checks: between neighbours the distance differs by at most `lipschitz`,
    /// and wherever their answers differ (or one has none), both distances are at most `lipschitz`. Having no answer
    /// counts as an answer at distance 0.
    Whole {
        /// C: how far the distance can change between neighbours.
        lipschitz: u64,
    },
}

impl Split {
    /// A split as users ask for it: samples or the whole table if they say so, otherwise blocks.
    ///
    /// # Errors
    /// If some of the numbers of samples are missing, or both samples and the whole table are asked for.
    pub fn asked(blocks: u64, samples: [Option<u64>; 3], distance: Option<u64>) -> Result<Self> {
        match (samples, distance) {
            ([None, None, None], None) => Ok(Self::Blocks(blocks)),
            ([None, None, None], Some(lipschitz)) => Ok(Self::Whole { lipschitz }),
            ([Some(number), Some(size), Some(rows)], None) => Ok(Self::Samples { number, size, rows }),
            (_, None) => Err(Error::Request(message!(
                "samples need ",
                ["samples"],
                ", ",
                ["sample-size"],
                " and ",
                ["rows"],
                ", the number of rows in the table"
            ))),
            (_, Some(_)) => Err(Error::Request(message!(
                ["distance"],
                " is for one run on the whole table; leave ",
                ["samples"],
                ", ",
                ["sample-size"],
                " and ",
                ["rows"],
                " out"
            ))),
        }
    }

    /// The number of runs.
    pub fn runs(&self) -> u64 {
        match *self {
            Self::Blocks(number) | Self::Samples { number, .. } => number,
            Self::Whole { .. } => 1,
        }
    }

    /// Checks that the samples' rows can be held in memory.
    ///
    /// # Errors
    /// [`Error::Parameter`] if not.
    pub(crate) fn check(&self) -> Result<()> {
        match *self {
            Self::Samples { number, size, .. } if number.saturating_mul(size) > MOST_SAMPLED => Err(Error::Parameter {
                parameter: "number of samples",
                value: format!("{number} of {size} rows each"),
                allowed: "fewer, or smaller ones: at most 67,108,864 rows in all samples together",
            }),
            _ => Ok(()),
        }
    }
}
