//! Every mechanism in the catalogue passes its audit, and every mutant is detected.

use dist_test::{samples, seed};
use reticent::audit::Verdict;
use reticent::audit::catalogue::{Request, Subject, mutants, subjects};
use reticent::noise::Entropy;

/// Samples per side, twice: enough to detect every mutant.
const SAMPLES: u64 = 400_000;
const LONG_SAMPLES: u64 = 4_000_000;

/// Audits all of them, as many in parallel as there are cores.
fn audit_all(subjects: &[Subject], check: impl Fn(&reticent::audit::catalogue::Report) + Sync) {
    let request = Request {
        epsilon: "1".parse().unwrap(),
        delta: "1e-6".parse().unwrap(),
        samples: samples(SAMPLES, LONG_SAMPLES),
    };
    let next = std::sync::atomic::AtomicUsize::new(0);
    let worker = || {
        while let Some(subject) = subjects.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
            let entropy = Entropy::seeded(seed(&format!("catalogue {}", subject.name())));
            check(&subject.audit(&request, entropy, &mut || ()).unwrap());
        }
    };
    std::thread::scope(|scope| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}

#[test]
fn every_mechanism_keeps_its_promise() {
    audit_all(&subjects(), |report| assert!(report.is_clean(), "{report:?}"));
}

#[test]
fn every_mutant_is_found_out() {
    audit_all(mutants::SUBJECTS, |report| assert_eq!(report.verdict, Verdict::Violation, "{report:?}"));
}
