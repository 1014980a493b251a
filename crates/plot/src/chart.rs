//! What is to be drawn.

use crate::draw;

/// How values become places along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// Equal steps are equally long.
    #[default]
    Linear,
    /// Equal ratios are equally long. Values of 0 and below have no place and are left out. If every value is a power of
    /// two, so are the ticks.
    Log,
}

/// How a series is drawn.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Style {
    /// A line through the points.
    #[default]
    Line,
    /// A broken line through the points: predictions, bounds.
    Dashed,
    /// A line with a band around it, this far up and down at each point.
    Band {
        /// One for each point; what is missing or not a number counts as 0.
        half_widths: Vec<f64>,
    },
    /// A bar from 0 (or from the bottom, if the scale is logarithmic) to each point.
    Bars,
    /// The points alone.
    Dots,
}

/// Which colour a series has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hue {
    /// The next one that no series before has.
    #[default]
    Next,
    /// The so many-th one, from 0: the same number is the same colour and marker in every chart.
    Nth(usize),
    /// Grey: what stands beside the subject.
    Muted,
}

/// Points that belong together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    /// As the legend calls it; without a name it is not in the legend.
    pub name: String,
    /// In any order: lines are drawn in the order of x. A y that is not a number leaves a gap.
    pub points: Vec<(f64, f64)>,
    /// How it is drawn.
    pub style: Style,
    /// In which colour.
    pub hue: Hue,
}

impl Series {
    /// With a style.
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>, style: Style) -> Self {
        Self { name: name.into(), points: points.into_iter().collect(), style, hue: Hue::Next }
    }

    /// A line.
    pub fn line(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self::new(name, points, Style::Line)
    }

    /// A broken line.
    pub fn dashed(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self::new(name, points, Style::Dashed)
    }

    /// A line with its band, from (x, y, half-width).
    pub fn band(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64, f64)>) -> Self {
        let (points, half_widths) = points.into_iter().map(|(x, y, half_width)| ((x, y), half_width)).unzip();
        Self { name: name.into(), points, style: Style::Band { half_widths }, hue: Hue::Next }
    }

    /// In another colour.
    pub fn coloured(self, hue: Hue) -> Self {
        Self { hue, ..self }
    }
}

/// What lies behind a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Background {
    /// Readable anywhere.
    #[default]
    White,
    /// Whatever the page has; words and axes are dark, so it should be light.
    Transparent,
}

/// A chart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Chart {
    /// Above the chart, and read out by screen readers.
    pub title: String,
    /// Read out by screen readers after the title: what the chart shows, in a sentence.
    pub description: String,
    /// What x is.
    pub x_label: String,
    /// What y is.
    pub y_label: String,
    /// How x becomes a place.
    pub x_scale: Scale,
    /// How y becomes a place.
    pub y_scale: Scale,
    /// What is drawn, the first at the back.
    pub series: Vec<Series>,
    /// What lies behind.
    pub background: Background,
}

impl Chart {
    /// An empty one.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// With a sentence for those who do not see it.
    pub fn described(self, description: impl Into<String>) -> Self {
        Self { description: description.into(), ..self }
    }

    /// With another x axis.
    pub fn x(self, label: impl Into<String>, scale: Scale) -> Self {
        Self { x_label: label.into(), x_scale: scale, ..self }
    }

    /// With another y axis.
    pub fn y(self, label: impl Into<String>, scale: Scale) -> Self {
        Self { y_label: label.into(), y_scale: scale, ..self }
    }

    /// With one series more.
    pub fn with(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// Draws it, so many pixels wide and high; it shrinks with the page that shows it. 360 is a phone's width, 720 a page's.
    pub fn to_svg(&self, width: u32, height: u32) -> String {
        draw::svg(self, width, height)
    }
}
