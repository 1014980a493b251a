//! Charts and series.

use crate::draw;

/// How values map to positions along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// Equal differences are equally long.
    #[default]
    Linear,
    /// Equal ratios are equally long. Values of 0 and below have no position and are left out. If every value is a
    /// power of two, so are the ticks.
    Log,
}

/// How a series is drawn.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Style {
    /// A line through the points.
    #[default]
    Line,
    /// A dashed line through the points: predictions, bounds.
    Dashed,
    /// A line with a band around it, this far up and down at each point.
    Band {
        /// One per point; missing ones and NaN count as 0.
        half_widths: Vec<f64>,
    },
    /// A bar from 0 (or from the bottom, if the scale is logarithmic) to each point.
    Bars,
    /// The points alone.
    Dots,
}

/// A series' colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hue {
    /// The next colour that no earlier series has.
    #[default]
    Next,
    /// The nth colour, from 0: the same number is the same colour and marker in every chart.
    Nth(usize),
    /// Grey, for what is not the subject.
    Muted,
}

/// Points that belong together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    /// Its name in the legend; without a name it is not listed.
    pub name: String,
    /// In any order: lines are drawn in the order of x. A NaN y leaves a gap.
    pub points: Vec<(f64, f64)>,
    /// Its style.
    pub style: Style,
    /// Its colour.
    pub hue: Hue,
}

impl Series {
    /// A series with a style.
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>, style: Style) -> Self {
        Self { name: name.into(), points: points.into_iter().collect(), style, hue: Hue::Next }
    }

    /// A line.
    pub fn line(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self::new(name, points, Style::Line)
    }

    /// A dashed line.
    pub fn dashed(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self::new(name, points, Style::Dashed)
    }

    /// A line with its band, from (x, y, half-width).
    pub fn band(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64, f64)>) -> Self {
        let (points, half_widths) = points.into_iter().map(|(x, y, half_width)| ((x, y), half_width)).unzip();
        Self { name: name.into(), points, style: Style::Band { half_widths }, hue: Hue::Next }
    }

    /// With another colour.
    pub fn coloured(self, hue: Hue) -> Self {
        Self { hue, ..self }
    }
}

/// A chart's background.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Background {
    /// White, readable anywhere.
    #[default]
    White,
    /// None; text and axes are dark, so the page should be light.
    Transparent,
}

/// A chart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Chart {
    /// Above the chart, and read out by screen readers.
    pub title: String,
    /// Read out by screen readers after the title: what the chart shows, in a sentence.
    pub description: String,
    /// The x axis label.
    pub x_label: String,
    /// The y axis label.
    pub y_label: String,
    /// The x scale.
    pub x_scale: Scale,
    /// The y scale.
    pub y_scale: Scale,
    /// The series, the first at the back.
    pub series: Vec<Series>,
    /// The background.
    pub background: Background,
}

impl Chart {
    /// An empty chart.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// With a description for screen readers.
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

    /// With one more series.
    pub fn with(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// Draws it at this size in pixels; it shrinks with the page that shows it. 360 is a phone's width, 720 a page's.
    pub fn to_svg(&self, width: u32, height: u32) -> String {
        draw::svg(self, width, height)
    }
}
