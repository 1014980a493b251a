//! The releases of counters, with their error bands.

use std::cmp::Reverse;

use crate::chart::{Chart, Scale, Series};

/// The releases of a counter, each (step, value, half-width), as a line with its band. It contains no exact counts: the
/// chart is as publishable as the releases.
///
/// ```
/// let svg = reticent_plot::releases("Visitors", 0.95, [(1, 3, 12.0), (2, 5, 17.0), (3, 4, 12.0)]).to_svg(720, 420);
/// assert!(svg.contains("95 %"));
/// ```
pub fn releases(title: impl Into<String>, level: f64, releases: impl IntoIterator<Item = (u64, i64, f64)>) -> Chart {
    empty(title, level).with(band(format!("released, ± at {} %", percent(level)), releases))
}

/// The releases of a counter for each key: `newest` are the keys with their latest totals, `releases` returns those of
/// a key. If there are more than `most` keys, those with the largest totals are drawn, and the title says so.
///
/// ```
/// let newest = [("about", 2), ("help", 9), ("home", 5)].map(|(key, total)| (key.to_owned(), total));
/// let svg = reticent_plot::releases_by_key("Visits", 0.95, 2, newest, |_| vec![(1, 2, 3.0)]).to_svg(720, 420);
/// assert!(svg.contains("Visits: the 2 largest of 3 keys") && !svg.contains("about"));
/// ```
pub fn releases_by_key(
    title: &str,
    level: f64,
    most: usize,
    newest: impl IntoIterator<Item = (String, i64)>,
    mut releases: impl FnMut(&str) -> Vec<(u64, i64, f64)>,
) -> Chart {
    let mut keys: Vec<_> = newest.into_iter().map(|(key, total)| (Reverse(total), key)).collect();
    keys.sort_unstable();
    let title = match keys.len() {
        all if all > most => format!("{title}: the {most} largest of {all} keys"),
        _ => title.to_owned(),
    };
    let drawn = keys.into_iter().take(most);
    drawn.fold(empty(title, level), |chart, (_, key)| {
        let points = releases(&key);
        chart.with(band(key, points))
    })
}

fn percent(level: f64) -> f64 {
    (level * 1e6).round() / 1e4
}

fn empty(title: impl Into<String>, level: f64) -> Chart {
    let percent = percent(level);
    Chart::new(title)
        .described(format!("Released totals after each step; each lies within its band with probability {percent} %."))
        .x("step", Scale::Linear)
        .y("total", Scale::Linear)
}

fn band(name: String, releases: impl IntoIterator<Item = (u64, i64, f64)>) -> Series {
    let points = releases.into_iter().map(|(step, value, half_width)| (step as f64, value as f64, half_width));
    Series::band(name, points)
}
