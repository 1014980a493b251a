//! Evidence.
#[cfg(test)]
pub(crate) mod enumerate;
