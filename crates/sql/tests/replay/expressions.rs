//! Random expressions: every supported function, in random nesting.

use super::dice::Dice;
use super::grammar::Writer;

/// The types of columns here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Number,
    Text,
    Boolean,
    Date,
    Timestamp,
}

impl Kind {
    pub fn roll(dice: &mut Dice) -> Self {
        match dice.below(10) {
            0..4 => Self::Text,
            4..8 => Self::Number,
            8 => Self::Boolean,
            _ => Self::Date,
        }
    }
}

/// Templates of expressions: `{n}`, `{t}`, `{c}`, `{d}` and `{s}` are other numbers, texts, conditions, dates and
/// timestamps.
const NUMBERS: [&str; 64] = [
    "({n} + {n})",
    "({n} - {n})",
    "({n} * {n})",
    "({n} / {n})",
    "({n} % {n})",
    "(- {n})",
    "abs({n})",
    "sign({n})",
    "signum({n})",
    "ceil({n})",
    "ceiling({n})",
    "floor({n})",
    "round({n})",
    "round({n}, 2)",
    "round({n}, -1)",
    "trunc({n}, 1)",
    "truncate({n})",
    "sqrt({n})",
    "cbrt({n})",
    "exp({n})",
    "ln({n})",
    "log({n})",
    "log({n}, {n})",
    "log2({n})",
    "log10({n})",
    "power({n}, {n})",
    "pow({n}, 2)",
    "sin({n})",
    "cos({n})",
    "tan({n})",
    "asin({n})",
    "acos({n})",
    "atan({n})",
    "atan2({n}, {n})",
    "radians({n})",
    "degrees({n})",
    "(pi() * {n})",
    "coalesce({n}, {n}, 3)",
    "ifnull({n}, 0)",
    "nvl({n}, {n})",
    "nullif({n}, {n})",
    "greatest({n}, {n})",
    "least({n}, {n}, 7)",
    "CASE WHEN {c} THEN {n} WHEN {c} THEN {n} ELSE 1 END",
    "CASE {t} WHEN 'a' THEN {n} END",
    "if({c}, {n}, {n})",
    "CAST({t} AS DOUBLE)",
    "CAST({t} AS INT)",
    "CAST({n} AS BIGINT)",
    "(CAST({n} AS BIGINT) / CAST({n} AS BIGINT))",
    "(CAST({n} AS BIGINT) % CAST({n} AS BIGINT))",
    "(- CAST({n} AS BIGINT))",
    "(CAST({n} AS BIGINT) * CAST({n} AS BIGINT))",
    "length({t})",
    "octet_length({t})",
    "strpos({t}, {t})",
    "position('a' IN {t})",
    "extract(year FROM {s})",
    "extract(dow FROM {d})",
    "date_part('week', {s})",
    "year({d})",
    "({d} - {d})",
    "extract(epoch FROM now())",
    "CAST({c} AS INT)",
];
const TEXTS: [&str; 34] = [
    "lower({t})",
    "upper({t})",
    "trim({t})",
    "trim(BOTH 'a' FROM {t})",
    "ltrim({t}, {t})",
    "rtrim({t})",
    "btrim({t}, 'x')",
    "reverse({t})",
    "concat({t}, {t}, NULL)",
    "({t} || {t})",
    "left({t}, 2)",
    "right({t}, -1)",
    "substr({t}, 2)",
    "substring({t} FROM 1 FOR 2)",
    "replace({t}, {t}, {t})",
    "replace({t}, 'a', 'aaaaaaaaaaaaaaaa')",
    "split_part({t}, '-', 2)",
    "repeat({t}, 3)",
    "repeat({t}, CAST({n} AS INT))",
    "lpad({t}, 9, {t})",
    "rpad({t}, 3)",
    "regexp_replace({t}, '[a-z]', 'é', 'g')",
    "coalesce({t}, {t})",
    "nullif({t}, 'a')",
    "greatest({t}, {t})",
    "CASE WHEN {c} THEN {t} ELSE {t} END",
    "if({c}, {t}, {t})",
    "CAST({n} AS VARCHAR)",
    "CAST({d} AS VARCHAR)",
    "CAST({s} AS VARCHAR)",
    "CAST({c} AS VARCHAR)",
    "upper(left({t}, 1))",
    "CAST(CAST({n} AS BIGINT) AS VARCHAR)",
    "CASE WHEN {n} > 5 THEN 'many' ELSE 'few' END",
];
const CONDITIONS: [&str; 34] = [
    "{n} > {n}",
    "{n} >= 3",
    "{n} = {n}",
    "{n} <> {n}",
    "{n} < 0",
    "{n} <= {n}",
    "{t} = {t}",
    "{t} < {t}",
    "{d} < DATE '2020-01-01'",
    "{s} >= TIMESTAMP '2019-02-28 00:00:00'",
    "{t} IS NULL",
    "{n} IS NOT NULL",
    "({c}) IS TRUE",
    "({c}) IS NOT FALSE",
    "NOT ({c})",
    "(({c}) AND ({c}))",
    "(({c}) OR ({c}))",
    "{n} BETWEEN {n} AND {n}",
    "{t} NOT BETWEEN 'a' AND 'o'",
    "{t} IN ('north', 'u1', NULL)",
    "{t} NOT IN ('north', {t})",
    "{n} IN (1, 2.5, {n})",
    "{t} LIKE '%a%'",
    "{t} NOT LIKE 'n_rth'",
    "{t} ILIKE 'N%'",
    "{t} ~ '^[a-z]'",
    "{t} !~* 'O'",
    "regexp_like({t}, '[0-9]')",
    "starts_with({t}, {t})",
    "ends_with({t}, 'h')",
    "contains({t}, {t})",
    "{t} IS DISTINCT FROM {t}",
    "{n} IS NOT DISTINCT FROM {n}",
    "now() = current_timestamp",
];
const DATES: [&str; 6] = [
    "CAST({t} AS DATE)",
    "to_date({t})",
    "date_trunc('month', CAST({t} AS DATE))",
    "(CAST({t} AS DATE) + INTERVAL '1 month')",
    "(CAST({t} AS DATE) + 7)",
    "current_date",
];
const TIMESTAMPS: [&str; 5] = [
    "CAST({t} AS TIMESTAMP)",
    "to_timestamp({t})",
    "date_trunc('hour', CAST({t} AS TIMESTAMP))",
    "(CAST({t} AS TIMESTAMP) - INTERVAL '90 minutes')",
    "now()",
];
/// Aggregates of one unit's rows, or of public ones.
const OPEN: [(&str, Kind); 18] = [
    ("COUNT(*)", Kind::Number),
    ("COUNT({t})", Kind::Number),
    ("COUNT(DISTINCT {t})", Kind::Number),
    ("SUM({n})", Kind::Number),
    ("AVG({n})", Kind::Number),
    ("MIN({n})", Kind::Number),
    ("MAX({t})", Kind::Text),
    ("MIN({t})", Kind::Text),
    ("MAX({d})", Kind::Date),
    ("MEDIAN({n})", Kind::Number),
    ("QUANTILE({n}, 0.9)", Kind::Number),
    ("MODE({t})", Kind::Text),
    ("MODE({n})", Kind::Number),
    ("VARIANCE({n})", Kind::Number),
    ("STDDEV_POP({n})", Kind::Number),
    ("BOOL_AND({c})", Kind::Boolean),
    ("BOOL_OR({c})", Kind::Boolean),
    ("SUM({n}) FILTER (WHERE {c})", Kind::Number),
];

impl Writer<'_> {
    /// An expression of this type over these columns.
    pub fn expression(&mut self, kind: Kind, columns: &[(String, Kind)], depth: u32) -> String {
        let of_kind: Vec<&String> = columns.iter().filter(|(_, known)| *known == kind).map(|(name, _)| name).collect();
        if depth == 0 || (!of_kind.is_empty() && self.dice.one_in(3)) {
            if let Some(place) = (!of_kind.is_empty()).then(|| self.dice.below(of_kind.len() as u64) as usize) {
                return of_kind[place].clone();
            }
            return match kind {
                Kind::Number => self.dice.pick(&["0", "1", "-1", "2.5", "9223372036854775807", "1e300"]),
                Kind::Text => self.dice.pick(&["'a'", "''", "'north'", "'2019-02-28'", "'é'"]),
                Kind::Boolean => self.dice.pick(&["true", "1 = 1", "NULL IS NULL"]),
                Kind::Date => "DATE '2020-02-29'",
                Kind::Timestamp => "TIMESTAMP '2020-02-29T12:00:00'",
            }
            .to_owned();
        }
        let pattern = match kind {
            Kind::Number => self.dice.pick(&NUMBERS),
            Kind::Text => self.dice.pick(&TEXTS),
            Kind::Boolean => self.dice.pick(&CONDITIONS),
            Kind::Date => self.dice.pick(&DATES),
            Kind::Timestamp => self.dice.pick(&TIMESTAMPS),
        };
        self.filled(pattern, columns, depth - 1)
    }

    /// An exact aggregate, and its type.
    pub fn open_aggregate(&mut self, columns: &[(String, Kind)]) -> (String, Kind) {
        let (pattern, kind) = OPEN[self.dice.below(OPEN.len() as u64) as usize];
        (self.filled(pattern, columns, 1), kind)
    }

    fn filled(&mut self, pattern: &'static str, columns: &[(String, Kind)], depth: u32) -> String {
        for (mark, name) in [
            ("now()", "clock"),
            ("current_date", "clock"),
            ("CASE", "CASE"),
            ("regexp", "patterns"),
            ("LIKE", "patterns"),
        ] {
            if pattern.contains(mark) {
                self.made.insert(name);
            }
        }
        let mut text = String::new();
        let mut rest = pattern;
        while let Some(place) = rest.find('{') {
            text += &rest[..place];
            let kind = match &rest[place + 1..place + 2] {
                "n" => Kind::Number,
                "t" => Kind::Text,
                "c" => Kind::Boolean,
                "d" => Kind::Date,
                _ => Kind::Timestamp,
            };
            text += &self.expression(kind, columns, depth);
            rest = &rest[place + 3..];
        }
        text + rest
    }
}
