//! The FROM clause: tables, sub-queries, aliases.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_select::concat::concat;
use reticent_table::{Request, UnitColumn};
use sqlparser::ast::{self, TableFactor};

use super::Resolver;
use super::query::{refuse, refused};
use super::scope::{Body, Named, Relation, Written, find};
use reticent::message;

use crate::algebra::data::sound;
use crate::algebra::{Data, Plain, Rows, Type};
use crate::error::{Error, Result, no_such};
use crate::options::{Range, Unit};
use crate::query::Input;

impl Resolver<'_> {
    /// Joins everything after FROM; without FROM, one row without columns.
    pub(super) fn from(&mut self, tables: &[ast::TableWithJoins]) -> Result<Relation> {
        let mut all: Option<Relation> = None;
        for table in tables {
            let next = self.with_joins(table)?;
            all = Some(match all {
                None => next,
                Some(before) => self.cross(before, next)?,
            });
        }
        let nothing = || Plain::Table(Arc::new(Data::unit_row()));
        Ok(all.unwrap_or_else(|| Relation { body: Body::Public(Arc::new(nothing())), columns: Vec::new() }))
    }

    fn with_joins(&mut self, written: &ast::TableWithJoins) -> Result<Relation> {
        let mut relation = self.factor(&written.relation)?;
        for ast::Join { relation: right, global, join_operator } in &written.joins {
            refuse(&[(*global, "GLOBAL")])?;
            let right = self.factor(right)?;
            relation = self.join(relation, right, join_operator)?;
        }
        Ok(relation)
    }

    fn factor(&mut self, written: &TableFactor) -> Result<Relation> {
        self.count_node()?;
        match written {
            TableFactor::Table {
                name,
                alias,
                args,
                with_hints,
                version,
                with_ordinality,
                partitions,
                json_path,
                sample,
                index_hints,
            } => {
                if sample.is_some() {
                    let why = "every row is read; `reticent subsample` works on samples";
                    return Err(Error::unsupported("TABLESAMPLE", why));
                }
                refuse(&[
                    (args.is_some(), "a table function"),
                    (!with_hints.is_empty(), "WITH hints"),
                    (version.is_some(), "a version of a table"),
                    (*with_ordinality, "WITH ORDINALITY"),
                    (!partitions.is_empty(), "PARTITION"),
                    (json_path.is_some(), "a path into a table"),
                    (!index_hints.is_empty(), "an index hint"),
                ])?;
                let relation = self.table(name)?;
                self.renamed(relation, alias.as_ref())
            }
            TableFactor::Derived { lateral, subquery, alias, sample } => {
                refuse(&[(*lateral, "LATERAL"), (sample.is_some(), "TABLESAMPLE")])?;
                let relation = self.query(subquery, true)?;
                let relation = Relation {
                    columns: relation.columns.into_iter().map(|column| Named { qualifier: None, ..column }).collect(),
                    ..relation
                };
                self.renamed(relation, alias.as_ref())
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                let relation = self.with_joins(table_with_joins)?;
                self.renamed(relation, alias.as_ref())
            }
            other => Err(refused(&other.to_string())),
        }
    }

    fn table(&mut self, name: &ast::ObjectName) -> Result<Relation> {
        let Some(ident) = name.0.last().and_then(ast::ObjectNamePart::as_ident) else {
            return Err(Error::Name(format!("{name} is not the name of a table")));
        };
        let written = Written { name: &ident.value, quoted: ident.quote_style.is_some() };
        if name.0.len() == 1 {
            // The innermost WITH takes precedence.
            let known = self.named.iter().rev().find(|(known, _)| *known == ident.value);
            if let Some((_, relation)) = known.or_else(|| {
                self.named.iter().rev().find(|(known, _)| !written.quoted && known.eq_ignore_ascii_case(&ident.value))
            }) {
                return Ok(relation.clone());
            }
            if let Some((known, columns)) = &self.given
                && *known == ident.value
            {
                return Ok(Relation { body: Body::Public(Arc::new(Plain::Given)), columns: columns.clone() });
            }
        }
        let inputs = self.inputs.iter().enumerate();
        let names: Vec<&str> = self.inputs.iter().map(|input| input.table.name()).collect();
        let found = match name.0.len() {
            1 => find(written, inputs, |(_, input)| input.table.name()),
            _ => Ok(None),
        };
        match found {
            Ok(Some((place, input))) => self.input(place, input),
            Ok(None) => Err(Error::Name(no_such("table", &name.to_string(), &names))),
            Err(_) => Err(Error::Name(format!("several tables match {name}; put the exact name in quotes"))),
        }
    }

    fn input(&mut self, place: usize, input: &Input) -> Result<Relation> {
        let table = input.table.name();
        let unit = match (input.public, self.options.unit_of(table)) {
            (false, Unit::Column(name)) => Some(name.clone()),
            _ => None,
        };
        if let (Some(unit), Some(columns)) = (&unit, input.table.columns())
            && !columns.contains(unit)
            && input.table.unusable().iter().all(|(name, _)| name != unit)
        {
            let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
            let fault = no_such("column", unit, &columns);
            return Err(Error::table(
                table,
                message!("its unit is missing: {fault} (add ", ["unit"], " {table}.COLUMN)"),
            ));
        }
        let columns: Vec<Named> = self
            .used(input, unit.as_deref())
            .into_iter()
            .map(|(name, kind)| Named {
                is_unit: unit.as_ref() == Some(&name),
                qualifier: Some(table.to_owned()),
                range: self.given_range(Some(table), &name),
                ..Named::new(name, kind)
            })
            .collect();
        self.count_columns(columns.len(), "it reads too many columns")?;
        let wanted = columns.iter().map(|column| (column.name.clone(), column.kind)).collect();
        let unit =
            unit.map(|name| Ok::<_, Error>(UnitColumn { form: self.unit_form(input, &name)?, name })).transpose()?;
        let request = Request { unit, columns: wanted };
        if !input.public {
            return Ok(Relation { body: Body::Private(Arc::new(Rows::scan(place, request))), columns });
        }
        let data = match self.public.get(&place) {
            Some(data) => data.clone(),
            None => {
                let data = Arc::new(self.read_public(input, &request)?);
                self.hold(data.bytes())?;
                self.public.insert(place, data.clone());
                data
            }
        };
        Ok(Relation { body: Body::Public(Arc::new(Plain::Table(data))), columns })
    }

    /// The columns of a table that the query mentions, with their types.
    fn used(&self, input: &Input, unit: Option<&str>) -> Vec<(String, Type)> {
        // Looked up for each column of each table, as often as it is named.
        let in_lower_case = |names: &BTreeSet<String>| -> HashSet<String> {
            names.iter().map(|name| name.to_ascii_lowercase()).collect()
        };
        let (all, numbers) = (in_lower_case(&self.usage.mentioned), in_lower_case(&self.usage.numbers));
        let column = |name: &'_ String| name.rsplit_once('.').map_or(name.clone(), |(_, column)| column.to_owned());
        let bounded: HashSet<String> = self.options.bounds.keys().map(column).collect();
        let mentioned = |name: &str| self.usage.all || all.contains(&name.to_ascii_lowercase()) || unit == Some(name);
        let is_number = |name: &str| {
            // Two people must not become one because their ids denote the same number.
            (numbers.contains(&name.to_ascii_lowercase()) || bounded.contains(name)) && unit != Some(name)
        };
        match input.table.columns() {
            None => {
                let names = self.usage.mentioned.iter().map(String::as_str).chain(unit);
                let mut names: Vec<&str> = names.collect();
                names.sort_unstable();
                names.dedup();
                let kind = |name: &str| if is_number(name) { Type::Number } else { Type::Text };
                names.into_iter().map(|name| (name.to_owned(), kind(name))).collect()
            }
            Some(columns) => {
                let kind = |name: &str| match input.table.column_type(name) {
                    Some(kind) => kind,
                    None if is_number(name) => Type::Number,
                    None => Type::Text,
                };
                columns.into_iter().filter(|name| mentioned(name)).map(|name| (name.clone(), kind(&name))).collect()
            }
        }
    }

    /// The form in which units are compared: their own type if all private tables of the query share it, otherwise
    /// text.
    fn unit_form(&self, input: &Input, unit: &str) -> Result<reticent_table::UnitType> {
        let own = input.table.unit_type(unit)?;
        for other in self.inputs.iter().filter(|other| !other.public) {
            if let Unit::Column(name) = self.options.unit_of(other.table.name())
                && let Ok(theirs) = other.table.unit_type(name)
                && theirs != own
            {
                return Ok(reticent_table::UnitType::Text);
            }
        }
        Ok(own)
    }

    /// Reads a whole public table, in the form in which it is used.
    fn read_public(&self, input: &Input, request: &Request) -> Result<Data> {
        let kinds: Vec<Type> = request.columns.iter().map(|(_, kind)| *kind).collect();
        let broken = |_| Error::table(input.table.name(), "it could not be read to its end");
        let scan = input.table.scan(request, 1)?;
        let (mut batches, mut rows) = (Vec::<RecordBatch>::new(), 0);
        for batch in (0..scan.parts()).flat_map(|part| scan.read(part)) {
            let batch = batch.map_err(broken)?;
            rows += batch.num_rows();
            batches.push(batch);
            let bytes: usize = batches.iter().map(RecordBatch::get_array_memory_size).sum();
            if rows > self.limits.public_rows || bytes > self.limits.public_left() {
                let why = format!(
                    "this public table is too large to be kept in memory (limit: {} rows)",
                    self.limits.public_rows
                );
                return Err(Error::table(input.table.name(), why));
            }
        }
        let column = |place: usize| {
            let parts: Vec<_> = batches.iter().map(|batch| batch.column(place).as_ref()).collect();
            if parts.is_empty() {
                arrow_array::new_empty_array(&kinds[place].data_type())
            } else {
                sound(concat(&parts))
            }
        };
        let columns = (0..kinds.len()).map(column).collect();
        Data::new(kinds, columns, rows)
            .ok_or_else(|| Error::table(input.table.name(), "its columns changed while it was read"))
    }

    /// The clamping bounds that the options give for a name.
    pub(super) fn given_range(&self, qualifier: Option<&str>, name: &str) -> Option<Range> {
        let full = qualifier.and_then(|qualifier| self.options.bounds.get(&format!("{qualifier}.{name}")));
        full.or_else(|| self.options.bounds.get(name)).cloned()
    }

    /// Applies an alias.
    pub(super) fn renamed(&mut self, relation: Relation, alias: Option<&ast::TableAlias>) -> Result<Relation> {
        let Some(ast::TableAlias { explicit: _, name, columns: new, at }) = alias else { return Ok(relation) };
        refuse(&[(at.is_some(), "AT")])?;
        if new.len() > relation.columns.len() {
            return Err(Error::Name(format!(
                "{} has {} columns, not {}",
                name.value,
                relation.columns.len(),
                new.len()
            )));
        }
        let mut columns = relation.columns;
        for (place, column) in columns.iter_mut().enumerate() {
            if let Some(new) = new.get(place) {
                column.name = new.name.value.clone();
            }
            column.qualifier = Some(name.value.clone());
            column.range = self.given_range(Some(&name.value), &column.name).or(column.range.take());
        }
        Ok(Relation { columns, ..relation })
    }
}
