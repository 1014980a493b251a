//! Count, sum and squares of values on a grid.
//!
//! A centred step and a square are within 2^29, so a sum of 2^64 rows is within 2^93: 128 bits never overflow. Sums are brought
//! to 64 bits at the very end, where a sum beyond them is moved to the nearer end: that moves no two sums further apart.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, Decimal128Array, Int64Array, StructArray};
use datafusion::arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, Field, Fields, Int64Type};
use datafusion::error::Result;
use reticent::statistic::{Grid, Moments, MomentsOf};

use super::super::feature::MISSING;
use super::super::items::Items;
use super::{Accumulator, Measured};

/// Without squares.
pub struct Sums {
    terms: MomentsOf,
    cells: Vec<Sum>,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    count: i64,
    sum: i128,
}

/// With squares.
pub struct Squares {
    sums: Sums,
    squares: Vec<i128>,
}

impl Sums {
    pub fn new(grid: &Grid) -> Self {
        Self { terms: MomentsOf::new(grid), cells: Vec::new() }
    }
}

impl Squares {
    pub fn new(grid: &Grid) -> Self {
        Self { sums: Sums::new(grid), squares: Vec::new() }
    }
}

fn fields() -> Fields {
    let wide = DataType::Decimal128(DECIMAL128_MAX_PRECISION, 0);
    Fields::from(vec![
        Field::new("count", DataType::Int64, false),
        Field::new("sum", wide.clone(), false),
        Field::new("squares", wide, false),
    ])
}

pub fn state_type() -> DataType {
    DataType::Struct(fields())
}

fn state(cells: &[Sum], squares: Vec<i128>) -> Result<ArrayRef> {
    let wide = |numbers: Vec<i128>| -> Result<ArrayRef> {
        Ok(Arc::new(Decimal128Array::from(numbers).with_precision_and_scale(DECIMAL128_MAX_PRECISION, 0)?))
    };
    let counts: ArrayRef = Arc::new(Int64Array::from_iter_values(cells.iter().map(|cell| cell.count)));
    let sums = wide(cells.iter().map(|cell| cell.sum).collect())?;
    Ok(Arc::new(StructArray::try_new(fields(), vec![counts, sums, wide(squares)?], None)?))
}

fn moments(cell: Sum, squares: i128) -> Measured {
    let nearest = |sum: i128| sum.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
    Measured::Moments(Moments { count: cell.count, sum: nearest(cell.sum), squares: nearest(squares) })
}

impl Accumulator for Sums {
    fn resize(&mut self, groups: usize) {
        self.cells.resize(groups, Sum::default());
    }

    fn add(&mut self, groups: &[u32], feature: &[i32]) {
        for (&group, &steps) in groups.iter().zip(feature) {
            let present = steps != MISSING;
            let cell = &mut self.cells[group as usize];
            cell.count += i64::from(present);
            cell.sum += i128::from(if present { self.terms.term(steps.into()).0 } else { 0 });
        }
    }

    fn state(&mut self, _: Option<&Items>) -> Result<ArrayRef> {
        let cells = std::mem::take(&mut self.cells);
        state(&cells, vec![0; cells.len()])
    }

    fn merge(&mut self, groups: &[u32], state: &ArrayRef, _: Option<&mut Items>) -> Result<()> {
        let columns = state.as_struct();
        let counts = columns.column(0).as_primitive::<Int64Type>().values();
        let sums = columns.column(1).as_primitive::<Decimal128Type>().values();
        for (&group, (count, sum)) in groups.iter().zip(counts.iter().zip(sums)) {
            let cell = &mut self.cells[group as usize];
            cell.count += count;
            cell.sum += sum;
        }
        Ok(())
    }

    fn finish(&mut self, _: Option<&Items>) -> Result<Vec<Measured>> {
        Ok(std::mem::take(&mut self.cells).into_iter().map(|cell| moments(cell, 0)).collect())
    }

    fn bytes(&self) -> usize {
        self.cells.capacity() * size_of::<Sum>()
    }
}

impl Accumulator for Squares {
    fn resize(&mut self, groups: usize) {
        self.sums.resize(groups);
        self.squares.resize(groups, 0);
    }

    fn add(&mut self, groups: &[u32], feature: &[i32]) {
        self.sums.add(groups, feature);
        for (&group, &steps) in groups.iter().zip(feature) {
            let square = if steps == MISSING { 0 } else { self.sums.terms.term(steps.into()).1 };
            self.squares[group as usize] += i128::from(square);
        }
    }

    fn state(&mut self, _: Option<&Items>) -> Result<ArrayRef> {
        state(&std::mem::take(&mut self.sums.cells), std::mem::take(&mut self.squares))
    }

    fn merge(&mut self, groups: &[u32], state: &ArrayRef, _: Option<&mut Items>) -> Result<()> {
        self.sums.merge(groups, state, None)?;
        let squares = state.as_struct().column(2).as_primitive::<Decimal128Type>().values();
        groups.iter().zip(squares).for_each(|(&group, square)| self.squares[group as usize] += square);
        Ok(())
    }

    fn finish(&mut self, _: Option<&Items>) -> Result<Vec<Measured>> {
        let (cells, squares) = (std::mem::take(&mut self.sums.cells), std::mem::take(&mut self.squares));
        Ok(cells.into_iter().zip(squares).map(|(cell, squares)| moments(cell, squares)).collect())
    }

    fn bytes(&self) -> usize {
        self.sums.bytes() + self.squares.capacity() * size_of::<i128>()
    }
}
