//! Tables for people.

/// The header and the rows in columns: those named in `texts` to the left, numbers to the right.
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

/// Three digits that count.
pub fn show(value: f64) -> String {
    let decimals = if value <= 0.0 { 0 } else { (2 - value.log10().floor() as i32).clamp(0, 6) };
    format!("{value:.*}", decimals as usize)
}
