//! Audits a mechanism of your own: `cargo run --release -p reticent --example audit_your_own`.
//!
//! Two versions of a noisy count claim ε = 1. The second halves its noise, and so violates its claim: the audit finds
//! an event that proves it.

use reticent::Result;
use reticent::audit::EmpiricalEpsilon;
use reticent::noise::{DiscreteLaplace, Entropy};
use reticent::privacy::Epsilon;

/// The number of outputs drawn for each neighbour and each of the two samples.
const SAMPLES: u64 = 200_000;

fn main() -> Result<()> {
    let claim: Epsilon = "1".parse()?;
    for (name, divisor) in [("exact noise", 1), ("noise divided by two", 2)] {
        let law = DiscreteLaplace::new(&"1".parse()?)?;
        let (mut here, mut there) = (Entropy::from_os()?, Entropy::from_os()?);
        let (mut here, mut there) = (here.draw()?, there.draw()?);
        // Neighbouring tables: one with 100 people, one with 101.
        let first = || 100 + law.sample(&mut here) / divisor;
        let second = || 101 + law.sample(&mut there) / divisor;
        let found = EmpiricalEpsilon::measure(first, second, 0.0, SAMPLES, 0.999)?;
        println!(
            "{name}: ε is at least {:.3} ({}); claimed {claim}: {:?}",
            found.lower_bound,
            found.event,
            found.verdict(&claim)
        );
    }
    Ok(())
}
