//! Numbers that are never rounded behind the caller's back.
//!
//! | module | holds |
//! |---|---|
//! | [`rational`] | [`Rational`]: the type of ε, δ, ρ and every scale |
//! | `enclosure` | two integers that provably enclose a real number, at any precision |
//! | `exp_fraction` | fractions in e^−ε, enclosed |
//! | `logarithm` | logarithms, enclosed |

pub(crate) mod enclosure;
pub(crate) mod exp_fraction;
pub(crate) mod logarithm;
pub mod rational;

pub use rational::Rational;
