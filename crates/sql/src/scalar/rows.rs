//! The rows of any table as text.

use reticent_table::{Request, Table, Type};

use crate::algebra::Function;
use crate::algebra::column::{Column, Reader, Texts};
use crate::{Error, Result};

/// Does something with every row of a table, in order: its cells as text, in the order of the columns. NULL is the empty
/// text; numbers and times are written as people write them.
///
/// # Errors
/// [`Error::Table`] if the table has no columns of its own; [`Error::Reading`] if it cannot be read to its end.
pub fn each_row(table: &Table, mut act: impl FnMut(&[&[u8]])) -> Result<()> {
    let names = table.columns().unwrap_or_default();
    let columns: Vec<(String, Type)> =
        names.into_iter().map(|name| (name.clone(), table.column_type(&name).unwrap_or(Type::Text))).collect();
    let kinds: Vec<Type> = columns.iter().map(|(_, kind)| *kind).collect();
    let scan = table.scan(&Request { unit: None, columns }, 1)?;
    for batch in (0..scan.parts()).flat_map(|part| scan.read(part)) {
        // Whatever it was, it may be about a row.
        let batch = batch.map_err(|_| Error::Reading)?;
        let rows = batch.num_rows();
        let text = |(column, kind): (&arrow_array::ArrayRef, &Type)| {
            Function::Cast(Type::Text).apply(&[*kind], Type::Text, &[Column::Array(column.clone())], rows)
        };
        let texts: Vec<Column> = batch.columns().iter().zip(&kinds).map(text).collect();
        let readers: Vec<Reader<'_, Texts>> = texts.iter().map(Reader::of).collect();
        for row in 0..rows {
            let cells: Vec<&[u8]> =
                readers.iter().map(|reader| reader.get(row).unwrap_or_default().as_bytes()).collect();
            act(&cells);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_in_order_and_null_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("people.tsv");
        std::fs::write(&path, "name\tage\nada\t36\n\"a\tb\"\nalan\t\"4\n1\"\t9\n").unwrap();
        let table = Table::open("data", path.to_str().unwrap()).unwrap();
        let mut rows = Vec::new();
        each_row(&table, |cells| {
            rows.push(cells.iter().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect::<Vec<_>>())
        })
        .unwrap();
        assert_eq!(rows[0], ["ada", "36"]);
        assert_eq!(rows[1], ["a\tb", ""]);
    }
}
