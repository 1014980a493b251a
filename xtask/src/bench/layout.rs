//! Tables for people.

use serde_json::Value;

/// The header and the rows in columns: those listed in `texts` left-aligned, numbers right-aligned.
pub fn aligned<const N: usize>(header: [&str; N], rows: &[[String; N]], texts: &[usize]) -> String {
    let header = header.map(String::from);
    let all = || std::iter::once(&header).chain(rows);
    let widths: [usize; N] =
        std::array::from_fn(|column| all().map(|row| row[column].chars().count()).max().unwrap_or(0));
    let mut text = String::new();
    for row in all() {
        let cell = |(column, (cell, width)): (usize, (&String, usize))| {
            if texts.contains(&column) { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        };
        let cells: Vec<String> = std::iter::zip(row, widths).enumerate().map(cell).collect();
        text += cells.join("  ").trim_end();
        text.push('\n');
    }
    text
}

/// The output of a benchmark, one JSON object per line, as a table with the first column left-aligned.
///
/// # Errors
/// If a line is not a measurement.
pub fn measured<const N: usize>(
    header: [&str; N],
    printed: &str,
    row: impl Fn(&Value) -> Option<[String; N]>,
) -> Result<String, String> {
    let read = |line: &str| serde_json::from_str(line).ok().and_then(|value| row(&value));
    let rows = printed.lines().map(|line| read(line).ok_or_else(|| format!("this is not a measurement: {line}")));
    Ok(aligned(header, &rows.collect::<Result<Vec<_>, _>>()?, &[0]))
}

/// Three significant digits.
pub fn show(value: f64) -> String {
    let decimals = if value <= 0.0 { 0 } else { (2 - value.log10().floor() as i32).clamp(0, 6) };
    format!("{value:.*}", decimals as usize)
}
