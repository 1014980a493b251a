//! Name resolution: which column of a relation each name refers to.

use std::sync::Arc;

use crate::algebra::{Plain, Rows, Type};
use crate::error::{Error, Result, no_such};
use crate::options::Range;

/// Where a column of a released relation comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A group key.
    Key(usize),
    /// An aggregate.
    Asked(usize),
    /// Computed from released values.
    Derived,
}

/// A relation, and the names of its columns while the query is resolved.
#[derive(Debug, Clone)]
pub struct Relation {
    /// The relation itself.
    pub body: Body,
    /// Its columns' names.
    pub columns: Vec<Named>,
}

/// Private rows, or a relation that is not private.
#[derive(Debug, Clone)]
pub enum Body {
    /// Private rows.
    Private(Arc<Rows>),
    /// Public tables, and anything computed from them.
    Public(Arc<Plain>),
    /// Released values, and anything computed from them: known only after the charge.
    Released(Arc<Plain>),
}

/// A column with its names.
#[derive(Debug, Clone)]
pub struct Named {
    /// The table or alias before the dot.
    pub qualifier: Option<String>,
    /// The column name.
    pub name: String,
    /// The type of its values.
    pub kind: Type,
    /// Whether it is the unit itself. A join on it is a join on the unit; privacy does not depend on it.
    pub is_unit: bool,
    /// The range, if known.
    pub range: Option<Range>,
    /// Where it comes from, if it was released.
    pub origin: Origin,
    /// Whether USING merged it into another column, whose name now finds it.
    pub hidden: bool,
}

impl Named {
    /// A column with just a name and a type.
    pub fn new(name: impl Into<String>, kind: Type) -> Self {
        Self {
            qualifier: None,
            name: name.into(),
            kind,
            is_unit: false,
            range: None,
            origin: Origin::Derived,
            hidden: false,
        }
    }

    /// The name with the table before the dot, if any.
    pub fn full_name(&self) -> String {
        match &self.qualifier {
            Some(qualifier) => format!("{qualifier}.{}", self.name),
            None => self.name.clone(),
        }
    }
}

/// A name as written; a quoted name must match exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written<'a> {
    /// The name.
    pub name: &'a str,
    /// Whether it was quoted.
    pub quoted: bool,
}

impl Written<'_> {
    fn is(&self, name: &str) -> bool {
        self.name == name
    }

    fn is_like(&self, name: &str) -> bool {
        !self.quoted && self.name.eq_ignore_ascii_case(name)
    }
}

/// Finds the one item of this name: an exact match, or else ignoring case. `None` if nothing matches; an error if
/// several do.
pub fn find<'a, T>(
    written: Written<'_>,
    things: impl Iterator<Item = T> + Clone,
    name: impl Fn(&T) -> &'a str,
) -> Result<Option<T>, Vec<T>> {
    for to_the_letter in [true, false] {
        let is = |thing: &T| if to_the_letter { written.is(name(thing)) } else { written.is_like(name(thing)) };
        let mut found: Vec<T> = things.clone().filter(is).collect();
        match found.len() {
            0 => continue,
            1 => return Ok(found.pop()),
            _ => return Err(found),
        }
    }
    Ok(None)
}

/// Finds the column that a name refers to. `others` are columns that the query does not read, for suggestions.
///
/// # Errors
/// If none or several have that name.
pub fn column(
    columns: &[Named],
    others: &[String],
    qualifier: Option<Written<'_>>,
    name: Written<'_>,
) -> Result<usize> {
    let of_table = |column: &Named| match (&qualifier, &column.qualifier) {
        (None, _) => !column.hidden,
        (Some(written), Some(known)) => written.is(known) || written.is_like(known),
        (Some(_), None) => false,
    };
    let candidates = columns.iter().enumerate().filter(|(_, column)| of_table(column));
    match find(name, candidates.clone(), |(_, column)| column.name.as_str()) {
        Ok(Some((place, _))) => Ok(place),
        Ok(None) => {
            let known: Vec<&str> = candidates.map(|(_, column)| column.name.as_str()).collect();
            if let (Some(written), true) = (qualifier, known.is_empty()) {
                let mut tables: Vec<&str> = columns.iter().filter_map(|column| column.qualifier.as_deref()).collect();
                tables.dedup();
                return Err(Error::Name(no_such("table", written.name, &tables)));
            }
            let mut known: Vec<&str> = known.into_iter().chain(others.iter().map(String::as_str)).collect();
            known.dedup();
            Err(Error::Name(no_such("column", name.name, &known)))
        }
        Err(_) => Err(Error::Name(format!(
            "the column {} is in several tables; write the table before it, as in people.{0}",
            name.name
        ))),
    }
}
