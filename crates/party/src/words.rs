//! The guarantee in words.

/// What the guarantees of several parties do not add up to: each covers its own table, and nobody knows who is in several.
pub const OWN_ROWS: &str =
    "the guarantee covers one party's rows at a time: for a person with rows at k parties it is k·ε";

/// Against how many colluders a guarantee holds; `one` and `many` are what they are called.
///
/// ```
/// use reticent_party::words::against;
///
/// assert_eq!(against(1, "party", "parties"), "even if one party colludes");
/// assert_eq!(against(3, "party", "parties"), "even if 3 parties collude");
/// ```
pub fn against(colluders: u32, one: &str, many: &str) -> String {
    match colluders {
        0 => format!("if no {one} colludes"),
        1 => format!("even if one {one} colludes"),
        colluders => format!("even if {colluders} {many} collude"),
    }
}
