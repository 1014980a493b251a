//! The process of a pan-private stream ends at every point of draw, write, fsync, show and erase.
//!
//! First what must hold in every single run; then, over many runs on two neighbouring streams of events, whether all
//! that can be seen together tells them apart better than ε allows: releases before the end, the memory at the end, the
//! disk, releases after it. Each promise has a mutant that breaks it, and is found out.

use reticent::Permit;
use reticent::audit::{EmpiricalEpsilon, FALSE_ALARM, Verdict};
use reticent::continual::pan_private::{Cell, Design, PanPrivate, PanPrivateSurviving};
use reticent::noise::Entropy;
use reticent::privacy::Epsilon;
use reticent_stream::simulation::{End, Image, Run, Simulation};

use crate::bench::definition;

/// So small that few draws decide, so large that few samples do.
const EPSILON: &str = "2";
/// For each of two inputs, twice. At this size a bound of about half of ε is seen where all of it is used up, and the
/// mutants here, which use it twice, are far beyond ε.
const SAMPLES: u64 = 2000;
/// What the bound must reach, as a share of ε, where all of ε is used up: an audit that sees nothing finds nothing.
const SEEN: f64 = 0.4;

fn simulation<D: Design + 'static>(counter: &str, horizon: u64) -> Simulation<D> {
    let text = format!(
        "name='s'\nstep='event'\nhorizon={horizon}\nmode='pan-private'\ncounter='{counter}'\nepsilon='{EPSILON}'"
    );
    Simulation::new(definition(&text)).unwrap()
}

/// Noise that no run has twice.
struct Permits(u64);

impl Permits {
    fn next(&mut self) -> Permit {
        self.0 += 1;
        Permit::unaccounted_from(Entropy::seeded(self.0))
    }
}

/// Ends at every point of every step, three times over, each time at another point.
fn nothing_changes<D: Design + 'static>(counter: &str) {
    const HORIZON: u64 = 5;
    let simulation = simulation::<D>(counter, HORIZON);
    let mut permits = Permits(0);
    for first in End::ALL {
        for step in 1..=HORIZON {
            for (second, third) in End::ALL.into_iter().zip(End::ALL.into_iter().rev()) {
                let mut disk = Image::default();
                let mut all = Vec::new();
                let mut ends =
                    [Some((step, first)), Some((step + 1, second)), Some((HORIZON, third)), None].into_iter();
                while (disk.published().len() as u64) < HORIZON {
                    let before = disk.published();
                    let left = HORIZON as usize - before.len();
                    let end = ends.next().expect("the last process is not ended");
                    let run = simulation.run(&mut disk, permits.next(), &vec![1; left], end).unwrap();
                    let after = disk.published();
                    let context = format!("{counter}, {first:?} in {step}, then {second:?}, {third:?}: {end:?}");
                    assert!(after.starts_with(&before), "{context}: what was published stays as it was");
                    for (step, value) in &run.shown {
                        assert_eq!(after.get(*step as usize - 1), Some(value), "{context}: shown, so on the disk");
                    }
                    all.extend(run.shown);
                    // What was drawn and is on the disk is what was drawn, and what is not is gone.
                    if let Some((at, end)) = end.filter(|(at, _)| (before.len() as u64 + 1..=HORIZON).contains(at)) {
                        let drawn = run.memories.last().unwrap().drawn;
                        let whole = after.len() as u64 >= at;
                        let reached = end != End::Opened || at < HORIZON;
                        assert_eq!(whole, end.leaves_record() || !reached, "{context}");
                        if whole && drawn.is_some() && reached {
                            assert_eq!(drawn, after.last().copied(), "{context}");
                        }
                        assert_eq!(disk.is_torn(), end == End::Torn, "{context}: nothing but records");
                    }
                }
                let steps: Vec<u64> = all.iter().map(|(step, _)| *step).collect();
                assert!(steps.windows(2).all(|pair| pair[0] < pair[1]), "no step is shown twice: {steps:?}");
            }
        }
    }
}

#[test]
fn whenever_the_process_ends_no_release_changes_and_none_is_drawn_twice() {
    nothing_changes::<PanPrivate>("pan-private");
    nothing_changes::<PanPrivateSurviving>("pan-private-surviving");
}

/// Every event is counted once or not at all. (ε so large that there is no noise.)
#[test]
fn whenever_the_process_ends_an_event_is_counted_once_or_lost() {
    const HORIZON: u64 = 6;
    let text = format!(
        "name='s'\nstep='event'\nhorizon={HORIZON}\nmode='pan-private'\nepsilon='1000'\nallow_large_epsilon=true"
    );
    let simulation = Simulation::<PanPrivate>::new(definition(&text)).unwrap();
    let mut permits = Permits(0);
    for end in End::ALL {
        for step in 1..HORIZON {
            let mut disk = Image::default();
            simulation.run(&mut disk, permits.next(), &[1; HORIZON as usize], Some((step, end))).unwrap();
            let kept = disk.published().len() as i64;
            assert_eq!(kept as u64, step - u64::from(!end.leaves_record()));
            let left = HORIZON as usize - kept as usize;
            simulation.run(&mut disk, permits.next(), &vec![0; left], None).unwrap();
            let published = disk.published();
            assert_eq!(published[..kept as usize], (1..=kept).collect::<Vec<_>>());
            assert!(published[kept as usize..].iter().all(|value| *value == kept), "{end:?}: {published:?}");
        }
    }
}

/// Two processes: the first ends in a step whose event is 0 or 1, all others are 0.
struct Pair {
    differs: u64,
    end: End,
    /// Is there a second process?
    goes_on: bool,
    /// Does the second process count the event once more? Not unless it is a mutant.
    again: bool,
    /// Does the disk forget the last record? Not unless it is a mutant.
    unsynced: bool,
}

impl Pair {
    fn at(differs: u64, end: End) -> Self {
        Self { differs, end, goes_on: true, again: false, unsynced: false }
    }

    /// Each process and the disk that it left.
    fn play<D: Design + 'static>(
        &self,
        simulation: &Simulation<D>,
        horizon: u64,
        permits: &mut Permits,
        event: i64,
    ) -> (Run, Image, Run, Image) {
        let mut values = vec![0; horizon as usize];
        values[self.differs as usize - 1] = event;
        let mut disk = Image::default();
        let first = simulation.run(&mut disk, permits.next(), &values, Some((self.differs, self.end))).unwrap();
        let seized = disk.clone();
        if !self.goes_on {
            return (first, seized, Run::default(), disk);
        }
        if self.unsynced {
            disk.forget_last();
        }
        let mut rest = vec![0; horizon as usize - disk.published().len()];
        if let (true, Some(next)) = (self.again, rest.first_mut()) {
            *next = event;
        }
        let second = simulation.run(&mut disk, permits.next(), &rest, None).unwrap();
        (first, seized, second, disk)
    }

    /// Weighs a statistic of all that is seen.
    fn weigh<D: Design + 'static>(
        &self,
        simulation: &Simulation<D>,
        horizon: u64,
        statistic: impl Fn(&Run, &Image, &Image) -> i64,
    ) -> EmpiricalEpsilon {
        let seed = (self.end as u64 + 1) << 40;
        let (mut none, mut one) = (Permits(seed), Permits(seed + (1 << 60)));
        let output = |permits: &mut Permits, event| {
            let (first, seized, _, disk) = self.play(simulation, horizon, permits, event);
            statistic(&first, &seized, &disk)
        };
        let (first, second) = (|| output(&mut none, 0), || output(&mut one, 1));
        EmpiricalEpsilon::measure(first, second, 0.0, SAMPLES, 1.0 - FALSE_ALARM).unwrap()
    }
}

fn claim() -> Epsilon {
    EPSILON.parse().unwrap()
}

#[track_caller]
fn keeps_its_promise(found: &EmpiricalEpsilon, end: End) {
    assert_eq!(found.verdict(&claim()), Verdict::Consistent, "{end:?}: {found}");
    assert!(found.lower_bound > SEEN * claim().to_f64(), "the audit sees too little; {end:?}: {found}");
}

/// For five steps the fourth is the worst: its event is made up for by N, the noise of [1, 2] and that of [3, 3]; see
/// `PanPrivate`. All three can be told from releases 2 and 3 and the memory.
fn past(first: &Run, published: &[i64]) -> i64 {
    let memory = &first.memories.last().unwrap().cells.cells;
    let value = |cell: &Cell| i64::try_from(cell.value()).unwrap();
    let sum = memory.iter().find(|cell| matches!(cell, Cell::Sum { .. })).map(value).unwrap();
    let open = memory.iter().find(|cell| matches!(cell, Cell::Noise { steps, .. } if *steps == (1..=4))).map(value);
    // The release of the step, wherever it is: in memory, shown or on the disk.
    let drawn = first.memories.iter().rev().find_map(|memory| memory.drawn.filter(|_| published.len() < 4));
    let fourth = published.get(3).copied().or(drawn);
    let whole = open.unwrap_or_else(|| fourth.map_or(0, |fourth| fourth - sum));
    let up_to = |step: usize| published[step - 1] - whole - sum;
    i64::from(sum >= 1) + i64::from(up_to(2) <= -1) + i64::from(up_to(3) <= -1)
}

#[test]
fn a_seizure_at_the_end_of_the_process_and_all_releases_before_it_tell_no_more_than_epsilon() {
    let simulation = simulation::<PanPrivate>("pan-private", 5);
    for end in End::ALL {
        let pair = Pair { goes_on: false, ..Pair::at(4, end) };
        let found = pair.weigh(&simulation, 5, |first, seized, _| past(first, &seized.published()));
        keeps_its_promise(&found, end);
    }
}

/// What comes after the end tells nothing more.
#[test]
fn releases_after_the_end_tell_nothing_more() {
    let simulation = simulation::<PanPrivate>("pan-private", 5);
    for end in [End::Drawn, End::Synced] {
        let found = Pair::at(4, end).weigh(&simulation, 5, |first, seized, disk| {
            let (before, after) = (seized.published(), disk.published());
            let base = before.last().copied().unwrap_or(0);
            2 * past(first, &before) + i64::from(after[4] - base >= 1)
        });
        assert_eq!(found.verdict(&claim()), Verdict::Consistent, "{end:?}: {found}");
    }
}

/// For four steps the first lies in three blocks.
#[test]
fn the_counter_that_survives_tells_no_more_than_epsilon_either() {
    const HORIZON: u64 = 4;
    let simulation = simulation::<PanPrivateSurviving>("pan-private-surviving", HORIZON);
    let rate = claim().to_f64() / 3.0;
    // The first release has two draws in it: P(k) is proportional to p^|k|·(|k| + (1+p²)/(1−p²)).
    let squared = (-2.0 * rate).exp();
    let mass = |k: i64| (k.abs() as f64 + (1.0 + squared) / (1.0 - squared)).ln() - rate * k.abs() as f64;
    for end in End::ALL {
        let pair = Pair { goes_on: false, ..Pair::at(1, end) };
        let found = pair.weigh(&simulation, HORIZON, |first, seized, _| {
            let memory = first.memories.last().unwrap();
            let sign = |value: i128| if value >= 1 { rate } else { -rate };
            // Those of blocks that begin with the second step have nothing to do with it.
            let held =
                memory.cells.cells.iter().filter(|cell| matches!(cell, Cell::Sum { steps, .. } if *steps.start() == 1));
            let mut ratio: f64 = held.map(|cell| sign(cell.value())).sum();
            if let Some(released) = memory.drawn.or(seized.published().first().copied()) {
                ratio += mass(released - 1) - mass(released);
            }
            (1000.0 * ratio).round() as i64
        });
        keeps_its_promise(&found, end);
    }
}

/// Four steps: the last is drawn, and a fresh tree of one step counts it again. Weighs the first tree as above, and the
/// second.
fn again(pair: &Pair) -> EmpiricalEpsilon {
    let simulation = simulation::<PanPrivate>("pan-private", 4);
    pair.weigh(&simulation, 4, |first, seized, disk| {
        let (before, after) = (seized.published(), disk.published());
        let memory = &first.memories.last().unwrap().cells;
        let sum = i64::try_from(memory.sum(1..=4).unwrap()).unwrap();
        let up_to = |step: usize| before[step - 1] - sum;
        let first = i64::from(sum >= 1) + i64::from(up_to(2) <= -1) + i64::from(up_to(3) <= -1);
        first + 3 * i64::from(after[3] - after[2] >= 1)
    })
}

/// The control: without a mutant the same statistic is within ε.
#[test]
fn a_step_that_was_not_published_is_counted_anew_without_what_was_lost() {
    for end in [End::Due, End::Torn] {
        let found = again(&Pair::at(4, end));
        assert_eq!(found.verdict(&claim()), Verdict::Consistent, "{end:?}: {found}");
    }
}

/// The mutant: events are acknowledged after they are counted, so a source that saw no answer sends them again.
#[test]
fn events_that_are_counted_in_two_trees_are_found_out() {
    for end in [End::Due, End::Torn] {
        let found = again(&Pair { again: true, ..Pair::at(4, end) });
        assert_eq!(found.verdict(&claim()), Verdict::Violation, "{end:?}: {found}");
    }
}

/// The mutant: a release is shown before it is durable, and after the power failed the same step is released once more,
/// with other noise.
#[test]
fn a_release_that_is_drawn_twice_is_found_out() {
    let pair = Pair { again: true, unsynced: true, ..Pair::at(4, End::Shown) };
    let found = again(&pair);
    assert_eq!(found.verdict(&claim()), Verdict::Violation, "{found}");
    let simulation = simulation::<PanPrivate>("pan-private", 4);
    let (first, seized, second, _) = pair.play(&simulation, 4, &mut Permits(0), 1);
    let (shown, again) = (first.shown.last().unwrap(), second.shown.last().unwrap());
    assert!(shown.0 == again.0 && shown.1 != again.1, "{shown:?}, {again:?}");
    assert_eq!(seized.published().last(), Some(&shown.1), "a disk that is synced has it");
}

/// The mutant: the cells are saved after every step, so that a restart can go on with the old sums. An attacker who takes two
/// copies has what came in between.
#[test]
fn sums_that_are_saved_are_found_out() {
    let simulation = simulation::<PanPrivate>("pan-private", 5);
    let pair = Pair { goes_on: false, ..Pair::at(4, End::Opened) };
    let found = pair.weigh(&simulation, 5, |first, _, _| {
        let sum = |memory: &reticent_stream::simulation::Memory| {
            let sum = memory.cells.cells.iter().find(|cell| matches!(cell, Cell::Sum { .. }));
            sum.map_or(0, |cell| i64::try_from(cell.value()).unwrap())
        };
        // Each step has four points; these are the ends of two steps.
        let [.., before, _, _, _, after] = &first.memories[..] else { panic!("two steps") };
        sum(after) - sum(before)
    });
    assert_eq!(found.verdict(&claim()), Verdict::Violation, "{found}");
}
