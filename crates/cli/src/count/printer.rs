//! Printing releases.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;

use reticent::continual::Throughout;
use reticent::text::csv_line;
use reticent_plot::releases_by_key;
use reticent_stream::count::engine::HalfWidth;
use reticent_stream::count::{Attention, Audience, Definition, Highest, Released, Result};
use reticent_stream::{Timeline, times};

use super::arguments::Arguments;
use crate::output::Format;

/// Output is written in pieces of about this size.
const PIECE: usize = 1 << 16;
/// A chart with more keys would be unreadable: only the largest are drawn, and the title says so.
const MOST_DRAWN_KEYS: usize = 8;
/// The width and height of a chart.
const PLOT_SIZE: (u32, u32) = (960, 540);
/// The number of half-widths to cache as text.
const MOST_WIDTHS: usize = 1 << 10;

/// The points of a chart: step, value, half-width.
type Points = Vec<(u64, i64, f64)>;

/// Prints releases, line by line.
#[derive(Debug)]
pub struct Printer {
    format: Format,
    level: f64,
    level_text: String,
    non_negative: bool,
    monotone: bool,
    /// A running maximum is wrong if any release before it is, so its half-width must hold for all of them at once.
    throughout: Option<Throughout>,
    timeline: Option<Timeline>,
    keyed: bool,
    plot: Option<PathBuf>,
    points: BTreeMap<Option<Box<str>>, Points>,
    text: Vec<u8>,
    /// Caches half-widths, which repeat: formatting numbers is slow.
    widths: HashMap<u64, String>,
    begun: bool,
}

impl Printer {
    /// A printer with the options given on the command line.
    pub fn new(arguments: &Arguments, definition: &Definition) -> Self {
        let Arguments { format, level, non_negative, monotone, .. } = *arguments;
        let (timeline, keyed, plot) = (definition.timeline, definition.fields.key.is_some(), arguments.plot.clone());
        let (text, widths, points) = (Vec::with_capacity(2 * PIECE), HashMap::new(), BTreeMap::new());
        Self {
            format,
            level,
            level_text: level.to_string(),
            non_negative,
            monotone,
            throughout: monotone.then(|| Throughout::new(level)),
            timeline,
            keyed,
            plot,
            points,
            text,
            widths,
            begun: false,
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
            releases_by_key("Released totals", self.level, MOST_DRAWN_KEYS, newest, releases)
        } else {
            reticent_plot::releases("Released totals", self.level, points.into_values().flatten())
        };
        std::fs::write(path, chart.to_svg(PLOT_SIZE.0, PLOT_SIZE.1))
            .map_err(|error| io::Error::new(error.kind(), format!("drawing {} failed: {error}", path.display())))
    }

    /// Prints the header, if the format has one, before anything else.
    fn begin(&mut self) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let time = if self.timeline.is_some() { "time," } else { "" };
        let key = if self.keyed { "key," } else { "" };
        match self.format {
            Format::Json => {}
            Format::Csv => self.text.extend(format!("step,{time}{key}value,half_width,level\n").bytes()),
            Format::Table => {
                let time = if self.timeline.is_some() { format!("  {:>24}", "time") } else { String::new() };
                let key = if self.keyed { format!("  {:>20}", "key") } else { String::new() };
                let level = format!("± ({} %)", (self.level * 1e6).round() / 1e4);
                self.text.extend(format!("{:>12}{time}{key}  {:>20}  {level:>14}\n", "step", "value").bytes());
            }
        }
    }

    fn line(&mut self, release: &Released, highest: i64, half_width: f64) {
        let Released { step, key, value } = release;
        let value = if self.monotone { highest } else { *value };
        let value = if self.non_negative { value.max(0) } else { value };
        if self.plot.is_some() {
            self.points.entry(key.clone()).or_default().push((*step, value, half_width));
        }
        let time = self.timeline.map(|timeline| times::display(timeline.end_of(*step)));
        if self.widths.len() >= MOST_WIDTHS {
            self.widths.clear();
        }
        let table = self.format == Format::Table;
        let width = self.widths.entry(half_width.to_bits()).or_insert_with(|| {
            // Rounded up: an error bar cut short would promise too much.
            let tenths = (half_width * 10.0).ceil() / 10.0;
            if table { tenths.to_string() } else { half_width.to_string() }
        });
        let (text, level) = (&mut self.text, &self.level_text);
        let (mut step_digits, mut value_digits) = (itoa::Buffer::new(), itoa::Buffer::new());
        let (step, value) = (step_digits.format(*step), value_digits.format(value));
        // Writing to memory cannot fail.
        let _ = match self.format {
            Format::Json => {
                push(text, &["{\"step\":", step]);
                if let Some(time) = time {
                    push(text, &[",\"time\":\"", &time, "\""]);
                }
                if let Some(key) = key {
                    push(text, &[",\"key\":", &serde_json::Value::from(&**key).to_string()]);
                }
                push(text, &[",\"value\":", value, ",\"half_width\":", width]);
                push(text, &[",\"level\":", level, "}\n"]);
                Ok(())
            }
            Format::Csv => {
                push(text, &[step, ","]);
                if let Some(time) = time {
                    push(text, &[&time, ","]);
                }
                if let Some(key) = key {
                    push(text, &[&csv_line(&[key.to_string()]), ","]);
                }
                push(text, &[value, ",", width]);
                push(text, &[",", level, "\n"]);
                Ok(())
            }
            Format::Table => {
                let time = time.map(|time| format!("  {time:>24}")).unwrap_or_default();
                let key = key.as_ref().map(|key| format!("  {:>20}", printable(key))).unwrap_or_default();
                writeln!(text, "{step:>12}{time}{key}  {value:>20}  {width:>14}")
            }
        };
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
        self.begin();
        let (mut step, mut width) = (0, 0.0);
        for release in releases {
            if release.step != step {
                step = release.step;
                width = match &mut self.throughout {
                    Some(throughout) => throughout.up_to(step, half_width)?,
                    None => half_width(step, self.level)?,
                };
            }
            self.line(release, highest.raise(release), width);
            if self.text.len() >= PIECE && self.hand_on()? == Attention::Left {
                return Ok(Attention::Left);
            }
        }
        Ok(self.hand_on()?)
    }

    /// Prints the header if nothing was printed yet, and draws the chart.
    fn end(&mut self) -> Result<Attention> {
        self.begin();
        self.plot()?;
        Ok(self.hand_on()?)
    }
}

/// A key for display, without characters that would move the cursor.
fn printable(key: &str) -> String {
    key.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

fn push(text: &mut Vec<u8>, parts: &[&str]) {
    parts.iter().for_each(|part| text.extend_from_slice(part.as_bytes()));
}
