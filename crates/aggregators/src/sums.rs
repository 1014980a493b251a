//! What an aggregator adds up: residues, one per released number.

use std::io::Cursor;

use prio::codec::{Decode, Encode};
use prio::field::{Field64, Field128, FieldElement};
use zeroize::Zeroizing;

use crate::field::Signed;

/// An aggregator's share of one answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Addend {
    Narrow(Vec<Field64>),
    Wide(Vec<Field128>),
}

/// An aggregator's share of the sums of many answers. It is random to anyone who lacks another aggregator's share.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Sums(Addend);

impl std::fmt::Debug for Sums {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Sums(…)")
    }
}

impl Sums {
    pub fn narrow(cells: usize) -> Self {
        Self(Addend::Narrow(vec![Field64::zero(); cells]))
    }

    pub fn wide(cells: usize) -> Self {
        Self(Addend::Wide(vec![Field128::zero(); cells]))
    }

    /// As many random residues.
    #[cfg(feature = "test-util")]
    pub fn random_alike(&self) -> Self {
        Self(match &self.0 {
            Addend::Narrow(sums) => Addend::Narrow(Field64::random_vector(sums.len())),
            Addend::Wide(sums) => Addend::Wide(Field128::random_vector(sums.len())),
        })
    }

    /// The difference to other sums.
    #[cfg(feature = "test-util")]
    pub fn less(mut self, other: &Self) -> Self {
        match &other.0 {
            Addend::Narrow(less) => self.add(&Addend::Narrow(less.iter().map(|&cell| -cell).collect())),
            Addend::Wide(less) => self.add(&Addend::Wide(less.iter().map(|&cell| -cell).collect())),
        }
        self
    }

    /// Adds a share of an answer under the same scheme.
    pub fn add(&mut self, addend: &Addend) {
        match (&mut self.0, addend) {
            (Addend::Narrow(sums), Addend::Narrow(more)) => add(sums, more),
            (Addend::Wide(sums), Addend::Wide(more)) => add(sums, more),
            _ => unreachable!("a task has one scheme"),
        }
    }

    /// Adds another aggregator's share.
    pub fn merge(&mut self, other: &Self) {
        self.add(&other.0);
    }

    /// Adds whole numbers, reduced modulo the prime.
    pub fn add_numbers(&mut self, numbers: &[i64]) {
        match &self.0 {
            Addend::Narrow(_) => self.add(&Addend::Narrow(residues(numbers))),
            Addend::Wide(_) => self.add(&Addend::Wide(residues(numbers))),
        }
    }

    /// The whole numbers closest to zero with these residues.
    pub fn numbers(&self) -> Vec<i64> {
        match &self.0 {
            Addend::Narrow(sums) => sums.iter().map(|&cell| cell.to_signed()).collect(),
            Addend::Wide(sums) => sums.iter().map(|&cell| cell.to_signed()).collect(),
        }
    }

    /// Little-endian residues, concatenated.
    pub fn encode(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Vec::with_capacity(self.length());
        match &self.0 {
            Addend::Narrow(sums) => encode(sums, &mut bytes),
            Addend::Wide(sums) => encode(sums, &mut bytes),
        }
        Zeroizing::new(bytes)
    }

    /// The length of the encoding, in bytes.
    pub fn length(&self) -> usize {
        match &self.0 {
            Addend::Narrow(sums) => sums.len() * Field64::ENCODED_SIZE,
            Addend::Wide(sums) => sums.len() * Field128::ENCODED_SIZE,
        }
    }

    /// Decodes sums of the same kind and number as these; `None` if the bytes are anything else.
    pub fn decode_alike(&self, bytes: &[u8]) -> Option<Self> {
        match &self.0 {
            Addend::Narrow(sums) => decode(sums.len(), bytes).map(Addend::Narrow),
            Addend::Wide(sums) => decode(sums.len(), bytes).map(Addend::Wide),
        }
        .map(Self)
    }
}

fn add<F: FieldElement>(sums: &mut [F], more: &[F]) {
    sums.iter_mut().zip(more).for_each(|(sum, &more)| *sum += more);
}

fn residues<F: Signed>(numbers: &[i64]) -> Vec<F> {
    numbers.iter().map(|&number| F::from_signed(number)).collect()
}

fn encode<F: Encode>(sums: &[F], bytes: &mut Vec<u8>) {
    sums.iter().for_each(|cell| cell.encode(bytes).expect("writing into memory does not fail"));
}

fn decode<F: Decode>(cells: usize, bytes: &[u8]) -> Option<Vec<F>> {
    let mut cursor = Cursor::new(bytes);
    let sums: Vec<F> = (0..cells).map(|_| F::decode(&mut cursor).ok()).collect::<Option<_>>()?;
    (cursor.position() == bytes.len() as u64).then_some(sums)
}
