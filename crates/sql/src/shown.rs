//! An answer as text, for people and spreadsheets.

use reticent::message;
use reticent::message::Message;
use reticent::text::{csv_line, printable};
use serde_json::Value as Json;

use crate::answer::{Answer, ChosenLimit, Entry, FoundBounds, number};

/// What is added to an error bar that leaves out the bias of clamping to bounds that were found.
const NOISE_ONLY: &str = " (noise only)";

impl Answer {
    /// The answer as CSV. Every aggregate has a column for its half-width, or two for the ends of its interval.
    pub fn to_csv(&self) -> String {
        // Whatever its values. Answers of earlier versions do not say which has one.
        let is_wide = |column: usize| {
            let has_one = |row: &Vec<Entry>| matches!(row[column], Entry::Released { .. } | Entry::NoiseOnly { .. });
            self.bars.get(column).copied().unwrap_or_else(|| self.rows.iter().any(has_one))
        };
        let more = |column: usize| match (self.intervals.get(column), self.noise_only.get(column)) {
            (Some(true), _) => vec![" lower".to_owned(), " upper".into()],
            (_, Some(true)) if is_wide(column) => vec![format!(" ±{NOISE_ONLY}")],
            _ if is_wide(column) => vec![" ±".into()],
            _ => Vec::new(),
        };
        let more: Vec<Vec<String>> = (0..self.columns.len()).map(more).collect();
        let header = self.columns.iter().zip(&more).flat_map(|(name, more)| {
            std::iter::once(name.clone()).chain(more.iter().map(move |end| format!("{name}{end}")))
        });
        let mut text = csv_line(&header.collect::<Vec<_>>()) + "\n";
        for row in &self.rows {
            let fields = row.iter().zip(&more).flat_map(|(entry, more)| {
                let mut fields = match entry {
                    Entry::Plain(value) | Entry::Stable(value) => vec![plain(value)],
                    Entry::Released { value, half_width } | Entry::NoiseOnly { value, half_width }
                        if half_width.is_infinite() =>
                    {
                        vec![plain(value), "inf".into()]
                    }
                    Entry::Released { value, half_width } | Entry::NoiseOnly { value, half_width } => {
                        vec![plain(value), plain(&number(*half_width))]
                    }
                    Entry::Within { value, lower, upper, .. } => vec![plain(value), plain(lower), plain(upper)],
                    Entry::Refused => vec!["refused".into()],
                };
                fields.resize(1 + more.len(), String::new());
                fields
            });
            text += &(csv_line(&fields.collect::<Vec<_>>()) + "\n");
        }
        text
    }
}

impl Entry {
    /// The entry for people, with no more digits than the noise justifies.
    pub fn to_text(&self) -> String {
        match self {
            Self::Plain(value) => people(value, None),
            Self::Stable(value) => format!("{} (exact)", people(value, None)),
            Self::Released { value, half_width } if half_width.is_infinite() => format!("{} ± ∞", people(value, None)),
            Self::Released { value, half_width } => {
                format!("{} ± {}", people(value, Some(*half_width)), rounded(*half_width, Some(*half_width)))
            }
            Self::NoiseOnly { value, half_width } => {
                Self::Released { value: value.clone(), half_width: *half_width }.to_text() + NOISE_ONLY
            }
            Self::Within { value, lower, upper, nothing_learned } => {
                let half = lower.as_f64().zip(upper.as_f64()).map(|(lower, upper)| (upper - lower) / 2.0);
                let half = half.filter(|half| *half > 0.0);
                // Ends are rounded outwards, so that what is printed still holds.
                let end = |end: &Json, up: bool| match end.as_f64().zip(half) {
                    Some((end, half)) => {
                        let scale = 10f64.powi(digits(end, Some(half)) as i32);
                        let (down, up) = ((end * scale + 1e-9).floor(), up.then(|| (end * scale - 1e-9).ceil()));
                        rounded(up.unwrap_or(down) / scale, Some(half))
                    }
                    None => people(end, None),
                };
                let (value, lower, upper) = (people(value, half), end(lower, false), end(upper, true));
                let nothing_learned = if *nothing_learned { ": nothing learned" } else { "" };
                format!("{value} ({lower}..{upper}{nothing_learned})")
            }
            Self::Refused => "refused".into(),
        }
    }
}

impl std::fmt::Display for ChosenLimit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { of, limit, left_out, half_width } = self;
        write!(formatter, "{of}: up to {limit} for each unit, a fraction of each beyond (chosen privately)")?;
        match left_out.zip(*half_width) {
            Some((share, off)) if off < 1.0 => {
                let percent = |share: f64| rounded(100.0 * share, Some(100.0 * off.max(0.0005)));
                write!(formatter, "; {} % ± {} % left out and restored in proportion", percent(share), percent(off))
            }
            Some(_) => formatter
                .write_str("; too few units to tell how many were left out: spend more, or set limits of your own"),
            None => Ok(()),
        }
    }
}

impl FoundBounds {
    /// The result of the search, in words.
    pub fn message(&self) -> Message {
        let Self { column, bounds, most_below, most_above, enough } = self;
        let rows = |number: u64| format!("{number} row{}", if number == 1 { "" } else { "s" });
        let clamped = match (most_below, most_above) {
            (Some(below), Some(above)) => {
                format!("; at most {} below and {} above were clamped to them (95 %)", rows(*below), rows(*above))
            }
            _ => "; values outside them were clamped".into(),
        };
        let enough = enough.map_or_else(String::new, |enough| {
            format!(
                ". This budget needs about {enough} rows with values above 0, or as many below; twice the budget needs half of them"
            )
        });
        match bounds {
            Some(bounds) => message!("bounds of {column}, found privately: {bounds}{clamped}"),
            None => message!(
                "no bounds of {column} were found: too few rows for this budget, so aggregates that need them are refused (and \
                 charged){enough}. Spend more, or give bounds with ",
                ["bounds"],
                " {column}=LO..HI"
            ),
        }
    }
}

/// A value without quotes.
fn plain(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A value for people: no more digits than the noise justifies.
fn people(value: &Json, half_width: Option<f64>) -> String {
    match value {
        Json::Null => "NULL".into(),
        Json::String(text) => printable(text),
        Json::Number(number) if number.is_f64() => rounded(number.as_f64().unwrap_or(f64::NAN), half_width),
        Json::Array(list) => list.iter().map(|one| people(one, half_width)).collect::<Vec<_>>().join(" "),
        other => plain(other),
    }
}

/// To two digits of the half-width.
pub(crate) fn rounded(value: f64, half_width: Option<f64>) -> String {
    format!("{value:.*}", digits(value, half_width))
}

/// How many decimals that is.
fn digits(value: f64, half_width: Option<f64>) -> usize {
    let scale = half_width.unwrap_or(value / 1000.0).abs();
    let whole = value.fract() == 0.0 && half_width.is_none_or(|half_width| half_width.fract() == 0.0);
    match whole || scale == 0.0 || !scale.is_finite() {
        true => 0,
        false => (1.0 - scale.log10().floor()).clamp(0.0, 12.0) as usize,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_rounded_to_what_they_tell() {
        let within = |value: f64, lower: f64, upper: f64, nothing_learned: bool| {
            let [value, lower, upper] = [value, lower, upper].map(number);
            Entry::Within { value, lower, upper, nothing_learned }
        };
        assert_eq!(within(43.2468, 42.1234, 44.3456, false).to_text(), "43.2 (42.1..44.4)");
        assert_eq!(within(45.0, 45.0, 45.0, false).to_text(), "45 (45..45)");
        assert_eq!(within(31.77, 18.0, 70.0, true).to_text(), "32 (18..70: nothing learned)");
        let json = r#"{"value":31.5,"lower":18,"upper":70,"nothing_learned":true}"#;
        assert_eq!(within(31.5, 18.0, 70.0, true).to_json(), json);
        assert_eq!(within(31.5, 30.0, 32.5, false).to_json(), r#"{"value":31.5,"lower":30,"upper":32.5}"#);
    }
}
