//! BigQuery's syntax: `SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, …) …`.

use sqlparser::tokenizer::{Location, Token};

use crate::algebra::Limits;
use crate::error::{Error, Result};
use crate::resolve::text::tokens;

/// Options in the SQL itself, as written.
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

/// The names allowed in OPTIONS.
const NAMES: [&str; 5] = ["epsilon", "delta", "privacy_unit_column", "max_groups_contributed", "max_rows_contributed"];

/// Splits the SQL into the query without the clause, otherwise byte for byte the same, and the options. Without such a
/// clause, the SQL is returned unchanged.
///
/// # Errors
/// If it is too large, a string literal is not terminated, or an option is unknown.
///
/// # Example
/// ```
/// let (sql, written) = reticent_sql::dialect::split(
///     "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, privacy_unit_column = user_id) COUNT(*) FROM visits",
/// )?;
/// assert_eq!(sql, "SELECT  COUNT(*) FROM visits");
/// assert_eq!(written.epsilon.as_deref(), Some("1"));
/// # Ok::<(), reticent_sql::Error>(())
/// ```
pub fn split(sql: &str) -> Result<(String, Written)> {
    let mut tokens = tokens(sql, &Limits::default())?;
    tokens.retain(|token| !matches!(token.token, Token::Whitespace(_)));
    let is = |place: usize, text: &str| match tokens.get(place).map(|token| &token.token) {
        Some(Token::Word(word)) => word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text),
        _ => false,
    };
    if !(is(0, "SELECT") && is(1, "WITH") && is(2, "DIFFERENTIAL_PRIVACY")) {
        return Ok((sql.to_owned(), Written::default()));
    }
    let mut written = Written::default();
    let mut last = 2;
    if is(3, "OPTIONS") && tokens.get(4).is_some_and(|token| token.token == Token::LParen) {
        let inside: Vec<&Token> =
            tokens[5..].iter().map(|token| &token.token).take_while(|token| **token != Token::RParen).collect();
        last = 5 + inside.len();
        if last == tokens.len() {
            return Err(Error::Syntax("OPTIONS( has no closing )".into()));
        }
        for option in inside.split(|token| **token == Token::Comma).filter(|option| !option.is_empty()) {
            read(option, &mut written)?;
        }
    }
    let (before, after) = (offset(sql, tokens[1].span.start), offset(sql, tokens[last].span.end));
    Ok((format!("{}{}", &sql[..before], &sql[after..]), written))
}

/// The byte offset of a line and column, both counted from 1.
fn offset(sql: &str, place: Location) -> usize {
    let from_zero = |number: u64| usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1);
    let line: usize = sql.split_inclusive('\n').take(from_zero(place.line)).map(str::len).sum();
    sql[line..].chars().take(from_zero(place.column)).map(char::len_utf8).sum::<usize>() + line
}

fn read(option: &[&Token], written: &mut Written) -> Result<()> {
    let whole = || option.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let [name, Token::Eq, value @ ..] = option else {
        return Err(Error::Syntax(format!("the option {} must be written NAME = VALUE", whole())));
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
            let message = format!("unknown option {name} in OPTIONS; there are {}", NAMES.join(", "));
            return Err(Error::option(message));
        }
    };
    if slot.replace(text.collect()).is_some() {
        return Err(Error::option(format!("the option {name} is given twice")));
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
        assert_eq!(sql, "select  region, count(*) as n -- all\nfrom visits v where note = 'a)b' group by region");
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

    const CLAUSE: &str = "WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=900)";

    /// When the SQL was rebuilt from tokens, the text `x' OR name > 'a` became a condition.
    #[test]
    fn a_quote_in_a_text_stays_in_it() {
        let rest = " COUNT(*) c FROM t WHERE name = 'x'' OR name > ''a'";
        let (sql, _) = split(&format!("SELECT {CLAUSE}{rest}")).unwrap();
        assert_eq!(sql, format!("SELECT {rest}"));
    }

    #[test]
    fn what_is_too_large_is_not_taken_apart() {
        let error = split(&format!("SELECT {}", "(".repeat(200_000))).unwrap_err();
        assert!(error.to_string().contains("it has 200007 bytes"), "{error}");
    }

    /// Parts of SQL in which characters have a special meaning or none.
    const PARTS: [&str; 32] = [
        "'x'' OR ''a'",
        "'\\'",
        "''",
        "'two\nlines'",
        "\"a\"\"b\"",
        "`q``r`",
        "E'\\n\\''",
        "$$d'$$",
        "$tag$é$tag$",
        "N'ü'",
        "U&'\\0061'",
        "X'0aF'",
        "b'ab'",
        "r'a\\'",
        "/* c /* n */ */",
        "-- é\n",
        "# hash\n",
        "\r\n",
        "\t",
        "\u{a0}",
        "日本",
        "名",
        "x",
        "1e5",
        ".5",
        "(",
        ")",
        ",",
        "=",
        ";",
        "SELECT",
        "WITH DIFFERENTIAL_PRIVACY",
    ];

    proptest::proptest! {
        /// Everything around the clause stays, and its tokens are the same as before.
        #[test]
        fn nothing_but_the_clause_is_cut_out(
            before in "( |\n|\r\n|/\\* é \\*/|-- ü\n){0,3}",
            space in "( |\t|\r\n|/\\*日\\*/|-- ü\n){1,3}",
            rest in proptest::collection::vec((proptest::sample::select(&PARTS[..]), " ?"), 0..12),
        ) {
            let rest: String = rest.into_iter().flat_map(|(part, space)| [part.to_owned(), space]).collect();
            let whole = format!("{before}SELECT{space}{CLAUSE}{rest}");
            let significant = |sql: &str| {
                let tokens = tokens(sql, &Limits::default()).ok()?.into_iter().map(|token| token.token);
                Some(tokens.filter(|token| !matches!(token, Token::Whitespace(_))).collect::<Vec<_>>())
            };
            match split(&whole) {
                Ok((sql, written)) => {
                    proptest::prop_assert_eq!(&sql, &format!("{before}SELECT{space}{rest}"));
                    proptest::prop_assert_eq!(written, Written { epsilon: Some("900".into()), ..Written::default() });
                    let mut all = significant(&whole).unwrap();
                    all.drain(1..9);
                    proptest::prop_assert_eq!(significant(&sql), Some(all));
                }
                Err(_) => proptest::prop_assert_eq!(significant(&whole), None),
            }
        }
    }

    #[test]
    fn wrong_options_are_named() {
        let error = |options: &str| {
            let sql = format!("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({options} COUNT(*) FROM t");
            split(&sql).unwrap_err().to_string()
        };
        assert!(error("epsilon 1)").contains("epsilon 1 must be written NAME = VALUE"));
        assert!(error("eps = 1)").contains("unknown option eps in OPTIONS"));
        assert!(error("epsilon = 1, epsilon = 2)").contains("given twice"));
        assert!(split("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1").is_err());
    }
}
