//! Is the noise that colluding aggregators do not know the noise that was promised?
//!
//! | mutant | caught by |
//! |---|---|
//! | one aggregator adds no noise, and all others collude | the law, and the audit |
//! | noise in as many shares as there are aggregators, whoever may collude | the law, and the audit |
//! | shares that are not random | `a_share_tells_nothing` |

use std::collections::BTreeMap;

use reticent::Permit;
use reticent::audit::{EmpiricalEpsilon, ExpectedLaw, FALSE_ALARM, GoodnessOfFit, Verdict};
use reticent::noise::Entropy;
use reticent_party::PrivateKey;
use reticent_party::aggregators::Task;
use reticent_party::aggregators::view::Opening;

/// Sees a variance that is wrong by 2 %, and far more of the mutants here.
const SAMPLES: u64 = 200_000;

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

/// The first `held` aggregators pool what they know.
fn seen(task: &Task, exact: i64, held: usize, permit: &mut Permit) -> i64 {
    let opening = Opening::new(task, &[exact], permit).unwrap();
    opening.seen_by(task, &(0..held).collect::<Vec<_>>()).unwrap()[0]
}

/// Statistic, scale of the noise, aggregators, colluders, ε.
const CASES: [(&str, f64, usize, usize, &str); 5] = [
    ("statistic = \"count\"", 1.0, 2, 1, "1"),
    ("statistic = \"count\"", 2.0, 2, 0, "0.5"),
    ("statistic = \"count\"", 1.0, 3, 2, "1"),
    ("statistic = \"count\"", 1.0, 3, 1, "1"),
    ("statistic = \"sum\"\nlower = -2\nupper = 3", 5.0, 3, 1, "1"),
];

/// Noise is added in the field, to shares that are random there, and is exact all the same.
#[test]
fn what_t_colluders_do_not_know_is_discrete_laplace() {
    for (case, (statistic, scale, aggregators, colluders, epsilon)) in CASES.into_iter().enumerate() {
        let task = task(statistic, aggregators, colluders, epsilon);
        let mut permit = permit(case as u64);
        let mut counts = BTreeMap::new();
        for _ in 0..SAMPLES {
            *counts.entry(seen(&task, 500, colluders, &mut permit) - 500).or_insert(0) += 1;
        }
        let fit = GoodnessOfFit::test(&laplace(scale), &counts).unwrap();
        assert!(fit.passes(FALSE_ALARM), "{aggregators} aggregators, {colluders} collude, {epsilon}\n{fit}");
    }
}

/// What t aggregators see together, of batches that differ in one report.
#[test]
fn views_keep_the_promise() {
    for (case, (statistic, scale, aggregators, colluders, epsilon)) in CASES.into_iter().enumerate() {
        let task = task(statistic, aggregators, colluders, epsilon);
        let step = task.statistic().sensitivity() as i64;
        let (mut first, mut second) = (permit(100 + case as u64), permit(200 + case as u64));
        let found = EmpiricalEpsilon::measure(
            || seen(&task, 0, colluders, &mut first),
            || seen(&task, step, colluders, &mut second),
            0.0,
            SAMPLES,
            1.0 - FALSE_ALARM,
        )
        .unwrap();
        assert_eq!(found.verdict(task.epsilon()), Verdict::Consistent, "{found:?}");
        assert!(found.lower_bound > 0.8 * step as f64 / scale, "more noise than is due: {found:?}");
    }
}

/// Before all shares are added up, each is a random residue, whatever the answers are.
#[test]
fn a_share_tells_nothing() {
    const CELLS: usize = 16;
    let task = task("statistic = \"count\"", 2, 1, "1");
    for (seed, exact) in [(1, 0), (2, 1000)] {
        let (mut permit, mut counts) = (permit(seed), [BTreeMap::new(), BTreeMap::new()]);
        for _ in 0..SAMPLES {
            let opening = Opening::new(&task, &[exact], &mut permit).unwrap();
            for (place, counts) in counts.iter_mut().enumerate() {
                // The prime is next to 2^64: the top four bits of a random residue are uniform but for 2^−32.
                *counts.entry(i64::from(opening.share(place)[7] >> 4)).or_insert(0) += 1;
            }
        }
        let law = ExpectedLaw::new(0, 0.0, vec![1.0 / CELLS as f64; CELLS], 0.0).unwrap();
        for counts in &counts {
            let fit = GoodnessOfFit::test(&law, counts).unwrap();
            assert!(fit.passes(FALSE_ALARM), "{fit}");
        }
    }
}
