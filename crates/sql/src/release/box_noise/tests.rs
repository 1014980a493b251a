use reticent::Permit;
use reticent::noise::Entropy;
use reticent::privacy::Adjacency;
use reticent::statistic::Bounds;
use reticent_bounding::Measured;

use super::super::numbers::numbers;
use super::*;

fn grid() -> Grid {
    Grid::new(&"-3..5".parse::<Bounds>().unwrap())
}

fn parts() -> [Additive; 5] {
    [Additive::Rows, Additive::Units, Additive::Ends(0, grid()), Additive::Squares(0, grid()), Additive::Present(1)]
}

fn boxed(weights: [u32; 5], touched: &UnitContribution) -> BoxNoise {
    let (parts, epsilon) = (parts(), "1".parse().unwrap());
    let weighted: Vec<_> = parts.iter().zip(weights).collect();
    BoxNoise::new(&weighted, touched, &epsilon).unwrap()
}

/// A group of this many units; a row has a value or not in the column that is summed, and in another.
fn group(units: u64, rows: &[(Option<f64>, bool)]) -> Group {
    let moments = Measured::Moments(Moments::of(&grid(), rows.iter().map(|(value, _)| *value)));
    let present = Measured::Count(rows.iter().filter(|(_, present)| *present).count() as i64);
    Group { units, rows: rows.len() as u64, measured: vec![moments, present] }
}

type Rows = Vec<(Option<f64>, bool)>;

/// Everything that one unit can add to three groups: up to `rows` rows in each of up to `groups` of them.
fn contributions(groups: usize, rows: usize) -> Vec<[Rows; 3]> {
    let row = [(None, false), (Some(-3.0), true), (Some(5.0), false), (Some(0.9), true)];
    let mut in_a_group: Vec<Rows> = vec![vec![]];
    let mut longest = in_a_group.clone();
    for _ in 0..rows {
        longest = longest.iter().flat_map(|some| row.map(|one| [&some[..], &[one]].concat())).collect();
        in_a_group.extend(longest.clone());
    }
    let mut all = Vec::new();
    for a in &in_a_group {
        for b in &in_a_group {
            for c in &in_a_group {
                let unit = [a.clone(), b.clone(), c.clone()];
                if unit.iter().filter(|rows| !rows.is_empty()).count() <= groups {
                    all.push(unit);
                }
            }
        }
    }
    all
}

/// The most that one unit moves the vectors, the largest coordinate of each group added up, beside other rows.
fn most_moved(noise: &BoxNoise, adjacency: Adjacency, is_grouped: bool, groups: usize, rows: usize) -> u64 {
    let others = [(Some(4.1), true), (None, true), (Some(-2.7), false), (Some(0.31), true)];
    let vectors = |unit: &[Rows; 3]| -> Vec<i64> {
        let with = |rows: &Rows| group(3 + u64::from(!rows.is_empty()), &[&others[..], rows].concat());
        let number = if is_grouped { 3 } else { 1 };
        noise.exact(&unit[..number].iter().map(with).collect::<Vec<_>>())
    };
    let all = contributions(if is_grouped { groups } else { 3 }, rows);
    let all = all.into_iter().filter(|unit| is_grouped || unit[1].is_empty() && unit[2].is_empty());
    let all: Vec<Vec<i64>> = all.map(|unit| vectors(&unit)).collect();
    let before = match adjacency {
        Adjacency::AddRemove => vec![vectors(&[vec![], vec![], vec![]])],
        // Every tenth, which leaves all kinds.
        Adjacency::Replace => all.iter().step_by(if all.len() > 500 { 10 } else { 1 }).cloned().collect(),
    };
    let moved = |one: &[i64], other: &[i64]| -> u64 {
        let groups = one.chunks(noise.coordinates()).zip(other.chunks(noise.coordinates()));
        groups.map(|(one, other)| one.iter().zip(other).map(|(a, b)| a.abs_diff(*b)).max().unwrap()).sum()
    };
    before.iter().flat_map(|one| all.iter().map(move |other| moved(one, other))).max().unwrap()
}

/// No unit moves the vectors by more than the noise is for, and some unit by as much. Mutants: noise for one group less, for
/// one row less, and for the other adjacency.
#[test]
fn no_unit_moves_the_vectors_further() {
    for weights in [[1; 5], [3, 1, 2, 1, 5]] {
        for (adjacency, is_grouped, groups, rows) in [
            (Adjacency::AddRemove, true, 2, 1),
            (Adjacency::AddRemove, true, 1, 2),
            (Adjacency::AddRemove, false, 1, 2),
            (Adjacency::Replace, true, 1, 1),
            (Adjacency::Replace, true, 1, 2),
            (Adjacency::Replace, false, 1, 2),
        ] {
            let case = format!("{weights:?} {adjacency} {is_grouped} {groups} {rows}");
            let noise = |adjacency: Adjacency, groups: u64, rows: u64| {
                boxed(weights, &UnitContribution::new(adjacency, is_grouped, groups, rows).unwrap())
            };
            let moved = |noise: &BoxNoise| most_moved(noise, adjacency, is_grouped, groups, rows);
            let right = noise(adjacency, groups as u64, rows as u64);
            assert_eq!(moved(&right), right.sensitivity(), "{case}");
            let broken = |mutant: BoxNoise| moved(&mutant) > mutant.sensitivity();
            assert!(groups == 1 || broken(noise(adjacency, groups as u64 - 1, rows as u64)), "{case}");
            assert!(rows == 1 || broken(noise(adjacency, groups as u64, rows as u64 - 1)), "{case}");
            let other = noise(Adjacency::AddRemove, groups as u64, rows as u64);
            assert!(adjacency == Adjacency::AddRemove || broken(other), "{case}");
        }
    }
}

/// Without noise every number comes back, within the rounding that half-widths include.
#[test]
fn numbers_come_back() {
    let rows: Rows = (0..1000).map(|i| (Some(f64::from(i % 11) - 4.0).filter(|_| i % 3 > 0), i % 5 > 0)).collect();
    let groups = [group(900, &rows), group(0, &[]), group(2, &rows[..7])];
    for (weights, touched) in [
        ([1; 5], UnitContribution::new(Adjacency::AddRemove, true, 4, 4).unwrap()),
        ([7, 1, 2, 1, 1], UnitContribution::new(Adjacency::Replace, false, 1, 100).unwrap()),
    ] {
        let noise = boxed(weights, &touched);
        let exact = noise.exact(&groups);
        for part in parts() {
            let back = noise.numbers(&part, &exact);
            let off = numbers(&part, &groups).into_iter().zip(back).map(|(a, b)| a.abs_diff(b));
            let steps = match &part {
                Additive::Ends(_, grid) => (grid.upper() - grid.lower()) as f64,
                Additive::Squares(_, grid) => Moments::largest_square(grid) as f64,
                _ => 0.0,
            };
            let rounding = 7.0 * touched.max_rows() as f64 * steps / STEPS as f64;
            assert!(off.clone().all(|off| off as f64 <= rounding.ceil()), "{part:?}: {:?} {rounding}", off.max());
        }
    }
}

/// One draw for each group, independent of the numbers, paid for once.
#[test]
fn noise_is_drawn_once_for_each_group() {
    let noise = boxed([1; 5], &UnitContribution::new(Adjacency::AddRemove, true, 2, 3).unwrap());
    assert_eq!(noise.guarantee().to_string(), "ε = 1");
    assert_eq!((noise.coordinates(), noise.sensitivity()), (6, 2 * STEPS));
    let released = |groups: &[Group]| {
        let noisy = noise.release(groups, &mut Permit::unaccounted_from(Entropy::seeded(2))).unwrap();
        noisy.iter().zip(noise.exact(groups)).map(|(noisy, exact)| noisy - exact).collect::<Vec<_>>()
    };
    let (some, none) = (group(5, &[(Some(1.0), true); 9]), group(0, &[]));
    assert_eq!(released(&[some.clone(), none.clone()]), released(&[none.clone(), some]));
    assert_eq!(released(&[none.clone(), none]).len(), 12);
}
