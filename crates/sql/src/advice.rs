//! What a query would release, the errors to expect, and what would make them smaller.

use reticent::message::Spelling;
use serde::{Serialize, Serializer};

pub use crate::query::{Ladder, Rung};

use crate::answer::Summary;
use crate::shown::rounded;

/// The number of rows that a group is assumed to have, unless given.
pub const EXPECTED_ROWS: u64 = 1000;

/// Effects within this share of the error are left out.
const NEGLIGIBLE: f64 = 0.05;

/// What a query would release, the errors to expect, and what would make them smaller; independent of the rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DryRun {
    /// Its guarantee, cost and noise.
    #[serde(flatten)]
    pub summary: Summary,
    /// The errors to expect.
    pub forecast: Forecast,
    /// What would make them smaller.
    pub advice: Vec<Advice>,
}

/// The errors to expect in a group of a given size.
///
/// # Accuracy
/// They are the half-widths that an answer would show for a group of this size in which each row is of another unit and
/// values are spread evenly over their bounds. Like those, they cover noise only.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Forecast {
    /// The number of rows in the group; in the whole table if there are no groups.
    pub rows: u64,
    /// The columns that are not keys.
    pub columns: Vec<Expected>,
    /// Groups with fewer units may be withheld.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withheld_below: Option<u64>,
}

/// The error to expect of a column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Expected {
    /// Its name.
    pub column: String,
    /// The half-width at 95 %; `None` if it is unknown, or the value is exact or refused.
    pub half_width: Option<f64>,
    /// What the half-width is a multiple of, if that is only known when the query is answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<String>,
    /// The half-width as a share of something that gives it a scale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relative: Option<Relative>,
    /// What it comes from, the largest first.
    pub causes: Vec<Cause>,
}

/// A share of a scale.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Relative {
    /// The share.
    pub share: f64,
    /// Of what: `rows`, or the width of the `bounds`.
    pub of: &'static str,
}

/// Something that an error comes from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cause {
    /// In words.
    pub what: String,
    /// How many times as large as without it the error is, where that can be computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
}

/// A change to the request that would make errors smaller.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Advice {
    /// What to set.
    pub settings: Vec<Setting>,
    /// What becomes of the columns that it changes.
    pub effects: Vec<Effect>,
    /// Groups with fewer units might be withheld; 0 if none would be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withheld_below: Option<u64>,
    /// What it costs, or depends on.
    pub but: String,
}

/// A setting and its new value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// Its name, as on the command line but without its dashes; in JSON that of the field.
    #[serde(serialize_with = "as_field")]
    pub name: &'static str,
    /// For which column, if there is one value for each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// The value; in capitals if it is yours to choose.
    pub value: String,
}

/// What becomes of a column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effect {
    /// The column.
    pub column: String,
    /// The new error divided by the old one.
    pub ratio: f64,
}

impl Effect {
    /// Whether it is large enough to mention.
    pub(crate) fn is_notable(&self) -> bool {
        (self.ratio - 1.0).abs() >= NEGLIGIBLE
    }

    /// Whether the error becomes smaller.
    pub(crate) fn helps(&self) -> bool {
        self.ratio <= 1.0 - NEGLIGIBLE
    }
}

impl Expected {
    /// The error, for people.
    pub fn error_words(&self) -> String {
        let times = self.times.as_ref().map_or_else(String::new, |times| format!(" × {times}"));
        match self.half_width {
            Some(width) if width.is_infinite() => "± ∞".into(),
            Some(width) => format!("± {}{times}", rounded(width, Some(width))),
            None => "–".into(),
        }
    }

    /// Its scale, for people.
    pub fn relative_words(&self) -> String {
        let share = |Relative { share, of }: &Relative| format!("{} of the {of}", percent(*share));
        self.relative.as_ref().map_or_else(String::new, share)
    }

    /// What it comes from, for people.
    pub fn causes_words(&self) -> String {
        let words = |Cause { what, factor }: &Cause| match factor {
            Some(factor) => format!("{what} (× {})", short(*factor)),
            None => what.clone(),
        };
        self.causes.iter().map(words).collect::<Vec<_>>().join("; ")
    }
}

impl Setting {
    /// As written on the command line, quoted for a shell where it must be.
    pub fn flag(&self) -> String {
        let value = match &self.column {
            Some(column) => format!("{column}={}", self.value),
            None => self.value.clone(),
        };
        let plain = |letter: char| letter.is_alphanumeric() || "._-=/".contains(letter);
        let value = if value.chars().all(plain) { value } else { format!("'{}'", value.replace('\'', r"'\''")) };
        format!("{} {value}", Spelling::Flag.name(self.name))
    }
}

impl Advice {
    /// What to write on the command line.
    pub fn flags(&self) -> String {
        self.settings.iter().map(Setting::flag).collect::<Vec<_>>().join(" ")
    }

    /// What that would do, for people: columns with the same effect together.
    pub fn words(&self) -> String {
        let mut alike: Vec<(String, Vec<&str>)> = Vec::new();
        for Effect { column, ratio } in &self.effects {
            let words = ratio_words(*ratio);
            match alike.iter_mut().find(|(other, _)| *other == words) {
                Some((_, columns)) => columns.push(column),
                None => alike.push((words, vec![column])),
            }
        }
        let effects = alike.into_iter().map(|(words, columns)| format!("{} {words}", columns.join(", ")));
        let withheld = self.withheld_below.map(|below| match below {
            0 => "no group is withheld".into(),
            below => format!("groups below {below} units may be withheld"),
        });
        format!("{} ({})", effects.chain(withheld).collect::<Vec<_>>().join("; "), self.but)
    }
}

fn as_field<S: Serializer>(name: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&name.replace('-', "_"))
}

/// What becomes of an error, for people.
fn ratio_words(ratio: f64) -> String {
    match ratio {
        0.495..0.505 => "half of that".into(),
        ratio if ratio < 1.0 => format!("−{:.0} %", 100.0 * (1.0 - ratio)),
        ratio => format!("+{:.0} %", 100.0 * (ratio - 1.0)),
    }
}

/// To two digits, however small.
fn percent(share: f64) -> String {
    let share = 100.0 * share;
    format!("{} %", if share >= 10.0 { format!("{share:.0}") } else { short(share) })
}

/// To two digits, without zeros at the end.
fn short(number: f64) -> String {
    let digits = if number > 0.0 { (1.0 - number.log10().floor()).clamp(0.0, 12.0) as usize } else { 0 };
    let text = format!("{number:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_are_told_in_few_words() {
        let effect = |column: &str, ratio: f64| Effect { column: column.into(), ratio };
        let setting = |value: &str| Setting { name: "bounds", column: Some("a * 2".into()), value: value.into() };
        let advice = Advice {
            settings: vec![setting("0..1")],
            effects: vec![effect("n", 0.5), effect("mean", 0.7), effect("total", 0.501), effect("other", 1.2)],
            withheld_below: Some(20),
            but: "spends twice as much".into(),
        };
        assert_eq!(advice.flags(), "--bounds 'a * 2=0..1'");
        let limit = Setting { name: "max-rows", column: None, value: "2".into() };
        assert_eq!(limit.flag(), "--max-rows 2");
        assert_eq!(serde_json::json!(limit), serde_json::json!({ "name": "max_rows", "value": "2" }));
        assert_eq!(
            advice.words(),
            "n, total half of that; mean −30 %; other +20 %; groups below 20 units may be withheld (spends twice as much)"
        );
        assert_eq!([0.0061, 0.25, 1.0 / 3000.0].map(percent), ["0.61 %", "25 %", "0.033 %"]);
        assert_eq!([2.0, 16.0, 1.667, 120.4].map(short), ["2", "16", "1.7", "120"]);
    }
}
