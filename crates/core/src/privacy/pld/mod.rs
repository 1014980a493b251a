//! pld
mod accountant;
mod cell;
mod compose;
mod gaussians;
mod grid;
mod laws;
mod mechanism;
mod plan;

pub use accountant::Accountant;
pub use mechanism::Mechanism;

#[cfg(test)]
mod tests;
