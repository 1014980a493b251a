//! The guarantee in words.

/// What the guarantees of several parties do not add up to: each covers its own table, and nobody knows who is in several.
pub const OWN_ROWS: &str =
    "each party's promise covers its own rows: somebody with rows at k parties has k times this ε";

/// Against how many colluders a guarantee holds; `one` and `many` are what they are called.
///
/// ```
/// use reticent_party::promise::against;
///
/// assert_eq!(against(1, "party", "parties"), "also if one party tells what it knows");
/// assert_eq!(against(3, "party", "parties"), "also if 3 parties pool what they know");
/// ```
pub fn against(colluders: u32, one: &str, many: &str) -> String {
    match colluders {
        0 => format!("if no {one} tells what it knows"),
        1 => format!("also if one {one} tells what it knows"),
        colluders => format!("also if {colluders} {many} pool what they know"),
    }
}
