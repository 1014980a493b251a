//! How fast statistics are released once, on one core, from the call to the finished release.
//!
//! Prints one JSON object a line; `cargo xtask bench once` runs it beside the same measurement of OpenDP and makes a table
//! of both. A row is one call of [`report`]: who, what, how many things, and the release itself. Two rows with the same *what*
//! are compared with each other, so the limit that one of ours is held against (the plain, unprivate computation) is a row
//! of its own with another *who*.

use std::hint::black_box;

use dist_test::measure;
use reticent::mechanism::Laplace;
use reticent::{Error, Permit};

/// Cells of the histogram.
const CELLS: u64 = 1_000_000;

fn main() -> Result<(), Error> {
    let mut permit = Permit::unaccounted()?;

    // The input is copied each time, as the release consumes it.
    let laplace = Laplace::new(1, &"1".parse()?)?;
    let histogram: Vec<i64> = (0..CELLS as i64).collect();
    report("reticent", "laplace histogram, cells", CELLS, || {
        laplace.release_all(histogram.clone(), &mut permit).unwrap()
    });
    report("a copy", "laplace histogram, cells", CELLS, || histogram.clone());

    Ok(())
}

/// Measures one row and prints it.
fn report<T>(who: &str, what: &str, things: u64, mut release: impl FnMut() -> T) {
    measure::report(who, what, None, things, &mut || drop(black_box(release())));
}
