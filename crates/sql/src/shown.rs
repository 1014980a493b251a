//! An answer as text, for people and spreadsheets.

use reticent::message;
use reticent::message::Message;
use reticent::text::{csv_line, printable};
use serde_json::Value as Json;

use crate::answer::{Answer, ChosenLimit, Entry, FoundBounds, Share, number};

/// What is added to an error bar that leaves out the bias of clamping to bounds that were found.
const NOISE_ONLY: &str = " (noise only)";

impl Answer {
    /// The answer as CSV. Every aggregate has a column for its half-width, too.
    pub fn to_csv(&self) -> String {
        // An aggregate has a column for its half-width, whatever its values. Answers of earlier versions do not say which
        // has one.
        let has_width = |column: usize| {
            let has_one = |row: &Vec<Entry>| {
                matches!(row[column], Entry::Released { .. } | Entry::NoiseOnly { .. } | Entry::Ranked { .. })
            };
            self.bars.get(column).copied().unwrap_or_else(|| self.rows.iter().any(has_one))
        };
        let wide: Vec<bool> = (0..self.columns.len()).map(has_width).collect();
        let header = self.columns.iter().enumerate().flat_map(|(column, name)| {
            let noise_only = self.noise_only.get(column).is_some_and(|noise_only| *noise_only);
            let width = format!("{name} ±{}", if noise_only { NOISE_ONLY } else { "" });
            std::iter::once(name.clone()).chain(wide[column].then_some(width))
        });
        let mut text = csv_line(&header.collect::<Vec<_>>()) + "\n";
        for row in &self.rows {
            let fields = row.iter().zip(&wide).flat_map(|(entry, wide)| {
                let (value, width) = match entry {
                    Entry::Plain(value) | Entry::Stable(value) => (plain(value), String::new()),
                    Entry::Released { value, half_width } | Entry::NoiseOnly { value, half_width } => {
                        let infinite = half_width.is_infinite();
                        (plain(value), if infinite { "inf".into() } else { plain(&number(*half_width)) })
                    }
                    Entry::Ranked { value, half_width_in_ranks } => {
                        (plain(value), plain(&number(*half_width_in_ranks)))
                    }
                    Entry::Refused => ("refused".into(), String::new()),
                };
                std::iter::once(value).chain(wide.then_some(width))
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
            Self::Ranked { value, half_width_in_ranks } => {
                format!("{} ± {:.0} ranks", people(value, None), half_width_in_ranks.ceil())
            }
            Self::Refused => "refused".into(),
        }
    }
}

impl Share {
    /// The half-width for people.
    pub fn width(&self) -> String {
        let width = |width: f64| format!("± {}", rounded(width, Some(width)));
        self.half_width.map_or_else(|| "depends on the released values".into(), width)
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
fn rounded(value: f64, half_width: Option<f64>) -> String {
    let scale = half_width.unwrap_or(value / 1000.0).abs();
    let whole = value.fract() == 0.0 && half_width.is_none_or(|half_width| half_width.fract() == 0.0);
    let digits = match whole || scale == 0.0 || !scale.is_finite() {
        true => 0,
        false => (1.0 - scale.log10().floor()).clamp(0.0, 12.0) as usize,
    };
    format!("{value:.digits$}")
}
