//! Numbers that are never rounded behind the caller's back.
//!
//! | module | holds |
//! |---|---|
//! | [`rational`] | [`Rational`]: what ε, δ, ρ and every scale are made of |
//! | `enclosure` | two integers that a real number is proved to lie between, at any precision asked for |
//! | `exp_fraction` | fractions in e^−ε, enclosed |
//! | `logarithm` | logarithms, enclosed |

pub(crate) mod enclosure;
pub(crate) mod exp_fraction;
pub(crate) mod logarithm;
pub mod rational;

pub use rational::Rational;
