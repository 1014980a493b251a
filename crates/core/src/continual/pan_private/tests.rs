//! What an intruder sees, computed exactly.
//!
//! A view is linear in the draws and in the data, with coefficients found by running the code itself on unit vectors.
//! So the claim can be checked for every ε at once: the least change of the draws, in the L1 norm, that compensates a
//! change of 1 in step j must not exceed α. Where the view determines the draws it is the only such change, and the
//! likelihood ratio reaches e^(η·change) exactly, η the inverse scale.

use std::collections::BTreeMap;

use super::*;
use crate::Permit;
use crate::continual::{Counter, CounterKind, Stream, Unit};
use crate::exact::Rational;
use crate::noise::Entropy;
use crate::privacy::Guarantee;

/// Horizons that are checked in full.
const LONGEST: u64 = 8;
/// For the laws that are enumerated: large, so that the mass outside the lattice is small compared to what is compared.
const ENUMERATED_EPSILON: f64 = 8.0;

type Vector = Vec<i64>;

fn pure(epsilon: &str) -> Guarantee {
    Guarantee::Pure(epsilon.parse().unwrap())
}

fn design<D: Design>(horizon: u64) -> D {
    D::new(Stream::bits().until(horizon).unwrap(), pure("1")).unwrap()
}

/// Everything that can be seen of a run.
#[derive(Default)]
struct Run {
    released: Vec<i128>,
    /// After each step.
    states: Vec<Seized>,
    /// Within each step, after its first event.
    within: Vec<Seized>,
    /// The first event of each step.
    first_events: Vec<i128>,
    /// The draws, and the step in which each was made.
    draws: Vec<(Noise, u64, i64)>,
}

/// A run of the code with given draws; missing ones are 0.
fn run<D: Design>(design: &D, values: &[i64], noise: &[i64]) -> Run {
    let mut run = Run::default();
    run.count(design, values, 1, noise);
    run
}

impl Run {
    /// Steps of `events` events each, on top of what was released before.
    fn count<D: Design>(&mut self, design: &D, values: &[i64], events: usize, noise: &[i64]) {
        let mut cells = vec![0; design.cells()];
        let base = self.released.last().copied().unwrap_or(0);
        for (step, values) in (1..).zip(values.chunks(events)) {
            let draws = &mut self.draws;
            let mut draw = |purpose| {
                let drawn = noise.get(draws.len()).copied().unwrap_or(0);
                draws.push((purpose, step, drawn));
                drawn
            };
            design.open(&mut cells, step, &mut draw);
            let (first, others) = values.split_first().unwrap();
            design.add(&mut cells, step, first);
            self.within.push(design.seized_within(&cells, step));
            self.first_events.push((*first).into());
            others.iter().for_each(|value| design.add(&mut cells, step, value));
            self.released.push(base + design.close(&mut cells, step, &mut draw));
            self.states.push(design.seized(&cells, step));
        }
    }
}

/// A run with these values and these draws.
type Runs<'a> = &'a dyn Fn(&[i64], &[i64]) -> Run;

/// The numbers of a run that an adversary looks at.
type View<'a> = &'a dyn Fn(&Run) -> Vec<i128>;

fn state(run: &Run, after: usize) -> impl Iterator<Item = i128> {
    run.states[after - 1].cells.iter().map(Cell::value)
}

/// The first `t` releases, and the memory after them.
fn past(t: usize) -> impl Fn(&Run) -> Vec<i128> {
    move |run| run.released[..t].iter().copied().chain(state(run, t)).collect()
}

/// All releases, and the memory after the first `t`.
fn everything(t: usize) -> impl Fn(&Run) -> Vec<i128> {
    move |run| run.released.iter().copied().chain(state(run, t)).collect()
}

/// The coefficients of a view: one vector for each draw, one for each step's value.
struct Linear {
    draws: Vec<Vector>,
    values: Vec<Vector>,
}

impl Linear {
    /// `broken` says for each draw whether the mutant omits it.
    fn of<D: Design>(design: &D, horizon: usize, view: View<'_>, broken: impl Fn(Noise) -> bool) -> Self {
        Self::of_runs(&|values, noise| run(design, values, noise), horizon, view, broken)
    }

    /// [`Linear::of`] for runs of any kind, with this many values.
    fn of_runs(run: Runs<'_>, horizon: usize, view: View<'_>, broken: impl Fn(Noise) -> bool) -> Self {
        let unit = |length: usize, at: usize| (0..length).map(|index| i64::from(index == at)).collect::<Vector>();
        let small = |view: Vec<i128>| view.into_iter().map(|value| i64::try_from(value).unwrap()).collect::<Vector>();
        let draws = run(&vec![0; horizon], &[]).draws;
        let sound = (0..draws.len()).filter(|&index| !broken(draws[index].0));
        let column = |index| small(view(&run(&vec![0; horizon], &unit(draws.len(), index))));
        let row = |step| small(view(&run(&unit(horizon, step), &[])));
        let linear = Self { draws: sound.map(column).collect(), values: (0..horizon).map(row).collect() };
        if linear.draws.len() == draws.len() {
            linear.check(run, view);
        }
        linear
    }

    /// Is the view really the linear function given by its columns?
    fn check(&self, run: Runs<'_>, view: View<'_>) {
        let mut random = 1u64;
        let mut vector = |length: usize| -> Vector {
            let next = |_| {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (random >> 33) as i64 % 1000 - 500
            };
            (0..length).map(next).collect()
        };
        let (noise, values) = (vector(self.draws.len()), vector(self.values.len()));
        let mut expected = vec![0; self.values[0].len()];
        for (column, factor) in self.draws.iter().zip(&noise).chain(self.values.iter().zip(&values)) {
            add(&mut expected, column, *factor);
        }
        let seen = view(&run(&values, &noise));
        assert_eq!(seen, expected.into_iter().map(i128::from).collect::<Vec<_>>());
    }

    /// The least L1 norm, up to `most`, of a whole-number change of the draws that compensates 1 more in step `j`.
    fn least_shift(&self, j: usize, most: u64) -> Option<u64> {
        (0..=most).find(|&norm| self.can_shift(&mut self.values[j - 1].clone(), norm))
    }

    /// To make the residual 0, its first non-zero number must change: only draws that affect it are tried.
    fn can_shift(&self, residual: &mut Vector, norm: u64) -> bool {
        let Some(first) = residual.iter().position(|&value| value != 0) else { return true };
        norm > 0
            && self.draws.iter().filter(|column| column[first] != 0).any(|column| {
                [1, -1].into_iter().any(|sign| {
                    add(residual, column, sign);
                    let found = self.can_shift(residual, norm - 1);
                    add(residual, column, -sign);
                    found
                })
            })
    }

    /// Do different draws always give different views? (Except for draws that affect nothing seen.)
    fn tells_the_draws(&self) -> bool {
        let seen: Vec<Vector> = self.draws.iter().filter(|column| column.iter().any(|&c| c != 0)).cloned().collect();
        rank(seen.clone()) == seen.len()
    }

    /// Is there no change of the draws, however large, that compensates 1 more in step `j`? (One in whole numbers would
    /// be one modulo a prime, too.)
    fn exposes(&self, j: usize) -> bool {
        let with_value = self.draws.iter().chain([&self.values[j - 1]]).cloned().collect();
        rank(with_value) > rank(self.draws.clone())
    }

    /// By enumeration of all draws up to `reach`: the largest ln(P/P′) over all views, x and x′ apart by 1 in step `j`,
    /// never more than the truth: the weight outside the lattice is counted for P′.
    fn largest_loss(&self, j: usize, rate: f64, reach: i64) -> f64 {
        let seen: Vec<_> = self.draws.iter().filter(|column| column.iter().any(|&c| c != 0)).collect();
        let p = (-rate).exp();
        let mut laws = [BTreeMap::<Vector, f64>::new(), BTreeMap::new()];
        let zero = vec![0; self.values[0].len()];
        for (law, shift) in laws.iter_mut().zip([&zero, &self.values[j - 1]]) {
            let mut partial = BTreeMap::from([(shift.clone(), 1.0)]);
            for column in &seen {
                let mut next = BTreeMap::new();
                for (view, weight) in &partial {
                    for k in -reach..=reach {
                        let mut view = view.clone();
                        add(&mut view, column, k);
                        *next.entry(view).or_insert(0.0) += weight * (1.0 - p) / (1.0 + p) * p.powi(k.abs() as i32);
                    }
                }
                partial = next;
            }
            *law = partial;
        }
        let outside = seen.len() as f64 * 2.0 * p.powi(reach as i32 + 1) / (1.0 + p);
        let [left, right] = &laws;
        let loss = |from: &BTreeMap<Vector, f64>, to: &BTreeMap<Vector, f64>| {
            let ratio = |(view, weight): (&Vector, &f64)| (weight / (to.get(view).unwrap_or(&0.0) + outside)).ln();
            from.iter().map(ratio).fold(f64::NEG_INFINITY, f64::max)
        };
        loss(left, right).max(loss(right, left))
    }
}

/// The rank modulo a prime: never more than the rank.
fn rank(mut rows: Vec<Vector>) -> usize {
    const PRIME: i64 = 1_000_003;
    let inverse = |value: i64| {
        let (mut power, mut base, mut exponent) = (1, value.rem_euclid(PRIME), PRIME - 2);
        while exponent > 0 {
            power = if exponent % 2 == 1 { power * base % PRIME } else { power };
            (base, exponent) = (base * base % PRIME, exponent / 2);
        }
        power
    };
    let mut rank = 0;
    for pivot in 0..rows.first().map_or(0, Vec::len) {
        let Some(found) = (rank..rows.len()).find(|&row| rows[row][pivot].rem_euclid(PRIME) != 0) else { continue };
        rows.swap(rank, found);
        let (lead, rest) = rows[rank..].split_first_mut().expect("the pivot's row");
        let over = inverse(lead[pivot]);
        for row in rest {
            let factor = row[pivot] * over % PRIME;
            row.iter_mut().zip(&*lead).for_each(|(value, lead)| *value = (*value - factor * lead) % PRIME);
        }
        rank += 1;
    }
    rank
}

fn add(to: &mut Vector, column: &[i64], factor: i64) {
    to.iter_mut().zip(column).for_each(|(value, c)| *value += factor * c);
}

fn alpha(horizon: usize) -> u64 {
    u64::from(horizon.ilog2()) + 1
}

fn horizons() -> impl Iterator<Item = usize> {
    1..=LONGEST as usize
}

fn sound(_: Noise) -> bool {
    false
}

#[test]
fn past_and_memory_can_always_be_explained_by_other_noise() {
    for horizon in horizons().chain([16, 21]) {
        let design = design::<PanPrivate>(horizon as u64);
        let mut largest = 0;
        for t in 1..=horizon {
            let linear = Linear::of(&design, horizon, &past(t), sound);
            assert!(linear.tells_the_draws(), "so that the least shift is the loss, exactly");
            for j in 1..=t {
                let shift = linear.least_shift(j, alpha(horizon)).unwrap();
                assert_eq!(shift, 1 + u64::from((j - 1).count_ones()), "n = {horizon}, t = {t}, j = {j}");
                largest = largest.max(shift);
            }
            assert!((t + 1..=horizon).all(|j| linear.least_shift(j, 0) == Some(0)), "later values are not seen");
        }
        assert_eq!(largest, alpha(horizon), "tight at n = {horizon}");
    }
}

#[test]
fn all_releases_and_one_memory_can_always_be_explained_by_other_noise() {
    for horizon in horizons() {
        let design = design::<PanPrivateSurviving>(horizon as u64);
        let mut largest = 0;
        for t in 1..=horizon {
            let linear = Linear::of(&design, horizon, &everything(t), sound);
            for j in 1..=horizon {
                let shift = linear.least_shift(j, alpha(horizon)).unwrap();
                largest = largest.max(shift);
            }
        }
        assert_eq!(largest, alpha(horizon), "tight at T = {horizon}");
    }
}

/// Two events per step; the memory is seized between the two. (The memory is not larger than between steps: for
/// `pan-private` the noise of a block that ends with the step is still there; for `pan-private-surviving` its sum is.)
#[test]
fn memory_within_a_step_can_always_be_explained_by_other_noise() {
    for horizon in 1..=6 {
        let values = 2 * horizon;
        let (first, second) = (design::<PanPrivate>(horizon as u64), design::<PanPrivateSurviving>(horizon as u64));
        let halves = |values: &[i64], noise: &[i64]| {
            let mut run = Run::default();
            run.count(&first, values, 2, noise);
            run
        };
        let surviving = |values: &[i64], noise: &[i64]| {
            let mut run = Run::default();
            run.count(&second, values, 2, noise);
            run
        };
        let within = |run: &Run, step: usize| run.within[step - 1].cells.iter().map(Cell::value).collect::<Vec<_>>();
        for step in 1..=horizon {
            let past = |run: &Run| [run.released[..step - 1].to_vec(), within(run, step)].concat();
            let linear = Linear::of_runs(&halves, values, &past, sound);
            let seen = 2 * step - 1;
            assert!((1..=seen).all(|event| linear.least_shift(event, alpha(horizon)).is_some()), "{horizon}, {step}");
            assert!((seen + 1..=values).all(|event| linear.least_shift(event, 0) == Some(0)), "not added yet");

            let everything = |run: &Run| [run.released.clone(), within(run, step)].concat();
            let linear = Linear::of_runs(&surviving, values, &everything, sound);
            assert!((1..=values).all(|event| linear.least_shift(event, alpha(horizon)).is_some()), "{horizon}, {step}");

            // The mutant: the sum of the open step is kept beside the cells until it is closed.
            let kept = |run: &Run| [everything(run), vec![run.first_events[step - 1]]].concat();
            assert!(Linear::of_runs(&surviving, values, &kept, sound).exposes(seen));
        }
    }
}

/// The process ends after `s` steps; a fresh tree counts the others on top of the last release.
#[test]
fn one_charge_covers_a_tree_and_the_fresh_one_after_it() {
    fn runs<D: Design>(horizon: usize, s: usize) -> impl Fn(&[i64], &[i64]) -> Run {
        let (before, after) = (design::<D>(horizon as u64), design::<D>((horizon - s) as u64));
        move |values, noise| {
            let mut run = Run::default();
            run.count(&before, &values[..s], 1, noise);
            run.count(&after, &values[s..], 1, noise);
            run
        }
    }
    for horizon in 2..=6 {
        for s in 1..horizon {
            let explains = |linear: &Linear| (1..=horizon).all(|j| linear.least_shift(j, alpha(horizon)).is_some());
            for t in 1..=horizon {
                let first = runs::<PanPrivate>(horizon, s);
                // Seized when the process ended, or later; the other tree's memory is gone.
                let seen = if t == s { horizon } else { t };
                let view = |run: &Run| run.released[..seen].iter().copied().chain(state(run, t)).collect::<Vec<_>>();
                if t >= s {
                    assert!(explains(&Linear::of_runs(&first, horizon, &view, sound)), "{horizon}, {s}, {t}");
                }
                let second = runs::<PanPrivateSurviving>(horizon, s);
                assert!(explains(&Linear::of_runs(&second, horizon, &everything(t), sound)), "{horizon}, {s}, {t}");
            }
            // The mutant: what was counted before the end is sent again and counted in both trees.
            let twice = |values: &[i64], noise: &[i64]| {
                let mut again = values.to_vec();
                again[s] += values[s - 1];
                runs::<PanPrivate>(horizon, s)(&again, noise)
            };
            let all = |run: &Run| run.released.clone();
            let linear = Linear::of_runs(&twice, horizon, &all, sound);
            let once = Linear::of_runs(&runs::<PanPrivate>(horizon, s), horizon, &all, sound);
            let cost = |linear: &Linear| linear.least_shift(s, 2 * alpha(horizon)).unwrap();
            assert!(cost(&linear) > cost(&once), "{horizon}, {s}");
        }
    }
}

#[test]
fn a_step_of_events_is_a_step_of_their_sum() {
    let permit = || Permit::unaccounted_from(Entropy::seeded(7));
    // ε so large that there is no noise.
    let exact = |unit| Stream::new(0..=5).unwrap().with_unit(unit).unwrap().until(4).unwrap();
    let guarantee = pure("10000");
    let mut counter =
        SeizableCounter::start(PanPrivate::new(exact(Unit::Event), guarantee.clone()).unwrap(), permit()).unwrap();
    let mut value = 9;
    counter.open_step().unwrap();
    counter.open_step().unwrap();
    counter.add(&mut value).unwrap();
    assert_eq!(value, 0, "overwritten");
    counter.add(&mut 2).unwrap();
    assert_eq!(counter.state_after().sum(1..=1), Some(7), "clamped, and in the cells at once");
    assert_eq!(counter.close_step().unwrap(), 7);
    assert_eq!(counter.close_step().unwrap(), 7, "a step without events");
    counter.add(&mut 1).unwrap();
    assert_eq!(counter.advance(3).unwrap(), 11, "on top of what was added");
    assert_eq!(counter.advance(1).unwrap(), 12);
    assert!(counter.open_step().is_err() && counter.add(&mut 1).is_err() && counter.close_step().is_err());

    let whole = PanPrivate::new(exact(Unit::Step), guarantee.clone()).unwrap();
    let error = SeizableCounter::start(whole, permit()).unwrap().add(&mut 1).unwrap_err().to_string();
    assert!(error.starts_with("unit is step, but it must be event or events:N"), "{error}");

    let start = |keys| {
        SeizableKeyedCounter::<PanPrivateSurviving>::start(exact(Unit::Event), guarantee.clone(), keys, permit())
    };
    assert!(start(0).is_err());
    let mut keyed = start(3).unwrap();
    for (key, mut value) in [(0, 1), (2, 9), (2, 1), (7, 1)] {
        keyed.add(key, &mut value).unwrap();
    }
    let mut released = vec![];
    keyed.close_step(|key, value| released.push((key, value))).unwrap();
    keyed.close_step(|key, value| released.push((key, value))).unwrap();
    assert_eq!(released, [(0, 1), (1, 0), (2, 6), (0, 1), (1, 0), (2, 6)]);
    assert_eq!((keyed.steps(), keyed.keys()), (2, 3));
    // Under replace an event may change its key: twice the scale.
    let replaced = exact(Unit::Event).with_adjacency(crate::privacy::Adjacency::Replace).unwrap();
    let replaced = SeizableKeyedCounter::<PanPrivate>::start(replaced, guarantee.clone(), 2, permit()).unwrap();
    let alone = PanPrivate::new(exact(Unit::Event), guarantee).unwrap();
    assert_eq!(replaced.design().law().scale(), &(alone.law().scale() * &Rational::from(2)));
}

/// No other noise explains them, whatever the scale: the value is exposed.
#[test]
fn mutants_cannot_be_explained() {
    let horizon = LONGEST as usize;
    let exposes = |linear: &Linear| (1..=horizon).any(|j| linear.exposes(j));
    let (first, second) = (design::<PanPrivate>(LONGEST), design::<PanPrivateSurviving>(LONGEST));

    let never_erases = |t: usize| {
        move |run: &Run| {
            let kept = run.draws.iter().filter(move |(purpose, step, _)| *purpose != Noise::Sum && *step <= t as u64);
            past(t)(run).into_iter().chain(kept.map(|(.., drawn)| (*drawn).into())).collect()
        }
    };
    let exposed = |t: &usize| exposes(&Linear::of(&first, horizon, &never_erases(*t), sound));
    assert!((2..=horizon).all(|t| exposed(&t)), "after every step but the first");

    for t in 1..horizon {
        let without = |noise: fn(Noise) -> bool| Linear::of(&second, horizon, &everything(t), noise);
        // A sum that starts at 0 is exact when it is seized.
        let no_first = without(|noise| matches!(noise, Noise::Beginning(_)));
        assert!((1..=t).any(|j| no_first.exposes(j)), "{t}");
        // A sum that is published exactly as stored: the values after the intrusion are the difference.
        let no_second = without(|noise| matches!(noise, Noise::Ending(_)));
        let open =
            second.seized(&vec![0; second.cells()], t as u64).cells.iter().any(|c| matches!(c, Cell::Sum { .. }));
        assert_eq!((t + 1..=horizon).any(|j| no_second.exposes(j)), open, "{t}");
    }

    let twice = |run: &Run| everything(2)(run).into_iter().chain(state(run, 3)).collect();
    assert!(exposes(&Linear::of(&second, horizon, &twice, sound)));
    // The first design does not guarantee that counting may continue.
    assert!(exposes(&Linear::of(&first, horizon, &everything(3), sound)));
}

#[test]
fn enumerated_laws_keep_the_claim_and_reach_it() {
    for horizon in 1..=4 {
        let (first, second) = (design::<PanPrivate>(horizon as u64), design::<PanPrivateSurviving>(horizon as u64));
        let rate = ENUMERATED_EPSILON / alpha(horizon) as f64;
        let mut largest = f64::NEG_INFINITY;
        for t in 1..=horizon {
            let linear = Linear::of(&first, horizon, &past(t), sound);
            for j in 1..=t {
                largest = largest.max(linear.largest_loss(j, rate, 8));
            }
            if horizon <= 3 {
                let linear = Linear::of(&second, horizon, &everything(t), sound);
                for j in 1..=horizon {
                    let loss = linear.largest_loss(j, rate, 4);
                    assert!(loss <= ENUMERATED_EPSILON + 1e-9, "T = {horizon}, t = {t}, j = {j}: {loss}");
                }
            }
        }
        assert!((largest / ENUMERATED_EPSILON - 1.0).abs() < 1e-3, "n = {horizon}: {largest}");
    }
}

/// c steps, range r: scale c·r·α/ε, exactly.
#[test]
fn scales_follow_from_horizon_range_unit_and_epsilon() {
    for (horizon, alpha) in [(1, 1), (2, 2), (3, 2), (4, 3), (1000, 10), (1 << 40, 41)] {
        for (range, steps, epsilon) in [(1, 1, "1"), (7, 1, "0.1"), (5, 3, "2.5")] {
            let stream = Stream::new(-range..=range).unwrap().with_unit(Unit::Events(steps)).unwrap();
            let stream = stream.until(horizon).unwrap();
            let scale = &Rational::from(alpha * steps * range as u64) / &epsilon.parse::<Rational>().unwrap();
            let first = PanPrivate::new(stream.clone(), pure(epsilon)).unwrap();
            let second = PanPrivateSurviving::new(stream, pure(epsilon)).unwrap();
            assert_eq!((first.law().scale(), second.law().scale()), (&scale, &scale));
        }
    }
}

#[test]
fn memory_is_small_and_errors_are_as_promised() {
    let (stream, guarantee) = (Stream::bits().until(1 << 40).unwrap(), pure("1"));
    let first = PanPrivate::new(stream.clone(), guarantee.clone()).unwrap();
    let second = PanPrivateSurviving::new(stream.clone(), guarantee.clone()).unwrap();
    assert_eq!((first.state_bytes(), second.state_bytes()), (41 * 16, 82 * 16));
    let binary = CounterKind::Binary.plan(stream, guarantee).unwrap();
    for step in [1, 2, 3, 1000, (1 << 39) - 1, 1 << 40] {
        assert_eq!(second.variance(step), 2.0 * binary.variance(step));
    }
    // One draw and half of the digits on average, all of them at first.
    assert_eq!((first.terms(1), first.terms(1 << 40)), (41, 1));
    assert_eq!(first.total_terms(1 << 40), 21 << 40);
}

#[test]
fn without_an_end_or_a_pure_epsilon_they_are_refused() {
    for kind in CounterKind::ALL.iter().filter(|kind| kind.is_pan_private()) {
        let error = kind.plan(Stream::bits(), pure("1")).unwrap_err().to_string();
        assert!(error.starts_with("horizon is unbounded, but it must be a number of steps"), "{error}");
        let stream = Stream::bits().until(8).unwrap();
        let error = kind.plan(stream, Guarantee::Zcdp("1".parse().unwrap())).unwrap_err().to_string();
        assert!(error.contains("given as epsilon alone"), "{error}");
    }
}

#[test]
fn what_is_seized_is_what_the_counter_holds_and_the_value_is_cleared() {
    let permit = || Permit::unaccounted_from(Entropy::seeded(1));
    let mut counter = SeizableCounter::start(design::<PanPrivate>(4), permit()).unwrap();
    assert!(counter.state_after().cells.is_empty());
    let mut value = 1;
    let released = counter.advance_erasing(&mut value).unwrap();
    assert_eq!(value, 0);
    let Seized { after, cells } = counter.state_after();
    let steps: Vec<_> = cells.iter().map(Cell::steps).collect();
    assert_eq!((after, steps), (1, vec![1..=1, 1..=2]));
    assert_ne!(cells[0].value() + cells[1].value(), i128::from(released), "N of [1, 1] is gone");
    for _ in 2..=4 {
        counter.advance(0).unwrap();
    }
    value = 1;
    assert!(counter.advance_erasing(&mut value).is_err());
    assert_eq!(value, 1, "not counted, not cleared");
    assert_eq!(counter.state_after().sum(1..=4), counter.value().map(i128::from));
    assert!(!format!("{counter:?}").contains("cells"));

    let mut counter = SeizableCounter::start(design::<PanPrivateSurviving>(7), permit()).unwrap();
    for _ in 0..6 {
        counter.advance(1).unwrap();
    }
    // [5, 8] would end after the horizon, [6, 6] is not left: nothing is open; both parts of the release are public.
    let published: Vec<_> = counter.state_after().cells;
    assert!(matches!(&published[..], [Cell::Published { steps, .. }, Cell::Published { .. }] if *steps == (1..=4)));
    assert_eq!(published.iter().map(Cell::value).sum::<i128>(), counter.value().unwrap().into());
}
