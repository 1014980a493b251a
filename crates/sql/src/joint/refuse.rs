//! Queries without a shape that is public and the same at every party, and what to write instead.

use reticent::message;
use reticent::privacy::Guarantee;

use crate::algebra::Statistic;
use crate::error::{Error, Result};
use crate::keys::KnownKeys;
use crate::options::{Options, Range};
use crate::query::Query;
use crate::resolve::{AskedWords, Resolved};

/// Refuses guarantees other than pure ε.
pub fn other_guarantees(guarantee: &Guarantee) -> Result<()> {
    let (what, why) = match guarantee {
        Guarantee::Pure(_) => return Ok(()),
        Guarantee::Approx(..) => {
            (message!(["delta"]), message!("parties release with pure ε: leave ", ["delta"], " out"))
        }
        Guarantee::Zcdp(_) => {
            (message!(["rho"]), message!("parties release with pure ε: use ", ["epsilon"], " 1 instead"))
        }
    };
    Err(Error::not_joint(what, why))
}

/// Refuses keys that are not public, bounds that must be searched for, and statistics that are not sums of integers.
pub fn shapeless(resolved: &Resolved, keys: Option<&KnownKeys>, options: &Options) -> Result<()> {
    if let (Some(first), None) = (resolved.keys.first(), keys) {
        let mut unknown =
            resolved.keys.iter().filter(|key| key.names.iter().all(|name| !options.keys.contains_key(name)));
        let key = &unknown.next().unwrap_or(first).words;
        return Err(Error::not_joint(
            format!("GROUP BY {key}"),
            message!(
                "which groups there are must be public and the same at every party: list them with ",
                ["keys"],
                " {key}=a,b,c or \
                 ",
                ["keys"],
                " {key}=FILE"
            ),
        ));
    }
    for (asked, measured) in resolved.asked.iter().zip(&resolved.measured.statistics) {
        statistic(asked, measured)?;
        // Sums add up; counting a person's groups would count the person once per party.
        if resolved.measured.rows.are_groups() && !matches!(measured, Statistic::Sum(_)) {
            return Err(Error::not_joint(
                format!("{} of a sub-query with GROUP BY", asked.words),
                "someone with data at several parties would be counted at each: use COUNT(*), AVG and so on of the rows themselves, or \
                 SUM of the sub-query's values",
            ));
        }
        if asked.range == Some(Range::Auto) {
            let column = &asked.of;
            return Err(Error::not_joint(
                message!(["bounds"], " {column}=auto"),
                message!("no party knows the others' values: agree on a range, as in ", ["bounds"], " {column}=0..100"),
            ));
        }
    }
    Ok(())
}

/// Only sums can be added up over parties.
fn statistic(asked: &AskedWords, measured: &Statistic) -> Result<()> {
    let of = &asked.of;
    let instead = match measured {
        Statistic::Rows
        | Statistic::Present(_)
        | Statistic::Sum(_)
        | Statistic::Mean(_)
        | Statistic::Variance { .. }
        | Statistic::StandardDeviation { .. }
        | Statistic::Histogram { .. } => return Ok(()),
        // No one can tell who has data at several parties, or at how many.
        Statistic::Units => message!(
            "someone with data at several parties would be counted at each: use COUNT(*) with ",
            ["max-rows"],
            " 1, which is the sum of the \
             parties' numbers of {of}"
        ),
        Statistic::Quantile { .. } | Statistic::StableMedian(_) => {
            message!("ranks do not add up over parties: use AVG({of}), or read it off HISTOGRAM({of}, 20)")
        }
        Statistic::StableMode(_) => {
            message!(
                "the most frequent value does not add up over parties: use COUNT(*) … GROUP BY {of}, with ",
                ["keys"],
                " {of}=…"
            )
        }
    };
    Err(Error::not_joint(asked.words.clone(), instead))
}

/// The error if two of the public keys are equal in this party's column.
pub fn equal_keys(query: &Query) -> Error {
    let keys = query.key_words().join(", ");
    Error::not_joint(
        format!("GROUP BY {keys}"),
        "two of the public keys are the same value in this party's table (as 1 and 01 are in a column of numbers); write \
         each key once, or group by CAST(… AS VARCHAR)",
    )
}
