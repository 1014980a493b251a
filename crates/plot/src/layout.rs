//! The layout, in pixels.

use crate::axis::{Axis, Fit, has_place};
use crate::chart::{Chart, Scale, Series, Style};
use crate::text;
use crate::ticks::Tick;

/// Narrower pictures have the legend above the chart; wider ones have names next to the ends of their lines.
const WIDE: f64 = 520.0;
/// The smallest distance between ticks.
const X_TICKS_APART: f64 = 64.0;
const Y_TICKS_APART: f64 = 36.0;
/// The margin around everything.
const MARGIN: f64 = 12.0;
/// The largest width of a series name, in multiples of the font size.
const WIDEST_NAME: f64 = 24.0;
/// The distance from the chart's right edge to the names next to it.
pub const LEADER: f64 = 26.0;
/// The length of a line sample in a legend.
pub const SAMPLE: f64 = 18.0;

/// A name in the legend.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The series.
    pub series: usize,
    pub name: String,
    /// Where the sample begins; the name follows it.
    pub x: f64,
    /// The vertical middle of the text.
    pub y: f64,
    /// Where the series ends at the chart's right edge, if the name is next to it.
    pub end: Option<f64>,
}

/// The chart itself is between left and right, top and bottom; everything else around it.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    pub width: f64,
    pub height: f64,
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
    pub x_axis: Axis,
    pub y_axis: Axis,
    pub x_ticks: Vec<Tick>,
    pub y_ticks: Vec<Tick>,
    pub title: Vec<String>,
    pub title_size: f64,
    pub font_size: f64,
    /// The middle of the y axis label.
    pub y_label_at: f64,
    pub legend: Vec<Entry>,
}

impl Layout {
    pub fn new(chart: &Chart, width: u32, height: u32) -> Self {
        let (width, height) = (f64::from(width.clamp(200, 8000)), f64::from(height.clamp(150, 8000)));
        let wide = width >= WIDE;
        let (title_size, font_size) = if wide { (17.0, 12.5) } else { (15.0, 12.0) };
        let line = font_size * 1.5;
        let title = text::wrapped(&text::allowed(&chart.title), (width - 2.0 * MARGIN) / title_size * 0.97);
        let mut top = MARGIN + title.len() as f64 * title_size * 1.3;

        let (x_axis, y_axis) = (x_axis(chart), y_axis(chart));
        let bottom_room = line + if chart.x_label.is_empty() { 0.0 } else { line };
        let names = names(chart);
        let widest = names.iter().map(|(_, name)| text::width(name) * font_size).fold(0.0, f64::max);
        let label_room = if chart.y_label.is_empty() { 0.0 } else { line * 1.1 };
        let free = height - top - label_room - bottom_room - 2.0 * MARGIN;
        let beside = wide && names.len() > 1 && names.len() as f64 * line <= free && widest + LEADER <= width * 0.36;

        let mut legend = Vec::new();
        let mut right = width - MARGIN - if names.is_empty() { 0.0 } else { 4.0 };
        if beside {
            right -= widest + LEADER;
        } else if !names.is_empty() {
            (legend, top) = rows(&names, top + line / 2.0, width, font_size);
        }
        let y_label_at = top + line * 0.6;
        top += label_room + MARGIN * 0.6;
        let bottom = (height - MARGIN - bottom_room).max(top + 20.0);
        let y_ticks = y_axis.ticks(((bottom - top) / Y_TICKS_APART).floor());
        let y_widest = y_ticks.iter().map(|tick| text::width(&tick.label) * font_size).fold(0.0, f64::max);
        let left = (MARGIN + y_widest + 6.0).min(width / 2.0);
        right = right.max(left + 20.0);
        // The last label must not extend beyond the picture, nor overlap its neighbour.
        let apart = |ticks: &[Tick]| {
            let widest = ticks.iter().map(|tick| text::width(&tick.label) * font_size).fold(0.0, f64::max);
            X_TICKS_APART.max(widest * 1.4)
        };
        let mut x_ticks = x_axis.ticks(((right - left) / X_TICKS_APART).floor());
        if apart(&x_ticks) > X_TICKS_APART {
            x_ticks = x_axis.ticks(((right - left) / apart(&x_ticks)).floor());
        }
        let mut layout = Self {
            width,
            height,
            left,
            right,
            top,
            bottom,
            x_axis,
            y_axis,
            x_ticks,
            y_ticks,
            title,
            title_size,
            font_size,
            y_label_at,
            legend,
        };
        if beside {
            layout.legend = layout.beside(chart, &names, line);
        }
        layout
    }

    /// The position of an x.
    pub fn x(&self, value: f64) -> f64 {
        self.left + (self.right - self.left) * self.x_axis.place(value)
    }

    /// The position of a y.
    pub fn y(&self, value: f64) -> f64 {
        self.bottom - (self.bottom - self.top) * self.y_axis.place(value)
    }

    /// Names next to the ends of their series, moved apart if they would overlap.
    fn beside(&self, chart: &Chart, names: &[(usize, String)], line: f64) -> Vec<Entry> {
        let end = |series: &Series| {
            let placed = |point: &&(f64, f64)| drawn(chart, **point);
            let last = series.points.iter().filter(placed).max_by(|a, b| a.0.total_cmp(&b.0))?;
            (self.x(last.0) >= self.right - 3.0).then(|| self.y(last.1))
        };
        let entry = |(series, name): &(usize, String)| {
            let end = end(&chart.series[*series]);
            Entry { series: *series, name: name.clone(), x: self.right + 4.0, y: end.unwrap_or(self.top), end }
        };
        let mut entries: Vec<Entry> = names.iter().map(entry).collect();
        entries.sort_by(|a, b| a.y.total_cmp(&b.y));
        let wished: Vec<f64> = entries.iter().map(|entry| entry.y).collect();
        for (entry, y) in entries.iter_mut().zip(apart(&wished, line, self.top, self.bottom)) {
            entry.y = y;
        }
        entries
    }
}

/// Positions at least `line` apart, between top and bottom, and otherwise as close as possible to the wished ones,
/// which are sorted: colliding ones are spread around their middle.
fn apart(wished: &[f64], line: f64, top: f64, bottom: f64) -> Vec<f64> {
    // With the required distances subtracted, positions only need to be sorted: pool those that are not.
    let mut pools: Vec<(f64, f64)> = Vec::new(); // (mean, size)
    for (place, y) in wished.iter().enumerate() {
        let highest = bottom - line * (wished.len() - 1) as f64;
        pools.push(((y - line * place as f64).clamp(top.min(highest), highest), 1.0));
        while let [.., (above, n), (below, m)] = pools[..]
            && above > below
        {
            pools.truncate(pools.len() - 2);
            pools.push(((above * n + below * m) / (n + m), n + m));
        }
    }
    let means = pools.into_iter().flat_map(|(mean, size)| std::iter::repeat_n(mean, size as usize));
    means.enumerate().map(|(place, mean)| mean + line * place as f64).collect()
}

/// Whether the point has a position on both axes.
pub fn drawn(chart: &Chart, (x, y): (f64, f64)) -> bool {
    has_place(chart.x_scale, x) && has_place(chart.y_scale, y)
}

/// The names that the legend shows.
fn names(chart: &Chart) -> Vec<(usize, String)> {
    let named = chart.series.iter().enumerate().filter(|(_, series)| !series.name.trim().is_empty());
    named.map(|(place, series)| (place, text::shortened(&text::allowed(&series.name), WIDEST_NAME))).collect()
}

/// Names in rows, starting at `y`; also returns where the rows end.
fn rows(names: &[(usize, String)], mut y: f64, width: f64, font_size: f64) -> (Vec<Entry>, f64) {
    let line = font_size * 1.5;
    let mut x = MARGIN;
    let mut entries = Vec::new();
    for (series, name) in names {
        let needed = SAMPLE + 5.0 + text::width(name) * font_size;
        if x > MARGIN && x + needed > width - MARGIN {
            (x, y) = (MARGIN, y + line);
        }
        entries.push(Entry { series: *series, name: name.clone(), x, y, end: None });
        x += needed + font_size;
    }
    (entries, y + line / 2.0)
}

fn x_axis(chart: &Chart) -> Axis {
    let bars = chart.series.iter().any(|series| series.style == Style::Bars);
    let dots_only = chart.series.iter().all(|series| series.style == Style::Dots);
    let margin = if bars {
        0.08
    } else if dots_only {
        0.03
    } else {
        0.0
    };
    let points = chart.series.iter().flat_map(|series| &series.points);
    let values = points.filter(|point| drawn(chart, **point)).map(|point| point.0);
    Axis::new(chart.x_scale, values, Fit { margin, from_zero: false })
}

fn y_axis(chart: &Chart) -> Axis {
    let from_zero = chart.series.iter().any(|series| series.style == Style::Bars);
    let placed = |point: &(f64, f64)| drawn(chart, *point);
    let edges = chart.series.iter().flat_map(|series| {
        let reach = move |place: usize| match &series.style {
            Style::Band { half_widths } => half_width(half_widths, place),
            _ => 0.0,
        };
        let edges = series.points.iter().enumerate().filter(move |(_, point)| placed(point));
        edges.flat_map(move |(place, point)| {
            let (low, high) = (point.1 - reach(place), point.1 + reach(place));
            // A band may extend below what a logarithmic axis can show; it must not stretch the axis.
            [point.1, high, if chart.y_scale == Scale::Log { point.1 } else { low }]
        })
    });
    Axis::new(chart.y_scale, edges, Fit { margin: 0.04, from_zero })
}

/// The half-width of the band at a point.
pub fn half_width(half_widths: &[f64], place: usize) -> f64 {
    half_widths.get(place).copied().filter(|half_width| half_width.is_finite()).map_or(0.0, f64::abs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_collide_are_spread_around_their_middle() {
        assert_eq!(apart(&[10.0, 50.0], 10.0, 0.0, 100.0), [10.0, 50.0]);
        assert_eq!(apart(&[50.0, 50.0, 50.0], 10.0, 0.0, 100.0), [40.0, 50.0, 60.0]);
        assert_eq!(apart(&[0.0, 0.0], 10.0, 0.0, 100.0), [0.0, 10.0]);
        assert_eq!(apart(&[100.0, 100.0], 10.0, 0.0, 100.0), [90.0, 100.0]);
        assert!(apart(&[], 10.0, 0.0, 100.0).is_empty());
    }

    #[test]
    fn nothing_lies_outside_the_picture() {
        let names = ["a", "a much longer name than the others have", "b"];
        for (width, height) in [(0, 0), (360, 300), (760, 460), (u32::MAX, u32::MAX)] {
            let mut chart =
                Chart::new("Some title that is rather long for a phone").x("x", Scale::Linear).y("y", Scale::Log);
            for name in names {
                chart = chart.with(Series::line(name, [(1e9, 1e-7), (2e9, 1e7)]));
            }
            let layout = Layout::new(&chart, width, height);
            assert!(0.0 < layout.left && layout.left < layout.right && layout.right < layout.width);
            assert!(0.0 < layout.top && layout.top < layout.bottom && layout.bottom < layout.height.max(220.0));
            for entry in &layout.legend {
                let end = entry.x + SAMPLE + text::width(&entry.name) * layout.font_size;
                assert!(width == 0 || end <= layout.width, "{entry:?} {}", layout.width);
            }
        }
    }
}
