//! The answer to a query: rows of released values, and their cost.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::algebra::Value as Item;
use crate::algebra::calendar;
use crate::algebra::plain::Computed;
use crate::release::interval::Interval;
use crate::release::values::{Bar, Cell, Released, Value};
use crate::resolve::Origin;

/// A released table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The column names.
    pub columns: Vec<String>,
    /// Which columns have an error bar; decided by the query alone. Empty in answers of earlier versions.
    #[serde(default)]
    pub bars: Vec<bool>,
    /// Which error bars cover noise only because values were clamped to bounds that were found; decided by the query
    /// alone. Empty in answers of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub noise_only: Vec<bool>,
    /// Which columns have an interval instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<bool>,
    /// The rows.
    pub rows: Vec<Vec<Entry>>,
    /// Whether everything was refused.
    #[serde(default)]
    pub refused: bool,
    /// The guarantee and its cost.
    pub summary: Summary,
}

/// One entry of a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// A group key, or a value computed from released values.
    Plain(Json),
    /// An aggregate with its error bar.
    Released {
        /// The value.
        value: Json,
        /// The half-width of the 95 % interval of the noise; infinite (null in JSON) if nothing is known of the value.
        #[serde(with = "unbounded")]
        half_width: f64,
    },
    /// The same, where the error bar leaves out by how much clamping to bounds that were found moved the value.
    NoiseOnly {
        /// The value.
        value: Json,
        /// The half-width of the 95 % interval of the noise; infinite (null in JSON) if nothing is known of the value.
        #[serde(with = "unbounded")]
        half_width: f64,
    },
    /// A quantile with its 95 % interval. Those of earlier versions have none.
    #[serde(alias = "ranked")]
    Within {
        /// The value.
        value: Json,
        /// The lower end.
        #[serde(default)]
        lower: Json,
        /// The upper end.
        #[serde(default)]
        upper: Json,
        /// Whether the interval is the whole range that the bounds allow.
        #[serde(default)]
        nothing_learned: bool,
    },
    /// An exact value, because one person could not have changed it.
    Stable(Json),
    /// Refused, because one person could have changed the answer, or the noise made it look so.
    Refused,
}

/// The guarantee of an answer and its cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The guarantee, which is also the cost.
    pub guarantee: String,
    /// The privacy unit.
    pub unit: String,
    /// The adjacency.
    pub adjacency: String,
    /// The most groups to which one unit contributes, if given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_groups: Option<u64>,
    /// The most rows that it contributes to each, if given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rows: Option<u64>,
    /// Contribution limits that were chosen privately.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<ChosenLimit>,
    /// How the budget was split.
    pub split: Vec<Share>,
    /// Bounds that were found privately.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<FoundBounds>,
    /// What the half-widths cover.
    pub half_widths: String,
}

/// A contribution limit that was chosen privately.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChosenLimit {
    /// What is limited: `rows counted`, `rows averaged` or `groups` of one unit.
    pub of: String,
    /// Beyond this number, each counts as a fraction.
    pub limit: u64,
    /// The share of them that was left out, and restored by scaling up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<f64>,
    /// How far off that share may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half_width: Option<f64>,
}

/// The result of a private search for bounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoundBounds {
    /// The column or expression, in the user's words.
    pub column: String,
    /// The bounds, as in `16..128`; `None` if there were too few rows, in which case everything that needs them is
    /// refused.
    pub bounds: Option<String>,
    /// At most this many rows lie below the bounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_below: Option<u64>,
    /// At most this many rows lie above the bounds; both hold at once with probability 95 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_above: Option<u64>,
    /// The number of rows for which bounds are found with probability 95 %; independent of the rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enough: Option<u64>,
}

/// The budget spent on one part of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// What is released.
    pub what: String,
    /// Its part of the budget.
    pub cost: String,
    /// How far one unit can move it, and the noise that hides that.
    pub noise: String,
    /// The half-width at 95 %, where known in advance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub half_width: Option<f64>,
}

/// What half-widths cover, for readers who see only the answer.
pub const HALF_WIDTHS: &str = "95 % and covers noise only, not bias from clamping or contribution limits";

/// The same, where contribution limits were chosen privately and corrected for.
pub const WEIGHED: &str = "95 % and covers noise and contribution limits, unless a few people have much of all rows or the most \
                           active gather in few groups, but not bias from clamping; variances and standard deviations weigh each \
                           person alike, and cover noise only";

/// What is added where a column is computed from noisy values and has no error bar.
const WITHOUT: &str = "; columns computed from noisy values and shown without ± have an unknown error, not none";

/// What is added where quantiles are shown.
const INTERVALS: &str = "; the interval after a quantile is 95 %, too";

/// What the bars of an answer are about, besides noise.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Shows {
    /// Some aggregates are quantiles.
    pub quantiles: bool,
    /// Some columns have no bar.
    pub without: bool,
    /// Contribution limits were chosen privately.
    pub weighed: bool,
}

/// The same for an answer that `shows` these, where a group is shown only if its noisy count of `words` is at least
/// `threshold`.
///
/// A group m units below the threshold is shown only if its noise is m or more. The excess of discrete Laplace noise of
/// scale b over m is again exponential, so the number shown is further off than the half-width h with probability about
/// e^(−(h − m)/b): 5 % for m = 0, and always from m = h on. Gaussian noise exceeds m by less.
pub(crate) fn half_widths(deciding: Option<(&str, u64)>, shows: Shows) -> String {
    let covers = if shows.weighed { WEIGHED } else { HALF_WIDTHS };
    let (quantiles, without) = (if shows.quantiles { INTERVALS } else { "" }, if shows.without { WITHOUT } else { "" });
    let Some((words, threshold)) = deciding else { return format!("{covers}{quantiles}{without}") };
    format!(
        "{covers}{quantiles}{without}; groups with fewer than {threshold} {words} (noisy count) are withheld, so counts just above {threshold} \
         tend to be too high; the 95 % level holds over all groups before this selection"
    )
}

/// What an aggregate is shown with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AskedBar {
    /// Nothing: it is exact.
    None,
    /// A half-width.
    HalfWidth,
    /// The ends of an interval.
    Interval,
}

impl Answer {
    /// What a row takes in memory, apart from its texts: a list of entries, and what the allocator adds to it.
    pub(crate) fn bytes_per_row(columns: usize) -> usize {
        size_of::<Vec<Entry>>() + 16 + columns.saturating_mul(size_of::<Entry>())
    }

    /// Builds the answer from the final relation of released values.
    pub(crate) fn new(
        computed: &Computed,
        columns: &[(String, Origin)],
        bar: impl Fn(usize) -> AskedBar,
        noise_only: Vec<bool>,
        released: &Released,
        derived: &[Option<Vec<Option<Interval>>>],
        summary: Summary,
    ) -> Self {
        let row = |row: usize| {
            let group = computed.places.as_ref().map(|places| places[row] as usize);
            let entry = |(place, (_, origin)): (usize, &(String, Origin))| match (origin, group) {
                (Origin::Asked(asked), Some(group)) => Entry::of(&released.columns[*asked][group]),
                _ => {
                    let value = computed.data.cell(row, place);
                    let within = derived[place].as_ref().zip(group).and_then(|(column, group)| column[group]);
                    Entry::computed(&value, within)
                }
            };
            let marked = |(entry, noise_only): (Entry, &bool)| if *noise_only { entry.of_noise_only() } else { entry };
            columns.iter().enumerate().map(entry).zip(&noise_only).map(marked).collect()
        };
        let rows = (0..computed.data.rows()).map(row).collect();
        // Whatever is computed from refusals, or omitted because of them, is no answer either.
        let mut cells = released.columns.iter().flatten().peekable();
        let refused = cells.peek().is_some() && cells.all(|cell| cell.value == Value::Refused);
        let has = |origin: &Origin, kind: AskedBar| matches!(origin, Origin::Asked(asked) if bar(*asked) == kind);
        let is_wide = |((_, origin), derived): (&(String, Origin), &Option<_>)| {
            has(origin, AskedBar::HalfWidth) || derived.is_some()
        };
        let bars = columns.iter().zip(derived).map(is_wide).collect();
        let intervals = columns.iter().map(|(_, origin)| has(origin, AskedBar::Interval)).collect();
        let columns = columns.iter().map(|(name, _)| name.clone()).collect();
        Self { columns, bars, intervals, noise_only, rows, refused, summary }
    }

    /// One object per row with its columns in order, then the summary: one line each.
    pub fn to_json_lines(&self) -> Vec<String> {
        let row = |entries: &Vec<Entry>| {
            let field = |(name, entry): (&String, &Entry)| format!("{}:{}", Json::from(name.as_str()), entry.to_json());
            let fields: Vec<String> = self.columns.iter().zip(entries).map(field).collect();
            format!("{{{}}}", fields.join(","))
        };
        let summary =
            format!("{{\"summary\":{}}}", serde_json::to_string(&self.summary).expect("texts and numbers are JSON"));
        self.rows.iter().map(row).chain([summary]).collect()
    }
}

impl Entry {
    /// A value computed from released ones, and where the exact one lies.
    fn computed(value: &Item, within: Option<Interval>) -> Self {
        let number = match value {
            Item::Integer(value) => Some(*value as f64),
            Item::Number(value) => Some(*value),
            _ => None,
        };
        match number.zip(within) {
            Some((number, Interval { low, high })) => {
                Self::Released { value: json(value), half_width: (number - low).max(high - number).max(0.0) }
            }
            None => Self::Plain(json(value)),
        }
    }

    fn of(cell: &Cell) -> Self {
        let value = match &cell.value {
            Value::Integer(value) => Json::from(*value),
            Value::Real(value) => number(*value),
            Value::Counts(counts) => counts.iter().copied().collect(),
            Value::Item(item) => json(item),
            Value::Refused => return Self::Refused,
        };
        match cell.bar {
            Bar::HalfWidth(half_width) => Self::Released { value, half_width },
            Bar::Within(Interval { low, high }) | Bar::Anywhere(Interval { low, high }) => {
                let nothing_learned = matches!(cell.bar, Bar::Anywhere(_));
                Self::Within { value, lower: number(low), upper: number(high), nothing_learned }
            }
            Bar::Exact => Self::Stable(value),
        }
    }

    /// The same entry, where its error bar covers noise only.
    fn of_noise_only(self) -> Self {
        match self {
            Self::Released { value, half_width } => Self::NoiseOnly { value, half_width },
            other => other,
        }
    }

    /// The entry as JSON, the value before its error bar.
    pub fn to_json(&self) -> String {
        match self {
            Self::Plain(value) => value.to_string(),
            Self::Released { value, half_width } => {
                format!("{{\"value\":{value},\"half_width\":{}}}", number(*half_width))
            }
            Self::NoiseOnly { value, half_width } => {
                format!("{{\"value\":{value},\"half_width\":{},\"noise_only\":true}}", number(*half_width))
            }
            Self::Within { value, lower, upper, nothing_learned } => {
                let nothing_learned = if *nothing_learned { ",\"nothing_learned\":true" } else { "" };
                format!("{{\"value\":{value},\"lower\":{lower},\"upper\":{upper}{nothing_learned}}}")
            }
            Self::Stable(value) => format!("{{\"value\":{value}}}"),
            Self::Refused => "{\"refused\":true}".into(),
        }
    }
}

/// A number that may be infinite: null in JSON.
mod unbounded {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        value.is_finite().then_some(value).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
    }
}

/// Integers without a decimal point, so that 31 is 31.
pub fn number(value: f64) -> Json {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT { Json::from(value as i64) } else { Json::from(value) }
}

/// A value as JSON: dates and timestamps in ISO 8601.
fn json(value: &Item) -> Json {
    match value {
        Item::Null => Json::Null,
        Item::Boolean(value) => (*value).into(),
        Item::Integer(value) => (*value).into(),
        Item::Number(value) => number(*value),
        Item::Text(value) => value.as_ref().into(),
        Item::Date(days) => calendar::write_date(*days).into(),
        Item::Timestamp(micros) => calendar::write_timestamp(*micros).into(),
    }
}
