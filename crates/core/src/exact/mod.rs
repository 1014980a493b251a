//! Numbers that are never rounded behind the caller's back.
//!
//! | module | holds |
//! |---|---|
//! | [`rational`] | [`Rational`]: what ε, δ, ρ and every scale are made of |
//! | `enclosure` | two integers that a real number is proved to lie between, at any precision asked for |

pub(crate) mod enclosure;
pub mod rational;

pub use rational::Rational;
