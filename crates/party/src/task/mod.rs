//! What the parties do together: immutable, the same file for all, hashed into every message.
//!
//! | module | holds |
//! |---|---|
//! | `mod` | [`Task`], and every rule that must hold before anything is sent |
//! | [`draft`] | [`Draft`]: the same as written in TOML |
//! | `toml` | writing a draft |

pub mod draft;
mod toml;

use std::collections::BTreeSet;
use std::path::Path;
use std::str::FromStr;

use reticent::exact::Rational;
use reticent::multiparty::{Plan, Protocol, Sums};
use reticent::privacy::{Adjacency, Epsilon, Guarantee};
use reticent::secrets::holds_a_key;
use serde::{Deserialize, Serialize};

pub use self::draft::{Draft, DraftCell, Grid, Member, Number};
use crate::error::{Error, Result};
use crate::file;
use crate::hex::{Digest, sha256};
use crate::message::Shape;

/// Every party connects to every other.
pub const MOST_PARTIES: usize = 256;
/// One message contains all cells.
pub const MOST_CELLS: usize = 1 << 20;
/// A task file is read into memory.
const LARGEST_FILE: u64 = 256 << 20;
/// Names become part of file names.
const LONGEST_NAME: usize = 64;
/// For titles, sessions, units, addresses and cell names.
const LONGEST_LINE: usize = 512;
/// The query is part of the ledger's description.
const LONGEST_SQL: usize = 1 << 15;
/// Domain separation for the task's hash.
const DOMAIN: &[u8] = b"reticent party task 1\n";

/// What the parties do together.
///
/// | field | meaning | default |
/// |---|---|---|
/// | `title` | what it is about | – |
/// | `session` | when: a repeated task gets a new session | – |
/// | `protocol` | `broadcast` or `masked` | – |
/// | `colluders` | how many parties may collude; only for `masked`, and required there | – |
/// | `epsilon` | each party's guarantee for its own units, charged to its own ledger; a unit in k parties' tables has k·ε | – |
/// | `allow_large_epsilon` | confirms an epsilon above 10, which guarantees next to nothing | false |
/// | `unit`, `adjacency` | the privacy unit, and which tables are neighbours | – |
/// | `sql` | the private query that each party runs on its own table | – |
/// | `bounds`, `keys`, `max_rows`, `max_groups` | clamping bounds, public keys and contribution limits for the query, as in a policy | none |
/// | `bound` | the largest absolute value of each party's number in each cell, in steps; larger ones are clamped | – |
/// | `sensitivity` | how much one unit can change one party's numbers: L1, in steps | – |
/// | `cells` | the name of each number; or `{ name = …, step = … }` if a step is not worth 1 | – |
/// | `[[party]]` | `name`, `key` and `address` of each party, in an order that matters | – |
///
/// # Example
/// ```
/// let key = reticent_party::PrivateKey::generate()?.public();
/// let task: reticent_party::Task = format!(r#"
///     title = "Patients with influenza"
///     session = "2026, week 46"
///     protocol = "broadcast"
///     epsilon = 0.5
///     unit = "row"
///     adjacency = "add-remove"
///     sql = "SELECT COUNT(*) FROM visits"
///     bound = 1000000
///     sensitivity = 1
///     cells = ["patients"]
///     [[party]]
///     name = "st-mary"
///     key = "{key}"
///     address = "127.0.0.1:7001"
/// "#).parse()?;
/// assert_eq!(task.parties()[0].name, "st-mary");
/// # Ok::<(), reticent_party::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "Draft", try_from = "Draft")]
pub struct Task {
    draft: Draft,
    protocol: Protocol,
    epsilon: Epsilon,
    adjacency: Adjacency,
    cells: Vec<Cell>,
    hash: Digest,
}

/// One released number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cell {
    /// Its name.
    pub name: String,
    /// The value of a step.
    pub step: Rational,
}

impl Cell {
    /// A number of steps in words: exact if a step is worth 1.
    pub fn in_units(&self, steps: i64) -> String {
        match self.step.to_f64() {
            1.0 => steps.to_string(),
            step => format!("{:.3}", steps as f64 * step),
        }
    }
}

impl Task {
    /// Reads a task file.
    ///
    /// # Errors
    /// If the file is missing or not a valid task.
    pub fn read(path: &Path) -> Result<Self> {
        file::task(path, LARGEST_FILE, "at most 256 MiB")
    }

    /// Validates a draft.
    ///
    /// # Errors
    /// If it is invalid; the error names the field.
    pub fn new(draft: Draft) -> Result<Self> {
        for (field, text) in [("title", &draft.title), ("session", &draft.session), ("unit", &draft.unit)] {
            line(field, text)?;
        }
        let protocol = protocol(&draft)?;
        let epsilon: Epsilon = draft.epsilon.text().parse()?;
        Guarantee::Pure(epsilon.clone()).confirmed(draft.allow_large_epsilon)?;
        let adjacency = draft.adjacency.parse()?;
        if draft.sql.trim().is_empty() || draft.sql.len() > LONGEST_SQL {
            let value = format!("{} bytes long", draft.sql.len());
            return Err(Error::parameter("sql", value, "a query of at most 32 KiB"));
        }
        let cells = cells(&draft.cells)?;
        members(&draft.parties)?;
        for_everybody(&draft)?;
        let mut task = Self { draft, protocol, epsilon, adjacency, cells, hash: sha256([]) };
        task.new_plan()?;
        task.hash = task.canonical();
        Ok(task)
    }

    /// The task's hash. It depends on the meaning alone, not on the order of fields, comments or the spelling of
    /// numbers.
    pub fn hash(&self) -> Digest {
        self.hash
    }

    fn canonical(&self) -> Digest {
        let numbers = (&self.epsilon, self.adjacency, &self.cells);
        // A draft has a fixed order of fields and sorted maps; the two fields with several spellings are replaced by
        // their meaning.
        let rest = Draft { epsilon: Number::Integer(0), cells: Vec::new(), ..self.draft.clone() };
        let text = serde_json::to_vec(&(rest, numbers)).expect("a task is plain data");
        sha256([DOMAIN, &text])
    }

    /// The protocol and its noise.
    pub fn plan(&self) -> Plan {
        self.new_plan().expect("`Task::new` made the same plan")
    }

    fn new_plan(&self) -> Result<Plan> {
        let parties = u32::try_from(self.draft.parties.len()).expect("there are at most 256");
        let Draft { bound, sensitivity, .. } = self.draft;
        Ok(Plan::new(self.protocol, parties, Sums { cells: self.cells.len(), bound, sensitivity }, &self.epsilon)?)
    }

    pub(crate) fn shape(&self) -> Shape {
        Shape { parties: self.draft.parties.len(), cells: self.cells.len() }
    }

    /// The index of a party.
    ///
    /// # Errors
    /// If no party has that name.
    pub fn place(&self, name: &str) -> Result<usize> {
        self.parties().iter().position(|member| member.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.parties().iter().map(|member| member.name.as_str()).collect();
            Error::parameter("party", name, format!("one of the task's: {}", names.join(", ")))
        })
    }

    /// What it is about.
    pub fn title(&self) -> &str {
        &self.draft.title
    }

    /// When.
    pub fn session(&self) -> &str {
        &self.draft.session
    }

    /// The protocol.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// The guarantee for each unit.
    pub fn epsilon(&self) -> &Epsilon {
        &self.epsilon
    }

    /// The privacy unit.
    pub fn unit(&self) -> &str {
        &self.draft.unit
    }

    /// Which tables are neighbours.
    pub fn adjacency(&self) -> Adjacency {
        self.adjacency
    }

    /// The query that each party runs on its own table.
    pub fn sql(&self) -> &str {
        &self.draft.sql
    }

    /// The task as it was written.
    pub fn draft(&self) -> &Draft {
        &self.draft
    }

    /// The largest absolute value of each party's number, in steps.
    pub fn bound(&self) -> i64 {
        self.draft.bound
    }

    /// How much one unit can change a party's numbers: L1, in steps.
    pub fn sensitivity(&self) -> u64 {
        self.draft.sensitivity
    }

    /// The released numbers.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The parties, in the task's order.
    pub fn parties(&self) -> &[Member] {
        &self.draft.parties
    }

    /// The same task between other parties, for simulations.
    pub(crate) fn between(&self, parties: Vec<Member>) -> Result<Self> {
        Self::new(Draft { parties, ..self.draft.clone() })
    }
}

impl FromStr for Task {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let draft: Draft = ::toml::from_str(text).map_err(|error| {
            let allowed = format!("valid TOML with the documented fields: {}", error.to_string().trim_end());
            Error::parameter("the task", "invalid", allowed)
        })?;
        Self::new(draft)
    }
}

impl TryFrom<Draft> for Task {
    type Error = Error;

    fn try_from(draft: Draft) -> Result<Self> {
        Self::new(draft)
    }
}

impl From<Task> for Draft {
    fn from(task: Task) -> Self {
        task.draft
    }
}

fn protocol(draft: &Draft) -> Result<Protocol> {
    match (draft.protocol.as_str(), draft.colluders) {
        ("broadcast", None) => Ok(Protocol::Broadcast),
        ("broadcast", Some(colluders)) => {
            let allowed = "left out: broadcast holds against all others together";
            Err(Error::parameter("colluders", colluders, allowed))
        }
        ("masked", Some(colluders)) => Ok(Protocol::Masked { colluders }),
        ("masked", None) => {
            let allowed = "given: how many parties may collude; for example, colluders = 1";
            Err(Error::parameter("colluders", "missing", allowed))
        }
        (other, _) => Err(Error::parameter("protocol", other, "broadcast or masked")),
    }
}

fn cells(drafts: &[DraftCell]) -> Result<Vec<Cell>> {
    if drafts.is_empty() || drafts.len() > MOST_CELLS {
        return Err(Error::parameter("the number of cells", drafts.len(), "from 1 to 1048576"));
    }
    let mut names = BTreeSet::new();
    let mut cells = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let (name, step) = match draft {
            DraftCell::Name(name) => (name, Rational::ONE),
            DraftCell::Grid(Grid { name, step }) => (name, step.text().parse()?),
        };
        line("a cell's name", name)?;
        if step <= Rational::ZERO {
            return Err(Error::parameter("a cell's step", &step, "greater than 0"));
        }
        if !names.insert(name) {
            return Err(Error::parameter("a cell's name", name, "different from all others"));
        }
        cells.push(Cell { name: name.clone(), step });
    }
    Ok(cells)
}

/// Checks names, keys and addresses: valid, and all different.
///
/// # Errors
/// If one is not; the error names it.
pub fn members(parties: &[Member]) -> Result<()> {
    if parties.is_empty() || parties.len() > MOST_PARTIES {
        return Err(Error::parameter("the number of parties", parties.len(), "from 1 to 256"));
    }
    let (mut names, mut keys, mut addresses) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for Member { name, key, address } in parties {
        let letters = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_".contains(letter);
        if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(letters) {
            let allowed = "of letters a–z, digits, `-` and `_`, at most 64 of them";
            return Err(Error::parameter("a party's name", name, allowed));
        }
        let port = address.rsplit_once(':').and_then(|(host, port)| (!host.is_empty()).then(|| port.parse::<u16>()));
        if address.len() > LONGEST_LINE || !matches!(port, Some(Ok(_))) {
            return Err(Error::parameter("a party's address", address, "HOST:PORT, such as st-mary.example:7001"));
        }
        if !names.insert(name) {
            return Err(Error::parameter("a party's name", name, "different from all others"));
        }
        if !keys.insert(key) {
            return Err(Error::parameter("a party's key", key, "different from all others"));
        }
        if !addresses.insert(address) {
            return Err(Error::parameter("a party's address", address, "different from all others"));
        }
    }
    Ok(())
}

/// Tasks are passed around and stored in transcripts, so they must not contain secrets.
///
/// # Errors
/// If it contains a private key or a token.
pub fn for_everybody(draft: &impl Serialize) -> Result<()> {
    match holds_a_key(&serde_json::to_string(draft).expect("a task is plain data")) {
        true => {
            Err(Error::parameter("the task", "a text with a private key or a token in it", "safe for anyone to read"))
        }
        false => Ok(()),
    }
}

fn line(field: &'static str, text: &str) -> Result<()> {
    if text.is_empty() || text.len() > LONGEST_LINE || text.chars().any(char::is_control) {
        let value = if text.len() > LONGEST_LINE { format!("{} bytes long", text.len()) } else { format!("{text:?}") };
        let allowed = "a single non-empty line of at most 512 bytes, without control characters";
        return Err(Error::parameter(field, value, allowed));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
