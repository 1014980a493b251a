//! The whole numbers that a `blt` counter computes with, and the sensitivity that follows from them.

use dashu_int::UBig;
use serde::{Deserialize, Serialize};

use super::MOST_BUFFERS;
use super::factor;
use super::optimiser::{LEAST_KAPPA, Optimum};
use crate::error::{Error, Result};
use crate::exact::Rational;

/// κ and ω are multiples of 2^−63.
pub(super) const BITS: u32 = 63;
const ONE: u64 = 1 << BITS;
/// Bits after the point for powers of θ; 1 − θ^n may be as small as 2^−42, and errs by less than 2^−170.
const POWER_BITS: usize = 256;

/// The buffers of a `blt` counter: the decay of each and the share of it that is cancelled, as multiples of 2^−63.
///
/// # Privacy
/// The noise is calibrated to *these* numbers, however they were found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Numbers", into = "Numbers")]
pub struct Coefficients {
    /// κ_i = 1 − θ_i, increasing.
    decays: Vec<u64>,
    /// ω_i.
    weights: Vec<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Numbers {
    decays: Vec<u64>,
    weights: Vec<u64>,
}

impl Coefficients {
    /// The nearest whole numbers.
    ///
    /// # Errors
    /// If they are not allowed, see [`Coefficients::try_from`].
    pub(super) fn quantise(optimum: &Optimum) -> Result<Self> {
        let whole = |value: &f64| (value * ONE as f64) as u64;
        let decays = optimum.poles.iter().map(whole).collect();
        Numbers { decays, weights: optimum.weights.iter().map(whole).collect() }.try_into()
    }

    /// The number of buffers.
    pub fn buffers(&self) -> usize {
        self.decays.len()
    }

    /// (κ_i, ω_i)·2^63.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (u64, u64)> {
        self.decays.iter().copied().zip(self.weights.iter().copied())
    }

    /// κ_i and ω_i, for predicted errors.
    pub(super) fn floats(&self) -> (Vec<f64>, Vec<f64>) {
        let float = |value: &u64| *value as f64 / ONE as f64;
        (self.decays.iter().map(float).collect(), self.weights.iter().map(float).collect())
    }

    /// Σ_{j<n} c_j², rounded up by less than 2^−170: exact except for the powers of θ, which are rounded down.
    pub(super) fn squares(&self, n: u64) -> Rational {
        let unit = UBig::ONE << POWER_BITS;
        let exact_bits = 2 * BITS as usize;
        let mut sum = unit.clone();
        for (decay, weight) in self.pairs() {
            for (other_decay, other_weight) in self.pairs() {
                let product = UBig::from(ONE - decay) * UBig::from(ONE - other_decay);
                let power = power_down(&(&product << (POWER_BITS - exact_bits)), n - 1);
                let rest = (UBig::ONE << exact_bits) - product;
                sum += (UBig::from(weight) * UBig::from(other_weight) * (&unit - power) + &rest - UBig::ONE) / rest;
            }
        }
        Rational::from_big(sum, unit)
    }

    /// Σ ω_i·min(n, 1/κ_i): at least Σ_{1≤j<n} c_j.
    pub(super) fn reach(&self, n: u64) -> Rational {
        let term = |(decay, weight): (u64, u64)| {
            if u128::from(decay) * u128::from(n) >= u128::from(ONE) {
                Rational::from_big(weight.into(), decay.into())
            } else {
                Rational::from_big(UBig::from(weight) * UBig::from(n), ONE.into())
            }
        };
        self.pairs().map(term).sum()
    }
}

/// base^exponent, rounded down; both are fractions of 2^256.
fn power_down(base: &UBig, mut exponent: u64) -> UBig {
    let mut square = base.clone();
    let mut power = UBig::ONE << POWER_BITS;
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = (power * &square) >> POWER_BITS;
        }
        square = (&square * &square) >> POWER_BITS;
        exponent >>= 1;
    }
    power
}

impl TryFrom<Numbers> for Coefficients {
    type Error = Error;

    /// # Errors
    /// Unless there are 1 to 6 buffers with 2^−42 ≤ κ_1 < κ_2 < … < 1, all ω_i > 0 and Σ ω_i/θ_i ≤ 1: then the zeros of C
    /// interlace its poles and are not negative, from which it follows that nothing overflows.
    fn try_from(numbers: Numbers) -> Result<Self> {
        let Numbers { decays, weights } = numbers;
        let float = |value: u64| value as f64 / ONE as f64;
        let sound = (1..=MOST_BUFFERS).contains(&decays.len())
            && weights.len() == decays.len()
            && decays.windows(2).all(|pair| pair[0] < pair[1] && float(pair[0]) < float(pair[1]))
            && decays.iter().all(|&decay| float(decay) >= LEAST_KAPPA && decay < ONE)
            && weights.iter().all(|&weight| weight > 0 && weight < ONE)
            && decays.iter().zip(&weights).map(|(&decay, &weight)| float(weight) / float(ONE - decay)).sum::<f64>()
                <= 1.0;
        if sound {
            return Ok(Self { decays, weights });
        }
        let allowed = "1 to 6 increasing decays from 2^-42 to 1 with positive weights, in units of 2^-63";
        Err(Error::parameter("buffers", format!("{decays:?} and {weights:?}"), allowed))
    }
}

impl From<Coefficients> for Numbers {
    fn from(coefficients: Coefficients) -> Self {
        Self { decays: coefficients.decays, weights: coefficients.weights }
    }
}

/// How the answers' noise is spread over the steps.
pub(super) fn answers(coefficients: &Coefficients) -> factor::Answers {
    let (poles, weights) = coefficients.floats();
    let zeros = factor::zeros(&poles, &weights);
    factor::Answers::new(&poles, &zeros).prepared()
}
