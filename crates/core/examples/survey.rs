//! A survey without a trusted party: `cargo run --release -p reticent --example survey`.

use reticent::Result;
use reticent::local::{Answers, Collection, Device, Domain, ShortMemory, Task};
use reticent::noise::Entropy;

fn main() -> Result<()> {
    let choices = Domain::choices(["on foot", "by bicycle", "by train", "by car"]);
    let task = Task::builder("How did you come here today?", choices, "2".parse()?, "2100-01-01".parse()?)
        .minimum_batch(1000)
        .build()?;
    println!("each device answers once, with ε = {}, by {}", task.epsilon(), task.mechanism());

    let (mut entropy, now) = (Entropy::from_os()?, 1_800_000_000);
    let mut collection = Collection::new(task.clone());
    for person in 0..20_000 {
        // On one person's own device.
        let mut device = Device::new(Device::new_key(&mut entropy)?, ShortMemory::default());
        let truth = ["on foot", "by bicycle", "by bicycle", "by train", "by car"][person % 5];
        let report = device.respond(&task, &task.domain().answer(truth)?, now, &mut entropy)?;
        // At the collector, which sees only reports.
        if let Err(reason) = collection.add(&report, now) {
            println!("rejected: {reason}");
        }
    }
    let Answers::Choices(rows) = collection.estimate()? else { unreachable!("the task lists choices") };
    for row in rows {
        let (lower, upper) = row.interval.unwrap_or((f64::NAN, f64::NAN));
        println!("{:>10}: {:6.0} people, between {lower:.0} and {upper:.0}", row.answer, row.count);
    }
    Ok(())
}
