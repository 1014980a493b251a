//! A mean per department, charged to a ledger with a budget: `cargo run -p reticent-ledger --example grouped_mean`.

use std::error::Error;

use reticent::ledger::{Charge, Ledger, OnInterruption, ReleaseOutcome, RunResult};
use reticent::mechanism::{Batch, Part};
use reticent::privacy::{Adjacency, Guarantee};
use reticent::statistic::{Bounds, Contribution, Ends, Grid, Rows};
use reticent_ledger::{Dataset, DurableLedger, Location};

fn main() -> Result<(), Box<dyn Error>> {
    // 800 made-up people.
    let salary = |person: u32| 28_000.0 + f64::from(person % 97) * 100.0;
    let salaries: Vec<(&str, f64)> = (0..800)
        .map(|person| if person % 4 == 0 { ("Surgery", 2.0 * salary(person)) } else { ("Care", salary(person)) })
        .collect();
    let departments = ["Care", "Surgery"]; // public: which groups there are must not depend on the rows

    let place = std::env::temp_dir().join(format!("grouped-mean-{}.sqlite", std::process::id()));
    let ledger = DurableLedger::create(&Location::File(place.clone()))?;
    let limit = Guarantee::Pure("1".parse()?);
    ledger.register(&Dataset::limited("staff".into(), limit, "row".into(), Some(Adjacency::AddRemove), false)?)?;

    // A person works in one department, so all groups together cost as much as one of them.
    let guarantee = Guarantee::Pure("0.6".parse()?);
    let person = Contribution::in_groups(Adjacency::AddRemove, 1, Rows::AtMost(1))?;
    let grid = Grid::new(&"0..200000".parse::<Bounds>()?);
    let batch = Batch::new(&[Part { sensitivity: Ends::sensitivity(&grid, &person)?, weight: 1 }], &guarantee)?;
    // A mean is computed from two numbers. Each interval holds at 97.5 %, so the mean's error bar holds at 95 %.
    let half_width = batch.half_width(0, &"0.975".parse()?)?;
    for request in ["monday", "monday", "tuesday"] {
        let charge = Charge::new("staff", request, guarantee.clone())
            .caller("ada")
            .description("mean salary by department, salaries clamped to 0..200000");
        let answered = ledger.release(&charge, OnInterruption::Recompute, |mut permit| -> Result<_, Box<dyn Error>> {
            let of = |wanted| salaries.iter().filter(move |(name, _)| *name == wanted).map(|&(_, salary)| Some(salary));
            let exact = departments.map(|department| Ends::of(&grid, of(department)));
            let numbers = exact.iter().flat_map(|ends| [ends.above_lower, ends.below_upper]).collect();
            let released = batch.release(vec![numbers], &mut permit)?;
            let mut lines = String::new();
            for (department, numbers) in departments.iter().zip(released.value()[0].chunks(2)) {
                let ends = Ends { above_lower: numbers[0], below_upper: numbers[1] };
                let half_width = ends.mean_half_width(&grid, half_width);
                lines += &format!("  {department}: {:.0} ± {half_width:.0}\n", ends.mean(&grid));
            }
            Ok(RunResult::Released(lines))
        });
        match answered {
            Ok(ReleaseOutcome::Fresh(text)) => print!("{request}, charged now:\n{text}"),
            Ok(ReleaseOutcome::Replayed(text)) => print!("{request}, answered before, free of charge:\n{text}"),
            Ok(ReleaseOutcome::Unfinished) => println!("{request}: interrupted"),
            Err(error) => println!("{request}: {error}"),
        }
    }
    drop(ledger);
    std::fs::remove_file(place)?;
    Ok(())
}
