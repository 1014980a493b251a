//! Points of a projective space over a prime field, numbered.

/// The points of PG(t−1, q), q prime: non-zero vectors of t coordinates modulo q, where multiples are the same point.
/// The first coordinate that is not 0 is made 1.
///
/// # Numbering
/// A point whose leading 1 is followed by m coordinates has the number (q^m−1)/(q−1) plus the number with these digits in base q: the
/// points with short tails come first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Geometry {
    q: u32,
    t: u32,
    /// q^0 … q^t.
    powers: Vec<u128>,
}

/// Coordinates, the first one first.
pub(crate) type Vector = Vec<u32>;

impl Geometry {
    /// `None` unless t ≥ 2 and q^t < 2^127, so that all numbers and their sums fit.
    pub fn new(q: u32, t: u32) -> Option<Self> {
        let mut powers = vec![1u128];
        for _ in 0..t {
            powers.push(powers.last()?.checked_mul(q.into()).filter(|&power| power < 1 << 127)?);
        }
        (t >= 2).then_some(Self { q, t, powers })
    }

    /// The fewest dimensions with at least k points.
    pub fn with_points(q: u32, k: u128) -> Option<Self> {
        (2..=128).find_map(|t| match Self::new(q, t) {
            None => Some(None),
            Some(geometry) if geometry.points() >= k => Some(Some(geometry)),
            Some(_) => None,
        })?
    }

    pub fn q(&self) -> u32 {
        self.q
    }

    pub fn t(&self) -> u32 {
        self.t
    }

    /// q^exponent, exponent ≤ t.
    pub fn power(&self, exponent: u32) -> u128 {
        self.powers[exponent as usize]
    }

    /// K = (q^t−1)/(q−1).
    pub fn points(&self) -> u128 {
        self.points_of(self.t)
    }

    /// c_s = (q^(t−1)−1)/(q−1): how many points y have ⟨x, y⟩ = 0.
    pub fn support(&self) -> u128 {
        self.points_of(self.t - 1)
    }

    /// c_i = (q^(t−2)−1)/(q−1): how many have ⟨x, y⟩ = ⟨x′, y⟩ = 0 for x ≠ x′.
    pub fn intersection(&self) -> u128 {
        self.points_of(self.t - 2)
    }

    fn points_of(&self, t: u32) -> u128 {
        (self.power(t) - 1) / u128::from(self.q - 1)
    }

    /// The coordinates of a point.
    pub fn vector(&self, point: u128) -> Vector {
        debug_assert!(point < self.points());
        let tail = (0..self.t).rev().find(|&m| self.points_of(m) <= point).unwrap_or(0);
        let mut vector = self.digits(point - self.points_of(tail));
        vector[(self.t - 1 - tail) as usize] = 1;
        vector
    }

    /// A number below q^t as t digits.
    pub fn digits(&self, mut number: u128) -> Vector {
        let mut digits = vec![0; self.t as usize];
        for digit in digits.iter_mut().rev() {
            *digit = (number % u128::from(self.q)) as u32;
            number /= u128::from(self.q);
        }
        digits
    }

    /// The point of a vector that is not 0: divided by its first coordinate that is not 0.
    pub fn point(&self, vector: &[u32]) -> u128 {
        let lead = vector.iter().position(|&coordinate| coordinate != 0).expect("0 is not a point");
        let inverse = self.inverse(vector[lead]);
        let tail = vector[lead + 1..]
            .iter()
            .fold(0, |number, &coordinate| number * u128::from(self.q) + u128::from(self.times(coordinate, inverse)));
        self.points_of(self.t - 1 - lead as u32) + tail
    }

    /// ⟨x, y⟩.
    pub fn product(&self, x: &[u32], y: &[u32]) -> u32 {
        // Each product is below 2^32 and there are at most 128.
        let sum: u64 = x.iter().zip(y).map(|(&x, &y)| u64::from(x) * u64::from(y)).sum();
        (sum % u64::from(self.q)) as u32
    }

    pub fn times(&self, a: u32, b: u32) -> u32 {
        (u64::from(a) * u64::from(b) % u64::from(self.q)) as u32
    }

    /// −a.
    pub fn negative(&self, a: u32) -> u32 {
        if a == 0 { 0 } else { self.q - a }
    }

    /// 1/a, by Fermat: a^(q−2).
    fn inverse(&self, a: u32) -> u32 {
        let (mut power, mut base, mut exponent) = (1, a, self.q - 2);
        while exponent > 0 {
            if exponent & 1 == 1 {
                power = self.times(power, base);
            }
            base = self.times(base, base);
            exponent >>= 1;
        }
        power
    }

    /// A point with ⟨x, y⟩ = 0, one for each vector of t−1 digits that are not all 0; each point for q−1 of them.
    ///
    /// The digits are all coordinates of y but the one where x leads with 1, which the equation then determines. If it were the
    /// only one that is not 0 the product would not be 0, so that every point of the support has such digits, and as many of
    /// them as it has multiples.
    pub fn orthogonal(&self, x: &[u32], digits: u128) -> u128 {
        debug_assert!(digits > 0 && digits < self.power(self.t - 1));
        let lead = x.iter().position(|&coordinate| coordinate != 0).expect("0 is not a point");
        let mut y = self.digits(digits);
        // The first of the t digits is 0, as the number is below q^(t−1); it makes room at the lead.
        y[..=lead].rotate_left(1);
        y[lead] = 0;
        y[lead] = self.negative(self.product(x, &y));
        self.point(&y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn spaces() -> Vec<Geometry> {
        [(2, 2), (2, 5), (3, 2), (3, 4), (5, 3), (7, 3), (11, 2)].map(|(q, t)| Geometry::new(q, t).unwrap()).into()
    }

    #[test]
    fn points_are_numbered_without_gaps() {
        for space in spaces() {
            for point in 0..space.points() {
                let vector = space.vector(point);
                assert_eq!(vector.iter().find(|&&coordinate| coordinate != 0), Some(&1));
                for factor in 1..space.q {
                    let multiple: Vector = vector.iter().map(|&coordinate| space.times(coordinate, factor)).collect();
                    assert_eq!(space.point(&multiple), point, "{space:?}");
                }
            }
        }
    }

    /// The two numbers on which the law of the mechanism rests, counted.
    #[test]
    fn supports_and_their_intersections_have_the_stated_sizes() {
        for space in spaces() {
            let vectors: Vec<Vector> = (0..space.points()).map(|point| space.vector(point)).collect();
            for x in &vectors {
                let support = vectors.iter().filter(|y| space.product(x, y) == 0).count();
                assert_eq!(support as u128, space.support());
                for other in vectors.iter().filter(|other| *other != x) {
                    let both = |y: &&Vector| space.product(x, y) == 0 && space.product(other, y) == 0;
                    assert_eq!(vectors.iter().filter(both).count() as u128, space.intersection(), "{space:?}");
                }
            }
        }
    }

    #[test]
    fn orthogonal_points_are_met_equally_often() {
        for space in spaces() {
            for point in 0..space.points() {
                let x = space.vector(point);
                let mut met: BTreeMap<u128, u32> = BTreeMap::new();
                for digits in 1..space.power(space.t - 1) {
                    *met.entry(space.orthogonal(&x, digits)).or_default() += 1;
                }
                assert_eq!(met.len() as u128, space.support());
                assert!(
                    met.iter().all(|(&y, &times)| times == space.q - 1 && space.product(&x, &space.vector(y)) == 0)
                );
            }
        }
    }

    #[test]
    fn spaces_are_as_small_as_they_can_be() {
        assert_eq!(Geometry::with_points(3, 1_000_000).unwrap().t, 14);
        assert_eq!(Geometry::with_points(3, 2).unwrap().t, 2);
        assert!(Geometry::with_points(3, 1 << 126).is_none() && Geometry::new(3, 1).is_none());
    }
}
