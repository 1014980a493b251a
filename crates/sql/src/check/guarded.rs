//! Functions that give NULL where they would fail.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, new_null_array};
use datafusion::arrow::compute::{CastOptions, cast_with_options, concat};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::{Result, internal_err};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::binary::BinaryTypeCoercer;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column};

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Operation {
    /// An operator, such as `/`.
    Operator(Operator),
    /// A cast.
    Cast(DataType),
    /// A function.
    Function(Arc<ScalarUDF>),
}

/// An operation that is NULL for the rows on which it fails.
///
/// # Algorithm
/// All rows at once; if that fails or panics, row by row. An operation without randomness gives the same either way, so
/// that one person's row changes the result of that row alone. (It takes longer then, which an observer of the clock may
/// notice.)
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Guarded {
    operation: Operation,
    signature: Signature,
}

impl Guarded {
    /// The guarded operation of arguments that have the right types already.
    pub fn call(operation: Operation, arguments: Vec<Expr>) -> Expr {
        Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(Self::function(operation)), arguments))
    }

    /// The guarded operation.
    pub fn function(operation: Operation) -> ScalarUDF {
        let signature = Signature::variadic_any(Volatility::Immutable);
        ScalarUDF::new_from_impl(Self { operation, signature })
    }

    /// What is guarded.
    pub fn operation(&self) -> &Operation {
        &self.operation
    }

    fn apply(&self, arguments: ScalarFunctionArgs) -> Result<ArrayRef> {
        let rows = arguments.number_rows;
        let to = arguments.return_field.data_type().clone();
        let attempt = || -> Result<ArrayRef> {
            let result = match &self.operation {
                Operation::Function(function) => {
                    let arrays = function.invoke_with_args(arguments)?.into_array(rows)?;
                    if arrays.data_type() == &to { arrays } else { cast_with_options(&arrays, &to, &SAFE)? }
                }
                Operation::Cast(to) => cast_with_options(&arguments.args[0].to_array(rows)?, to, &SAFE)?,
                Operation::Operator(op) => operate(*op, &arguments, rows)?,
            };
            if result.len() == rows { Ok(result) } else { internal_err!("another number of rows") }
        };
        catch_unwind(AssertUnwindSafe(attempt)).unwrap_or_else(|_| internal_err!("it panicked"))
    }

    fn row_by_row(&self, arguments: &ScalarFunctionArgs) -> Result<ArrayRef> {
        let null = new_null_array(arguments.return_field.data_type(), 1);
        let one = |row: usize| {
            let args = arguments.args.iter().map(|argument| match argument {
                ColumnarValue::Array(array) => ColumnarValue::Array(array.slice(row, 1)),
                scalar => scalar.clone(),
            });
            let arguments = ScalarFunctionArgs { args: args.collect(), number_rows: 1, ..arguments.clone() };
            self.apply(arguments).unwrap_or_else(|_| Arc::clone(&null))
        };
        let rows: Vec<ArrayRef> = (0..arguments.number_rows).map(one).collect();
        if rows.is_empty() {
            return Ok(new_null_array(arguments.return_field.data_type(), 0));
        }
        Ok(concat(&rows.iter().map(AsRef::as_ref).collect::<Vec<_>>())?)
    }
}

const SAFE: CastOptions<'static> =
    CastOptions { safe: true, format_options: datafusion::arrow::util::display::FormatOptions::new() };

fn operate(op: Operator, arguments: &ScalarFunctionArgs, rows: usize) -> Result<ArrayRef> {
    let arrays = arguments.args.iter().map(|argument| argument.to_array(rows)).collect::<Result<Vec<_>>>()?;
    let fields: Vec<Field> = arrays
        .iter()
        .enumerate()
        .map(|(place, array)| Field::new(place.to_string(), array.data_type().clone(), true))
        .collect();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?;
    let side = |place: usize| -> Arc<dyn PhysicalExpr> { Arc::new(Column::new(&place.to_string(), place)) };
    BinaryExpr::new(side(0), op, side(1)).evaluate(&batch)?.into_array(rows)
}

impl ScalarUDFImpl for Guarded {
    fn name(&self) -> &str {
        match &self.operation {
            Operation::Operator(_) => "guarded_operator",
            Operation::Cast(_) => "guarded_cast",
            Operation::Function(function) => function.name(),
        }
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let names: Vec<String> = args.iter().map(|one| one.schema_name().to_string()).collect();
        Ok(match &self.operation {
            Operation::Operator(op) => names.join(&format!(" {op} ")),
            Operation::Cast(to) => format!("CAST({} AS {to})", names.join(", ")),
            Operation::Function(function) => format!("{}({})", function.name(), names.join(",")),
        })
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        self.schema_name(args)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        internal_err!("return_field_from_args is asked instead")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let to = match &self.operation {
            Operation::Function(function) => function.return_field_from_args(args)?.data_type().clone(),
            Operation::Cast(to) => to.clone(),
            Operation::Operator(op) => {
                let types: Vec<&DataType> = args.arg_fields.iter().map(|field| field.data_type()).collect();
                let [left, right] = types[..] else {
                    return Err(DataFusionError::Plan(format!("{op} takes two values")));
                };
                BinaryTypeCoercer::new(left, op, right).get_result_type()?
            }
        };
        Ok(Arc::new(Field::new(self.name(), to, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let all = self.apply(args.clone());
        all.or_else(|_| self.row_by_row(&args)).map(ColumnarValue::Array)
    }
}
