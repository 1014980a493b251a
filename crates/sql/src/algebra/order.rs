//! Sorting.

use arrow_array::{Array, ArrayRef};

use super::groups::encoded;

/// The sort direction of one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Direction {
    /// Largest first?
    pub descending: bool,
    /// NULLs before everything else?
    pub nulls_first: bool,
}

/// Returns the row numbers in sorted order. The sort is stable.
pub fn sorted(columns: &[(ArrayRef, Direction)], rows: usize) -> Vec<u32> {
    let keys: Vec<(Vec<u32>, &ArrayRef, Direction)> =
        columns.iter().map(|(column, direction)| (ranks(column), column, *direction)).collect();
    let mut places: Vec<u32> = (0..rows as u32).collect();
    places.sort_by(|&one, &other| {
        let compare = |(ranks, column, direction): &(Vec<u32>, &ArrayRef, Direction)| {
            let (one, other) = (one as usize, other as usize);
            let nulls = column.is_null(one).cmp(&column.is_null(other));
            let nulls = if direction.nulls_first { nulls.reverse() } else { nulls };
            let values = ranks[one].cmp(&ranks[other]);
            nulls.then(if direction.descending { values.reverse() } else { values })
        };
        keys.iter().map(compare).find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    });
    places
}

/// Returns the rank of each row's value: equal values have equal ranks, larger values larger ranks.
pub fn ranks(column: &ArrayRef) -> Vec<u32> {
    let encoded = encoded(std::slice::from_ref(column));
    let mut places: Vec<u32> = (0..column.len() as u32).collect();
    places.sort_unstable_by(|&one, &other| encoded.row(one as usize).cmp(&encoded.row(other as usize)));
    let mut ranks = vec![0; column.len()];
    for (rank, run) in
        places.chunk_by(|&one, &other| encoded.row(one as usize) == encoded.row(other as usize)).enumerate()
    {
        run.iter().for_each(|&row| ranks[row as usize] = rank as u32);
    }
    ranks
}
