//! How fast a table is read: all of its columns, with a given number of threads.
//!
//! ```text
//! cargo bench -p reticent-table --bench scan -- visits.parquet 2 [unit]
//! ```

use std::thread;
use std::time::Instant;

use reticent_table::{Broken, Request, Scan, Table, Type, UnitColumn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).filter(|word| word != "--bench");
    let usage = "usage: scan LOCATION THREADS [UNIT]";
    let (location, threads) = (arguments.next().ok_or(usage)?, arguments.next().ok_or(usage)?.parse()?);
    let table = Table::open("table", &location)?;
    let mut request = Request::default();
    if let Some(name) = arguments.next() {
        request.unit = Some(UnitColumn { form: table.unit_type(&name)?, name });
    }
    let columns = table.columns().ok_or("a format without a header")?;
    let wanted = columns.into_iter().filter(|name| request.unit.as_ref().is_none_or(|unit| unit.name != *name));
    request.columns = wanted.map(|name| (name.clone(), table.column_type(&name).unwrap_or(Type::Text))).collect();
    for _ in 0..5 {
        let start = Instant::now();
        let rows = rows(&table.scan(&request, threads)?)?;
        println!("{rows} rows in {:.3} s", start.elapsed().as_secs_f64());
    }
    Ok(())
}

/// Reads every part in its own thread.
fn rows(scan: &Scan) -> Result<usize, Broken> {
    let count = |part| scan.read(part).map(|batch| Ok(batch?.num_rows())).sum::<Result<usize, Broken>>();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..scan.parts()).map(|part| scope.spawn(move || count(part))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic escapes a reader")).sum()
    })
}
