//! Every function is total, row-local, deterministic and bounded.
