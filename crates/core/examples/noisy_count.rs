//! A noisy count with its error bar: `cargo run -p reticent --example noisy_count`.

use reticent::mechanism::Laplace;
use reticent::privacy::{Adjacency, Epsilon};
use reticent::statistic::Contribution;
use reticent::{Permit, Result};

fn main() -> Result<()> {
    let ages = [34, 51, 29, 62, 47, 38, 71, 55, 44, 60, 23, 39];
    let over_forty = ages.iter().filter(|&&age| age > 40).count() as i64;

    // Each person has one row, and neighbouring tables differ by one person, so the count changes by at most 1.
    let sensitivity = Contribution::one_row(Adjacency::AddRemove).of_count()?.l1()?;
    let epsilon: Epsilon = "0.5".parse()?;
    let mechanism = Laplace::new(sensitivity, &epsilon)?;

    // Without a ledger the release says that nothing was charged; `grouped_mean` in reticent-ledger charges one.
    let mut permit = Permit::unaccounted()?;
    let released = mechanism.release(over_forty, &mut permit)?;
    println!("people over 40: {} ± {}", released.value(), released.error_bar().half_width());
    println!("{}, {}", released.guarantee(), released.accounting());
    Ok(())
}
