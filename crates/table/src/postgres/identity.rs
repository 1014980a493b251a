//! Names of tables: as users write them, as SQL quotes them, and as a ledger knows them.

use std::fmt::Write;

use crate::DatabaseTable;

/// Where a table is that no schema is named for.
const USUAL_SCHEMA: &str = "public";

impl DatabaseTable {
    /// The table `named` of a database, and the tables that may hold a row of it, all by schema and name.
    pub(super) fn new(server: &str, database: &str, named: (&str, &str), sharing: &[(String, String)]) -> Self {
        let database = format!("postgresql://{server}/{}", encoded(database));
        let name = |schema: &str, table: &str| format!("{database}/{}.{}", encoded(schema), encoded(table));
        let own = name(named.0, named.1);
        let mut sharing: Vec<String> = sharing.iter().map(|(schema, table)| name(schema, table)).collect();
        sharing.push(own.clone());
        sharing.sort_unstable();
        sharing.dedup();
        Self { name: own, sharing, database }
    }
}

fn encoded(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for letter in name.chars() {
        if letter.is_alphanumeric() || "_-$".contains(letter) {
            text.push(letter);
        } else {
            for byte in letter.encode_utf8(&mut [0; 4]).bytes() {
                // Writing to a String cannot fail.
                let _ = write!(text, "%{byte:02X}");
            }
        }
    }
    text
}

/// A name as an identifier of SQL.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// `SCHEMA.TABLE` or `TABLE`. A part that contains a dot or a quote is quoted as in SQL; otherwise quotes make no
/// difference, and upper and lower case are never changed.
pub fn parse(text: &str) -> Result<(String, String), String> {
    let wrong = || format!("table={text} is not a table's name; write SCHEMA.TABLE, and quote a part with a dot in it");
    let (mut parts, mut part) = (Vec::new(), String::new());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if part.is_empty() => {
                loop {
                    match letters.next().ok_or_else(wrong)? {
                        '"' if letters.peek() == Some(&'"') => {
                            letters.next();
                            part.push('"');
                        }
                        '"' => break,
                        letter => part.push(letter),
                    }
                }
                if part.is_empty() || letters.peek().is_some_and(|next| *next != '.') {
                    return Err(wrong());
                }
            }
            '.' => parts.push(std::mem::take(&mut part)),
            '"' | '\0' => return Err(wrong()),
            letter => part.push(letter),
        }
    }
    parts.push(part);
    if parts.iter().any(|part| part.is_empty() || part.contains('\0')) {
        return Err(wrong());
    }
    match <[String; 2]>::try_from(parts) {
        Ok([schema, table]) => Ok((schema, table)),
        Err(parts) => match <[String; 1]>::try_from(parts) {
            Ok([table]) => Ok((USUAL_SCHEMA.to_owned(), table)),
            Err(_) => Err(wrong()),
        },
    }
}

/// A table's name as [`parse`] reads it.
pub fn written(schema: &str, table: &str) -> String {
    let part = |name: &str| if name.contains(['.', '"']) { quoted(name) } else { name.to_owned() };
    format!("{}.{}", part(schema), part(table))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let names = [("public", "visits"), ("a.b", "c\"d"), ("Größe", "two words"), ("a", "\"")];
        for (schema, table) in names {
            let read = parse(&written(schema, table)).unwrap();
            assert_eq!((read.0.as_str(), read.1.as_str()), (schema, table));
        }
        assert_eq!(parse("Visits").unwrap(), ("public".to_owned(), "Visits".to_owned()));
        assert_eq!(parse("\"s\".t").unwrap(), ("s".to_owned(), "t".to_owned()));
        for wrong in ["", ".", "a.", ".a", "a.b.c", "\"a", "a\"b", "\"a\"b", "\"\"", "a\0", "\"\0\""] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(quoted("a\"; DROP"), "\"a\"\"; DROP\"");
    }

    #[test]
    fn different_tables_have_different_names() {
        let name = |schema, table| DatabaseTable::new("7", "shop", (schema, table), &[]).name().to_owned();
        assert_eq!(name("public", "visits"), "postgresql://7/shop/public.visits");
        assert_eq!(name("a.b", "c"), "postgresql://7/shop/a%2Eb.c");
        assert_ne!(name("a.b", "c"), name("a", "b.c"));
        assert_eq!(name("ü", "a:b@c=d/%"), "postgresql://7/shop/ü.a%3Ab%40c%3Dd%2F%25");
        let part = DatabaseTable::new("7", "d", ("s", "p"), &[("s".into(), "all".into()), ("s".into(), "p".into())]);
        assert_eq!(part.sharing(), ["postgresql://7/d/s.all", "postgresql://7/d/s.p"]);
    }
}
