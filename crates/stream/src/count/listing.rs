//! Releases as lines of text, for people and programs.

use std::collections::HashMap;
use std::io::Write;

use reticent::text::csv_field;

use super::definition::Definition;
use super::released::Released;
use crate::timeline::Timeline;
use crate::times;

/// The number of half-widths to cache as text.
const MOST_WIDTHS: usize = 1 << 10;

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Aligned columns, for people.
    Table,
    /// One object per release.
    Json,
    /// With a header line.
    Csv,
}

/// Writes releases, line by line.
#[derive(Debug)]
pub struct Listing {
    form: Form,
    level: f64,
    level_text: String,
    timeline: Option<Timeline>,
    keyed: bool,
    /// Caches half-widths, which repeat: formatting numbers is slow.
    widths: HashMap<u64, String>,
    begun: bool,
}

impl Listing {
    /// Lines for the releases of a count, with half-widths at this level.
    pub fn new(form: Form, level: f64, definition: &Definition) -> Self {
        let (timeline, keyed) = (definition.timeline, definition.fields.key.is_some());
        Self { form, level, level_text: level.to_string(), timeline, keyed, widths: HashMap::new(), begun: false }
    }

    /// Writes the header, if there is one, before anything else.
    pub fn begin(&mut self, text: &mut Vec<u8>) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let time = if self.timeline.is_some() { "time," } else { "" };
        let key = if self.keyed { "key," } else { "" };
        match self.form {
            Form::Json => {}
            Form::Csv => text.extend(format!("step,{time}{key}value,half_width,level\n").bytes()),
            Form::Table => {
                let time = if self.timeline.is_some() { format!("  {:>24}", "time") } else { String::new() };
                let key = if self.keyed { format!("  {:>20}", "key") } else { String::new() };
                let level = format!("± ({} %)", (self.level * 1e6).round() / 1e4);
                text.extend(format!("{:>12}{time}{key}  {:>20}  {level:>14}\n", "step", "value").bytes());
            }
        }
    }

    /// Writes the line of a release, with this value and half-width.
    pub fn line(&mut self, text: &mut Vec<u8>, release: &Released, value: i64, half_width: f64) {
        let Released { step, key, .. } = release;
        let time = self.timeline.map(|timeline| times::display(timeline.end_of(*step)));
        if self.widths.len() >= MOST_WIDTHS {
            self.widths.clear();
        }
        let table = self.form == Form::Table;
        let width = self.widths.entry(half_width.to_bits()).or_insert_with(|| {
            // Rounded up: an error bar cut short would promise too much.
            let tenths = (half_width * 10.0).ceil() / 10.0;
            if table { tenths.to_string() } else { half_width.to_string() }
        });
        let level = &self.level_text;
        let (mut step_digits, mut value_digits) = (itoa::Buffer::new(), itoa::Buffer::new());
        let (step, value) = (step_digits.format(*step), value_digits.format(value));
        match self.form {
            Form::Json => {
                push(text, &["{\"step\":", step]);
                if let Some(time) = time {
                    push(text, &[",\"time\":\"", &time, "\""]);
                }
                if let Some(key) = key {
                    push(text, &[",\"key\":", &serde_json::Value::from(&**key).to_string()]);
                }
                push(text, &[",\"value\":", value, ",\"half_width\":", width, ",\"level\":", level, "}\n"]);
            }
            Form::Csv => {
                push(text, &[step, ","]);
                if let Some(time) = time {
                    push(text, &[&time, ","]);
                }
                if let Some(key) = key {
                    push(text, &[&csv_field(key), ","]);
                }
                push(text, &[value, ",", width, ",", level, "\n"]);
            }
            Form::Table => {
                let time = time.map(|time| format!("  {time:>24}")).unwrap_or_default();
                let key = key.as_ref().map(|key| format!("  {:>20}", printable(key))).unwrap_or_default();
                writeln!(text, "{step:>12}{time}{key}  {value:>20}  {width:>14}").expect("memory takes everything");
            }
        }
    }
}

/// A key for display, without characters that would move the cursor.
fn printable(key: &str) -> String {
    key.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

fn push(text: &mut Vec<u8>, parts: &[&str]) {
    parts.iter().for_each(|part| text.extend_from_slice(part.as_bytes()));
}
