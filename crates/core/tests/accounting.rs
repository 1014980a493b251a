//! The accountant and the calibrations against values from a public tool (named in `data/accounting.json`).

use reticent::exact::Rational;
use reticent::privacy::calibration::{analytic_gaussian_delta, analytic_gaussian_sigma};
use reticent::privacy::pld::{Accountant, Mechanism};
use serde_json::Value;

fn reference(table: &str) -> Vec<Value> {
    let text = include_str!("data/accounting.json");
    let all: Value = serde_json::from_str(text).expect("the fixture is JSON");
    all[table].as_array().expect("a table").clone()
}

fn number(row: &Value, key: &str) -> Rational {
    row[key].to_string().trim_matches('"').parse().unwrap_or_else(|_| panic!("{key} in {row}"))
}

fn mechanism(row: &Value) -> Mechanism {
    match row["mechanism"].as_str().expect("a name") {
        "laplace" => Mechanism::laplace(number(row, "scale")),
        "gaussian" => Mechanism::gaussian(number(row, "sigma")),
        "discrete_laplace" => Mechanism::discrete_laplace(number(row, "parameter")),
        "discrete_gaussian" => Mechanism::discrete_gaussian(number(row, "sigma")),
        "randomized_response" => {
            Mechanism::randomised_response(number(row, "epsilon"), row["values"].as_u64().expect("a count"))
        }
        "poisson_subsampled_gaussian" => Mechanism::gaussian(number(row, "sigma"))
            .and_then(|gaussian| gaussian.subsampled(number(row, "sampling_probability"))),
        other => panic!("unknown mechanism {other}"),
    }
    .expect("a valid mechanism")
}

/// Never below what is certain, and within one per cent of what the tool can promise.
#[test]
fn compositions_are_between_the_bounds() {
    let rows = reference("composition");
    assert_eq!(rows.len(), 18);
    for row in rows {
        let mut accountant = Accountant::new();
        accountant.add(&mechanism(&row), row["compositions"].as_u64().expect("a count")).expect("it fits");
        let epsilon = accountant.epsilon(&number(&row, "delta").try_into().expect("a delta")).expect("an epsilon");
        let (lower, upper) = (row["epsilon_lower"].as_f64().unwrap(), row["epsilon_upper"].as_f64().unwrap());
        assert!(epsilon.to_f64() >= lower, "{epsilon} is below {lower}: {row}");
        assert!(epsilon.to_f64() <= 1.01 * upper, "{epsilon} is far above {upper}: {row}");
    }
}

#[test]
fn the_analytic_sigma_is_met_to_ten_digits_and_never_undercut() {
    let rows = reference("analytic_gaussian_sigma");
    assert_eq!(rows.len(), 6);
    for row in rows {
        let epsilon = number(&row, "epsilon").try_into().expect("an epsilon");
        let delta = number(&row, "delta").try_into().expect("a delta");
        let sigma = analytic_gaussian_sigma(&epsilon, &delta, &Rational::ONE).expect("a sigma");
        let exact = number(&row, "sigma");
        assert!(sigma >= exact, "{sigma} is below {exact}: {row}");
        assert!(sigma <= &exact * &"1.0000000001".parse().unwrap(), "{sigma} is far above {exact}: {row}");
        assert!(analytic_gaussian_delta(&epsilon, &sigma, &Rational::ONE).expect("a delta") <= delta, "{row}");
    }
}
