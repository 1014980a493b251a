//! What the catalogue of a database says about a table.
//!
//! `search_path` is pinned, so every name below is the server's own.

use tokio_postgres::{Client, Row};

use super::identity::{quoted, written};
use crate::text::MOST_TEXT;
use crate::typed::{Columns, Known};
use crate::{DatabaseTable, Type, UnitType};

/// The earliest version whose catalogue has all columns that are asked for.
const EARLIEST: i32 = 120_000;
/// From this version on, a range of blocks is read without reading the others.
const RANGES: i32 = 140_000;
/// More tables than anyone has named alike.
const MOST_NAMES: i64 = 10_000;
/// The longest bytes whose canonical text is not too long.
const MOST_BYTES: usize = MOST_TEXT / 2;

const SERVER: &str = "SELECT current_setting('server_version_num')::int4, current_setting('server_encoding')::text,
    current_database()::text, coalesce(host(inet_server_addr()), 'localhost')::text,
    coalesce(inet_server_port(), 0)::int4,
    has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE')";

const SYSTEM: &str = "SELECT system_identifier::text FROM pg_control_system()";

const RELATION: &str = "SELECT c.oid, c.relkind::text, c.relispopulated, row_security_active(c.oid),
        has_schema_privilege(n.oid, 'USAGE'), has_any_column_privilege(c.oid, 'SELECT'),
        has_table_privilege(c.oid, 'SELECT'),
        c.relkind <> 'm' AND EXISTS (SELECT FROM pg_rewrite AS r WHERE r.ev_class = c.oid AND r.ev_type = '1')
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = $1::text AND c.relname = $2::text";

/// The table, its partitions and its children, at all levels.
const BELOW: &str = "WITH RECURSIVE below(oid) AS (
        SELECT $1::oid UNION SELECT i.inhrelid FROM pg_inherits AS i JOIN below AS b ON i.inhparent = b.oid)
    SELECT c.oid, c.relkind::text, n.nspname::text, c.relname::text, a.amname::text
    FROM below AS b JOIN pg_class AS c ON c.oid = b.oid JOIN pg_namespace AS n ON n.oid = c.relnamespace
    LEFT JOIN pg_am AS a ON a.oid = c.relam ORDER BY c.oid";

/// Of a domain, the type that it is made of; `next` is the type below.
const COLUMNS: &str = "WITH RECURSIVE base(number, oid, kind, next) AS (
        SELECT a.attnum, t.oid, t.typtype, t.typbasetype FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid
            WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped
        UNION ALL
        SELECT b.number, t.oid, t.typtype, t.typbasetype FROM base AS b JOIN pg_type AS t ON t.oid = b.next
            WHERE b.kind = 'd')
    SELECT a.attname::text, b.oid, b.kind::text, CASE WHEN b.oid = a.atttypid THEN a.atttypmod ELSE -1 END,
        format_type(a.atttypid, a.atttypmod), a.attgenerated::text, has_column_privilege(a.attrelid, a.attnum, 'SELECT'),
        coalesce(o.collisdeterministic, true)
    FROM pg_attribute AS a JOIN base AS b ON b.number = a.attnum AND b.kind <> 'd'
    LEFT JOIN pg_collation AS o ON o.oid = a.attcollation
    WHERE a.attrelid = $1::oid ORDER BY a.attnum";

/// All tables that may hold a row of this one: those that hold rows of anything that this one holds rows of. A parent
/// holds the rows of its partitions, and a materialised view rows of what its definition names, directly or by views.
const SHARING: &str = "WITH RECURSIVE holds(holder, held) AS (
        SELECT inhparent, inhrelid FROM pg_inherits
        UNION ALL
        SELECT r.ev_class, d.refobjid FROM pg_rewrite AS r JOIN pg_depend AS d
            ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = r.oid
            AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid <> r.ev_class
            WHERE r.ev_type = '1'),
    below(oid) AS (SELECT $1::oid UNION SELECT h.held FROM holds AS h JOIN below AS b ON h.holder = b.oid),
    above(oid) AS (SELECT oid FROM below UNION SELECT h.holder FROM holds AS h JOIN above AS a ON h.held = a.oid)
    SELECT n.nspname::text, c.relname::text
    FROM above AS a JOIN pg_class AS c ON c.oid = a.oid JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'm') ORDER BY 1, 2";

const NAMES: &str = "SELECT n.nspname::text, c.relname::text FROM pg_class AS c JOIN pg_namespace AS n
        ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
        AND n.nspname NOT LIKE 'pg\\_%' AND has_schema_privilege(n.oid, 'USAGE') ORDER BY 1, 2 LIMIT $1::int8";

/// A table, as it must still be when it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    pub oid: u32,
    pub schema: String,
    pub table: String,
    /// Whether it can be locked before a snapshot is taken.
    pub can_be_locked: bool,
    /// Whether rows can be read by ranges of blocks.
    pub has_ranges: bool,
    /// The tables that its rows are stored in.
    pub stored: Vec<u32>,
    attributes: Vec<Attribute>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    pub name: String,
    /// `None` if a query cannot use it.
    pub kind: Option<Kind>,
    /// The most characters of a text, if its type limits them.
    most: Option<usize>,
    /// In words.
    data_type: String,
    /// Whether values that differ may be equal to the database.
    is_folded: bool,
}

/// The types whose binary form is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Boolean,
    /// With the number of bytes.
    Integer(usize),
    Single,
    Double,
    Numeric,
    Text,
    /// Text that is padded with spaces, which do not count.
    Padded,
    Date,
    Timestamp,
    Uuid,
    Bytes,
}

impl Kind {
    /// The kind of a type, by its number and `typtype`. The numbers of the server's own types never change; an
    /// enumeration is text by another name.
    fn of(number: u32, of: &str) -> Option<Self> {
        Some(match number {
            _ if of == "e" => Self::Text,
            16 => Self::Boolean,
            17 => Self::Bytes,
            20 => Self::Integer(8),
            21 => Self::Integer(2),
            23 => Self::Integer(4),
            19 | 25 | 1043 => Self::Text,
            700 => Self::Single,
            701 => Self::Double,
            1042 => Self::Padded,
            1082 => Self::Date,
            1114 | 1184 => Self::Timestamp,
            1700 => Self::Numeric,
            2950 => Self::Uuid,
            _ => return None,
        })
    }

    fn seen(self) -> Option<Type> {
        match self {
            Self::Boolean => Some(Type::Boolean),
            Self::Integer(_) => Some(Type::Integer),
            Self::Single | Self::Double | Self::Numeric => Some(Type::Number),
            Self::Text | Self::Padded => Some(Type::Text),
            Self::Date => Some(Type::Date),
            Self::Timestamp => Some(Type::Timestamp),
            Self::Uuid | Self::Bytes => None,
        }
    }

    fn unit(self) -> Result<UnitType, &'static str> {
        match self {
            Self::Integer(_) => Ok(UnitType::Signed),
            Self::Single | Self::Double => {
                Err("holds floating-point numbers, which cannot tell people apart exactly; \
                 convert it to whole numbers, numeric or text in the database")
            }
            _ => Ok(UnitType::Text),
        }
    }
}

impl Attribute {
    /// Reads a row of [`COLUMNS`].
    fn read(row: &Row) -> Result<Self, tokio_postgres::Error> {
        let (number, of): (u32, String) = (row.try_get(1)?, row.try_get(2)?);
        let (modifier, mut data_type): (i32, String) = (row.try_get(3)?, row.try_get(4)?);
        let (generated, is_readable): (String, bool) = (row.try_get(5)?, row.try_get(6)?);
        let mut kind = Kind::of(number, &of);
        if !is_readable {
            (kind, data_type) = (None, "a column that this role may not read".to_owned());
        } else if generated == "v" {
            (kind, data_type) = (None, "computed when it is read (a virtual generated column)".to_owned());
        }
        // Four bytes of the modifier are PostgreSQL's own.
        let most = usize::try_from(modifier).ok().and_then(|modifier| modifier.checked_sub(4));
        let most = match (number, of.as_str()) {
            // An enumeration's value and a name are identifiers.
            (_, "e") | (19, _) => Some(64),
            (1042 | 1043, _) => most,
            _ => None,
        };
        Ok(Self { name: row.try_get(0)?, kind, most, data_type, is_folded: !row.try_get::<_, bool>(7)? })
    }

    /// What is selected: the column, except that a longer value than can be used is NULL.
    fn expression(&self) -> String {
        let name = quoted(&self.name);
        let limited = |data_type: &str, most: usize| {
            // Of the type itself: casting NULL to a domain would check the domain's conditions.
            let value = format!("{name}::pg_catalog.{data_type}");
            format!("CASE WHEN pg_catalog.octet_length({value}) OPERATOR(pg_catalog.<=) {most} THEN {value} END")
        };
        match self.kind {
            Some(Kind::Bytes) => limited("bytea", MOST_BYTES),
            // A character takes at most four bytes.
            Some(Kind::Text | Kind::Padded) if self.most.is_some_and(|most| most <= MOST_TEXT / 4) => name,
            // As text it is without its padding.
            Some(Kind::Text | Kind::Padded) => limited("text", MOST_TEXT),
            _ => name,
        }
    }

    fn known(&self) -> Known {
        let cannot = "cannot be the privacy unit; convert it to whole numbers or text in the database";
        let folded = "is compared by a collation for which different texts can be equal, so that it cannot tell people \
                      apart; copy it to a column with another collation";
        let unit = match self.kind {
            Some(Kind::Text | Kind::Padded) if self.is_folded => Err(folded),
            kind => kind.ok_or(cannot).and_then(Kind::unit),
        };
        let seen = self.kind.and_then(Kind::seen);
        Known { name: self.name.clone(), data_type: self.data_type.clone(), seen, unit }
    }
}

impl Relation {
    /// The columns, if there is one that can be asked for.
    pub fn columns(&self) -> Result<Columns, String> {
        Columns::known(self.attributes.iter().map(Attribute::known).collect())
            .ok_or_else(|| format!("{} has no column of a type that a query can use", self.written()))
    }

    /// Finds a column that can be read.
    pub fn attribute(&self, name: &str) -> Option<(&Attribute, Kind)> {
        let attribute = self.attributes.iter().find(|attribute| attribute.name == name)?;
        Some((attribute, attribute.kind?))
    }

    /// `"SCHEMA"."TABLE"`
    pub fn quoted(&self) -> String {
        format!("{}.{}", quoted(&self.schema), quoted(&self.table))
    }

    fn written(&self) -> String {
        written(&self.schema, &self.table)
    }

    /// The statement that reads columns, of all blocks or of those from the first number to before the second.
    pub fn copy(&self, columns: &[&Attribute], (first, end): (u32, Option<u32>)) -> String {
        let list: Vec<String> = columns.iter().map(|column| column.expression()).collect();
        let mut conditions = Vec::new();
        if first > 0 {
            conditions.push(format!("ctid OPERATOR(pg_catalog.>=) '({first},0)'::pg_catalog.tid"));
        }
        if let Some(end) = end {
            conditions.push(format!("ctid OPERATOR(pg_catalog.<) '({end},0)'::pg_catalog.tid"));
        }
        let condition =
            if conditions.is_empty() { String::new() } else { format!(" WHERE {}", conditions.join(" AND ")) };
        format!("COPY (SELECT {} FROM {}{condition}) TO STDOUT (FORMAT BINARY)", list.join(", "), self.quoted())
    }
}

/// Looks a table up, for the first time.
pub async fn open(client: &Client, schema: &str, table: &str) -> Result<(Relation, DatabaseTable), String> {
    let failed = |error: tokio_postgres::Error| said(&error);
    let row = client.query_one(SERVER, &[]).await.map_err(failed)?;
    let encoding: String = row.try_get(1).map_err(failed)?;
    if encoding != "UTF8" {
        return Err(format!("the database is encoded in {encoding}, but only UTF8 can be read"));
    }
    let (database, host): (String, String) = (row.try_get(2).map_err(failed)?, row.try_get(3).map_err(failed)?);
    let (port, may_ask): (i32, bool) = (row.try_get(4).map_err(failed)?, row.try_get(5).map_err(failed)?);
    let server: String = match may_ask {
        true => client.query_one(SYSTEM, &[]).await.and_then(|row| row.try_get(0)).map_err(failed)?,
        false if host.contains(':') => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    };
    let relation = match describe(client, schema, table).await? {
        Some(relation) => relation,
        None => {
            let names = client.query(NAMES, &[&MOST_NAMES]).await.map_err(failed)?;
            let names = names.iter().filter_map(|row| Some((row.try_get(0).ok()?, row.try_get(1).ok()?)));
            let near =
                nearest(&written(schema, table), names.map(|(schema, table): (&str, &str)| written(schema, table)));
            return Err(format!("there is no table {} in the database {database}{near}", written(schema, table)));
        }
    };
    let sharing = client.query(SHARING, &[&relation.oid]).await.map_err(failed)?;
    let pair = |row: &Row| Ok((row.try_get(0)?, row.try_get(1)?));
    let sharing = sharing.iter().map(pair).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let identity = DatabaseTable::new(&server, &database, (schema, table), &sharing);
    Ok((relation, identity))
}

/// Describes a table; `None` if it does not exist. The error says why it cannot be read.
pub async fn describe(client: &Client, schema: &str, table: &str) -> Result<Option<Relation>, String> {
    let failed = |error: tokio_postgres::Error| said(&error);
    let shown = written(schema, table);
    let version: i32 = client.query_one(SERVER, &[]).await.and_then(|row| row.try_get(0)).map_err(failed)?;
    if version < EARLIEST {
        return Err("the server is older than PostgreSQL 12".to_owned());
    }
    let Some(row) = client.query_opt(RELATION, &[&schema, &table]).await.map_err(failed)? else { return Ok(None) };
    let (oid, kind): (u32, String) = (row.try_get(0).map_err(failed)?, row.try_get(1).map_err(failed)?);
    let flags = (2..8).map(|place| row.try_get(place)).collect::<Result<Vec<bool>, _>>().map_err(failed)?;
    let [is_filled, has_row_security, may_use_schema, may_read, may_read_all, has_rule] = flags[..] else {
        return Err("the catalogue has an unknown form".to_owned());
    };
    let copy = "read the tables themselves, or store it as a materialised view";
    match kind.as_str() {
        "r" | "p" | "m" => {}
        "v" => {
            return Err(format!(
                "{shown} is a view: computing it can fail, or take a time that depends on single rows; {copy}"
            ));
        }
        "f" => {
            return Err(format!(
                "{shown} is a foreign table, whose server may fail because of a row; copy it to a table"
            ));
        }
        _ => return Err(format!("{shown} is not a table")),
    }
    if has_rule {
        return Err(format!("{shown} has a rule for reading it, which can depend on rows; remove the rule"));
    }
    if !may_use_schema || !may_read {
        return Err(format!(
            "this role may not read {shown}; its owner can GRANT SELECT on it, and USAGE on its schema"
        ));
    }
    if has_row_security {
        return Err(format!(
            "row-level security applies to this role on {shown}, and its policies would be computed from rows; \
             use a role that it does not apply to"
        ));
    }
    if !is_filled {
        return Err(format!("the materialised view {shown} has not been filled; refresh it"));
    }
    let below = client.query(BELOW, &[&oid]).await.map_err(failed)?;
    let (mut stored, mut is_heap) = (Vec::new(), true);
    for row in &below {
        let (part, kind): (u32, String) = (row.try_get(0).map_err(failed)?, row.try_get(1).map_err(failed)?);
        let name: (String, String) = (row.try_get(2).map_err(failed)?, row.try_get(3).map_err(failed)?);
        let access: Option<String> = row.try_get(4).map_err(failed)?;
        match kind.as_str() {
            "r" | "m" => {
                stored.push(part);
                is_heap &= access.as_deref() == Some("heap");
            }
            "p" => {}
            _ => {
                let part = written(&name.0, &name.1);
                return Err(format!("{part}, a part of {shown}, is not a table of this database; copy it to one"));
            }
        }
    }
    let columns = client.query(COLUMNS, &[&oid]).await.map_err(failed)?;
    let attributes = columns.iter().map(Attribute::read).collect::<Result<_, _>>().map_err(failed)?;
    Ok(Some(Relation {
        oid,
        schema: schema.to_owned(),
        table: table.to_owned(),
        can_be_locked: kind != "m" && may_read_all,
        has_ranges: is_heap && version >= RANGES,
        stored,
        attributes,
    }))
}

/// The table with the most similar name.
fn nearest(wanted: &str, names: impl Iterator<Item = String>) -> String {
    /// Names less similar than this are not suggested.
    const ALIKE: f64 = 0.6;
    let wanted = wanted.to_lowercase();
    let alike = |name: &str| strsim::normalized_damerau_levenshtein(&wanted, &name.to_lowercase());
    let near = names.map(|name| (alike(&name), name)).filter(|(alike, _)| *alike >= ALIKE);
    let best = near.max_by(|one, other| one.0.total_cmp(&other.0).then_with(|| other.1.cmp(&one.1)));
    best.map_or(String::new(), |(_, name)| format!("; nearest: {name}"))
}

/// What a server said of a statement about the catalogue. Its DETAIL is left out.
fn said(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(error) => format!("the server says: {}", error.message()),
        None => reticent_postgres::chain(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(name: &str, kind: Kind, most: Option<usize>) -> Attribute {
        Attribute { name: name.into(), kind: Some(kind), most, data_type: String::new(), is_folded: false }
    }

    #[test]
    fn statements_name_columns_and_blocks_only() {
        let relation = Relation {
            oid: 1,
            schema: "a\"b".into(),
            table: "t; DROP".into(),
            can_be_locked: true,
            has_ranges: true,
            stored: vec![1],
            attributes: vec![
                attribute("n\"", Kind::Integer(4), None),
                attribute("t", Kind::Text, None),
                attribute("v", Kind::Text, Some(16_384)),
                attribute("w", Kind::Padded, Some(16_385)),
                attribute("b", Kind::Bytes, None),
            ],
        };
        let all: Vec<&Attribute> = relation.attributes.iter().collect();
        assert_eq!(
            relation.copy(&all[..1], (0, None)),
            r#"COPY (SELECT "n""" FROM "a""b"."t; DROP") TO STDOUT (FORMAT BINARY)"#
        );
        let text = relation.copy(&all[1..], (7, Some(9)));
        assert!(text.contains(
            r#"CASE WHEN pg_catalog.octet_length("t"::pg_catalog.text) OPERATOR(pg_catalog.<=) 65536 THEN "t"::pg_catalog.text END, "v", CASE WHEN"#
        ), "{text}");
        assert!(text.contains(r#"("b"::pg_catalog.bytea) OPERATOR(pg_catalog.<=) 32768 "#), "{text}");
        let blocks = "WHERE ctid OPERATOR(pg_catalog.>=) '(7,0)'::pg_catalog.tid AND ctid OPERATOR(pg_catalog.<) \
                      '(9,0)'::pg_catalog.tid) TO";
        assert!(text.contains(blocks), "{text}");
        assert!(relation.copy(&[], (0, None)).starts_with("COPY (SELECT  FROM"));
    }

    #[test]
    fn the_nearest_name_is_suggested() {
        let names = || ["public.visits", "public.staff"].map(str::to_owned).into_iter();
        assert_eq!(nearest("public.visit", names()), "; nearest: public.visits");
        assert_eq!(nearest("x.y", names()), "");
    }
}
