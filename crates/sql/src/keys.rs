//! Public group keys.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, StringViewArray, UInt32Array};
use arrow_select::take::take;
use reticent_bounding::PublicKeys;

use reticent::message;

use crate::algebra::column::Column;
use crate::algebra::data::sound;
use crate::algebra::function::Membership;
use crate::algebra::{Expr, Function, Rows, Type};
use crate::error::{Error, Result, no_such};
use crate::options::Options;
use crate::resolve::Resolved;

/// More public keys than any answer can show.
const MOST_KEYS: usize = 10_000_000;

/// Public keys, typed for comparison with rows, and as written.
#[derive(Debug, Clone)]
pub(crate) struct KnownKeys {
    /// In the types of the keys: every combination, the last column varying fastest.
    pub typed: PublicKeys,
    /// The texts of each column separately.
    texts: Vec<Vec<String>>,
}

/// The values of one key, typed and as written.
type Listed<'text> = (ArrayRef, Vec<&'text str>);

impl KnownKeys {
    /// The public keys of a query, if all of its keys are public. Rows whose value of a known key is not listed are
    /// dropped.
    ///
    /// A key is identified by its column, by its expression as written, or by its name in the answer. Keys may also be
    /// given for columns that the query does not group by: a policy lists those of the whole table.
    ///
    /// # Errors
    /// If there is no such key, or its values are not of its type.
    pub fn of(resolved: &mut Resolved, options: &Options) -> Result<Option<Self>> {
        let mut known: Vec<Option<Listed<'_>>> = vec![None; resolved.keys.len()];
        for (name, values) in &options.keys {
            let Some(place) = resolved.keys.iter().position(|key| key.names.contains(name)) else {
                if resolved.keys.is_empty() || resolved.mentions(name) {
                    continue;
                }
                let keys: Vec<&str> = resolved.keys.iter().map(|key| key.words.as_str()).collect();
                let fault = no_such("key in GROUP BY", name, &keys);
                return Err(Error::option(message!(["keys"], " {name}=…: {fault}")));
            };
            known[place] = Some(typed(name, values, resolved.measured.keys[place].kind())?);
        }
        if known.is_empty() {
            return Ok(None);
        }
        if known.iter().all(Option::is_some) {
            return product(&known.into_iter().flatten().collect::<Vec<_>>()).map(Some);
        }
        for (key, values) in resolved.measured.keys.clone().into_iter().zip(known) {
            let Some((values, _)) = values else { continue };
            let mut set = Membership::empty(key.kind());
            set.extend(&values);
            let condition = Expr::call(Function::In(set), vec![key]);
            let rows = condition.and_then(|condition| Rows::filter(&resolved.measured.rows, condition));
            resolved.measured.rows = Arc::new(rows.expect("a condition over its columns"));
        }
        Ok(None)
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.texts.iter().map(Vec::len).product()
    }

    /// Returns the bytes of the texts of all keys.
    pub fn text_bytes(&self) -> usize {
        let of = |column: &Vec<String>| {
            let once: usize = column.iter().map(String::len).sum();
            once.saturating_mul(self.len() / column.len())
        };
        self.texts.iter().map(of).fold(0, usize::saturating_add)
    }

    /// The key as written: a text for each column.
    pub fn written(&self, key: usize) -> Vec<&str> {
        let mut repeat = self.len();
        let text = |column: &'_ Vec<String>| {
            repeat /= column.len();
            key / repeat % column.len()
        };
        let places: Vec<usize> = self.texts.iter().map(text).collect();
        self.texts.iter().zip(places).map(|(column, place)| column[place].as_str()).collect()
    }
}

/// The distinct values of a key, in its type and as written.
fn typed<'text>(name: &str, values: &'text [String], to: Type) -> Result<Listed<'text>> {
    let distinct: BTreeSet<&str> = values.iter().map(String::as_str).collect();
    let distinct: Vec<&str> = distinct.into_iter().collect();
    let text: ArrayRef = Arc::new(distinct.iter().map(|text| Some(*text)).collect::<StringViewArray>());
    let typed = match to {
        Type::Text => text,
        to => Function::Cast(to)
            .apply(&[Type::Text], to, &[Column::Array(text)], distinct.len())
            .into_array(to, distinct.len()),
    };
    match (0..typed.len()).find(|&row| typed.is_null(row)) {
        Some(row) => {
            let key = distinct[row];
            Err(Error::option(message!(["keys"], " {name}=…: {key:?} is not {to}, the column's type")))
        }
        None if distinct.is_empty() => Err(Error::option(message!(["keys"], " {name}=…: the list is empty"))),
        None => Ok((typed, distinct)),
    }
}

/// Every combination.
fn product(columns: &[Listed<'_>]) -> Result<KnownKeys> {
    let total = columns.iter().try_fold(1usize, |total, (column, _)| total.checked_mul(column.len()));
    // Each combination takes a cell of every key.
    let total = total.filter(|&total| total.saturating_mul(columns.len()) <= MOST_KEYS);
    let total = total
        .ok_or_else(|| Error::option(message!(["keys"], " has too many combinations: more than {MOST_KEYS} cells")))?;
    let mut repeat = total;
    let mut all = Vec::new();
    for (column, _) in columns {
        repeat /= column.len();
        let places = (0..total).map(|row| (row / repeat % column.len()) as u32);
        all.push(sound(take(column, &UInt32Array::from_iter_values(places), None)));
    }
    let texts = columns.iter().map(|(_, texts)| texts.iter().map(|&text| text.to_owned()).collect()).collect();
    Ok(KnownKeys { typed: PublicKeys { columns: all }, texts })
}
