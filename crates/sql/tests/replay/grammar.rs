//! Random queries over the whole grammar: what is answered, in every combination, and what must be refused.

use std::collections::BTreeSet;

use reticent::privacy::{Adjacency, Guarantee};
use reticent_sql::{Options, Range, Unit};

use super::dice::Dice;
use super::expressions::Kind;

/// A query and its options.
pub struct Question {
    pub sql: String,
    pub options: Options,
    pub public_keys: bool,
    /// Its features.
    pub made: BTreeSet<&'static str>,
}

/// The FROM clause, and its columns as written outside it.
#[derive(Clone)]
pub struct Source {
    pub sql: String,
    pub columns: Vec<(String, Kind)>,
    /// The unit's column, if it is among them.
    pub unit: Option<String>,
}

/// A WITH clause: its name, columns and unit, and whether it is private.
type Named = (String, Vec<(String, Kind)>, Option<String>, bool);

/// Writes a query.
pub struct Writer<'a> {
    pub dice: &'a mut Dice,
    pub made: BTreeSet<&'static str>,
    by_user: bool,
    aliases: u32,
    with: Vec<String>,
    named: Vec<Named>,
}

/// Aliases for columns: some are the names of other columns, of the unit, or of nothing.
const NAMES: [&str; 14] =
    ["x1", "y1", "a", "b", "user_id", "USER_ID", "region", "u", "0", "t", "__reticent_unit_1", "k", "Note", "count"];

impl Writer<'_> {
    fn alias(&mut self) -> String {
        self.aliases += 1;
        match self.dice.below(6) {
            0 => format!("\"T{}\"", self.aliases),
            1 => format!("\"user_id {}\"", self.aliases),
            _ => format!("s{}", self.aliases),
        }
    }

    /// A number of distinct names, quoted.
    fn names(&mut self, number: usize) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        while names.len() < number {
            let name = format!("\"{}\"", self.dice.pick(&NAMES));
            let name = if names.contains(&name) { format!("\"c{}\"", names.len()) } else { name };
            names.push(name);
        }
        names
    }

    fn base(&mut self, table: &str, columns: &[(&str, Kind)], unit: Option<&str>) -> Source {
        let alias = self.alias();
        let name = match self.dice.below(8) {
            0 => table.to_uppercase(),
            1 => format!("\"{table}\""),
            _ => table.to_owned(),
        };
        let columns = columns.iter().map(|(name, kind)| (format!("{alias}.{name}"), *kind)).collect();
        Source { sql: format!("{name} AS {alias}"), columns, unit: unit.map(|unit| format!("{alias}.{unit}")) }
    }

    fn private_table(&mut self) -> Source {
        use Kind::{Number, Text};
        let columns = [("user_id", Text), ("region", Text), ("a", Number), ("b", Number), ("note", Text)];
        let table = self.dice.pick(&["t", "t", "u"]);
        self.base(table, &columns, Some("user_id"))
    }

    /// Wraps a sub-query in a new alias.
    fn aliased(&mut self, query: &str, names: &[String], kinds: &[Kind], has_unit: bool) -> Source {
        let alias = self.alias();
        let (renamed, names) = match self.dice.one_in(6) {
            true => {
                self.made.insert("columns renamed by an alias");
                let new = self.names(names.len());
                (format!("({})", new.join(", ")), new)
            }
            false => (String::new(), names.to_vec()),
        };
        let unit = has_unit.then(|| format!("{alias}.{}", names[0]));
        let columns = names.iter().zip(kinds).map(|(name, kind)| (format!("{alias}.{name}"), *kind)).collect();
        Source { sql: format!("({query}) AS {alias}{renamed}"), columns, unit }
    }

    /// Private rows.
    pub fn private(&mut self, depth: u32) -> Source {
        if depth == 0 {
            return self.private_table();
        }
        match self.dice.below(14) {
            0 | 1 => self.projected(depth),
            2 | 3 if self.by_user => self.within(depth),
            4 if self.by_user => self.joined_on_the_unit(depth),
            5 | 6 => self.joined_with_public(depth),
            7 => self.union(depth),
            8 | 9 => self.common(depth, true),
            10 if self.by_user => {
                self.made.insert("VALUES");
                let inner = self.private(depth - 1);
                let values = self.values();
                self.made.insert("CROSS JOIN");
                together(inner, values, "CROSS JOIN", "")
            }
            11 => {
                self.made.insert("nested join");
                let inner = self.joined_with_public(depth);
                Source { sql: format!("({})", inner.sql), ..inner }
            }
            _ => self.private_table(),
        }
    }

    fn projected(&mut self, depth: u32) -> Source {
        self.made.insert("sub-query");
        let inner = self.private(depth - 1);
        let (mut names, mut kinds) = (self.names(4), vec![Kind::Text]);
        let mut listed = Vec::new();
        match &inner.unit {
            Some(unit) => listed.push(format!("{unit} AS {}", names[0])),
            None => drop(names.remove(0)),
        }
        if inner.unit.is_none() {
            kinds.clear();
        }
        let first = listed.len();
        for name in names.iter().skip(first) {
            let kind = Kind::roll(self.dice);
            listed.push(format!("{} AS {name}", self.expression(kind, &inner.columns, 2)));
            kinds.push(kind);
        }
        let condition = self.condition(&inner, 3);
        let query = format!("SELECT {} FROM {}{condition}", listed.join(", "), inner.sql);
        self.aliased(&query, &names, &kinds, inner.unit.is_some())
    }

    fn condition(&mut self, of: &Source, one_in: u64) -> String {
        if !self.dice.one_in(one_in) {
            return String::new();
        }
        self.made.insert("WHERE");
        match self.dice.below(6) {
            0 => {
                self.made.insert("IN (SELECT …)");
                let text = self.expression(Kind::Text, &of.columns, 1);
                let public = self.public(1);
                let listed = public.columns.iter().find(|(_, kind)| *kind == Kind::Text);
                let listed = listed.map_or_else(|| "'north'".to_owned(), |(name, _)| name.clone());
                let not = if self.dice.one_in(3) { "NOT " } else { "" };
                format!(" WHERE {text} {not}IN (SELECT {listed} FROM {})", public.sql)
            }
            1 => {
                self.made.insert("scalar sub-query");
                let number = self.expression(Kind::Number, &of.columns, 1);
                let public = self.public(1);
                format!(" WHERE {number} >= (SELECT COUNT(*) - 3 FROM {})", public.sql)
            }
            2 => {
                self.made.insert("EXISTS");
                let (public, condition) = (self.public(1), self.expression(Kind::Boolean, &of.columns, 1));
                format!(" WHERE EXISTS (SELECT 1 FROM {}) OR {condition}", public.sql)
            }
            _ => format!(" WHERE {}", self.expression(Kind::Boolean, &of.columns, 2)),
        }
    }

    fn within(&mut self, depth: u32) -> Source {
        let inner = self.private(depth - 1);
        let Some(unit) = inner.unit.clone() else { return inner };
        self.made.insert("aggregates within a unit");
        let (names, mut kinds) = (self.names(4), vec![Kind::Text]);
        let mut listed = vec![format!("{unit} AS {}", names[0])];
        for name in &names[1..] {
            let (aggregate, kind) = self.open_aggregate(&inner.columns);
            listed.push(format!("{aggregate} AS {name}"));
            kinds.push(kind);
        }
        let more = match self.dice.one_in(3) {
            true => format!(", {}", self.expression(Kind::Text, &inner.columns, 1)),
            false => String::new(),
        };
        let having = match self.dice.one_in(4) {
            true => {
                self.made.insert("HAVING within a unit");
                " HAVING COUNT(*) > 1".to_owned()
            }
            false => String::new(),
        };
        let condition = self.condition(&inner, 4);
        let mut by = format!("{unit}{more}");
        // Without the unit, groups would hold rows of several units: this must not be answered as if they did not.
        if self.dice.one_in(6) {
            listed[0] = format!("MIN({unit}) AS {}", names[0]);
            by = self.expression(Kind::Text, &inner.columns, 1);
        }
        let query = format!("SELECT {} FROM {}{condition} GROUP BY {by}{having}", listed.join(", "), inner.sql);
        self.aliased(&query, &names, &kinds, true)
    }

    fn joined_on_the_unit(&mut self, depth: u32) -> Source {
        let left = self.private(depth - 1);
        let again = !self.named.is_empty() && self.dice.one_in(2);
        let right = if again { self.common(depth, true) } else { self.private(depth - 1) };
        let (Some(ours), Some(theirs)) = (&left.unit, &right.unit) else { return left };
        let kind = self.dice.pick(&["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN"]);
        self.made.insert(match kind {
            "LEFT JOIN" => "LEFT JOIN on the unit",
            "RIGHT JOIN" => "RIGHT JOIN on the unit",
            _ => "JOIN on the unit",
        });
        let both: Vec<(String, Kind)> = left.columns.iter().chain(&right.columns).cloned().collect();
        let on = match self.dice.below(3) {
            0 => format!("{ours} = {theirs} AND {}", self.expression(Kind::Boolean, &both, 1)),
            1 => format!("{theirs} = {ours}"),
            _ => format!("{ours} = {theirs}"),
        };
        let unit = if kind == "RIGHT JOIN" { right.unit.clone() } else { left.unit.clone() };
        Source { unit, ..together(left, right, kind, &format!(" ON {on}")) }
    }

    fn joined_with_public(&mut self, depth: u32) -> Source {
        let (private, public) = (self.private(depth - 1), self.public(depth - 1));
        let text =
            |source: &Source| source.columns.iter().find(|(_, kind)| *kind == Kind::Text).map(|(name, _)| name.clone());
        let Some(theirs) = text(&public) else { return private };
        let region = private.columns.iter().find(|(name, _)| name.ends_with("region")).map(|(name, _)| name.clone());
        let ours = match region.filter(|_| self.dice.one_in(2)) {
            Some(region) => region,
            None => self.expression(Kind::Text, &private.columns, 1),
        };
        let both: Vec<(String, Kind)> = private.columns.iter().chain(&public.columns).cloned().collect();
        let more = match self.dice.one_in(3) {
            true => format!(" AND {}", self.expression(Kind::Boolean, &both, 1)),
            false => String::new(),
        };
        let on = format!(" ON {ours} = {theirs}{more}");
        match self.dice.below(6) {
            0 => {
                self.made.insert("LEFT JOIN with a public table");
                together(private, public, "LEFT JOIN", &on)
            }
            1 => {
                self.made.insert("RIGHT JOIN from a public table");
                let unit = private.unit.clone();
                Source { unit, ..together(public, private, "RIGHT JOIN", &on) }
            }
            2 => {
                self.made.insert("public table first");
                let unit = private.unit.clone();
                Source { unit, ..together(public, private, "JOIN", &on) }
            }
            3 => {
                self.made.insert("USING");
                let (one, other) = (self.alias(), self.alias());
                let number = if self.dice.one_in(2) { "a" } else { "b" };
                Source {
                    sql: format!("t AS {one} JOIN (SELECT label AS region, size FROM r) AS {other} USING (region)"),
                    columns: vec![
                        (format!("{one}.user_id"), Kind::Text),
                        ("region".into(), Kind::Text),
                        (format!("{other}.size"), Kind::Text),
                        (format!("{one}.{number}"), Kind::Number),
                    ],
                    unit: Some(format!("{one}.user_id")),
                }
            }
            _ => {
                self.made.insert("JOIN with a public table");
                together(private, public, "JOIN", &on)
            }
        }
    }

    fn union(&mut self, depth: u32) -> Source {
        self.made.insert("UNION ALL");
        let one = self.private(depth - 1);
        let again = !self.named.is_empty() && self.dice.one_in(2);
        let other = if again { self.common(depth, true) } else { self.private_table() };
        let side = |writer: &mut Self, source: &Source| {
            let unit = source.unit.clone().unwrap_or_else(|| "'nobody'".into());
            let (number, text) = (
                writer.expression(Kind::Number, &source.columns, 1),
                writer.expression(Kind::Text, &source.columns, 1),
            );
            format!("SELECT {unit} AS user_id, {number} AS n, {text} AS w FROM {}", source.sql)
        };
        let query = format!("{} UNION ALL {}", side(self, &one), side(self, &other));
        let names = ["user_id", "n", "w"].map(String::from);
        self.aliased(&query, &names, &[Kind::Text, Kind::Number, Kind::Text], one.unit.is_some())
    }

    /// A WITH name: a new one, or one that is used again.
    fn common(&mut self, depth: u32, private: bool) -> Source {
        let known: Vec<_> = self.named.iter().filter(|(.., is_private)| *is_private == private).cloned().collect();
        let (name, columns, unit, _) = match known.last() {
            Some(known) if !self.dice.one_in(3) => {
                self.made.insert("WITH used twice");
                known.clone()
            }
            _ => {
                self.made.insert("WITH");
                let inner = if private { self.private(depth - 1) } else { self.public(depth - 1) };
                let (names, number) = (self.names(4), self.expression(Kind::Number, &inner.columns, 1));
                let text = self.expression(Kind::Text, &inner.columns, 1);
                let unit = inner.unit.clone().unwrap_or_else(|| "'none'".into());
                let listed = format!("{unit} AS {}, {number} AS {}, {text} AS {}", names[0], names[1], names[2]);
                let name = format!("w{}", self.with.len());
                self.with.push(format!("{name} AS (SELECT {listed} FROM {})", inner.sql));
                let kinds = [Kind::Text, Kind::Number, Kind::Text];
                let columns = names.iter().cloned().zip(kinds).collect();
                let has_unit = inner.unit.is_some().then(|| names[0].clone());
                self.named.push((name, columns, has_unit, private));
                self.named[self.named.len() - 1].clone()
            }
        };
        let alias = self.alias();
        Source {
            sql: format!("{name} AS {alias}"),
            columns: columns.into_iter().map(|(name, kind)| (format!("{alias}.{name}"), kind)).collect(),
            unit: unit.map(|unit| format!("{alias}.{unit}")),
        }
    }

    fn values(&mut self) -> Source {
        let alias = self.alias();
        let names = self.names(2);
        // Often one twice: a private row then has several matches.
        let texts = ["'north'", "'north'", "'south'", "'south'", "'u1'", "NULL", "''"];
        let rows: Vec<String> =
            (0..=self.dice.below(4)).map(|row| format!("({}, {row})", self.dice.pick(&texts))).collect();
        let columns =
            vec![(format!("{alias}.{}", names[0]), Kind::Text), (format!("{alias}.{}", names[1]), Kind::Number)];
        Source { sql: format!("(VALUES {}) AS {alias}({})", rows.join(", "), names.join(", ")), columns, unit: None }
    }

    /// Rows that are not private.
    pub fn public(&mut self, depth: u32) -> Source {
        use Kind::{Number, Text};
        let table = |writer: &mut Self| writer.base("r", &[("label", Text), ("size", Text)], None);
        match self.dice.below(9) {
            0..=5 if depth == 0 => table(self),
            2 => {
                self.made.insert("public aggregates");
                let inner = table(self);
                let (aggregate, kind) = self.open_aggregate(&inner.columns);
                let key = inner.columns[0].0.clone();
                let query = format!("SELECT {key} AS label, {aggregate} AS v FROM {} GROUP BY {key}", inner.sql);
                self.aliased(&query, &["label".into(), "v".into()], &[Text, kind], false)
            }
            3 => {
                self.made.insert("public ORDER BY and LIMIT");
                let inner = table(self);
                let (label, size) = (inner.columns[0].0.clone(), inner.columns[1].0.clone());
                let query = format!(
                    "SELECT {label} AS label, {size} AS v FROM {} ORDER BY {size} DESC LIMIT 2 OFFSET 1",
                    inner.sql
                );
                self.aliased(&query, &["label".into(), "v".into()], &[Text, Text], false)
            }
            4 => {
                self.made.insert("public casts that fail");
                let inner = table(self);
                let label = inner.columns[0].0.clone();
                let query = format!("SELECT {label} AS label, CAST({label} AS INT) / 0 AS v FROM {}", inner.sql);
                self.aliased(&query, &["label".into(), "v".into()], &[Text, Number], false)
            }
            5 => {
                self.made.insert("public DISTINCT");
                let inner = self.public(depth - 1);
                let text = self.expression(Text, &inner.columns, 1);
                let query = format!("SELECT DISTINCT {text} AS label FROM {}", inner.sql);
                self.aliased(&query, &["label".into()], &[Text], false)
            }
            6 if depth > 0 => self.common(depth, false),
            6..=8 => {
                self.made.insert("VALUES");
                self.values()
            }
            _ => table(self),
        }
    }
}

fn together(left: Source, right: Source, kind: &str, on: &str) -> Source {
    Source {
        sql: format!("{} {kind} {}{on}", left.sql, right.sql),
        unit: left.unit.clone(),
        columns: left.columns.into_iter().chain(right.columns).collect(),
    }
}

/// The aggregates of the groups.
const AGGREGATES: [(&str, &str); 16] = [
    ("COUNT(*)", "COUNT"),
    ("COUNT(*)", "COUNT"),
    ("COUNT(x)", "COUNT"),
    ("SUM(x)", "SUM"),
    ("AVG(x)", "AVG"),
    ("AVG(y)", "AVG"),
    ("VARIANCE(x)", "VARIANCE"),
    ("STDDEV_POP(y)", "STDDEV"),
    ("MEDIAN(x)", "quantiles"),
    ("QUANTILE(y, 0.9)", "quantiles"),
    ("PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY x)", "quantiles"),
    ("STABLE_MEDIAN(x)", "STABLE_MEDIAN"),
    ("MODE(k)", "MODE"),
    ("HISTOGRAM(x, 4)", "HISTOGRAM"),
    ("SUM(x) FILTER (WHERE y > 0)", "FILTER"),
    ("COUNT(DISTINCT id)", "COUNT(DISTINCT unit)"),
];

/// What must be refused, whatever else is in the query: `{t}` is private rows, `{id}` their unit.
const REFUSED: [&str; 14] = [
    "SELECT COUNT(*) FROM (SELECT *, row_number() OVER (ORDER BY 1) AS r FROM {t}) AS q",
    "SELECT COUNT(*) FROM {t} WHERE EXISTS (SELECT 1 FROM r WHERE r.label = {id})",
    "SELECT COUNT(*) FROM {t}, LATERAL (SELECT label FROM r WHERE label = {id}) AS l",
    "SELECT COUNT(*) FROM t TABLESAMPLE BERNOULLI (50)",
    "WITH RECURSIVE c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c) SELECT COUNT(*) FROM t, c",
    "SELECT COUNT(*) FROM {t} WHERE random() < 0.5",
    "SELECT {id} FROM {t}",
    "SELECT DISTINCT {id} FROM {t}",
    "SELECT COUNT(*) FROM (SELECT {id} AS i FROM {t} LIMIT 1) AS q",
    "SELECT COUNT(*) FROM (SELECT {id} AS i FROM {t} ORDER BY 1) AS q",
    "SELECT COUNT(*) FROM t WHERE user_id IN (SELECT {id} FROM {t})",
    "SELECT COUNT(*) FROM (SELECT {id} AS i FROM {t} EXCEPT SELECT label FROM r) AS q",
    "SELECT COUNT(*) FROM r FULL JOIN {t} ON r.label = {id}",
    "SELECT MAX({id}) FROM {t}",
];

impl Question {
    pub fn roll(dice: &mut Dice) -> Self {
        let by_user = !dice.one_in(4);
        let guarantee = Guarantee::Approx("1".parse().expect("a number"), "1e-6".parse().expect("a number"));
        let mut options = Options::new(guarantee);
        options.now = 1_763_000_000_000_000;
        if by_user {
            options.unit = Unit::Column("user_id".into());
            options.max_groups = Some(1 + dice.below(3));
            options.max_rows = Some(1 + dice.below(3));
        }
        let weighed = by_user && dice.one_in(4);
        if weighed {
            (options.max_groups, options.max_rows) = (None, None);
        }
        if dice.one_in(2) {
            options.adjacency = Adjacency::Replace;
        }
        for (name, range) in [("x", "-10..20"), ("y", "0..1000"), ("a", "-10..20"), ("b", "-10..20")] {
            options.bounds.insert(name.into(), Range::Public(range.parse().expect("a range")));
        }
        let made = BTreeSet::from_iter(weighed.then_some("no caps"));
        let mut writer = Writer { dice, made, by_user, aliases: 0, with: Vec::new(), named: Vec::new() };
        let depth = 1 + writer.dice.below(3) as u32;
        let source = writer.private(depth);
        let unit = source.unit.clone();
        if writer.dice.one_in(25) {
            let template = writer.dice.pick(&REFUSED);
            let id = unit.unwrap_or_else(|| "1".into());
            let query = template.replace("{t}", &source.sql).replace("{id}", &id);
            let sql = if query.starts_with("WITH") { query } else { writer.with_all(&query) };
            return Self { sql, options, public_keys: false, made: BTreeSet::from(["refused"]) };
        }
        let id = unit.clone().unwrap_or_else(|| "'nobody'".into());
        let condition = writer.condition(&source, 2);
        let grouped = !writer.dice.one_in(4);
        let by_region = writer.dice.one_in(3);
        let regions = source.columns.iter().find(|(name, _)| name.ends_with("region")).map(|(name, _)| name.clone());
        let key = match regions {
            Some(region) if by_region => region,
            _ => {
                let kind = Kind::roll(writer.dice);
                writer.expression(kind, &source.columns, 2)
            }
        };
        let public_keys = grouped && by_region && key.ends_with("region") && writer.dice.one_in(2);
        if public_keys {
            writer.made.insert("public keys");
            options.keys.insert("k".into(), ["north", "south", "east", "nowhere"].map(String::from).into());
        }
        let (x, y) =
            (writer.expression(Kind::Number, &source.columns, 3), writer.expression(Kind::Number, &source.columns, 2));
        let inner = format!("SELECT {id} AS id, {key} AS k, {x} AS x, {y} AS y FROM {}{condition}", source.sql);
        let mut asked: Vec<String> = Vec::new();
        for _ in 0..=writer.dice.below(3) {
            let (aggregate, name) = AGGREGATES[writer.dice.below(AGGREGATES.len() as u64) as usize];
            let counts_units = name == "COUNT(DISTINCT unit)";
            if !asked.iter().any(|known| known == aggregate) && (!counts_units || unit.is_some() && by_user) {
                asked.push(aggregate.to_owned());
                writer.made.insert(name);
            }
        }
        if asked.is_empty() {
            asked.push("COUNT(*)".into());
        }
        let is_stable = |one: &String| one.starts_with("STABLE") || one.starts_with("MODE");
        if (!grouped || public_keys) && !asked.iter().any(is_stable) && !writer.dice.one_in(4) {
            writer.made.insert("pure");
            options.guarantee = Guarantee::Pure("1".parse().expect("a number"));
        }
        let named: Vec<String> = asked.iter().enumerate().map(|(place, one)| format!("{one} AS v{place}")).collect();
        let (keys, by) = if grouped { ("k, ", " GROUP BY k") } else { ("", "") };
        let after = match writer.dice.below(9) {
            0 => {
                writer.made.insert("HAVING");
                " HAVING COUNT(*) > 2"
            }
            1 if grouped => {
                writer.made.insert("ORDER BY and LIMIT");
                " ORDER BY k DESC NULLS LAST LIMIT 3"
            }
            2 => {
                writer.made.insert("OFFSET");
                " ORDER BY 1 LIMIT 5 OFFSET 1"
            }
            _ => "",
        };
        let query = format!("SELECT {keys}{} FROM ({inner}) AS q{by}{after}", named.join(", "));
        let opaque = asked.iter().any(|one| one.starts_with("HISTOGRAM"));
        let (query, wrapped) = match writer.dice.below(12) {
            0 if !opaque => {
                writer.made.insert("DISTINCT of released values");
                (format!("SELECT DISTINCT v0 FROM ({query}) AS z"), true)
            }
            1 if !opaque => {
                writer.made.insert("aggregates of released values");
                (format!("SELECT COUNT(*) AS n, MAX(v0) AS m FROM ({query}) AS z"), true)
            }
            2 if grouped && !opaque => {
                writer.made.insert("released values joined with public ones");
                (format!("SELECT z.v0, r.size FROM ({query}) AS z CROSS JOIN r"), true)
            }
            _ => (query, false),
        };
        let sql = writer.with_all(&query);
        let public_keys = public_keys && after.is_empty() && !wrapped;
        Self { sql, options, public_keys, made: writer.made }
    }
}

impl Writer<'_> {
    fn with_all(&self, query: &str) -> String {
        if self.with.is_empty() { query.to_owned() } else { format!("WITH {} {query}", self.with.join(", ")) }
    }
}
