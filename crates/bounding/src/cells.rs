//! A list whose memory is reserved before it is allocated.

use std::ops::{Deref, DerefMut};

use crate::error::{Error, Result};
use crate::memory::{Memory, Reservation};

/// Numbers, initially 0.
///
/// Their count may be the product of numbers that depend on the rows and on the query. So growing reserves memory
/// first, and fails if there is too little: a failed allocation would end the process.
pub(crate) struct Cells<T> {
    values: Vec<T>,
    held: Reservation,
}

impl<T: Copy + Default> Cells<T> {
    pub fn new(memory: &Memory) -> Self {
        Self { values: Vec::new(), held: memory.reserve() }
    }

    /// Grows to this many. On error nothing has changed.
    pub fn grow(&mut self, count: usize) -> Result<()> {
        if count > self.values.capacity() {
            // Doubles the capacity if that fits, so that frequent growth does not mean frequent moves.
            let twice = self.values.capacity().saturating_mul(2);
            if twice <= count || self.allocate(twice).is_err() {
                self.allocate(count)?;
            }
        }
        if count > self.values.len() {
            self.values.resize(count, T::default());
        }
        Ok(())
    }

    fn allocate(&mut self, count: usize) -> Result<()> {
        let (before, bytes) = (self.held.bytes(), count.checked_mul(size_of::<T>()).ok_or(Error::Memory)?);
        self.held.try_resize(bytes)?;
        self.values.try_reserve_exact(count - self.values.len()).map_err(|_| {
            self.held.shrink(bytes - before);
            Error::Memory
        })
    }

    /// Adds the values of another list to those here, at the indices given by `places`.
    pub fn absorb(&mut self, other: &Self, places: &[u32])
    where
        T: std::ops::AddAssign,
    {
        places.iter().zip(&other.values).for_each(|(&place, &more)| self.values[place as usize] += more);
    }

    /// Replaces the values by the same number of others; `false` if the numbers differ.
    pub fn restore(&mut self, values: &[T]) -> bool {
        let fits = self.values.len() == values.len();
        if fits {
            self.values.copy_from_slice(values);
        }
        fits
    }
}

impl<T> Deref for Cells<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.values
    }
}

impl<T> DerefMut for Cells<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_reserved_before_they_are_allocated() {
        let memory = Memory::new(100);
        let mut cells = Cells::<u64>::new(&memory);
        cells.grow(8).unwrap();
        cells[7] = 1;
        assert_eq!(memory.used(), 64);
        // Not 16, for which there is no room.
        cells.grow(12).unwrap();
        assert_eq!((memory.used(), cells.len(), cells[7], cells[11]), (96, 12, 1, 0));
        for too_many in [13, usize::MAX / 16, usize::MAX] {
            assert!(matches!(cells.grow(too_many), Err(Error::Memory)));
        }
        assert_eq!((memory.used(), cells.len()), (96, 12));
        // More than any machine has.
        let unlimited = Memory::unlimited();
        assert!(matches!(Cells::<u64>::new(&unlimited).grow(usize::MAX / 8), Err(Error::Memory)));
        assert_eq!(unlimited.used(), 0);
        drop(cells);
        assert_eq!(memory.used(), 0);
    }
}
