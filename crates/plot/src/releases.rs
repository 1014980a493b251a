//! The releases of a counter, with their error band.

use crate::chart::{Chart, Scale, Series};

/// The releases of a counter, each (step, value, half-width), as a line in its band. What was counted is not in it: the
/// chart is as publishable as the releases.
///
/// ```
/// let svg = reticent_plot::releases("Visitors", 0.95, [(1, 3, 12.0), (2, 5, 17.0), (3, 4, 12.0)]).to_svg(720, 420);
/// assert!(svg.contains("95 %"));
/// ```
pub fn releases(title: impl Into<String>, level: f64, releases: impl IntoIterator<Item = (u64, i64, f64)>) -> Chart {
    let points = releases.into_iter().map(|(step, value, half_width)| (step as f64, value as f64, half_width));
    let percent = (level * 1e6).round() / 1e4;
    Chart::new(title)
        .described(format!("Released totals after each step; each lies within its band with probability {percent} %."))
        .x("step", Scale::Linear)
        .y("total", Scale::Linear)
        .with(Series::band(format!("released, ± at {percent} %"), points))
}
