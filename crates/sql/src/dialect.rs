//! BigQuery's way to ask: `SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, …) …`.

use sqlparser::dialect::GenericDialect;
use sqlparser::tokenizer::{Token, Tokenizer};

use crate::error::{Error, Result};

/// Options that stand in the SQL itself, as they were written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// `epsilon`
    pub epsilon: Option<String>,
    /// `delta`
    pub delta: Option<String>,
    /// `privacy_unit_column`
    pub unit: Option<String>,
    /// `max_groups_contributed`
    pub max_groups: Option<String>,
    /// `max_rows_contributed`
    pub max_rows: Option<String>,
}

/// The names that may stand in OPTIONS.
const NAMES: [&str; 5] = ["epsilon", "delta", "privacy_unit_column", "max_groups_contributed", "max_rows_contributed"];

/// The SQL without the options, and the options; the SQL as it is if there are none.
///
/// # Errors
/// If the text has no end where it should, or an option is unknown.
///
/// # Example
/// ```
/// let (sql, written) = reticent_sql::dialect::split(
///     "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, privacy_unit_column = user_id) COUNT(*) FROM visits",
/// )?;
/// assert_eq!(sql.trim(), "SELECT  COUNT(*) FROM visits");
/// assert_eq!(written.epsilon.as_deref(), Some("1"));
/// # Ok::<(), reticent_sql::Error>(())
/// ```
pub fn split(sql: &str) -> Result<(String, Written)> {
    let tokens =
        Tokenizer::new(&GenericDialect {}, sql).tokenize().map_err(|error| Error::Syntax(error.to_string()))?;
    let significant: Vec<usize> =
        (0..tokens.len()).filter(|&place| !matches!(tokens[place], Token::Whitespace(_))).collect();
    let token = |place: usize| significant.get(place).map(|&place| &tokens[place]);
    let is = |place: usize, text: &str| token(place).is_some_and(|token| token.to_string().eq_ignore_ascii_case(text));
    if !(is(0, "SELECT") && is(1, "WITH") && is(2, "DIFFERENTIAL_PRIVACY")) {
        return Ok((sql.to_owned(), Written::default()));
    }
    let mut written = Written::default();
    let mut end = 3;
    if is(3, "OPTIONS") && is(4, "(") {
        let closing = (5..significant.len()).find(|&place| is(place, ")"));
        let closing = closing.ok_or_else(|| Error::Syntax("OPTIONS( has no closing )".into()))?;
        let inside: Vec<&Token> = (5..closing).filter_map(token).collect();
        for option in inside.split(|token| **token == Token::Comma).filter(|option| !option.is_empty()) {
            read(option, &mut written)?;
        }
        end = closing + 1;
    }
    let rest =
        significant.get(end).map_or_else(String::new, |&first| tokens[first..].iter().map(Token::to_string).collect());
    Ok((format!("SELECT  {rest}"), written))
}

fn read(option: &[&Token], written: &mut Written) -> Result<()> {
    let whole = || option.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let [name, Token::Eq, value @ ..] = option else {
        return Err(Error::Syntax(format!("the option {} is not written NAME = VALUE", whole())));
    };
    let name = name.to_string().to_lowercase();
    let text = value.iter().map(|token| match token {
        Token::SingleQuotedString(text) | Token::DoubleQuotedString(text) => text.clone(),
        other => other.to_string(),
    });
    let slot = match name.as_str() {
        "epsilon" => &mut written.epsilon,
        "delta" => &mut written.delta,
        "privacy_unit_column" => &mut written.unit,
        "max_groups_contributed" => &mut written.max_groups,
        "max_rows_contributed" => &mut written.max_rows,
        _ => {
            let message = format!("there is no option {name} in OPTIONS; there are {}", NAMES.join(", "));
            return Err(Error::Option(message));
        }
    };
    if slot.replace(text.collect()).is_some() {
        return Err(Error::Option(format!("the option {name} is given twice")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_taken_out_and_the_rest_stays() {
        let (sql, written) = split(
            "select with differential_privacy options (epsilon=1e-1, delta = 1e-8, privacy_unit_column=v.user_id,\n\
             max_groups_contributed=4) region, count(*) as n -- all\nfrom visits v where note = 'a)b' group by region",
        )
        .unwrap();
        assert_eq!(sql, "SELECT  region, count(*) as n -- all\nfrom visits v where note = 'a)b' group by region");
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            written,
            Written {
                epsilon: text("1e-1"),
                delta: text("1e-8"),
                unit: text("v.user_id"),
                max_groups: text("4"),
                max_rows: None
            }
        );
    }

    #[test]
    fn other_queries_are_left_as_they_are() {
        for sql in ["SELECT 1", "WITH x AS (SELECT 1) SELECT * FROM x", "", "SELECT 'WITH DIFFERENTIAL_PRIVACY'"] {
            assert_eq!(split(sql).unwrap(), (sql.to_owned(), Written::default()));
        }
    }

    #[test]
    fn wrong_options_are_named() {
        let error = |options: &str| {
            let sql = format!("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({options} COUNT(*) FROM t");
            split(&sql).unwrap_err().to_string()
        };
        assert!(error("epsilon 1)").contains("epsilon 1 is not written NAME = VALUE"));
        assert!(error("eps = 1)").contains("there is no option eps in OPTIONS"));
        assert!(error("epsilon = 1, epsilon = 2)").contains("given twice"));
        assert!(split("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1").is_err());
    }
}
