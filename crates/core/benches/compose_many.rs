//! Ten kinds of mechanisms, a thousand of each, composed and timed:
//! `cargo bench -p reticent`.

use std::time::Instant;

use reticent::privacy::pld::{Accountant, Mechanism};

fn main() -> Result<(), reticent::Error> {
    let kinds = [
        Mechanism::laplace("100".parse()?)?,
        Mechanism::laplace("150".parse()?)?.with_sensitivity("2".parse()?)?,
        Mechanism::discrete_laplace("0.01".parse()?)?,
        Mechanism::discrete_laplace("0.001".parse()?)?.with_sensitivity("7".parse()?)?,
        Mechanism::gaussian("100".parse()?)?,
        Mechanism::gaussian("4".parse()?)?.subsampled("0.01".parse()?)?,
        Mechanism::discrete_gaussian("120".parse()?)?,
        Mechanism::discrete_gaussian("10000".parse()?)?.with_sensitivity("90".parse()?)?,
        Mechanism::randomised_response("0.01".parse()?, 2)?,
        Mechanism::laplace("5".parse()?)?.subsampled("0.05".parse()?)?,
    ];
    let mut accountant = Accountant::new();
    for kind in &kinds {
        accountant.add(kind, 1000)?;
    }
    for delta in ["1e-6", "1e-9", "1e-30"] {
        let start = Instant::now();
        let epsilon = accountant.epsilon(&delta.parse()?)?;
        println!("δ = {delta}: ε = {epsilon}, in {:.3} s", start.elapsed().as_secs_f64());
    }
    Ok(())
}
