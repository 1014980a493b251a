//! Count, sum and squares of values on a grid.
//!
//! A centred step and a square are within 2^29, and a weight within 2^16, so a sum of 2^64 rows is within 2^109: 128
//! bits never overflow. Sums are
//! reduced to 64 bits at the very end, saturating, which moves no two sums further apart.

use reticent::statistic::{Grid, Moments, MomentsOf};

use super::{Measured, State};
use crate::cells::Cells;
use crate::error::Result;
use crate::feature::MISSING;
use crate::memory::Memory;

pub struct Sums {
    terms: MomentsOf,
    cells: Cells<Sum>,
    /// `None` without squares.
    squares: Option<Cells<i128>>,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    count: i64,
    sum: i128,
}

impl Sums {
    pub fn new(grid: &Grid, squares: bool, memory: &Memory) -> Self {
        let squares = squares.then(|| Cells::new(memory));
        Self { terms: MomentsOf::new(grid), cells: Cells::new(memory), squares }
    }

    pub fn resize(&mut self, groups: usize) -> Result<()> {
        self.cells.grow(groups)?;
        self.squares.as_mut().map_or(Ok(()), |squares| squares.grow(groups))
    }

    pub fn add(&mut self, groups: &[u32], feature: &[i32], weights: impl Iterator<Item = i64> + Clone) {
        for ((&group, &steps), weight) in groups.iter().zip(feature).zip(weights.clone()) {
            let weight = if steps == MISSING { 0 } else { weight };
            let cell = &mut self.cells[group as usize];
            cell.count += weight;
            cell.sum += i128::from(if steps == MISSING { 0 } else { self.terms.term(steps.into()).0 * weight });
        }
        if let Some(squares) = &mut self.squares {
            for ((&group, &steps), weight) in groups.iter().zip(feature).zip(weights) {
                let square = if steps == MISSING { 0 } else { self.terms.term(steps.into()).1 * weight };
                squares[group as usize] += i128::from(square);
            }
        }
    }

    pub fn absorb(&mut self, other: &Self, groups: &[u32]) {
        self.cells.absorb(&other.cells, groups);
        if let (Some(squares), Some(more)) = (&mut self.squares, &other.squares) {
            squares.absorb(more, groups);
        }
    }

    pub fn finish(&self, groups: &[u32]) -> Vec<Measured> {
        let nearest = |sum: i128| sum.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        let moments = |&group: &u32| {
            let (cell, squares) = (&self.cells[group as usize], self.squares.as_ref().map(|all| all[group as usize]));
            let squares = nearest(squares.unwrap_or_default());
            Measured::Moments(Moments { count: cell.count, sum: nearest(cell.sum), squares })
        };
        groups.iter().map(moments).collect()
    }

    pub fn state(&self) -> State {
        State::Moments {
            counts: self.cells.iter().map(|cell| cell.count).collect(),
            sums: self.cells.iter().map(|cell| cell.sum).collect(),
            squares: self.squares.as_ref().map(|squares| squares.to_vec()).unwrap_or_default(),
        }
    }

    pub fn restore(&mut self, counts: &[i64], sums: &[i128], squares: &[i128]) -> bool {
        let cells: Vec<Sum> = counts.iter().zip(sums).map(|(&count, &sum)| Sum { count, sum }).collect();
        let fits = counts.len() == sums.len() && self.cells.restore(&cells);
        fits && self.squares.as_mut().map_or(squares.is_empty(), |own| own.restore(squares))
    }

    /// What this many groups take.
    pub fn most_bytes(&self, groups: usize) -> usize {
        let squares = if self.squares.is_some() { size_of::<i128>() } else { 0 };
        groups.saturating_mul(size_of::<Sum>() + squares)
    }
}

impl std::ops::AddAssign for Sum {
    fn add_assign(&mut self, more: Self) {
        self.count += more.count;
        self.sum += more.sum;
    }
}
