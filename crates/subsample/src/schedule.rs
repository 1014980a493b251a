//! When runs start, and how many run at a time.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use reticent::message;

use crate::error::{Error, Result};

/// Allowance for starting, killing and cleaning up after a run, beyond its time limit.
const SETTLING: Duration = Duration::from_millis(50);

/// When runs start.
///
/// # Privacy
/// Runs that share the machine can spoil each other's answers, so a [`Plan`](crate::Plan) adds the noise for a unit
/// that changes [`Schedule::jobs`] answers. That bound needs fixed turns. Without them, the duration of one run would
/// decide which others run beside it, and one unit could change any number of answers; so an unpadded schedule has one
/// run at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    jobs: NonZero<u64>,
    limit: Duration,
    padded: bool,
}

impl Schedule {
    /// Turns of `jobs` runs each. Every turn takes the full time limit, even if its runs end earlier, so that the total
    /// time reveals nothing.
    pub fn padded(jobs: NonZero<u64>, limit: Duration) -> Self {
        Self { jobs, limit, padded: true }
    }

    /// One run after another, each starting when the previous one ends. The total time depends on the rows.
    pub fn unpadded(limit: Duration) -> Self {
        Self { jobs: NonZero::<u64>::MIN, limit, padded: false }
    }

    /// A schedule as users ask for it.
    ///
    /// # Errors
    /// If several runs at a time are to be unpadded.
    pub fn asked(jobs: NonZero<u64>, limit: Duration, padded: bool) -> Result<Self> {
        match padded {
            true => Ok(Self::padded(jobs, limit)),
            false if jobs.get() == 1 => Ok(Self::unpadded(limit)),
            false => Err(Error::Request(message!(
                ["unpadded"],
                " requires ",
                ["jobs"],
                " 1: without fixed rounds, one run's duration decides which others run concurrently, and one unit could change any \
                 number of answers"
            ))),
        }
    }

    /// The number of parallel runs.
    pub fn jobs(&self) -> u64 {
        self.jobs.get()
    }

    /// The time limit of a run.
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// Whether every turn takes the full time limit.
    pub fn is_padded(&self) -> bool {
        self.padded
    }

    /// How long this many runs take: exactly if padded, at most otherwise.
    pub fn length(&self, runs: u64) -> Duration {
        let turns = runs.div_ceil(self.jobs());
        self.span().saturating_mul(u32::try_from(turns).unwrap_or(u32::MAX))
    }

    fn span(&self) -> Duration {
        self.limit + SETTLING
    }

    /// Runs all items and returns the answers in their order. `done` is called after each run.
    ///
    /// # Privacy
    /// With padding, the start of each run is fixed beforehand: run i is in turn ⌊i/jobs⌋, and turns start at fixed
    /// intervals. A run that ends early waits; one that exceeds the limit is killed, and the interval leaves room for
    /// that. So the total time says nothing about how long any run took.
    pub(crate) fn run<T: Sync, A: Send>(
        &self,
        items: &[T],
        ask: impl Fn(&T) -> Option<A> + Sync,
        done: impl Fn() + Sync,
    ) -> Vec<Option<A>> {
        let jobs = usize::try_from(self.jobs()).unwrap_or(usize::MAX);
        let answers = Mutex::new(items.iter().map(|_| None).collect::<Vec<_>>());
        let begin = Instant::now();
        std::thread::scope(|scope| {
            for job in 0..jobs.min(items.len()) {
                let (answers, ask, done) = (&answers, &ask, &done);
                scope.spawn(move || {
                    for (turn, place) in (job..items.len()).step_by(jobs).enumerate() {
                        let answer = ask(&items[place]);
                        answers.lock().unwrap_or_else(PoisonError::into_inner)[place] = answer;
                        if self.padded {
                            let end = begin + self.span().saturating_mul(u32::try_from(turn + 1).unwrap_or(u32::MAX));
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

/// A duration for people.
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
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn in_turns(jobs: u64, limit: Duration) -> Schedule {
        Schedule::padded(NonZero::new(jobs).unwrap(), limit)
    }

    #[test]
    fn answers_come_in_the_order_of_their_items() {
        let items: Vec<u32> = (0..25).collect();
        let expected: Vec<Option<u32>> = (0..25).map(|item| (item % 7 != 0).then_some(item * 2)).collect();
        let limit = Duration::from_millis(1);
        for schedule in [in_turns(1, limit), in_turns(4, limit), in_turns(40, limit), Schedule::unpadded(limit)] {
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
        let schedule = in_turns(2, Duration::from_millis(20));
        assert_eq!(schedule.length(6), 3 * (schedule.limit + SETTLING));
        assert_eq!(schedule.length(5), schedule.length(6));
        let begin = Instant::now();
        schedule.run(&[(); 6], |()| Some(()), || ());
        assert!(begin.elapsed() >= schedule.length(6));
    }

    #[test]
    fn durations_are_written_for_people() {
        for (milliseconds, words) in [(1050, "1.1 s"), (105_000, "1 min 45 s"), (3_600_000, "1 h 0 min")] {
            assert_eq!(in_words(Duration::from_millis(milliseconds)), words);
        }
    }
}
