//! One unit added, removed or replaced, with the same random draws: how many blocks change?

use std::collections::BTreeMap;

use super::{Blocks, SubsampleMode, Unit};
use crate::ledger::Receipt;
use crate::noise::Entropy;
use crate::permit::Permit;
use crate::privacy::{Adjacency, Guarantee};

/// (id, value)
type Row = (Option<u8>, u8);

fn changed<T: PartialEq>(left: &[Vec<T>], right: &[Vec<T>]) -> u64 {
    assert_eq!(left.len(), right.len());
    left.iter().zip(right).filter(|(left, right)| left != right).count() as u64
}

/// All tables of at most four rows over three values, each a unit: a new last row, or any row replaced. (A row added
/// elsewhere has its own draw, and the others' draws have the same law: by symmetry it can be considered the last.)
#[test]
fn a_row_touches_one_block() {
    let blocks = Blocks::new(3, Unit::Row).unwrap();
    let split = |rows: &[u8], seed: u64| blocks.split(rows.to_vec(), &mut Entropy::seeded(seed).draw().unwrap());
    let mut most = BTreeMap::new();
    for seed in 0..4 {
        for code in 0..81u8 {
            let rows = [code % 3, code / 3 % 3, code / 9 % 3, code / 27];
            let whole = split(&rows, seed);
            assert_eq!(whole.iter().map(Vec::len).sum::<usize>(), 4);
            let fewer = changed(&whole, &split(&rows[..3], seed));
            most.entry(Adjacency::AddRemove.to_string())
                .and_modify(|most: &mut u64| *most = fewer.max(*most))
                .or_insert(fewer);
            for (row, value) in (0..4).flat_map(|row| (0..3).map(move |value| (row, value))) {
                let mut other = rows;
                other[row] = value;
                let other = changed(&whole, &split(&other, seed));
                most.entry(Adjacency::Replace.to_string()).and_modify(|most| *most = other.max(*most)).or_insert(other);
            }
        }
    }
    for adjacency in [Adjacency::AddRemove, Adjacency::Replace] {
        assert_eq!(most[&adjacency.to_string()], blocks.touched(adjacency), "{adjacency}");
    }
}

/// Units of up to two rows each, under 40 keys: one removed, or replaced by one with any other id and other rows.
#[test]
fn a_unit_with_an_id_touches_one_block_and_two_when_replaced() {
    let blocks = Blocks::new(4, Unit::Id).unwrap();
    let unit = |id: u8, values: &[u8]| values.iter().map(|value| (Some(id), *value)).collect::<Vec<Row>>();
    let split = |units: &[Vec<Row>], seed: u64| {
        // One row of every unit after another: a unit's rows need not be adjacent.
        let mut rows: Vec<Row> =
            (0..2).flat_map(|turn| units.iter().filter_map(move |unit| unit.get(turn).copied())).collect();
        rows.push((None, 9));
        let id = |row: &Row| row.0.map(|id| [id]);
        blocks.split_by(rows, id, &mut Entropy::seeded(seed).draw().unwrap()).unwrap()
    };
    let (mut removed, mut replaced) = (0, 0);
    for seed in 0..40 {
        let units = [unit(1, &[1, 2]), unit(2, &[3]), unit(3, &[1, 1]), unit(4, &[2, 5])];
        let whole = split(&units, seed);
        for left_out in 0..units.len() {
            let mut fewer = units.to_vec();
            fewer.remove(left_out);
            removed = removed.max(changed(&whole, &split(&fewer, seed)));
            for id in 5..12 {
                let mut other = units.to_vec();
                other[left_out] = unit(id, &[7, 8]);
                replaced = replaced.max(changed(&whole, &split(&other, seed)));
            }
        }
    }
    assert_eq!((removed, replaced), (blocks.touched(Adjacency::AddRemove), blocks.touched(Adjacency::Replace)));
}

/// If blocks were assigned by index, one row less would move all later rows: why they are drawn.
#[test]
fn blocks_by_index_would_change_everywhere() {
    let by_index = |rows: &[u8]| {
        let mut blocks = vec![Vec::new(); 3];
        rows.iter().enumerate().for_each(|(index, row)| blocks[index % 3].push(*row));
        blocks
    };
    assert_eq!(changed(&by_index(&[1, 2, 3, 4, 5, 6]), &by_index(&[2, 3, 4, 5, 6])), 3);
}

fn mechanism(unit: Unit, adjacency: Adjacency) -> SubsampleMode {
    let blocks = Blocks::new(100, unit).unwrap();
    SubsampleMode::new(blocks, adjacency, &"1".parse().unwrap(), &"1e-6".parse().unwrap()).unwrap()
}

#[test]
fn stable_queries_are_answered_and_others_refused() {
    let mut permit = Permit::unaccounted_from(Entropy::seeded(5));
    for adjacency in [Adjacency::AddRemove, Adjacency::Replace] {
        for unit in [Unit::Row, Unit::Id] {
            let mechanism = mechanism(unit, adjacency);
            assert_eq!(mechanism.test().lipschitz(), 2 * mechanism.blocks().touched(adjacency));
            let mut ask = |query: fn(&[u64]) -> u64| {
                let outcome = match unit {
                    Unit::Row => mechanism.release(0..5000, query, &mut permit),
                    Unit::Id => mechanism.release_by(0..5000, |row| Some(row.to_le_bytes()), query, &mut permit),
                };
                let outcome = outcome.unwrap();
                assert_eq!(outcome.guarantee(), mechanism.guarantee());
                outcome.released().map(|release| release.into_value())
            };
            // The mean of about 50 of the numbers below 5,000 is below 4,000 almost certainly.
            assert_eq!(ask(|block| block.iter().sum::<u64>() / (block.len() as u64).max(1) / 4000), Some(0));
            assert_eq!(ask(|block| block.iter().sum::<u64>() % 1000), None);
            // A query that panics everywhere has no answer, and one that panics on few blocks has one.
            assert_eq!(ask(|_| panic!("as the test asks")), None);
            assert_eq!(ask(|block| if block.contains(&7) { panic!("as the test asks") } else { 3 }), Some(3));
        }
    }
}

#[test]
fn what_cannot_work_is_an_error_before_anything_is_spent() {
    let (epsilon, delta) = ("1".parse().unwrap(), "1e-6".parse().unwrap());
    let few = Blocks::new(20, Unit::Row).unwrap();
    let error = SubsampleMode::new(few, Adjacency::AddRemove, &epsilon, &delta).unwrap_err();
    assert!(error.to_string().starts_with("number of blocks is 20, but it must be larger"), "{error}");

    let mechanism = mechanism(Unit::Row, Adjacency::AddRemove);
    let receipt = Receipt { dataset: "d".into(), request: "r".into(), entry: 1 };
    let charged = Guarantee::Approx(epsilon, delta);
    let mut permit = Permit::from_durable_charge(receipt, &charged, Entropy::seeded(6));
    let by_id = mechanism.release_by([1u8], |_| Some([0u8]), |_: &[u8]| 0, &mut permit);
    assert!(by_id.unwrap_err().is_parameter());
    assert!(mechanism.release([1u8], |_: &[u8]| 0, &mut permit).is_ok());
    assert!(mechanism.release([1u8], |_: &[u8]| 0, &mut permit).unwrap_err().is_not_permitted());
}
