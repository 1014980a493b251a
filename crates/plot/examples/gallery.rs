//! Writes a few charts to a directory, to look at: `cargo run -p reticent-plot --example gallery -- DIR`.

use std::path::PathBuf;

use reticent_plot::{Chart, Hue, Scale, Series, Style, releases};

fn main() -> std::io::Result<()> {
    let directory = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".into()));
    for (name, chart) in [("growth", growth()), ("releases", run()), ("bars", bars()), ("million", million())] {
        for (size, width, height) in [("page", 760, 460), ("phone", 360, 360)] {
            std::fs::write(directory.join(format!("{name}-{size}.svg")), chart.to_svg(width, height))?;
        }
    }
    Ok(())
}

type Law = (&'static str, fn(f64) -> f64);

/// The growth of a few functions, from 2^4 to 2^20.
fn growth() -> Chart {
    let sizes = || (4..=20).map(|power| 2f64.powi(power));
    let mut chart = Chart::new("How the error grows with the number of steps")
        .described("Errors of several counters against the horizon, both on logarithmic scales.")
        .x("steps T", Scale::Log)
        .y("root mean square error", Scale::Log);
    let laws: [Law; 9] = [
        ("output-noise", |t| 1.41 * t),
        ("input-noise", |t| (2.0 * t).sqrt()),
        ("two-level", |t| 2.0 * t.powf(0.25) * 1.4),
        ("binary", |t| t.log2().powf(1.5) * 1.1),
        ("honaker", |t| t.log2().powf(1.5) * 0.77),
        ("k-ary", |t| t.log2().powf(1.5) * 0.38),
        ("bridged", |t| t.log2().powf(1.5) * 0.32),
        ("hybrid", |t| t.log2().powf(1.5) * 1.2),
        ("pan-private", |t| t.log2().powf(1.5) * 1.1),
    ];
    for (name, law) in laws {
        chart = chart.with(Series::line(name, sizes().map(|t| (t, law(t)))));
    }
    chart.with(Series::dashed("lower bound", sizes().map(|t| (t, t.ln() / 4.0 - 1.0))).coloured(Hue::Muted))
}

fn run() -> Chart {
    let totals = (1..=1440u64).map(|t| {
        let wobble = (t as f64 * 0.7).sin() * 14.0 + (t as f64 * 1.9).cos() * 9.0;
        (t, (t as f64 * 0.43 + wobble) as i64, 40.0 + 10.0 * f64::from(t.count_ones()).sqrt())
    });
    releases("Visitors, counted by `auto`", 0.95, totals)
}

fn bars() -> Chart {
    let heights = [(1.0, 34.0), (2.0, 26.5), (3.0, 13.0), (4.0, 11.2), (5.0, -4.0)];
    Chart::new("Bars")
        .x("place", Scale::Linear)
        .y("height", Scale::Linear)
        .with(Series::new("first", heights, Style::Bars))
        .with(Series::new("second", heights.map(|(x, y)| (x, y * 0.8)), Style::Bars))
}

fn million() -> Chart {
    let noisy = |n: u32| f64::from(n.wrapping_mul(2_654_435_761) >> 12);
    Chart::new("A million points <and> an \"outlier\"")
        .x("step", Scale::Linear)
        .y("value", Scale::Linear)
        .with(Series::line("line", (0..1_000_000).map(|n| (f64::from(n), if n == 777_777 { 3e6 } else { noisy(n) }))))
        .with(Series::new("dots", (0..1_000_000).map(|n| (f64::from(n), 2e6 + noisy(n) / 4.0)), Style::Dots))
        .with(Series::dashed("dashes", (0..1_000_000).map(|n| (f64::from(n), 1.5e6 + noisy(n) / 4.0))))
}
