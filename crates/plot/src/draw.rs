//! Draws lines, bands, bars, dots and text with `plotters`.

use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::chart::{Background, Chart, Series, Style};
use crate::colour::{self, Look, Marker};
use crate::layout::{Entry, LEADER, Layout, SAMPLE, drawn, half_width};
use crate::{text, thin};

/// `plotters` uses integer coordinates: this many per pixel make curves smooth.
const FINE: f64 = 4.0;
/// How many columns and dots all series together are drawn with, which keeps a chart below 300 kB.
const MOST_COLUMNS: f64 = 2800.0;
const MOST_DOTS: usize = 1800;
/// A line is broken into at most about this many dashes.
const MOST_DASHES: f64 = 400.0;
/// Lines with more points have no marker on each.
const FEW_POINTS: usize = 32;
const LINE_WIDTH: f64 = 2.0;
/// Lines with more points are thinner, so that their ups and downs stay distinct.
const MANY_POINTS: usize = 300;

/// Draws a chart.
pub fn svg(chart: &Chart, width: u32, height: u32) -> String {
    let layout = Layout::new(chart, width, height);
    let size = ((layout.width * FINE) as u32, (layout.height * FINE) as u32);
    let mut body = String::new();
    let canvas = Canvas { area: SVGBackend::with_string(&mut body, size).into_drawing_area() };
    canvas.chart(chart, &layout).and_then(|()| canvas.area.present()).expect("writing to memory does not fail");
    drop(canvas);
    // `plotters` writes only a size; ours shrinks with the page and is accessible to screen readers.
    let drawing = body.split_once('>').map_or("", |(_, drawing)| drawing);
    let (width, height) = (layout.width, layout.height);
    let description = if chart.description.is_empty() {
        String::new()
    } else {
        format!("<desc>{}</desc>\n", text::escaped(&chart.description))
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {} {}\" style=\"max-width:100%;height:auto\">\n<title>{}</title>\n{description}{}",
        size.0,
        size.1,
        text::escaped(&chart.title),
        drawing.trim_start()
    )
}

type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

struct Canvas<'document> {
    area: DrawingArea<SVGBackend<'document>, Shift>,
}

fn fine((x, y): (f64, f64)) -> (i32, i32) {
    ((x * FINE).round() as i32, (y * FINE).round() as i32)
}

fn stroke(colour: RGBColor, width: f64) -> ShapeStyle {
    ShapeStyle { color: colour.to_rgba(), filled: false, stroke_width: (width * FINE).round() as u32 }
}

impl Canvas<'_> {
    fn chart(&self, chart: &Chart, layout: &Layout) -> Drawn {
        if chart.background == Background::White {
            self.area.fill(&WHITE)?;
        }
        self.frame(chart, layout)?;
        let looks = colour::looks(&chart.series);
        for (place, series) in chart.series.iter().enumerate() {
            self.series(chart, layout, series, looks[place])?;
        }
        layout
            .legend
            .iter()
            .try_for_each(|entry| self.entry(layout, entry, &chart.series[entry.series].style, looks[entry.series]))
    }

    /// Title, ticks and axis labels.
    fn frame(&self, chart: &Chart, layout: &Layout) -> Drawn {
        let Layout { left, right, top, bottom, font_size, title_size, .. } = *layout;
        for (line, words) in layout.title.iter().enumerate() {
            let y = 10.0 + title_size * (0.65 + 1.3 * line as f64);
            self.words(words, (12.0, y), title_size, colour::INK, HPos::Left, true)?;
        }
        self.words(&chart.y_label, (12.0, layout.y_label_at), font_size, colour::MUTED, HPos::Left, false)?;
        for tick in &layout.y_ticks {
            let y = layout.y(tick.at);
            self.line(&[(left, y), (right, y)], stroke(colour::GRID, 1.0))?;
            self.words(&tick.label, (left - 6.0, y), font_size, colour::INK, HPos::Right, false)?;
        }
        for tick in &layout.x_ticks {
            let x = layout.x(tick.at);
            self.line(&[(x, top), (x, bottom)], stroke(colour::GRID, 1.0))?;
            self.line(&[(x, bottom), (x, bottom + 4.0)], stroke(colour::AXIS, 1.0))?;
            // The outermost labels stay inside the picture.
            let half = text::width(&tick.label) * font_size / 2.0;
            let at = x.clamp(half.min(layout.width / 2.0), (layout.width - half - 2.0).max(layout.width / 2.0));
            self.words(&tick.label, (at, bottom + font_size), font_size, colour::INK, HPos::Center, false)?;
        }
        self.line(&[(left, bottom), (right, bottom)], stroke(colour::AXIS, 1.0))?;
        let below = (((left + right) / 2.0), bottom + font_size * 2.5);
        self.words(&chart.x_label, below, font_size, colour::MUTED, HPos::Center, false)
    }

    fn series(&self, chart: &Chart, layout: &Layout, series: &Series, look: Look) -> Drawn {
        let mut points: Vec<(usize, (f64, f64))> = series.points.iter().copied().enumerate().collect();
        points.retain(|(_, (x, _))| drawn(chart, (*x, 1.0)));
        points.sort_by(|a, b| a.1.0.total_cmp(&b.1.0));
        let place = |point: (f64, f64)| drawn(chart, point).then(|| (layout.x(point.0), layout.y(point.1)));
        let column = (chart.series.len() as f64 * (layout.right - layout.left) / MOST_COLUMNS).max(1.0);
        let path = || thin::line(points.iter().map(|(_, point)| place(*point)), column);
        match &series.style {
            Style::Line => self.solid(&path(), look),
            Style::Dashed => self.dashed(&path(), look),
            Style::Band { half_widths } => {
                let edge = |sign: f64| {
                    let reach = |index| sign * half_width(half_widths, index);
                    let edge = |(index, (x, y)): &(usize, (f64, f64))| {
                        // The edge may be beyond what the axis can show; the band then ends there.
                        place((*x, *y)).map(|(x, _)| (x, layout.y(y + reach(*index))))
                    };
                    thin::line(points.iter().map(edge), column)
                };
                // Gaps are the same above and below, as both edges have columns at the same x.
                for (above, below) in edge(1.0).into_iter().zip(edge(-1.0)) {
                    let around = above.into_iter().chain(below.into_iter().rev()).map(fine).collect::<Vec<_>>();
                    self.area.draw(&Polygon::new(around, look.colour.mix(0.2).filled()))?;
                }
                self.solid(&path(), look)
            }
            Style::Bars => self.bars(chart, layout, series, look),
            Style::Dots => {
                let most = MOST_DOTS / chart.series.len().max(1);
                let places = points.iter().filter_map(|(_, point)| place(*point));
                thin::dots(places, most.max(1)).into_iter().try_for_each(|at| self.marker(at, 3.0, look))
            }
        }
    }

    fn solid(&self, stretches: &[Vec<(f64, f64)>], look: Look) -> Drawn {
        let count: usize = stretches.iter().map(Vec::len).sum();
        let width = if count > MANY_POINTS { LINE_WIDTH * 0.6 } else { LINE_WIDTH };
        for stretch in stretches {
            match stretch[..] {
                [alone] => self.marker(alone, 2.0, look)?,
                _ => self.line(stretch, stroke(look.colour, width))?,
            }
        }
        let places = stretches.iter().flatten();
        if (2..=FEW_POINTS).contains(&count) {
            return places.copied().try_for_each(|at| self.marker(at, 3.0, look));
        }
        if look.needs_marker {
            return places.copied().step_by((count / 8).max(1)).try_for_each(|at| self.marker(at, 3.5, look));
        }
        Ok(())
    }

    fn dashed(&self, stretches: &[Vec<(f64, f64)>], look: Look) -> Drawn {
        let length = |pair: &[(f64, f64)]| (pair[1].0 - pair[0].0).hypot(pair[1].1 - pair[0].1);
        let total: f64 = stretches.iter().flat_map(|stretch| stretch.windows(2)).map(length).sum();
        let dash = (total / MOST_DASHES * 0.6).max(6.0);
        for stretch in stretches {
            let places: Vec<_> = stretch.iter().copied().map(fine).collect();
            let (dash, gap) = ((dash * FINE) as i32, (dash * 0.65 * FINE) as i32);
            self.area.draw(&DashedPathElement::new(places, dash, gap, stroke(look.colour, LINE_WIDTH * 0.8)))?;
        }
        Ok(())
    }

    fn bars(&self, chart: &Chart, layout: &Layout, series: &Series, look: Look) -> Drawn {
        let groups: Vec<&Series> = chart.series.iter().filter(|series| series.style == Style::Bars).collect();
        let group = groups.iter().position(|other| std::ptr::eq(*other, series)).unwrap_or(0);
        let mut centres: Vec<f64> = groups
            .iter()
            .flat_map(|series| &series.points)
            .filter(|point| drawn(chart, **point))
            .map(|point| layout.x(point.0))
            .collect();
        centres.sort_by(f64::total_cmp);
        let apart = |pair: &[f64]| Some(pair[1] - pair[0]).filter(|apart| *apart > 0.01);
        let closest = centres.windows(2).filter_map(apart).fold(60.0, f64::min);
        let width = (closest * 0.8 / groups.len() as f64).max(0.5);
        let base = layout.y(0.0);
        let bars = series.points.iter().filter(|point| drawn(chart, **point)).map(|point| {
            let left = layout.x(point.0) - width * groups.len() as f64 / 2.0 + width * group as f64;
            (left, layout.y(point.1))
        });
        for (left, top) in thin::dots(bars, (MOST_DOTS / groups.len().max(1)).max(1)) {
            let corners = [(left, top.min(base)), (left + width, top.max(base))].map(fine);
            self.area.draw(&Rectangle::new(corners, look.colour.filled()))?;
        }
        Ok(())
    }

    /// A sample and a name; if the name is next to its line, the sample connects the two.
    fn entry(&self, layout: &Layout, entry: &Entry, style: &Style, look: Look) -> Drawn {
        let Entry { x, y, .. } = *entry;
        let beside = x > layout.right;
        let length = if beside { LEADER - 8.0 } else { SAMPLE };
        let from = (x, entry.end.unwrap_or(y));
        let path = [from, (x + length * 0.35, from.1), (x + length * 0.65, y), (x + length, y)];
        let middle = if beside { (x + length, y) } else { (x + length / 2.0, y) };
        match style {
            Style::Dashed => {
                let places = path.map(fine);
                let dash = (4.0 * FINE) as i32;
                self.area.draw(&DashedPathElement::new(
                    places,
                    dash,
                    dash / 2,
                    stroke(look.colour, LINE_WIDTH * 0.8),
                ))?;
            }
            Style::Line | Style::Band { .. } => {
                if let Style::Band { .. } = style {
                    let corners = [(x, y - 5.0), (x + length, y + 5.0)].map(fine);
                    self.area.draw(&Rectangle::new(corners, look.colour.mix(0.2).filled()))?;
                }
                let thin = if beside { 0.6 } else { 1.0 };
                self.line(&path, stroke(look.colour, LINE_WIDTH * thin))?;
                self.marker(middle, 3.0, look)?;
            }
            Style::Bars => {
                let corners = [(x, y - 5.0), (x + length, y + 5.0)].map(fine);
                self.area.draw(&Rectangle::new(corners, look.colour.filled()))?;
            }
            Style::Dots => self.marker(middle, 3.5, look)?,
        }
        let at = (x + length + if beside { 6.0 } else { 5.0 }, y);
        self.words(&entry.name, at, layout.font_size, colour::INK, HPos::Left, false)
    }

    fn marker(&self, (x, y): (f64, f64), radius: f64, look: Look) -> Drawn {
        let filled = look.colour.filled();
        match look.marker {
            Marker::Circle => self.area.draw(&Circle::new(fine((x, y)), (radius * FINE) as i32, filled)),
            Marker::Square => {
                let corners = [(x - radius, y - radius), (x + radius, y + radius)].map(fine);
                self.area.draw(&Rectangle::new(corners, filled))
            }
            Marker::Triangle => {
                let (wide, high) = (radius * 1.2, radius);
                let corners = [(x - wide, y + high), (x + wide, y + high), (x, y - high * 1.3)].map(fine);
                self.area.draw(&Polygon::new(corners.to_vec(), filled))
            }
        }
    }

    fn line(&self, places: &[(f64, f64)], style: ShapeStyle) -> Drawn {
        self.area.draw(&PathElement::new(places.iter().copied().map(fine).collect::<Vec<_>>(), style))
    }

    fn words(&self, words: &str, at: (f64, f64), size: f64, colour: RGBColor, side: HPos, bold: bool) -> Drawn {
        if words.is_empty() {
            return Ok(());
        }
        let weight = if bold { FontStyle::Bold } else { FontStyle::Normal };
        // `plotters` expects 1.24 times the size that it writes.
        let font = FontDesc::new(FontFamily::SansSerif, size * FINE * 1.24, weight).color(&colour);
        self.area.draw(&Text::new(text::allowed(words), fine(at), font.pos(Pos::new(side, VPos::Center))))
    }
}
