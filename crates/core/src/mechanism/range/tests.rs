use super::*;
use crate::noise::Entropy;
use crate::privacy::Adjacency;
use crate::statistic::Rows;

fn mechanism(rows: u64, epsilon: &str, adjacency: Adjacency) -> ApproxBounds {
    let unit = Contribution::overall(adjacency, Rows::AtMost(rows)).unwrap();
    ApproxBounds::new(&unit, &epsilon.parse().unwrap()).unwrap()
}

fn outcomes(mechanism: &ApproxBounds, values: &[f64], runs: u64) -> Vec<Option<ClampingBounds>> {
    let counts = ApproxBounds::count(values.iter().copied().map(Some));
    let mut permit = Permit::unaccounted_from(Entropy::seeded(3));
    let release = |_| mechanism.release(&counts, &mut permit).unwrap().released().map(Release::into_value);
    (0..runs).map(release).collect()
}

fn is_inside(value: f64, bounds: &Bounds) -> bool {
    (bounds.lower().to_f64()..=bounds.upper().to_f64()).contains(&value)
}

/// One row more changes one of the six counts by 1, whichever places were chosen: the L1 sensitivity of all six.
#[test]
fn counts_beyond_the_places_do_not_overlap() {
    for place in (0..20).map(Some).chain([None]) {
        for row in 0..20 {
            let mut side = vec![3; 20];
            let before = tail(&side, place);
            side[row] += 1;
            let moved: i64 = tail(&side, place).iter().zip(before).map(|(after, before)| (after - before).abs()).sum();
            assert_eq!(moved, i64::from(place.is_none_or(|place| row > place)), "{place:?} {row}");
        }
    }
}

/// The two parts of ε add up, and each has the noise that its part buys.
#[test]
fn both_parts_together_cost_epsilon() {
    for (adjacency, changed) in [(Adjacency::AddRemove, 3), (Adjacency::Replace, 6)] {
        let mechanism = mechanism(3, "0.2", adjacency);
        assert_eq!(mechanism.guarantee(), &Guarantee::Pure("0.2".parse().unwrap()));
        let Law::Laplace(noise) = &mechanism.noise else { panic!("pure ε") };
        // ε/4 for the counts, 3ε/4 for the choice: 11.25 nats of it are the score of none, of 20·S/(¾ε) each.
        assert_eq!(noise.scale(), &Rational::from(20 * changed));
        assert_eq!(mechanism.choice.none, 1500 * i64::from(changed));
    }
}

#[test]
fn ends_follow_the_counts_beyond() {
    let mechanism = mechanism(1, "0.4", Adjacency::AddRemove);
    assert_eq!((mechanism.tail, mechanism.many), (10, 40));
    let places = |place, tail| mechanism.end(place, tail).map(|end| end.places);
    assert_eq!(places(Some(30), [3, 3, 3]), Some(31));
    assert_eq!(places(Some(30), [4, 3, 3]), Some(39));
    assert_eq!(places(Some(30), [-9, 7, 3]), Some(43));
    assert_eq!(places(Some(PLACES - 1), [0, 0, 90]), Some(PLACES));
    assert_eq!(places(None, [0, 0, 39]), Some(0));
    assert_eq!(places(None, [0, 0, 40]), None);
    // The most rows beyond: of one count or of three, each with noise.
    let most = |place, tail| mechanism.end(place, tail).unwrap().most;
    let one = mechanism.noise.half_width(&"0.975".parse().unwrap()).unwrap();
    assert_eq!(most(Some(30), [50, 60, 70]), 70 + one);
    assert!(most(Some(30), [1, 2, 3]) > 6 + one);
    assert_eq!(most(None, [0, 0, -900]), 0);
}

/// Whatever the number of rows, a range whose ends no rows support is found less often than one time in a hundred, and
/// a refusal costs what an answer costs. 5.5 standard errors more are 72 of 4,000.
#[test]
fn what_rows_do_not_support_is_refused() {
    let mechanism = mechanism(2, "0.3", Adjacency::Replace);
    for rows in [0, 30, 200] {
        let found = outcomes(&mechanism, &vec![1000.0; rows], 4000).into_iter().flatten();
        let is_made_up = |found: &ClampingBounds| rows == 0 || !is_inside(1000.0, &found.bounds);
        assert!(found.filter(is_made_up).count() <= 72, "{rows}");
    }
    let counts = vec![0; BINS];
    let refused = mechanism.release(&counts, &mut Permit::unaccounted_from(Entropy::seeded(1))).unwrap();
    assert_eq!(refused.guarantee(), mechanism.guarantee());
}

/// As many rows as the error bar says, of one value or spread over a thousandfold range, are found in 95 % of all runs,
/// and the bounds on clamped rows hold; six standard errors less are 89 % of 500.
#[test]
fn enough_rows_are_found() {
    for epsilon in ["0.04", "0.4", "4"] {
        let mechanism = mechanism(1, epsilon, Adjacency::AddRemove);
        let rows = mechanism.enough();
        assert!((rows as f64 * epsilon.parse::<f64>().unwrap() - 40.0).abs() < 5.0, "{epsilon}: {rows}");
        for spread in [0.0, 10.0] {
            let step = |row: u64| -7.5 * libm::exp2(spread * row as f64 / rows as f64);
            let values: Vec<f64> = (0..rows).map(step).collect();
            let found: Vec<ClampingBounds> = outcomes(&mechanism, &values, 500).into_iter().flatten().collect();
            assert!(found.len() >= 445, "{epsilon} {spread}: {}", found.len());
            let holds = |found: &&ClampingBounds| {
                let outside = values.iter().filter(|value| !is_inside(**value, &found.bounds)).count();
                outside as u64 <= found.most_below
            };
            let held = found.iter().filter(holds).count();
            assert!(held * 100 >= found.len() * 89, "{epsilon} {spread}: {held} of {}", found.len());
        }
    }
}

/// Where one side has many rows whose end is unknown, they are not silently clamped to 0.
#[test]
fn a_side_that_is_not_found_is_not_cut_off() {
    let mechanism = mechanism(1, "0.4", Adjacency::AddRemove);
    // 90 rows are nine scales of the count's noise, and too few to be found: 100 are enough.
    let values: Vec<f64> = (0..5000).map(|row| if row < 90 { -500.0 - f64::from(row) } else { 7.0 }).collect();
    let found = outcomes(&mechanism, &values, 500);
    let cut = found.iter().flatten().filter(|found| *found.bounds.lower() == Rational::ZERO).count();
    assert!(cut <= 10, "{cut}");
}

#[test]
fn parameters_are_checked() {
    let unit = Contribution::overall(Adjacency::AddRemove, Rows::AtMost(1)).unwrap();
    assert!(ApproxBounds::new(&unit, &"1e-20".parse().unwrap()).is_err());
    let mechanism = ApproxBounds::new(&unit, &"1".parse().unwrap()).unwrap();
    let mut permit = Permit::unaccounted_from(Entropy::seeded(1));
    assert!(mechanism.release(&[0; BINS - 1], &mut permit).unwrap_err().is_parameter());
}
