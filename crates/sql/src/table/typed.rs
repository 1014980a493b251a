//! Files that know the types of their columns, seen in fewer types.
//!
//! | in the file | in a query |
//! |---|---|
//! | whole numbers but the unsigned of 64 bits | `Int64` |
//! | unsigned whole numbers of 64 bits | `UInt64` |
//! | floats and decimals of any width | `Float64` |
//! | text of any encoding, dictionaries of it | `Utf8View` |
//! | dates | `Date32` |
//! | timestamps of any unit and zone | `Timestamp(µs)`, the instant in UTC; NULL if it does not fit |
//! | booleans, bytes | as they are |
//!
//! A dictionary of anything else counts as what it holds. Other types cannot be asked for. No conversion can fail on a
//! value.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};

use super::cells::TEXT;
use super::locate::short;

/// The type in which a query sees a type, if it can.
pub fn seen_as(data_type: &DataType) -> Option<DataType> {
    use DataType::*;
    match data_type {
        Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 => Some(Int64),
        UInt64 => Some(UInt64),
        Float16 | Float32 | Float64 | Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..) => Some(Float64),
        Utf8 | LargeUtf8 | Utf8View => Some(TEXT),
        Boolean => Some(Boolean),
        Date32 | Date64 => Some(Date32),
        Timestamp(..) => Some(Timestamp(TimeUnit::Microsecond, None)),
        Binary | LargeBinary | BinaryView | FixedSizeBinary(_) => Some(data_type.clone()),
        // A dictionary in a dictionary is allowed, and useless.
        Dictionary(_, values) if !matches!(**values, Dictionary(..)) => seen_as(values),
        _ => None,
    }
}

/// The columns that all files of a table have.
#[derive(Debug)]
pub struct Columns {
    /// In the order of the first file, as each file has them: the types may differ where a query sees them as one.
    files: Vec<Vec<FieldRef>>,
    schema: SchemaRef,
    unusable: Vec<(String, String)>,
}

impl Columns {
    /// Of files with these schemas; the error names the file and the column that do not fit.
    pub fn of(files: &[PathBuf], schemas: &[SchemaRef]) -> Result<Self, String> {
        let (first, firsts) = (short(&files[0]), &schemas[0]);
        let mut names = HashSet::new();
        for (file, schema) in files.iter().zip(schemas) {
            names.clear();
            if let Some(field) = schema.fields().iter().find(|field| !names.insert(field.name().as_str())) {
                return Err(format!("{} has two columns with the name `{}`", short(file), field.name()));
            }
            if let Some(field) = schema.fields().iter().find(|field| firsts.index_of(field.name()).is_err()) {
                return Err(format!("{} has a column `{}` that {first} has not", short(file), field.name()));
            }
        }
        let mut columns =
            Self { files: vec![Vec::new(); files.len()], schema: Schema::empty().into(), unusable: Vec::new() };
        let mut seen = Vec::new();
        for field in firsts.fields() {
            let (name, seen_type) = (field.name(), seen_as(field.data_type()));
            let mut same = Vec::with_capacity(files.len());
            for (file, schema) in files.iter().zip(schemas) {
                let (_, other) = (schema.fields().find(name))
                    .ok_or_else(|| format!("{} has no column `{name}`, but {first} has", short(file)))?;
                if seen_as(other.data_type()) != seen_type {
                    let types = [field, other].map(|field| field.data_type().to_string());
                    return Err(differ(name, &types[0], &first, &types[1], file));
                }
                same.push(other.clone());
            }
            match seen_type {
                None => columns.unusable.push((name.clone(), field.data_type().to_string())),
                Some(seen_type) => {
                    seen.push(Field::new(name, seen_type, true));
                    columns.files.iter_mut().zip(same).for_each(|(fields, field)| fields.push(field));
                }
            }
        }
        if seen.is_empty() {
            return Err(format!("{first} has no column of a type that can be asked for"));
        }
        columns.schema = Schema::new(seen).into();
        Ok(columns)
    }

    /// The columns as a query sees them.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Columns that cannot be asked for, and their types.
    pub fn unusable(&self) -> &[(String, String)] {
        &self.unusable
    }

    /// The columns as a file has them.
    pub fn in_file(&self, file: usize) -> &[FieldRef] {
        &self.files[file]
    }

    /// The one type that a column has in all files, if it has one.
    pub fn common_type(&self, column: usize) -> Option<&DataType> {
        let data_type = self.files[0][column].data_type();
        self.files.iter().all(|fields| fields[column].data_type() == data_type).then_some(data_type)
    }
}

/// Says that a column has two types.
pub fn differ(column: &str, one_type: &str, one: &str, other_type: &str, other: &Path) -> String {
    format!("the column `{column}` is {one_type} in {one} but {other_type} in {}", short(other))
}

/// A schema of fields that may all be NULL.
pub fn nullable(fields: impl IntoIterator<Item = (String, DataType)>) -> SchemaRef {
    let field = |(name, data_type)| Field::new::<String>(name, data_type, true);
    Arc::new(Schema::new(fields.into_iter().map(field).collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(schemas: &[&[(&str, DataType)]]) -> Result<Columns, String> {
        let files: Vec<PathBuf> = (0..schemas.len()).map(|file| PathBuf::from(format!("{file}.parquet"))).collect();
        let schema =
            |fields: &&[(&str, DataType)]| nullable(fields.iter().map(|(name, t)| ((*name).to_owned(), t.clone())));
        Columns::of(&files, &schemas.iter().map(schema).collect::<Vec<_>>())
    }

    #[test]
    fn files_must_agree() {
        use DataType::{Int32, Int64, Utf8, Utf8View};
        let error = |schemas: &[&[(&str, DataType)]]| columns(schemas).unwrap_err();
        assert_eq!(error(&[&[("a", Int32), ("a", Int32)]]), "0.parquet has two columns with the name `a`");
        assert_eq!(
            error(&[&[("a", Int32), ("b", Int32)], &[("a", Int64)]]),
            "1.parquet has no column `b`, but 0.parquet has"
        );
        assert_eq!(
            error(&[&[("a", Int32)], &[("a", Int64), ("b", Int32)]]),
            "1.parquet has a column `b` that 0.parquet has not"
        );
        assert_eq!(
            error(&[&[("a", Int32)], &[("a", Utf8)]]),
            "the column `a` is Int32 in 0.parquet but Utf8 in 1.parquet"
        );
        let same = columns(&[&[("a", Int32), ("b", Utf8)], &[("b", Utf8View), ("a", Int64)]]).unwrap();
        assert_eq!(same.schema().field(0).data_type(), &Int64);
        assert_eq!(same.in_file(1)[0].data_type(), &Int64);
        assert_eq!(same.common_type(0), None);
    }

    #[test]
    fn nested_columns_are_left_out() {
        let list = DataType::new_list(DataType::Int8, true);
        let found = columns(&[&[("l", list.clone()), ("a", DataType::Int8)]]).unwrap();
        assert_eq!(found.schema().fields().len(), 1);
        assert_eq!(found.unusable(), [("l".to_owned(), list.to_string())]);
        assert!(columns(&[&[("l", list)]]).unwrap_err().contains("no column of a type"));
    }
}
