//! Several points, each drawn from the part of the table that those before it leave.

use std::collections::BTreeMap;
use std::convert::Infallible;

use super::point::{Fraction, Table, Target};
use crate::exact::Rational;
use crate::exact::enclosure::Enclosure;
use crate::noise::bits::{BitSource, always};
use crate::privacy::Adjacency;

/// The targets of quantiles, in ascending order of p; ε is split evenly over the levels of the tree.
pub(crate) fn targets(ps: &[Rational], adjacency: Adjacency, epsilon: &Rational) -> Vec<Target> {
    let share = epsilon / &Rational::from(u64::from(levels(ps.len())));
    let mut targets = Vec::with_capacity(ps.len());
    place(ps, (&Rational::ZERO, &Rational::ONE), 0, &mut targets, &|p, depth| {
        let sensitivity = match (adjacency, depth) {
            (Adjacency::AddRemove, _) => p.larger(),
            (Adjacency::Replace, 0) => p.b,
            (Adjacency::Replace, _) => 2 * p.larger(),
        };
        Target::new(p, &share, sensitivity)
    });
    targets
}

/// ⌊log₂ m⌋ + 1: the levels of a tree of m points of which the middle one is always the root.
pub(crate) fn levels(points: usize) -> u32 {
    points.max(1).ilog2() + 1
}

/// The target of each p, relative to the two points between which it is drawn.
fn place(
    ps: &[Rational],
    (from, to): (&Rational, &Rational),
    depth: u32,
    targets: &mut Vec<Target>,
    target: &impl Fn(Fraction, u32) -> Target,
) {
    if let Some(p) = ps.get(ps.len() / 2) {
        place(&ps[..ps.len() / 2], (from, p), depth + 1, targets, target);
        targets.push(target(Fraction::between(p, from, to), depth));
        place(&ps[ps.len() / 2 + 1..], (p, to), depth + 1, targets, target);
    }
}

/// Sorted values, counted from the lower bound, and the same with a random fraction each.
#[derive(Debug)]
pub(crate) struct Rows {
    plain: Vec<i64>,
    /// Value times 2^bits, plus the fraction; not needed if there are no bits.
    jittered: Vec<i64>,
    bits: u32,
    hi: i64,
}

impl Rows {
    /// Clamps and sorts the values, each with a fraction of this many bits.
    pub fn new<E>(
        values: &[i64],
        (lo, hi): (i64, i64),
        bits: u32,
        mut fraction: impl FnMut() -> Result<u64, E>,
    ) -> Result<Self, E> {
        let mut plain: Vec<i64> = values.iter().map(|value| (*value).clamp(lo, hi).wrapping_sub(lo)).collect();
        let mut jittered = Vec::new();
        if bits > 0 {
            jittered.reserve_exact(plain.len());
            for value in &plain {
                jittered.push((value << bits) + fraction()? as i64);
            }
            jittered.sort_unstable();
            plain.iter_mut().zip(&jittered).for_each(|(plain, jittered)| *plain = jittered >> bits);
        } else {
            plain.sort_unstable();
        }
        Ok(Self { plain, jittered, bits, hi: hi.wrapping_sub(lo) })
    }

    /// All of them, without fractions.
    pub fn table(&self) -> Table<'_> {
        Table { sorted: &self.plain, lo: 0, hi: self.hi }
    }

    /// All of them, with all targets.
    pub fn segment<'a>(&'a self, targets: &'a [Target]) -> Segment<'a> {
        let jittered = if self.bits > 0 { &self.jittered } else { &self.plain };
        let hi = (self.hi << self.bits) + ((1 << self.bits) - 1);
        Segment { targets, plain: &self.plain, jittered, bits: self.bits, lo: 0, hi }
    }
}

/// The part of a table between two points, ends included, and the targets there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment<'a> {
    targets: &'a [Target],
    plain: &'a [i64],
    jittered: &'a [i64],
    bits: u32,
    lo: i64,
    hi: i64,
}

impl<'a> Segment<'a> {
    /// The middle target and the table that it is drawn from. The last point of a branch splits nothing, and is drawn
    /// from values without fractions.
    fn middle(&self) -> Option<(&'a Target, Table<'a>)> {
        let table = match self.targets.len() {
            1 => Table { sorted: self.plain, lo: self.lo >> self.bits, hi: self.hi >> self.bits },
            _ => Table { sorted: self.jittered, lo: self.lo, hi: self.hi },
        };
        Some((self.targets.get(self.targets.len() / 2)?, table))
    }

    /// The point drawn for the middle target as a value, and what lies left and right of it.
    fn split(&self, z: i64) -> (i64, Option<[Self; 2]>) {
        if self.targets.len() == 1 {
            return (z, None);
        }
        let (row, target) = (self.jittered.partition_point(|&row| row < z), self.targets.len() / 2);
        let part = |targets, rows: std::ops::Range<usize>, lo, hi| {
            let (plain, jittered) = (&self.plain[rows.clone()], &self.jittered[rows]);
            Self { targets, plain, jittered, bits: self.bits, lo, hi }
        };
        let left = part(&self.targets[..target], 0..row, self.lo, z);
        let right = part(&self.targets[target + 1..], row..self.jittered.len(), z, self.hi);
        (z >> self.bits, Some([left, right]))
    }

    /// Draws all points, in ascending order.
    pub fn sample<B: BitSource + ?Sized>(&self, points: &mut Vec<i64>, source: &mut B) -> Result<(), B::Error> {
        let Some((target, table)) = self.middle() else { return Ok(()) };
        let (point, parts) = self.split(target.sample(&table, source)?);
        if let Some([left, _]) = &parts {
            left.sample(points, source)?;
        }
        points.push(point);
        if let Some([_, right]) = &parts {
            right.sample(points, source)?;
        }
        Ok(())
    }

    /// The probability of all points together.
    fn law(&self, bits: usize) -> BTreeMap<Vec<i64>, Enclosure> {
        let nothing = || BTreeMap::from([(Vec::new(), Enclosure::one(bits))]);
        let Some((target, table)) = self.middle() else { return nothing() };
        let mut law = BTreeMap::new();
        for (z, mass) in (table.lo..).zip(target.law(&table, bits)) {
            let (point, parts) = self.split(z);
            let [left, right] = parts.map_or_else(|| [nothing(), nothing()], |parts| parts.map(|part| part.law(bits)));
            for (left, first) in &left {
                let first = first.times(&mass, bits);
                for (right, second) in &right {
                    let points = left.iter().chain([&point]).chain(right).copied().collect();
                    add(&mut law, points, first.times(second, bits));
                }
            }
        }
        law
    }
}

/// The law of all points together, for few rows from 0 to `hi` and fractions of few bits: the mean over all fractions.
pub(crate) fn law(
    targets: &[Target],
    values: &[i64],
    hi: i64,
    bits: u32,
    precision: usize,
) -> BTreeMap<Vec<i64>, Enclosure> {
    let choices = 1u64 << (bits as usize * values.len());
    let each = Enclosure::rational(&(Rational::ONE / Rational::from(choices)), precision);
    let mut law = BTreeMap::new();
    for choice in 0..choices {
        let mut rest = choice;
        let fraction = || {
            let digit = rest & ((1 << bits) - 1);
            rest >>= bits;
            Ok::<_, Infallible>(digit)
        };
        let rows = always(Rows::new(values, (0, hi), bits, fraction));
        for (points, mass) in rows.segment(targets).law(precision) {
            add(&mut law, points, mass.times(&each, precision));
        }
    }
    law
}

/// Adds the probability of an outcome.
fn add<T: Ord>(law: &mut BTreeMap<T, Enclosure>, outcome: T, mass: Enclosure) {
    law.entry(outcome).and_modify(|sum| *sum = sum.add(&mass)).or_insert(mass);
}
