//! Overwriting what calls leave on the stack.

use std::hint::black_box;

/// Overwrites `BYTES` of the stack below the caller's frame, where functions that it called before kept their variables.
///
/// The compiler may keep values in places that no safe code can name; but they lie in the frames of functions that have
/// returned, and this function's frame takes the same place. Call those functions through one that is never inlined.
///
/// # Example
/// ```
/// use reticent::secrets::burn_stack;
///
/// #[inline(never)]
/// fn count(line: &str) -> usize {
///     line.split(',').count()
/// }
///
/// let fields = count("ada,36");
/// burn_stack::<1024>();
/// assert_eq!(fields, 2);
/// ```
#[inline(never)]
pub fn burn_stack<const BYTES: usize>() {
    black_box(&mut [0u8; BYTES]);
}
