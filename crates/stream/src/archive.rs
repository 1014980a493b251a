//! Reading releases of curators' streams from the disk.

use std::sync::Arc;

use jiff::Timestamp;
use rusqlite::{Row, Transaction, params};

use crate::database::failed;
use crate::definition::{Definition, Keys};
use crate::error::{Error, Result};
use crate::release::{KeyedValues, Released, StepRelease, Value};

/// Releases starting at step `from`, oldest first, of `bytes` together, but at least one.
pub(crate) fn history(
    pages: &Transaction<'_>,
    stream: i64,
    definition: &Definition,
    from: u64,
    limit: usize,
    bytes: usize,
) -> Result<Vec<StepRelease>> {
    let names = names(pages, stream, definition)?;
    let sql = "SELECT step, closed, half_width, variance, numbers FROM release
        WHERE stream = ?1 AND step >= ?2 ORDER BY step LIMIT ?3";
    let mut query = pages.prepare_cached(sql).map_err(failed)?;
    let (from, limit) = (i64::try_from(from).unwrap_or(i64::MAX), i64::try_from(limit).unwrap_or(i64::MAX));
    let mut rows = query.query(params![stream, from, limit]).map_err(failed)?;
    let (mut releases, mut left) = (Vec::new(), bytes);
    while let Some(row) = rows.next().map_err(failed)? {
        let release = read(row, definition, &names)?;
        let length = release.json_bytes();
        if length > left && !releases.is_empty() {
            break;
        }
        left = left.saturating_sub(length);
        releases.push(release);
    }
    Ok(releases)
}

/// The newest release.
pub(crate) fn newest(pages: &Transaction<'_>, stream: i64, definition: &Definition) -> Result<Option<StepRelease>> {
    let sql = "SELECT max(step) FROM release WHERE stream = ?1";
    let step: Option<i64> = pages.query_row(sql, [stream], |row| row.get(0)).map_err(failed)?;
    let Some(step) = step else { return Ok(None) };
    Ok(history(pages, stream, definition, step as u64, 1, usize::MAX)?.pop())
}

fn names(pages: &Transaction<'_>, stream: i64, definition: &Definition) -> Result<Vec<Arc<str>>> {
    match definition.keys() {
        Keys::None => Ok(Vec::new()),
        // Known keys are all released from the first step, in their own order.
        Keys::Known(keys) => Ok(keys.to_vec()),
        Keys::Selected => {
            let sql = "SELECT key FROM shown_key WHERE stream = ?1 ORDER BY place";
            let mut query = pages.prepare_cached(sql).map_err(failed)?;
            let keys = query.query_map([stream], |row| row.get::<_, String>(0)).map_err(failed)?;
            keys.map(|key| key.map(Into::into).map_err(failed)).collect()
        }
    }
}

fn read(row: &Row<'_>, definition: &Definition, names: &[Arc<str>]) -> Result<StepRelease> {
    let damaged = || Error::Damaged(format!("a release of stream {}", definition.name()));
    let get = |error| failed(error);
    let (half_width, variance): (f64, f64) = (row.get(2).map_err(get)?, row.get(3).map_err(get)?);
    let numbers: Vec<u8> = row.get(4).map_err(get)?;
    let numbers: Vec<i64> = postcard::from_bytes(&numbers).map_err(|_| damaged())?;
    let released = match definition.keys() {
        Keys::None => {
            let value = *numbers.first().ok_or_else(damaged)?;
            Released::One(Value { value, half_width, variance })
        }
        _ if numbers.len() > names.len() => return Err(damaged()),
        _ => {
            let values = names.iter().cloned().zip(numbers).collect();
            Released::Keyed(KeyedValues { values, half_width, variance })
        }
    };
    let closed = Timestamp::from_millisecond(row.get(1).map_err(get)?).map_err(|_| damaged())?;
    Ok(StepRelease { step: row.get::<_, i64>(0).map_err(get)? as u64, closed, released })
}
