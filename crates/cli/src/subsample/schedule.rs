//! All runs, so many at a time, each in its own span of time.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What a run may take beyond its time limit: to be started, to be killed, to be cleaned up after.
const SETTLING: Duration = Duration::from_millis(50);

/// When runs begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// How many at a time.
    pub jobs: usize,
    /// How long each may take.
    pub limit: Duration,
    /// Whether each takes as long as it may.
    pub padded: bool,
}

impl Schedule {
    /// How long so many runs take: exactly, if padded, and at the most otherwise.
    pub fn length(&self, runs: u64) -> Duration {
        let turns = runs.div_ceil(self.jobs as u64);
        self.span().saturating_mul(u32::try_from(turns).unwrap_or(u32::MAX))
    }

    fn span(&self) -> Duration {
        self.limit + SETTLING
    }

    /// Runs everything; the results come in the order of the items.
    ///
    /// # Privacy
    /// Padded, which run begins when is fixed beforehand: run i in turn ⌊i/jobs⌋, turns at fixed distances. A run that
    /// is done early waits; one that is not is killed, and the distance leaves room for that. So the time of the whole says
    /// nothing about how long any run took.
    pub fn run<T: Sync, A: Send>(
        &self,
        items: &[T],
        ask: impl Fn(&T) -> Option<A> + Sync,
        done: impl Fn() + Sync,
    ) -> Vec<Option<A>> {
        let answers = Mutex::new(items.iter().map(|_| None).collect::<Vec<_>>());
        let next = AtomicUsize::new(0);
        let begin = Instant::now();
        std::thread::scope(|scope| {
            for job in 0..self.jobs.min(items.len()) {
                let (answers, next, ask, done) = (&answers, &next, &ask, &done);
                scope.spawn(move || {
                    for turn in 0.. {
                        let place = match self.padded {
                            true => job + turn * self.jobs,
                            false => next.fetch_add(1, Ordering::Relaxed),
                        };
                        let Some(item) = items.get(place) else { break };
                        let answer = ask(item);
                        answers.lock().unwrap_or_else(PoisonError::into_inner)[place] = answer;
                        if self.padded {
                            let end = begin + self.length(turn as u64 * self.jobs as u64 + 1);
                            std::thread::sleep(end.saturating_duration_since(Instant::now()));
                        }
                        done();
                    }
                });
            }
        });
        answers.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A length of time for people.
pub fn in_words(length: Duration) -> String {
    let seconds = length.as_secs_f64().round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, _) => format!("{:.1} s", length.as_secs_f64()),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_their_items() {
        let items: Vec<u32> = (0..25).collect();
        let expected: Vec<Option<u32>> = (0..25).map(|item| (item % 7 != 0).then_some(item * 2)).collect();
        for (jobs, padded) in [(1, true), (4, true), (40, true), (1, false), (4, false), (40, false)] {
            let schedule = Schedule { jobs, limit: Duration::from_millis(1), padded };
            let finished = AtomicUsize::new(0);
            let answers = schedule.run(
                &items,
                |item| (item % 7 != 0).then_some(item * 2),
                || {
                    finished.fetch_add(1, Ordering::Relaxed);
                },
            );
            assert_eq!((answers, finished.into_inner()), (expected.clone(), 25), "{schedule:?}");
        }
    }

    /// However short the work, a padded schedule takes its whole length.
    #[test]
    fn padding_fills_the_time() {
        let schedule = Schedule { jobs: 2, limit: Duration::from_millis(20), padded: true };
        assert_eq!(schedule.length(6), 3 * (schedule.limit + SETTLING));
        assert_eq!(schedule.length(5), schedule.length(6));
        let begin = Instant::now();
        schedule.run(&[(); 6], |()| Some(()), || ());
        assert!(begin.elapsed() >= schedule.length(6));
    }

    #[test]
    fn lengths_are_told_in_words() {
        for (milliseconds, words) in [(1050, "1.1 s"), (105_000, "1 min 45 s"), (3_600_000, "1 h 0 min")] {
            assert_eq!(in_words(Duration::from_millis(milliseconds)), words);
        }
    }
}
