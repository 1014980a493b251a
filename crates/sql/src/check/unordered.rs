//! Aggregates of one unit's floats that do not depend on the order of its rows.

use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Float64Type};
use datafusion::common::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};
use datafusion::scalar::ScalarValue;

/// The engine's SUM, AVG, MIN or MAX of floats, made the same whatever the order of the rows; nothing for other functions.
///
/// # Privacy
/// The engine adds floats as they come, partition by partition: (0.1 + 0.2) + 0.3 is not 0.1 + (0.2 + 0.3). In which order
/// a unit's rows come depends on the rows of others, so one unit more or less could move the sums of all, by little; and
/// `CASE WHEN sum = 0.6 …` makes much of little. Its MIN and MAX take whichever of 0 and −0 came first, and the last of
/// NaN and a number.
///
/// # Algorithm
/// All values are kept, and taken in ascending order at the end.
pub fn unordered(name: &str) -> Option<AggregateUDF> {
    let kind = match name {
        "sum" => Kind::Sum,
        "avg" | "mean" => Kind::Mean,
        "min" => Kind::Least,
        "max" => Kind::Most,
        _ => return None,
    };
    let signature = Signature::exact(vec![DataType::Float64], Volatility::Immutable);
    Some(AggregateUDF::new_from_impl(Unordered { kind, signature }))
}

/// The engine's name of a function that [`unordered`] gave; nothing for other functions.
pub fn origin(function: &AggregateUDF) -> Option<&'static str> {
    let Unordered { kind, .. } = function.inner().downcast_ref()?;
    Some(match kind {
        Kind::Sum => "sum",
        Kind::Mean => "avg",
        Kind::Least => "min",
        Kind::Most => "max",
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Sum,
    Mean,
    Least,
    Most,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Unordered {
    kind: Kind,
    signature: Signature,
}

impl AggregateUDFImpl for Unordered {
    /// Not the engine's names: it knows short cuts for these.
    fn name(&self) -> &str {
        match self.kind {
            Kind::Sum => "unordered_sum",
            Kind::Mean => "unordered_mean",
            Kind::Least => "unordered_min",
            Kind::Most => "unordered_max",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let values = Field::new_list_field(DataType::Float64, true);
        Ok(vec![Field::new_list(format_state_name(args.name, "values"), values, true).into()])
    }

    fn accumulator(&self, arguments: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Values { kind: self.kind, distinct: arguments.is_distinct, values: Vec::new() }))
    }
}

#[derive(Debug)]
struct Values {
    kind: Kind,
    distinct: bool,
    values: Vec<f64>,
}

impl Accumulator for Values {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        self.values.extend(columns[0].as_primitive::<Float64Type>().iter().flatten());
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for list in states[0].as_list::<i32>().iter().flatten() {
            self.values.extend(list.as_primitive::<Float64Type>().iter().flatten());
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values: Vec<ScalarValue> = self.values.iter().map(|&value| ScalarValue::Float64(Some(value))).collect();
        Ok(vec![ScalarValue::List(ScalarValue::new_list_nullable(&values, &DataType::Float64))])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.values.sort_unstable_by(f64::total_cmp);
        if self.distinct {
            self.values.dedup_by_key(|value| value.to_bits());
        }
        let sum = || self.values.iter().sum::<f64>();
        let value = match self.kind {
            _ if self.values.is_empty() => None,
            Kind::Sum => Some(sum()),
            Kind::Mean => Some(sum() / self.values.len() as f64),
            Kind::Least => self.values.first().copied(),
            Kind::Most => self.values.last().copied(),
        };
        Ok(ScalarValue::Float64(value))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.capacity() * size_of::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::Float64Array;

    use super::*;

    /// Two partitions that are merged either way, and one that has all rows.
    #[test]
    fn the_order_of_rows_does_not_matter() {
        let rows = [0.3, f64::NAN, -0.0, 0.1, 0.0, 1e300, 0.2, -1e300];
        let column = |rows: &[f64]| -> [ArrayRef; 1] { [Arc::new(Float64Array::from(rows.to_vec()))] };
        for kind in [Kind::Sum, Kind::Mean, Kind::Least, Kind::Most] {
            let fresh = || Values { kind, distinct: false, values: Vec::new() };
            let bits = |mut values: Values| match values.evaluate().unwrap() {
                ScalarValue::Float64(Some(value)) => value.to_bits(),
                other => panic!("{other}"),
            };
            for end in [rows.len(), 7, 1] {
                // Without NaN, with it, and one value alone.
                let rows: Vec<f64> = rows[..end].iter().copied().filter(|value| end > 7 || !value.is_nan()).collect();
                let mut whole = fresh();
                whole.update_batch(&column(&rows)).unwrap();
                let expected = bits(whole);
                for cut in 0..=rows.len() {
                    let mut parts = [&rows[..cut], &rows[cut..]].map(|part| {
                        let mut values = fresh();
                        values.update_batch(&column(part)).unwrap();
                        values
                    });
                    parts.reverse();
                    let mut merged = fresh();
                    for part in &mut parts {
                        let state = part.state().unwrap().remove(0).to_array().unwrap();
                        merged.merge_batch(&[state]).unwrap();
                    }
                    assert_eq!(bits(merged), expected, "{kind:?} {cut}");
                }
            }
        }
    }
}
