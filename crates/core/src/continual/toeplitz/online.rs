//! Sums of all past terms, one step at a time: Σ_{j≥1} c_j·x_(t−j) for sequences whose next term depends on the sum.

use std::sync::{Arc, OnceLock};

use super::ntt::{Residues, Transform};

/// Blocks of up to this many terms are multiplied out.
const DIRECT: usize = 64;

/// The coefficients c_0, c_1, …, and their transforms as far as needed so far.
///
/// # Algorithm
/// When t terms are known and 2^k is the largest power of two that divides t, the block of the last 2^k terms is multiplied
/// with c_0, …, c_(2^(k+1)−1), and the upper half of the cyclic product is what the block contributes to the next 2^k sums.
/// Every pair of a term and a later sum is covered by exactly one block: O(T·log²T) altogether. Blocks shorter than 64 are
/// left to direct summation.
#[derive(Debug, Clone)]
pub(super) struct Convolver {
    coefficients: Arc<Vec<u32>>,
    transform: Arc<Transform>,
    /// The transform of the first 2^(k+1) coefficients, at index k.
    spectra: Arc<Vec<OnceLock<Residues>>>,
}

impl Convolver {
    pub(super) fn new(coefficients: Vec<u32>) -> Self {
        let levels = coefficients.len().next_power_of_two().ilog2() as usize + 1;
        let spectra = Arc::new(vec![OnceLock::new(); levels]);
        Self { coefficients: Arc::new(coefficients), transform: Arc::new(Transform::new()), spectra }
    }

    /// The number of coefficients: the horizon.
    pub(super) fn len(&self) -> usize {
        self.coefficients.len()
    }

    pub(super) fn coefficient(&self, lag: usize) -> i128 {
        self.coefficients.get(lag).copied().map_or(0, i128::from)
    }

    /// What all terms except those of the directly summed block contribute to the coming sums; `pending` is empty or
    /// was kept from the step before.
    pub(super) fn next_sum(&self, terms: &[i128], pending: &mut Vec<i128>) -> i128 {
        let known = terms.len();
        if pending.len() < known {
            self.rebuild(terms, pending);
        } else if known > 0 && known.is_multiple_of(DIRECT) {
            self.contribute(terms, known, 1 << known.trailing_zeros(), pending);
        }
        let fresh = known - known % DIRECT;
        let direct = terms[fresh..].iter().rev().zip(&self.coefficients[1..]).map(|(term, &c)| term * i128::from(c));
        pending.get(known).copied().unwrap_or(0) + direct.sum::<i128>()
    }

    /// The blocks that reach beyond the terms known are those of the binary digits of their number.
    fn rebuild(&self, terms: &[i128], pending: &mut Vec<i128>) {
        pending.clear();
        let known = terms.len();
        for level in DIRECT.ilog2()..usize::BITS - known.leading_zeros() {
            if known >> level & 1 == 1 {
                self.contribute(terms, known >> level << level, 1 << level, pending);
            }
        }
        pending.resize(pending.len().max(known), 0);
    }

    /// Adds what the terms from `end − size` to `end` contribute to the sums from `end` to `end + size`.
    fn contribute(&self, terms: &[i128], end: usize, size: usize, pending: &mut Vec<i128>) {
        let last = (end + size).min(self.len());
        if last <= end {
            return;
        }
        if pending.len() < last {
            pending.resize(last, 0);
        }
        let spectrum = self.spectra[size.ilog2() as usize]
            .get_or_init(|| self.transform.forward((0..2 * size).map(|lag| self.coefficient(lag))));
        let padded = terms[end - size..end].iter().copied().chain(std::iter::repeat_n(0, size));
        let sums = self.transform.upper_half(self.transform.forward(padded), spectrum);
        for (sum, contribution) in pending[end..last].iter_mut().zip(sums) {
            *sum += contribution;
        }
    }
}
