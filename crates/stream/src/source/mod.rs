//! Where events come from.
