//! A running count that survives a restart: `cargo run -p reticent --example resumed_counter`.

use std::error::Error;

use reticent::Permit;
use reticent::continual::{AnyCounter, AnySaved, Counter, Stream};
use reticent::privacy::Guarantee;

fn main() -> Result<(), Box<dyn Error>> {
    // At most one visitor per step; the guarantee hides any one visitor, over all 1,000 releases.
    let stream = Stream::bits().until(1000)?;
    let guarantee = Guarantee::Pure("1".parse()?);
    let mut counter = AnyCounter::start(stream, guarantee, Permit::unaccounted()?)?;
    for arrived in [1, 0, 1, 1, 1, 0, 0, 1] {
        let total = counter.step(arrived)?;
        println!("after step {}: {} ± {}", counter.steps(), total.value(), total.error_bar().half_width());
    }

    // Save before anyone sees the next release, and store the newest epoch separately from the state: a counter that
    // continues from an older state would release the same steps twice, with different noise.
    let saved = serde_json::to_string(&counter.save()?)?;
    let newest_epoch = 1;
    drop(counter);

    let saved: AnySaved = serde_json::from_str(&saved)?;
    let mut counter = AnyCounter::restore(saved, newest_epoch, Permit::unaccounted()?)?;
    let total = counter.step(1)?;
    println!("resumed: step {}: {} ± {}", counter.steps(), total.value(), total.error_bar().half_width());
    Ok(())
}
