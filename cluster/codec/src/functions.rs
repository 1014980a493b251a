//! Guarded operations and unordered aggregates as bytes.
//!
//! Functions of the engine itself have no bytes: their name says it all. So no bytes mean the engine's own function of this
//! name.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::execution::SessionStateDefaults;
use datafusion::logical_expr::{AggregateUDF, Operator, ScalarUDF};
use reticent_sql::bound::wire;
use reticent_sql::check::guarded::{Guarded, Operation};
use reticent_sql::check::unordered::{origin, unordered};
use serde::{Deserialize, Serialize};

const GUARDED: &str = "the guarded operation";
const UNORDERED: &str = "the unordered aggregate";

/// A guarded operation.
#[derive(Serialize, Deserialize)]
enum Told {
    /// By its name.
    Operator(String),
    /// To the type of the only column of a schema.
    Cast(Vec<u8>),
    /// One of the engine's, by its name.
    Function(String),
}

static SCALARS: LazyLock<HashMap<String, Arc<ScalarUDF>>> = LazyLock::new(|| {
    let all = SessionStateDefaults::default_scalar_functions();
    all.into_iter().map(|function| (function.name().to_owned(), function)).collect()
});

static AGGREGATES: LazyLock<HashMap<String, Arc<AggregateUDF>>> = LazyLock::new(|| {
    let all = SessionStateDefaults::default_aggregate_functions();
    all.into_iter().map(|function| (function.name().to_owned(), function)).collect()
});

pub fn write_scalar(function: &ScalarUDF, bytes: &mut Vec<u8>) -> Result<()> {
    let Some(guarded) = function.inner().downcast_ref::<Guarded>() else { return Ok(()) };
    let told = match guarded.operation() {
        Operation::Operator(op) => {
            let name = format!("{op:?}");
            if Operator::from_proto_name(&name) != Some(*op) {
                return plan_err!("{GUARDED} {op} has no form as bytes");
            }
            Told::Operator(name)
        }
        Operation::Cast(to) => Told::Cast(type_to_bytes(to)?),
        Operation::Function(function) if SCALARS.get(function.name()) == Some(function) => {
            Told::Function(function.name().to_owned())
        }
        Operation::Function(function) => return plan_err!("{} is not a function of the engine", function.name()),
    };
    bytes.extend(wire::write(GUARDED, &told)?);
    Ok(())
}

pub fn read_scalar(name: &str, bytes: &[u8]) -> Result<Arc<ScalarUDF>> {
    let of_engine = |name: &str| match SCALARS.get(name) {
        Some(function) => Ok(Arc::clone(function)),
        None => plan_err!("there is no function {name}"),
    };
    if bytes.is_empty() {
        return of_engine(name);
    }
    let operation = match wire::read(GUARDED, bytes)? {
        Told::Operator(name) => match Operator::from_proto_name(&name) {
            Some(op) => Operation::Operator(op),
            None => return plan_err!("{GUARDED} cannot be read: there is no operator {name}"),
        },
        Told::Cast(to) => Operation::Cast(type_from_bytes(&to)?),
        Told::Function(name) => Operation::Function(of_engine(&name)?),
    };
    Ok(Arc::new(Guarded::function(operation)))
}

pub fn write_aggregate(function: &AggregateUDF, bytes: &mut Vec<u8>) -> Result<()> {
    if let Some(name) = origin(function) {
        bytes.extend(wire::write(UNORDERED, &name)?);
    }
    Ok(())
}

pub fn read_aggregate(name: &str, bytes: &[u8]) -> Result<Arc<AggregateUDF>> {
    if bytes.is_empty() {
        return match AGGREGATES.get(name) {
            Some(function) => Ok(Arc::clone(function)),
            None => plan_err!("there is no aggregate {name}"),
        };
    }
    let of: String = wire::read(UNORDERED, bytes)?;
    match unordered(&of) {
        Some(function) => Ok(Arc::new(function)),
        None => plan_err!("{UNORDERED} cannot be read: there is none of {of}"),
    }
}

fn type_to_bytes(data_type: &DataType) -> Result<Vec<u8>> {
    wire::schema_to_bytes(&Schema::new(vec![Field::new("", data_type.clone(), true)]))
}

fn type_from_bytes(bytes: &[u8]) -> Result<DataType> {
    let schema = wire::schema_from_bytes(GUARDED, bytes)?;
    match schema.fields().iter().as_slice() {
        [field] => Ok(field.data_type().clone()),
        _ => plan_err!("{GUARDED} cannot be read: it has not one type"),
    }
}
