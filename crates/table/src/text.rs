//! How long text may be.

use arrow_array::{Array, StringViewArray};
use arrow_buffer::NullBuffer;

/// The longest text, in bytes. A longer cell is NULL, in every format and whatever it is asked for as.
pub const MOST_TEXT: usize = 65_536;

/// Whether text of this length is NULL.
pub fn is_too_long(bytes: usize) -> bool {
    bytes > MOST_TEXT
}

/// The array with NULL for texts that are too long.
pub fn limited(array: &StringViewArray) -> StringViewArray {
    // The low half of a view's first word is the length.
    let too_long = |view: &u128| is_too_long(*view as u32 as usize);
    if !array.views().iter().any(too_long) {
        return array.clone();
    }
    let short: NullBuffer = array.views().iter().map(|view| !too_long(view)).collect();
    let nulls = NullBuffer::union(array.nulls(), Some(&short));
    // Copied anew, so that the buffers of long texts can be freed.
    (0..array.len())
        .map(|row| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)).then(|| array.value(row)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_the_greatest_length_stays() {
        let (most, more) = ("x".repeat(MOST_TEXT), "y".repeat(MOST_TEXT + 1));
        let array = StringViewArray::from(vec![Some("a"), None, Some(&most), Some(&more)]);
        let expected = StringViewArray::from(vec![Some("a"), None, Some(&most), None]);
        assert_eq!(limited(&array), expected);
        assert_eq!(limited(&array.slice(2, 2)), expected.slice(2, 2));
        assert_eq!(limited(&array.slice(0, 3)), expected.slice(0, 3));
    }
}
