//! Writing a draft as TOML.

use std::fmt::Write as _;

use super::draft::{Draft, DraftCell, Grid, Member};

impl Draft {
    /// The task file. Texts and numbers are written exactly; optional fields only if they are there.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        let mut line = |name: &str, value: String| writeln!(text, "{name} = {value}").expect("a text takes everything");
        line("title", quoted(&self.title));
        line("session", quoted(&self.session));
        line("protocol", quoted(&self.protocol));
        if let Some(colluders) = self.colluders {
            line("colluders", colluders.to_string());
        }
        line("epsilon", quoted(&self.epsilon.text()));
        if self.allow_large_epsilon {
            line("allow_large_epsilon", "true".into());
        }
        line("unit", quoted(&self.unit));
        line("adjacency", quoted(&self.adjacency));
        line("sql", quoted(&self.sql));
        if !self.bounds.is_empty() {
            line("bounds", table(self.bounds.iter().map(|(name, range)| (name, quoted(range)))));
        }
        if !self.keys.is_empty() {
            line("keys", table(self.keys.iter().map(|(name, keys)| (name, list(keys)))));
        }
        for (name, number) in [("max_rows", self.max_rows), ("max_groups", self.max_groups)] {
            if let Some(number) = number {
                line(name, number.to_string());
            }
        }
        line("bound", self.bound.to_string());
        line("sensitivity", self.sensitivity.to_string());
        line("cells", format!("[\n{}]", self.cells.iter().map(cell).collect::<String>()));
        for Member { name, key, address } in &self.parties {
            let (name, key, address) = (quoted(name), quoted(&key.to_string()), quoted(address));
            text += &format!("\n[[party]]\nname = {name}\nkey = {key}\naddress = {address}\n");
        }
        text
    }
}

fn cell(cell: &DraftCell) -> String {
    match cell {
        DraftCell::Name(name) => format!("    {},\n", quoted(name)),
        DraftCell::Grid(Grid { name, step }) => {
            format!("    {{ name = {}, step = {} }},\n", quoted(name), quoted(&step.text()))
        }
    }
}

fn table<'name>(pairs: impl Iterator<Item = (&'name String, String)>) -> String {
    let pairs: Vec<String> = pairs.map(|(name, value)| format!("{} = {value}", quoted(name))).collect();
    format!("{{ {} }}", pairs.join(", "))
}

fn list(values: &[String]) -> String {
    format!("[{}]", values.iter().map(|value| quoted(value)).collect::<Vec<_>>().join(", "))
}

/// A text as a TOML string: JSON's escapes are valid in TOML, which needs an escape for one more character.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}
