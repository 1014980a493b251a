//! The speed of devices that randomise and of a collector that counts, on one core.
//!
//! Prints one JSON object per line; `cargo xtask bench local` compares it with the same measurement of pure-LDP in a
//! table.

use std::hint::black_box;

use dist_test::measure;
use reticent::Error;
use reticent::local::{KaryResponse, ProjectiveResponse, SetTally, UnaryEncoding, ValueSet, ValueTally};
use reticent::noise::Entropy;

/// The size of the domain.
const VALUES: u32 = 1000;
/// Clients per call.
const CLIENTS: usize = 100_000;
/// The size of the domain that is decoded as a whole.
const MANY_VALUES: u64 = 1_000_000;
/// The number of decoded reports.
const REPORTS: u64 = 1_000_000;

fn main() -> Result<(), Error> {
    let answers: Vec<u32> = (0..CLIENTS as u32).map(|client| client % VALUES).collect();
    k_ary(&answers)?;
    unary(&answers)?;
    projective()
}

fn k_ary(answers: &[u32]) -> Result<(), Error> {
    let mechanism = KaryResponse::new(VALUES.into(), &"1".parse()?)?;
    let mut entropy = Entropy::from_os()?;
    let mut responses = vec![0; CLIENTS];
    report("reticent", "k-ary, 1000 values, clients", CLIENTS as u64, || {
        let mut tally = ValueTally::new(VALUES as usize);
        mechanism.sample_all(answers, &mut entropy.draw().unwrap(), &mut responses);
        tally.add_all(&responses).unwrap();
        tally
    });
    report("reticent", "k-ary, 1000 values, reports counted", CLIENTS as u64, || {
        let mut tally = ValueTally::new(VALUES as usize);
        tally.add_all(&responses).unwrap();
        tally
    });
    Ok(())
}

fn unary(answers: &[u32]) -> Result<(), Error> {
    let mechanism = UnaryEncoding::new(VALUES.into(), &"1".parse()?)?;
    let mut entropy = Entropy::from_os()?;
    let mut response = ValueSet::empty(VALUES);
    report("reticent", "OUE, 1000 values, clients", CLIENTS as u64, || {
        let mut tally = SetTally::new(VALUES);
        let mut rng = entropy.draw().unwrap();
        for &answer in answers {
            mechanism.sample_into(answer, &mut rng, &mut response);
            tally.add(&response).unwrap();
        }
        tally.counts().to_vec()
    });
    Ok(())
}

/// Decoding alone, from counted reports; the limit is copying the counts.
fn projective() -> Result<(), Error> {
    for epsilon in ["1", "2", "3"] {
        let mechanism = ProjectiveResponse::new(MANY_VALUES, &epsilon.parse()?)?;
        let mut entropy = Entropy::from_os()?;
        let mut rng = entropy.draw()?;
        let mut tally = ValueTally::new(mechanism.points() as usize);
        for client in 0..REPORTS {
            tally.add(mechanism.sample(client % MANY_VALUES, &mut rng))?;
        }
        let law = format!("projective, ε = {epsilon}, a million values decoded");
        report("reticent", &law, MANY_VALUES, || mechanism.supports(&tally).unwrap());
        report("a copy", &law, MANY_VALUES, || tally.clone());
    }
    Ok(())
}

fn report<T>(generator: &str, law: &str, items: u64, mut call: impl FnMut() -> T) {
    measure::report(generator, law, None, items, &mut || {
        black_box(call());
    });
}
