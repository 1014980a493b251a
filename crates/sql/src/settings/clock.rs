//! What the clock says to a query, as the ledger remembers it.
//!
//! The clock stands still while a query is answered, and its moment is a part of what was asked. A request that is asked again is the
//! one that was charged, with the clock of then.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::algebra::Limits;
use crate::resolve::text;

/// Words that stand for the clock.
const CLOCK: [&str; 5] = ["now", "current_timestamp", "localtimestamp", "current_date", "today"];

const SAYS: &str = "; the clock says ";

/// May this SQL ask what time it is? A column of such a name is taken for the clock, too, which does no harm.
pub fn asks(sql: &str) -> bool {
    let word = |token: &TokenWithSpan| match &token.token {
        Token::Word(word) => CLOCK.iter().any(|clock| word.value.eq_ignore_ascii_case(clock)),
        _ => false,
    };
    // What cannot be taken apart is not asked either.
    text::tokens(sql, &Limits::default()).is_ok_and(|tokens| tokens.iter().any(word))
}

/// A description with what the clock says, in microseconds since 1970.
pub fn describe(description: &str, now: i64) -> String {
    let moment =
        jiff::Timestamp::from_microsecond(now).map_or_else(|_| now.to_string(), |moment| format!("{moment:.6}"));
    format!("{description}{SAYS}{moment}")
}

/// The description under which the same was charged before, if it differs in nothing but the clock.
pub fn remembered(description: &str, before: &str) -> Option<String> {
    let without = |text: &str| text.rsplit_once(SAYS).map(|(rest, _)| rest.to_owned());
    (without(description)? == without(before)?).then(|| before.to_owned())
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
        assert_eq!(remembered(&later, &first), Some(first.clone()));
        assert_eq!(remembered(&describe("query r; table t", 1), &first), None);
        assert_eq!(remembered("query q; table t", &first), None);
    }
}
