//! Aggregates that private SQL has and the query engine has not: their names and types. They are never run by the engine.

use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::{Result, not_impl_err, plan_err};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};

/// All of them.
pub fn aggregates() -> Vec<AggregateUDF> {
    use Gives::{Counts, Number, SameType};
    let named = [
        ("quantile", 2, 2, Number, vec![]),
        ("stable_median", 1, 1, Number, vec![]),
        ("variance", 1, 1, Number, vec![]),
        ("stable_mode", 1, 1, SameType, vec!["mode".to_owned()]),
        ("histogram", 1, 2, Counts, vec![]),
    ];
    named
        .into_iter()
        .map(|(name, fewest, most, gives, aliases)| {
            let signature = Signature::user_defined(Volatility::Immutable);
            AggregateUDF::new_from_impl(Named { name, aliases, fewest, most, gives, signature })
        })
        .collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Gives {
    Number,
    SameType,
    Counts,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Named {
    name: &'static str,
    aliases: Vec<String>,
    fewest: usize,
    most: usize,
    gives: Gives,
    signature: Signature,
}

impl AggregateUDFImpl for Named {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        if !(self.fewest..=self.most).contains(&types.len()) {
            let name = self.name.to_uppercase();
            return match self.name {
                "quantile" => plan_err!("{name} takes a column and a share, as in {name}(age, 0.9)"),
                "histogram" => plan_err!("{name} takes a column and a number of bins, as in {name}(age, 12)"),
                _ => plan_err!("{name} takes one column, as in {name}(age)"),
            };
        }
        Ok(types.to_vec())
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(match self.gives {
            Gives::Number => DataType::Float64,
            Gives::SameType => types[0].clone(),
            Gives::Counts => DataType::List(Field::new_list_field(DataType::Int64, true).into()),
        })
    }

    fn accumulator(&self, _arguments: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        not_impl_err!("{} of private rows is computed elsewhere", self.name)
    }
}
