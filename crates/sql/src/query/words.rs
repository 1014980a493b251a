//! What a query will do, in words and in its summary; independent of the rows.

use reticent::privacy::Adjacency;
use reticent_bounding::ContributionCaps;

use super::{NOTHING_FOUND, Query};
use crate::algebra::Expr;
use crate::answer::{ChosenLimit, Shows, Summary, half_widths};
use crate::options::Unit;
use crate::release::search::Found;
use crate::release::{self, Design};

impl Query {
    /// What will be released, how, and at what cost.
    pub fn summary(&self) -> Summary {
        self.summary_of(&self.design, NOTHING_FOUND, Vec::new())
    }

    pub(super) fn summary_of(&self, design: &Design, found: &Found, limits: Vec<ChosenLimit>) -> Summary {
        let search = self.search.as_ref();
        let has_bounds =
            |of: &Expr| search.is_none_or(|search| !search.is_for(of) || search.found(of, found).is_some());
        let mut split = release::explain::shares(design, has_bounds);
        split.extend(search.iter().flat_map(|search| search.shares()));
        split.extend(self.weighing.iter().flat_map(|weighed| weighed.weights.shares()));
        // The threshold of weighed rows is known once their limits are.
        let deciding = design.deciding().filter(|_| !design.weighed || !limits.is_empty());
        let (max_groups, max_rows) = self.caps().map(|caps| (caps.groups, caps.rows)).unzip();
        Summary {
            guarantee: self.guarantee.to_string(),
            unit: self.unit.to_string(),
            adjacency: self.options.adjacency.to_string(),
            max_groups,
            max_rows,
            limits,
            split,
            bounds: search.map(|search| search.words(found)).unwrap_or_default(),
            half_widths: half_widths(
                deciding,
                Shows { quantiles: !design.ranks.is_empty(), without: self.has_unbarred(), weighed: design.weighed },
            ) + &design.top.as_ref().map_or_else(String::new, |top| format!("; {}", top.words(design))),
        }
    }

    /// How one unit's contribution is bounded, in words; `None` if each row is a unit.
    pub fn contribution_words(&self) -> Option<String> {
        let Unit::Column(unit) = &self.unit else { return None };
        let many =
            |number: u64, what: &str| if number == 1 { format!("one {what}") } else { format!("{number} {what}s") };
        Some(match self.caps() {
            Some(ContributionCaps { groups, rows }) => {
                let (rows, groups) = (many(rows, "row"), many(groups, "group"));
                format!("each {unit} contributes at most {rows} to each of at most {groups}")
            }
            None => format!(
                "all rows of each {unit} count, with less weight the more there are; how much a {unit} weighs at most is chosen privately"
            ),
        })
    }

    /// A description of what will be done; independent of the rows.
    pub fn words(&self) -> String {
        let many = |number: u64, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
        let mut text = match &self.unit {
            Unit::Row => "Each row is treated as a different person.".to_owned(),
            Unit::Column(unit) => {
                let contribution = self.contribution_words().unwrap_or_default();
                format!(
                    "All rows with the same {unit} belong to one person: {contribution}. Rows without a {unit} are dropped."
                )
            }
        };
        text += match self.options.adjacency {
            Adjacency::AddRemove => " The guarantee hides whether any one person is in the table",
            Adjacency::Replace => " The guarantee hides one person's data, but not the number of people",
        };
        text += &format!("{}.", self.guarantee.caveat());
        let keys = self.key_words().join(", ");
        match (&self.keys, self.design.selects_keys()) {
            (Some(known), _) if self.design.top.is_some() => {
                let top = self.design.top.as_ref().map(|top| top.words(&self.design)).unwrap_or_default();
                text += &format!(" The {} groups of {keys} are public: {top}.", known.len());
            }
            (Some(known), _) => {
                let (groups, are) = (many(known.len() as u64, "group"), if known.len() == 1 { "is" } else { "are" });
                text += &format!(
                    " The {groups} of {keys} {are} public: all of them are released, empty ones too, and no others."
                );
            }
            (None, true) => {
                text += &format!(" The groups of {keys} come from the data: groups with too few units are withheld.");
            }
            (None, false) => text += " The answer covers all rows.",
        }
        for input in self.inputs.iter().filter(|input| input.table.is_json_lines()) {
            text += &format!(
                " Each line of {} is read as one JSON object: other lines are dropped, such as those of objects that span \
                 several lines (jq -c . writes one per line), and lists in fields are NULL. How many there are is not disclosed.",
                input.table.name()
            );
        }
        text
    }
}
