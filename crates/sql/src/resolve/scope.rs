//! Names, while a query is read: which column of a relation each of them is.

use std::sync::Arc;

use crate::algebra::{Plain, Rows, Type};
use crate::error::{Error, Result, no_such};
use crate::options::Range;

/// Where a column of a released relation comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A key of the groups.
    Key(usize),
    /// An aggregate.
    Asked(usize),
    /// Computed from released values.
    Derived,
}

/// A relation, and what its columns are called while the query is read.
#[derive(Debug, Clone)]
pub struct Relation {
    /// What it is.
    pub body: Body,
    /// What its columns are called.
    pub columns: Vec<Named>,
}

/// Private rows, or what is nobody's secret.
#[derive(Debug, Clone)]
pub enum Body {
    /// Private rows.
    Private(Arc<Rows>),
    /// Public tables, and what is computed from them.
    Public(Arc<Plain>),
    /// Released values, and what is computed from them: they are known when the query has been paid for.
    Released(Arc<Plain>),
}

/// A column with its names.
#[derive(Debug, Clone)]
pub struct Named {
    /// The table or alias before the point.
    pub qualifier: Option<String>,
    /// Its own name.
    pub name: String,
    /// The type of its values.
    pub kind: Type,
    /// Is it the unit itself? Joins by it are joins on the unit; nothing private rests on it.
    pub is_unit: bool,
    /// Its range, where that is known.
    pub range: Option<Range>,
    /// Where it comes from, if it was released.
    pub origin: Origin,
    /// Is it one of a pair that USING made one of, and found by the other's name?
    pub hidden: bool,
}

impl Named {
    /// A column that has a name and nothing else.
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

    /// With the table before the point, if it has one.
    pub fn full_name(&self) -> String {
        match &self.qualifier {
            Some(qualifier) => format!("{qualifier}.{}", self.name),
            None => self.name.clone(),
        }
    }
}

/// A name as it was written: with quotes it is taken to the letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written<'a> {
    /// The name.
    pub name: &'a str,
    /// Was it quoted?
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

/// The one thing of this name: to the letter, or else regardless of case. `None` if there is none; an error if there are several.
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

/// Which of these columns is meant. Others, which the query does not read, may have been meant as well.
///
/// # Errors
/// If there is none of that name, or there are several.
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
