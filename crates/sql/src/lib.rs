//! Private SQL over tables.
