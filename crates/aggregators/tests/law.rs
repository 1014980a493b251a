//! Checks that the noise unknown to colluding aggregators is the noise promised.
//!
//! | mutant | caught by |
//! |---|---|
//! | one aggregator adds no noise, and all others collude | the law, and the audit |
//! | noise split into as many shares as there are aggregators, whatever the collusion threshold | the law, and the audit |
//! | shares that are not random | `a_share_tells_nothing` |

use std::collections::BTreeMap;

use reticent::Permit;
use reticent::audit::{EmpiricalEpsilon, ExpectedLaw, FALSE_ALARM, GoodnessOfFit, Verdict};
use reticent::noise::Entropy;
use reticent_aggregators::Task;
use reticent_aggregators::view::Opening;
use reticent_party::PrivateKey;

/// Numbers in one opening: each is a sample.
const CELLS: usize = 1000;
/// Detects a variance that is wrong by 3 %, and far more of the mutants here.
const SAMPLES: usize = 100_000;
/// Detects an ε that is too large by a fifth.
const AUDITED: u64 = 20_000;

fn task(statistic: &str, aggregators: usize, colluders: usize, epsilon: &str) -> Task {
    let mut text = format!(
        "title = \"t\"\n{statistic}\nepsilon = \"{epsilon}\"\ncolluders = {colluders}\nminimum_reports = 1\n\
         maximum_reports = 1000\n"
    );
    for place in 0..aggregators {
        let key = PrivateKey::generate().unwrap().public();
        text += &format!("[[aggregator]]\nname = \"a{place}\"\nkey = \"{key}\"\n");
        text += &format!("address = \"a:{}\"\nreports = \"b:{}\"\n", 1 + place, 1 + place);
    }
    text.parse().unwrap()
}

fn permit(seed: u64) -> Permit {
    Permit::unaccounted_from(Entropy::seeded(seed))
}

fn laplace(scale: f64) -> ExpectedLaw {
    let p = (-1.0 / scale).exp();
    ExpectedLaw::symmetric((14.0 * scale) as u32 + 3, |k| (1.0 - p) / (1.0 + p) * p.powi(k as i32)).unwrap()
}

/// A histogram of many buckets; one report changes it by 2.
fn histogram() -> String {
    let names: Vec<String> = (0..CELLS).map(|bucket| format!("\"{bucket}\"")).collect();
    format!("statistic = \"histogram\"\nbuckets = [{}]", names.join(", "))
}

/// What the first `held` aggregators see together.
fn seen(task: &Task, exact: &[i64], held: usize, permit: &mut Permit) -> Vec<i64> {
    let opening = Opening::new(task, exact, permit).unwrap();
    opening.seen_by(&(0..held).collect::<Vec<_>>())
}

/// Noise is added in the field, to shares that are random there, and is still exact.
#[test]
fn what_t_colluders_do_not_know_is_discrete_laplace() {
    let cases = [(2, 1, "2", 1.0), (2, 0, "1", 2.0), (3, 2, "2", 1.0), (3, 1, "0.4", 5.0)];
    for (case, (aggregators, colluders, epsilon, scale)) in cases.into_iter().enumerate() {
        let task = task(&histogram(), aggregators, colluders, epsilon);
        let (mut permit, mut counts) = (permit(case as u64), BTreeMap::new());
        for _ in 0..SAMPLES / CELLS {
            for noisy in seen(&task, &[500; CELLS], colluders, &mut permit) {
                *counts.entry(noisy - 500).or_insert(0) += 1;
            }
        }
        let fit = GoodnessOfFit::test(&laplace(scale), &counts).unwrap();
        assert!(fit.passes(FALSE_ALARM), "{aggregators} aggregators, {colluders} collude, {epsilon}\n{fit}");
    }
}

/// What t aggregators see together, for batches that differ in one report.
#[test]
fn views_keep_the_promise() {
    let sum = "statistic = \"sum\"\nlower = -2\nupper = 1";
    let cases = [("statistic = \"count\"", 2, 1, "1"), (sum, 3, 1, "1.5")];
    for (case, (statistic, aggregators, colluders, epsilon)) in cases.into_iter().enumerate() {
        let task = task(statistic, aggregators, colluders, epsilon);
        let step = task.statistic().sensitivity() as i64;
        let (mut first, mut second) = (permit(100 + case as u64), permit(200 + case as u64));
        let found = EmpiricalEpsilon::measure(
            || seen(&task, &[0], colluders, &mut first)[0],
            || seen(&task, &[step], colluders, &mut second)[0],
            0.0,
            AUDITED,
            1.0 - FALSE_ALARM,
        )
        .unwrap();
        assert_eq!(found.verdict(task.epsilon()), Verdict::Consistent, "{found:?}");
        assert!(found.lower_bound > 0.75 * task.epsilon().to_f64(), "more noise than is due: {found:?}");
    }
}

/// Before all shares are added up, each is a random residue, whatever the answers.
#[test]
fn a_share_tells_nothing() {
    const BINS: usize = 16;
    /// The length of a residue in a histogram's share.
    const RESIDUE: usize = 16;
    let task = task(&histogram(), 2, 1, "1");
    for (seed, exact) in [(1, 0), (2, 1000)] {
        let (mut permit, mut counts) = (permit(seed), [BTreeMap::new(), BTreeMap::new()]);
        for _ in 0..SAMPLES / CELLS {
            let opening = Opening::new(&task, &[exact; CELLS], &mut permit).unwrap();
            for (place, counts) in counts.iter_mut().enumerate() {
                for residue in opening.share(place).chunks_exact(RESIDUE) {
                    // The prime is close to 2^128: the top four bits of a random residue are uniform up to about 2^−60.
                    *counts.entry(i64::from(residue[RESIDUE - 1] >> 4)).or_insert(0) += 1;
                }
            }
        }
        let law = ExpectedLaw::new(0, 0.0, vec![1.0 / BINS as f64; BINS], 0.0).unwrap();
        for counts in &counts {
            let fit = GoodnessOfFit::test(&law, counts).unwrap();
            assert!(fit.passes(FALSE_ALARM), "{fit}");
        }
    }
}
