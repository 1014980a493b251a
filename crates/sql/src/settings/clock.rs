//! The current time in a query, as recorded in the ledger.
//!
//! The clock is fixed while a query is answered, and its time is part of the request. Repeating a request refers to the
//! one that was charged, with the time of that charge.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::algebra::Limits;
use crate::resolve::text;

/// Names of the clock functions.
const CLOCK: [&str; 5] = ["now", "current_timestamp", "localtimestamp", "current_date", "today"];

const SAYS: &str = "; the clock says ";

/// Whether this SQL may read the clock. A column of such a name counts too, which does no harm.
pub fn asks(sql: &str) -> bool {
    let word = |token: &TokenWithSpan| match &token.token {
        Token::Word(word) => CLOCK.iter().any(|clock| word.value.eq_ignore_ascii_case(clock)),
        _ => false,
    };
    // SQL that cannot be tokenised is not answered either.
    text::tokens(sql, &Limits::default()).is_ok_and(|tokens| tokens.iter().any(word))
}

/// A description with the time, in microseconds since 1970.
pub fn describe(description: &str, now: i64) -> String {
    let moment =
        jiff::Timestamp::from_microsecond(now).map_or_else(|_| now.to_string(), |moment| format!("{moment:.6}"));
    format!("{description}{SAYS}{moment}")
}

/// The description to charge: that under which the same request was charged `before`, if only the time differs.
pub fn charged(description: String, before: Option<String>) -> String {
    fn without(text: &str) -> Option<&str> {
        text.rsplit_once(SAYS).map(|(rest, _)| rest)
    }
    let same = |before: &String| without(&description).is_some_and(|rest| without(before) == Some(rest));
    before.filter(same).unwrap_or(description)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_of_a_request_is_remembered() {
        for sql in ["SELECT NOW()", "SELECT x < current_date FROM t", "select \n Today() from t"] {
            assert!(asks(sql), "{sql}");
        }
        for sql in ["SELECT 'now'", "SELECT known FROM t", "SELECT 1 -- now\n"] {
            assert!(!asks(sql), "{sql}");
        }
        let (first, later) = (describe("query q; table t", 0), describe("query q; table t", 1));
        assert_eq!(first, "query q; table t; the clock says 1970-01-01T00:00:00.000000Z");
        assert_eq!(charged(later.clone(), Some(first.clone())), first);
        assert_eq!(charged(later.clone(), None), later);
        for other in [describe("query r; table t", 1), "query q; table t".into()] {
            assert_eq!(charged(other.clone(), Some(first.clone())), other);
        }
    }
}
