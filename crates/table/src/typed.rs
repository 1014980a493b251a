//! Files with typed columns.
//!
//! No value is an error, but a file that is not what it claims to be cannot be read to the end: text that is not UTF-8,
//! pages that cannot be decompressed, columns of different lengths.

use std::collections::HashSet;
use std::path::PathBuf;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};

use crate::canonical::unit;
use crate::convert::value;
use crate::locate::short;
use crate::request::{Column, Form};
use crate::types::described;
use crate::{Broken, Type, UnitType};

/// What is known about a file without its rows.
#[derive(Debug)]
pub struct Footer {
    /// The types in which columns are read.
    pub schema: SchemaRef,
    /// Columns that are read less exactly than they were written.
    pub inexact: Vec<String>,
    /// The sizes of the pieces in which the file can be read.
    pub chunks: Vec<u64>,
}

/// The columns that all files of a table have.
#[derive(Debug)]
pub struct Columns(Vec<Known>);

/// A column, in the order of the first file.
#[derive(Debug)]
pub struct Known {
    pub name: String,
    /// In words, from the first file.
    pub data_type: String,
    /// The type that a query sees, if it can use the column.
    pub seen: Option<Type>,
    /// How it is compared as the unit; the error says why it cannot be one.
    pub unit: Result<UnitType, &'static str>,
}

impl Columns {
    /// The columns of files with these footers, at least one; the error names the mismatched file and column.
    pub fn of(files: &[PathBuf], footers: &[Footer]) -> Result<Self, String> {
        let (first, firsts) = (short(&files[0]), &footers[0].schema);
        let mut names = HashSet::new();
        for (file, Footer { schema, .. }) in files.iter().zip(footers) {
            names.clear();
            if let Some(field) = schema.fields().iter().find(|field| !names.insert(field.name().as_str())) {
                return Err(format!("{} has two columns named `{}`", short(file), field.name()));
            }
            if let Some(field) = schema.fields().iter().find(|field| firsts.index_of(field.name()).is_err()) {
                return Err(format!("{} has a column `{}` that {first} does not have", short(file), field.name()));
            }
        }
        let mut columns = Vec::with_capacity(firsts.fields().len());
        for field in firsts.fields() {
            let (name, data_type, seen) = (field.name(), field.data_type(), Type::of(field.data_type()));
            let mut unit = UnitType::of(data_type);
            for (file, Footer { schema, inexact, .. }) in files.iter().zip(footers) {
                let (_, other) = (schema.fields().find(name))
                    .ok_or_else(|| format!("{} has no column `{name}`, but {first} does", short(file)))?;
                let other = other.data_type();
                if Type::of(other) != seen {
                    return Err(format!(
                        "the column `{name}` is {data_type} in {first} but {other} in {}",
                        short(file)
                    ));
                }
                unit = both(unit, UnitType::of(other));
                if inexact.contains(name) {
                    unit = Err("holds timestamps of 96 bits, which are not read exactly; write it to the file as \
                         timestamps of 64 bits or as text");
                }
            }
            columns.push(Known { name: name.clone(), data_type: described(data_type), seen, unit });
        }
        Self::known(columns).ok_or_else(|| format!("{first} has no column of a type that a query can use"))
    }

    /// Columns that are known from elsewhere; `None` if there is none that can be asked for.
    pub fn known(columns: Vec<Known>) -> Option<Self> {
        let is_useful = columns.iter().any(|column| column.seen.is_some() || column.unit.is_ok());
        is_useful.then_some(Self(columns))
    }

    /// The columns in order.
    pub fn iter(&self) -> impl Iterator<Item = &Known> {
        self.0.iter()
    }

    /// Finds a column.
    pub fn find(&self, name: &str) -> Option<&Known> {
        self.0.iter().find(|column| column.name == name)
    }
}

/// How units of two files are compared: by text if their types differ.
fn both(one: Result<UnitType, &'static str>, other: Result<UnitType, &'static str>) -> Result<UnitType, &'static str> {
    let (one, other) = (one?, other?);
    Ok(if one == other { one } else { UnitType::Text })
}

/// Maps a file's columns to those requested.
pub struct Projection {
    /// Which columns of the file are read, in ascending order.
    pub places: Vec<usize>,
    /// For each requested column, its index among those read.
    outputs: Vec<(usize, Form)>,
    schema: SchemaRef,
}

impl Projection {
    /// The projection of a file with the schema `file` to the requested columns, which have the schema `schema`.
    pub fn new(file: &Schema, columns: &[Column], schema: SchemaRef) -> Result<Self, Broken> {
        let place = |column: &Column| file.index_of(&column.name).map_err(|_| Broken);
        let wanted = columns.iter().map(place).collect::<Result<Vec<_>, _>>()?;
        let mut places = wanted.clone();
        places.sort_unstable();
        places.dedup();
        let outputs = wanted.iter().zip(columns);
        let outputs = outputs.map(|(wanted, column)| (places.partition_point(|place| place < wanted), column.form));
        let outputs = outputs.collect();
        if places.is_empty() {
            // Rows are counted in a column that has them: a number in a footer is not a row.
            let holds_rows = |place: &usize| {
                let data_type = file.field(*place).data_type();
                Type::of(data_type).is_some() || UnitType::of(data_type).is_ok()
            };
            places.push((0..file.fields().len()).find(holds_rows).ok_or(Broken)?);
        }
        Ok(Self { places, outputs, schema })
    }

    /// Extracts the requested columns from those read.
    pub fn apply(&self, read: &RecordBatch) -> Result<RecordBatch, Broken> {
        let output = |(place, form): &(usize, Form)| {
            let column = read.columns().get(*place).ok_or(Broken)?;
            match form {
                Form::Value(wanted) => value(column, *wanted),
                Form::Unit(form) => unit(column, *form),
            }
        };
        let columns = self.outputs.iter().map(output).collect::<Result<_, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(read.num_rows()));
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &options).map_err(|_| Broken)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_schema::{DataType, Field};

    use super::*;

    fn columns(schemas: &[&[(&str, DataType)]]) -> Result<Columns, String> {
        let files: Vec<PathBuf> = (0..schemas.len()).map(|file| PathBuf::from(format!("{file}.parquet"))).collect();
        let field = |(name, data_type): &(&str, DataType)| Field::new(*name, data_type.clone(), true);
        let schema = |fields: &[(&str, DataType)]| Arc::new(Schema::new(fields.iter().map(field).collect::<Vec<_>>()));
        let footer = |fields: &&[(&str, DataType)]| Footer {
            schema: schema(fields),
            inexact: vec!["old".to_owned()],
            chunks: Vec::new(),
        };
        Columns::of(&files, &schemas.iter().map(footer).collect::<Vec<_>>())
    }

    #[test]
    fn files_must_agree() {
        use DataType::{Int32, Int64, Utf8, Utf8View};
        let error = |schemas: &[&[(&str, DataType)]]| columns(schemas).unwrap_err();
        assert_eq!(error(&[&[("a", Int32), ("a", Int32)]]), "0.parquet has two columns named `a`");
        assert_eq!(
            error(&[&[("a", Int32), ("b", Int32)], &[("a", Int64)]]),
            "1.parquet has no column `b`, but 0.parquet does"
        );
        assert_eq!(
            error(&[&[("a", Int32)], &[("a", Int64), ("b", Int32)]]),
            "1.parquet has a column `b` that 0.parquet does not have"
        );
        assert_eq!(
            error(&[&[("a", Int32)], &[("a", Utf8)]]),
            "the column `a` is Int32 in 0.parquet but Utf8 in 1.parquet"
        );
        let same = columns(&[&[("a", Int32), ("b", Utf8)], &[("b", Utf8View), ("a", Int64)]]).unwrap();
        assert_eq!(same.find("a").unwrap().seen, Some(Type::Integer));
        assert_eq!(same.find("b").unwrap().seen, Some(Type::Text));
    }

    #[test]
    fn units_of_different_types_are_compared_by_text() {
        use DataType::{Binary, Float32, Int8, Int64, UInt64};
        let unit = |types: &[DataType]| {
            let schemas: Vec<_> = types.iter().map(|data_type| [("a", data_type.clone()), ("b", Int8)]).collect();
            let schemas: Vec<&[_]> = schemas.iter().map(|fields| &fields[..]).collect();
            columns(&schemas).unwrap().find("a").unwrap().unit
        };
        assert_eq!(unit(&[Int8, Int64]), Ok(UnitType::Signed));
        assert_eq!(unit(&[UInt64]), Ok(UnitType::Unsigned));
        assert_eq!(unit(&[Int8, UInt64, Int8]), Ok(UnitType::Text));
        assert_eq!(unit(&[Binary, DataType::FixedSizeBinary(16)]), Ok(UnitType::Text));
        assert!(unit(&[DataType::Decimal128(9, 2), Float32]).unwrap_err().contains("floating-point"));
        assert!(unit(&[Binary, DataType::Null]).is_err());
        let old = columns(&[&[("old", DataType::Date32)]]).unwrap();
        assert!(old.find("old").unwrap().unit.unwrap_err().contains("96 bits"));
    }

    #[test]
    fn a_table_needs_a_column_that_can_be_asked_for() {
        let list = DataType::new_list(DataType::Int8, true);
        let found = columns(&[&[("l", list.clone()), ("a", DataType::Int8)]]).unwrap();
        assert_eq!(found.iter().filter(|column| column.seen.is_none()).count(), 1);
        assert!(columns(&[&[("l", list)]]).unwrap_err().contains("no column of a type"));
    }
}
