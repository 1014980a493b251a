//! Releases as they are printed.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Write};

use reticent::continual::Counter;

use super::arguments::Arguments;
use super::timeline::{self, Timeline};
use crate::output::Format;

/// Text is handed on in pieces of about this size.
const PIECE: usize = 1 << 16;
/// So many half-widths are remembered as text.
const MOST_WIDTHS: usize = 1 << 10;

/// Prints releases, line by line.
#[derive(Debug)]
pub struct Printer {
    format: Format,
    level: f64,
    non_negative: bool,
    monotone: bool,
    timeline: Option<Timeline>,
    highest: Option<i64>,
    text: Vec<u8>,
    /// Half-widths repeat, and numbers are slow to write.
    widths: HashMap<u64, String>,
    begun: bool,
}

/// Whether anyone still reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Someone may.
    Listens,
    /// The pipe was closed: whoever read has seen enough.
    Left,
}

impl Printer {
    /// As the arguments say; `highest` is the largest release so far.
    pub fn new(arguments: &Arguments, timeline: Option<Timeline>, highest: Option<i64>) -> Self {
        let Arguments { format, level, non_negative, monotone, .. } = *arguments;
        let (text, widths) = (Vec::with_capacity(2 * PIECE), HashMap::new());
        Self { format, level, non_negative, monotone, timeline, highest, text, widths, begun: false }
    }

    /// The largest release that was printed.
    pub fn highest(&self) -> Option<i64> {
        self.highest
    }

    /// Prints the releases of the steps from `first` on.
    pub fn print(&mut self, first: u64, values: &[i64], counter: &impl Counter) -> anyhow::Result<Audience> {
        self.begin();
        for (step, &value) in (first..).zip(values) {
            let half_width = counter.half_width(step, self.level)?;
            self.line(step, value, half_width);
            if self.text.len() >= PIECE && self.hand_on()? == Audience::Left {
                return Ok(Audience::Left);
            }
        }
        Ok(self.hand_on()?)
    }

    /// Prints the header, if there is one, before anything else.
    pub fn begin(&mut self) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let time = if self.timeline.is_some() { "time," } else { "" };
        match self.format {
            Format::Json => {}
            Format::Csv => self.text.extend(format!("step,{time}value,half_width,level\n").bytes()),
            Format::Table => {
                let time = if self.timeline.is_some() { format!("  {:>24}", "time") } else { String::new() };
                let level = format!("± ({} %)", (self.level * 1e6).round() / 1e4);
                self.text.extend(format!("{:>12}{time}  {:>20}  {level:>14}\n", "step", "value").bytes());
            }
        }
    }

    fn line(&mut self, step: u64, value: i64, half_width: f64) {
        let highest = self.highest.map_or(value, |highest| highest.max(value));
        self.highest = Some(highest);
        let value = if self.monotone { highest } else { value };
        let value = if self.non_negative { value.max(0) } else { value };
        let time = self.timeline.map(|timeline| timeline::display(timeline.end_of(step)));
        if self.widths.len() >= MOST_WIDTHS {
            self.widths.clear();
        }
        let table = self.format == Format::Table;
        let width = self.widths.entry(half_width.to_bits()).or_insert_with(|| {
            // Rounded up: a bar that is cut short would promise too much.
            if table { format!("{:.1}", (half_width * 10.0).ceil() / 10.0) } else { half_width.to_string() }
        });
        let (text, level) = (&mut self.text, self.level);
        let (mut step_digits, mut value_digits) = (itoa::Buffer::new(), itoa::Buffer::new());
        let (step, value) = (step_digits.format(step), value_digits.format(value));
        // Writing to memory does not fail.
        let _ = match self.format {
            Format::Json => {
                push(text, &["{\"step\":", step]);
                if let Some(time) = time {
                    push(text, &[",\"time\":\"", &time, "\""]);
                }
                push(text, &[",\"value\":", value, ",\"half_width\":", width]);
                writeln!(text, ",\"level\":{level}}}")
            }
            Format::Csv => {
                push(text, &[step, ","]);
                if let Some(time) = time {
                    push(text, &[&time, ","]);
                }
                push(text, &[value, ",", width]);
                writeln!(text, ",{level}")
            }
            Format::Table => {
                let time = time.map(|time| format!("  {time:>24}")).unwrap_or_default();
                writeln!(text, "{step:>12}{time}  {value:>20}  {width:>14}")
            }
        };
    }

    /// Hands on what was written, at once.
    pub fn hand_on(&mut self) -> io::Result<Audience> {
        let mut stdout = io::stdout().lock();
        let written = stdout.write_all(&self.text).and_then(|()| stdout.flush());
        self.text.clear();
        match written {
            Ok(()) => Ok(Audience::Listens),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Audience::Left),
            Err(error) => Err(error),
        }
    }
}

fn push(text: &mut Vec<u8>, parts: &[&str]) {
    parts.iter().for_each(|part| text.extend_from_slice(part.as_bytes()));
}
