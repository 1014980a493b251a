//! Count, sum and squares of values on a grid.
//!
//! A centred step and a square are within 2^29, so a sum of 2^64 rows is within 2^93: 128 bits never overflow. Sums are brought
//! to 64 bits at the very end, where a sum beyond them is moved to the nearer end: that moves no two sums further apart.

use reticent::statistic::{Grid, Moments, MomentsOf};

use super::{Measured, State};
use crate::feature::MISSING;

pub struct Sums {
    terms: MomentsOf,
    cells: Vec<Sum>,
    /// Without squares, none.
    squares: Option<Vec<i128>>,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    count: i64,
    sum: i128,
}

impl Sums {
    pub fn new(grid: &Grid, squares: bool) -> Self {
        Self { terms: MomentsOf::new(grid), cells: Vec::new(), squares: squares.then(Vec::new) }
    }

    pub fn resize(&mut self, groups: usize) {
        self.cells.resize(groups, Sum::default());
        if let Some(squares) = &mut self.squares {
            squares.resize(groups, 0);
        }
    }

    pub fn add(&mut self, groups: &[u32], feature: &[i32]) {
        for (&group, &steps) in groups.iter().zip(feature) {
            let present = steps != MISSING;
            let cell = &mut self.cells[group as usize];
            cell.count += i64::from(present);
            cell.sum += i128::from(if present { self.terms.term(steps.into()).0 } else { 0 });
        }
        if let Some(squares) = &mut self.squares {
            for (&group, &steps) in groups.iter().zip(feature) {
                let square = if steps == MISSING { 0 } else { self.terms.term(steps.into()).1 };
                squares[group as usize] += i128::from(square);
            }
        }
    }

    pub fn absorb(&mut self, other: &Self, groups: &[u32]) {
        for (&group, more) in groups.iter().zip(&other.cells) {
            let cell = &mut self.cells[group as usize];
            cell.count += more.count;
            cell.sum += more.sum;
        }
        if let (Some(squares), Some(more)) = (&mut self.squares, &other.squares) {
            groups.iter().zip(more).for_each(|(&group, more)| squares[group as usize] += more);
        }
    }

    pub fn finish(self) -> Vec<Measured> {
        let nearest = |sum: i128| sum.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        let squares = self.squares.into_iter().flatten().chain(std::iter::repeat(0));
        let moments = |(cell, squares): (Sum, i128)| {
            Measured::Moments(Moments { count: cell.count, sum: nearest(cell.sum), squares: nearest(squares) })
        };
        self.cells.into_iter().zip(squares).map(moments).collect()
    }

    pub fn state(&self) -> State {
        State::Moments {
            counts: self.cells.iter().map(|cell| cell.count).collect(),
            sums: self.cells.iter().map(|cell| cell.sum).collect(),
            squares: self.squares.clone().unwrap_or_default(),
        }
    }

    pub fn restore(&mut self, counts: &[i64], sums: &[i128], squares: Vec<i128>) -> bool {
        let fits = counts.len() == self.cells.len() && sums.len() == self.cells.len();
        let fits = fits && squares.len() == self.squares.as_ref().map_or(0, Vec::len);
        self.cells = counts.iter().zip(sums).map(|(&count, &sum)| Sum { count, sum }).collect();
        self.squares = self.squares.as_ref().map(|_| squares);
        fits
    }

    pub fn bytes(&self) -> usize {
        let squares = self.squares.as_ref().map_or(0, Vec::capacity);
        self.cells.capacity() * size_of::<Sum>() + squares * size_of::<i128>()
    }
}
