//! Printing releases.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;

use reticent_plot::releases_by_key;
use reticent_stream::count::engine::HalfWidth;
use reticent_stream::count::listing::{Form, Listing};
use reticent_stream::count::{Attention, Audience, Definition, Highest, Released, Result, Showing};

use super::arguments::Arguments;
use crate::output::Format;

/// Output is written in pieces of about this size.
const PIECE: usize = 1 << 16;
/// A chart with more keys would be unreadable: only the largest are drawn, and the title says so.
const MOST_DRAWN_KEYS: usize = 8;
/// The width and height of a chart.
const PLOT_SIZE: (u32, u32) = (960, 540);

/// The points of a chart: step, value, half-width.
type Points = Vec<(u64, i64, f64)>;

/// Prints releases, line by line.
#[derive(Debug)]
pub struct Printer {
    listing: Listing,
    showing: Showing,
    keyed: bool,
    plot: Option<PathBuf>,
    points: BTreeMap<Option<Box<str>>, Points>,
    text: Vec<u8>,
}

impl Printer {
    /// A printer with the options given on the command line.
    pub fn new(arguments: &Arguments, definition: &Definition, showing: Showing) -> Self {
        let form = match arguments.format {
            Format::Table => Form::Table,
            Format::Json => Form::Json,
            Format::Csv => Form::Csv,
        };
        Self {
            listing: Listing::new(form, showing.level(), definition),
            showing,
            keyed: definition.fields.key.is_some(),
            plot: arguments.plot.clone(),
            points: BTreeMap::new(),
            text: Vec::with_capacity(2 * PIECE),
        }
    }

    /// Draws the chart of the printed releases, if requested.
    fn plot(&mut self) -> io::Result<()> {
        let Some(path) = &self.plot else { return Ok(()) };
        let points = std::mem::take(&mut self.points);
        let chart = if self.keyed {
            let mut by_key: BTreeMap<String, Points> =
                points.into_iter().map(|(key, points)| (key.unwrap_or_default().into(), points)).collect();
            let newest = by_key.iter().filter_map(|(key, points)| Some((key.clone(), points.last()?.1)));
            let newest: Vec<_> = newest.collect();
            let releases = |key: &str| by_key.remove(key).unwrap_or_default();
            releases_by_key("Released totals", self.showing.level(), MOST_DRAWN_KEYS, newest, releases)
        } else {
            reticent_plot::releases("Released totals", self.showing.level(), points.into_values().flatten())
        };
        std::fs::write(path, chart.to_svg(PLOT_SIZE.0, PLOT_SIZE.1))
            .map_err(|error| io::Error::new(error.kind(), format!("drawing {} failed: {error}", path.display())))
    }

    fn line(&mut self, release: &Released, (value, half_width): (i64, f64)) {
        if self.plot.is_some() {
            self.points.entry(release.key.clone()).or_default().push((release.step, value, half_width));
        }
        self.listing.line(&mut self.text, release, value, half_width);
    }

    /// Writes and flushes the buffered text.
    fn hand_on(&mut self) -> io::Result<Attention> {
        let mut stdout = io::stdout().lock();
        let written = stdout.write_all(&self.text).and_then(|()| stdout.flush());
        self.text.clear();
        match written {
            Ok(()) => Ok(Attention::Listens),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Attention::Left),
            Err(error) => Err(error),
        }
    }
}

impl Audience for Printer {
    fn show(&mut self, releases: &[Released], highest: &mut Highest, half_width: HalfWidth<'_>) -> Result<Attention> {
        self.listing.begin(&mut self.text);
        for release in releases {
            let shown = self.showing.of(release, highest, half_width)?;
            self.line(release, shown);
            if self.text.len() >= PIECE && self.hand_on()? == Attention::Left {
                return Ok(Attention::Left);
            }
        }
        Ok(self.hand_on()?)
    }

    /// Prints the header if nothing was printed yet, and draws the chart.
    fn end(&mut self) -> Result<Attention> {
        self.listing.begin(&mut self.text);
        self.plot()?;
        Ok(self.hand_on()?)
    }
}
