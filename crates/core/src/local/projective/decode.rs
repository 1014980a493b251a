//! The supports of all values at once.

use super::geometry::Geometry;

/// Elements of an inner loop: they and the q² rows that they are summed from should stay in a cache.
const BLOCK: usize = 32;

/// For each point v the number of responses y with ⟨v, y⟩ = 0, from the number of responses at each point.
///
/// # Algorithm
/// Divide the responses by the position of their leading 1: those with m free coordinates after it are a table h of q^m
/// numbers, and v = (…, c, a) with a of m coordinates is orthogonal to (0…0, 1, y′) exactly if ⟨a, y′⟩ = −c. So the
/// task is to find S(a, z) = Σ_{⟨a, y′⟩ = z} h(y′) at z = −c, summed over all m.
///
/// S is made coordinate by coordinate: with T(z; y_1…y_m), 0 for z ≠ 0 and h for z = 0, replacing the first coordinate y by
/// that of a, T′(z; …, a) = Σ_y T(z − a·y; y, …), and moving it to the end turns T into S after m rounds, in the right order
/// again. Every round reads and writes q^(m+1) numbers, each a sum of q: (t−1)·q^(t+1) additions for the largest table, and a fraction
/// 1/(q−1) of that for all others. \[FNNT22\] have the same idea.
///
/// Every sum counts different responses, so that none exceeds their number and `u32` suffices for fewer than 2^32.
pub(crate) fn supports(space: &Geometry, responses: &[u64]) -> Vec<u64> {
    let q = space.q() as usize;
    let points = responses.len();
    debug_assert_eq!(points as u128, space.points());
    let mut supports = vec![0u64; points];
    let power = |exponent: u32| space.power(exponent) as usize;
    for m in 0..space.t() {
        let first = (power(m) - 1) / (q - 1);
        let mut start = vec![0u32; q * power(m)];
        start.iter_mut().zip(&responses[first..first + power(m)]).for_each(|(place, &count)| *place = count as u32);
        let sums = sums(q, m, start);
        let row = |c: usize| &sums[(q - c) % q * power(m)..][..power(m)];
        // Points by the position of their leading 1, with `tail` free coordinates after it.
        for tail in 0..space.t() {
            let start = (power(tail) - 1) / (q - 1);
            let mine = &mut supports[start..start + power(tail)];
            if tail < m {
                // c is one of the zeros in front; a begins with further zeros, then the 1.
                add(mine, &row(0)[power(tail)..]);
            } else if tail == m {
                add(mine, row(1));
            } else {
                // c is the free coordinate before the last m.
                for (number, run) in mine.chunks_exact_mut(power(m)).enumerate() {
                    add(run, row(number % q));
                }
            }
        }
    }
    supports
}

fn add(counts: &mut [u64], more: &[u32]) {
    counts.iter_mut().zip(more).for_each(|(count, &more)| *count += u64::from(more));
}

/// S(a, z) = Σ_{w + ⟨a, y⟩ = z} T(w; y) at z·q^m + a, from T(w; y) at w·q^m + y, where y has m coordinates.
pub(crate) fn sums(q: usize, m: u32, table: Vec<u32>) -> Vec<u32> {
    let size = table.len() / q;
    if m == 0 {
        return table;
    }
    let mut old = table;
    let mut new = vec![0u32; q * size];
    // The number of values that the other coordinates take.
    let rest = size / q;
    for _ in 0..m {
        for start in (0..rest).step_by(BLOCK) {
            let width = BLOCK.min(rest - start);
            for z in 0..q {
                for a in 0..q {
                    let mut block = [0u32; BLOCK];
                    // z − a·y modulo q, step by step.
                    let mut from = z;
                    for y in 0..q {
                        let run = &old[from * size + y * rest + start..][..width];
                        block.iter_mut().zip(run).for_each(|(sum, &part)| *sum += part);
                        from = if from >= a { from - a } else { from + q - a };
                    }
                    let to = &mut new[z * size + start * q + a..];
                    for (place, &sum) in to.iter_mut().step_by(q).zip(&block[..width]) {
                        *place = sum;
                    }
                }
            }
        }
        std::mem::swap(&mut old, &mut new);
    }
    old
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Entropy;
    use rand_core::Rng;

    /// Against the definition.
    #[test]
    fn decoding_counts_what_is_orthogonal() {
        let mut entropy = Entropy::seeded(5);
        let mut rng = entropy.draw().unwrap();
        for (q, t) in [(2, 2), (2, 7), (3, 2), (3, 5), (5, 4), (7, 3), (13, 3), (23, 2)] {
            let space = Geometry::new(q, t).unwrap();
            let points = space.points();
            let responses: Vec<u64> = (0..points).map(|_| u64::from(rng.next_u32() % 1000)).collect();
            let vectors: Vec<_> = (0..points).map(|point| space.vector(point)).collect();
            let expected: Vec<u64> = vectors
                .iter()
                .map(|v| {
                    let orthogonal = vectors.iter().zip(&responses).filter(|(y, _)| space.product(v, y) == 0);
                    orthogonal.map(|(_, count)| count).sum()
                })
                .collect();
            assert_eq!(supports(&space, &responses), expected, "q = {q}, t = {t}");
        }
    }
}
