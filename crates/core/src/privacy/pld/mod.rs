//! Composition by privacy loss distributions: the tightest accounting there is for mechanisms fixed beforehand.
//!
//! | part | does |
//! |---|---|
//! | [`Mechanism`] | what is composed: a noise law, a sensitivity, optionally sampling of the rows |
//! | [`Accountant`] | the guarantee of all mechanisms together |
//! | `laws`, `gaussians` | a pair of laws (P, Q) for each mechanism, cut into cells |
//! | `cell` | subsampling of cells, and the atoms that replace them |
//! | `grid` | atoms moved onto the multiples of one step |
//! | `plan` | where to look: tilt, window and step |
//! | `compose` | the Fourier transforms, their error, and δ as a function of ε |
//! | `rare` | one composition for each number of rare, large losses |
//! | `single` | δ as a function of ε for one mechanism alone |
//! | `bound` | chooses among these methods, and inverts from δ to ε |
//!
//! # Why the answers are never below the truth
//! For every mechanism there is a dominating pair of laws (P, Q): no neighbouring datasets are easier to tell apart.
//! The *loss* of an outcome is l = ln(P/Q), and for mechanisms 1..n together
//!
//! δ(ε) = E\[h(l₁ + … + l_n)\], h(s) = max(0, 1 − e^{ε − s}),
//!
//! where the l_i are independent and outcomes are drawn from P \[SMM19\]. Three changes can only increase this number,
//! whatever the other mechanisms are:
//! 1. **More mass** anywhere: h is not negative.
//! 2. **Mass moved to a larger loss**, even to infinity, where h is 1: h grows with s.
//! 3. **Mass spread** from a loss to two losses around it, keeping its mass under P and under Q, that is, the mean of
//!    u = e^{−l}: as a function of u, h is max(0, 1 − c·u), which is convex. This is "connect the dots" \[DGKKM22\].
//!
//! Every change made to the exact laws is one of the three. Cells of outcomes are replaced by atoms at their two
//! extreme losses (3), twice: once by outcomes, once on the grid. Tails become an atom at infinity (2); masses and
//! losses are rounded up by more than their error (1, 2). Parameters are rounded towards less noise.
//!
//! # Small δ
//! A transform's error is relative to the largest mass, so a δ of 1e-12 would drown in it. Hence the tilt: masses are
//! multiplied by e^{θl} with θ at the saddle point of the target, as in \[AGACKS23\], so that the losses that matter
//! for this δ become the likely ones. The error, bounded a priori bin by bin, then costs a relative 1e-9 or so of δ,
//! whether δ is 1e-3 or 1e-100. What wraps around the window only adds mass to it (1); what lies above is bounded by
//! Chernoff's inequality and added to δ.
//!
//! One tilt does not suit losses that are nearly always about zero and occasionally large, as those of rarely sampled
//! mechanisms: there the sum is split by the number of large losses, and each term gets its own tilt.
//!
//! # What is not promised
//! Library functions (`exp`, `expm1`, `log1p`, `erfc`, …) are assumed to be good to two units in the last place, four
//! for `erfc`, and the Fourier transform to satisfy the textbook bound with a constant four times as large. These are
//! assumptions about code elsewhere; a relative guard of 1e-10 on every answer backs them up.

mod accountant;
mod bound;
mod cell;
mod compose;
mod gaussians;
mod grid;
mod laws;
mod mechanism;
mod plan;
mod rare;
mod single;

pub use accountant::Accountant;
pub use mechanism::Mechanism;

#[cfg(test)]
mod tests;
