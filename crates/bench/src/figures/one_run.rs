//! One run with its error band, and the truth, since the data is made up.

use anyhow::Result;
use reticent::Permit;
use reticent::continual::{Counter, CounterKind, Stream};
use reticent_plot::{Chart, Hue, Scale, Series};

use crate::{Figure, contender};

/// A day in minutes.
const STEPS: u64 = 1440;

/// People in a building over a day: arrivals minus departures, minute by minute.
pub fn figure() -> Result<Figure> {
    let stream = Stream::new(-1..=1)?.until(STEPS)?;
    let mut counter = CounterKind::Auto.start(stream, contender::pure()?, Permit::unaccounted()?)?;
    let mut csv = String::from("step,truth,released,half_width\n");
    let (mut truth, mut released) = (Vec::new(), Vec::new());
    let mut before = 0;
    for step in 1..=STEPS {
        let people = people(step);
        let release = counter.step(people - before)?;
        before = people;
        let (value, half_width) = (*release.value(), release.error_bar().half_width());
        csv += &format!("{step},{people},{value},{half_width}\n");
        let hour = step as f64 / 60.0;
        truth.push((hour, people as f64));
        released.push((hour, value as f64, half_width));
    }
    let chart =
        Chart::new(format!("People in a building over a day, released every minute by {}, ε = 1", counter.kind()))
            .described(
                "Released head counts with their 95 % band, and the true count, which only made-up data may show.",
            )
            .x("hour", Scale::Linear)
            .y("people", Scale::Linear)
            .with(Series::band("released, ± at 95 %", released))
            .with(Series::line("truth (made-up data)", truth).coloured(Hue::Nth(6)));
    Ok(Figure { name: "one-run", chart, height: 440, csv })
}

/// Empty at night, full before and after lunch.
fn people(step: u64) -> i64 {
    let hour = step as f64 / 60.0;
    let hump = |middle: f64, width: f64| (-((hour - middle) / width).powi(2)).exp();
    let wobble = (step.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60) as i64 - 8;
    let expected = 420.0 * hump(10.3, 1.7) + 380.0 * hump(14.8, 1.9) + 60.0 * hump(19.0, 2.0);
    let steady = expected.round() as i64;
    if steady > 40 { steady + wobble } else { steady }
}
