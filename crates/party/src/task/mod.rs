//! What the parties do together: immutable, the same file for all, hashed into every message.
//!
//! | module | holds |
//! |---|---|
//! | `mod` | [`Task`], and every rule that must hold before anything is sent |
//! | [`draft`] | [`Draft`]: the same as it is written in TOML |

pub mod draft;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::str::FromStr;

use reticent::exact::Rational;
use reticent::multiparty::{Plan, Protocol};
use reticent::privacy::{Adjacency, Epsilon, Guarantee};
use reticent::secrets::holds_a_key;
use serde::{Deserialize, Serialize};

pub use self::draft::{Draft, DraftCell, Grid, Member, Number};
use crate::error::{Error, Result};
use crate::file;
use crate::hex::{Digest, sha256};
use crate::message::Shape;

/// Everybody is connected to everybody.
pub const MOST_PARTIES: usize = 256;
/// A message has all cells.
pub const MOST_CELLS: usize = 1 << 20;
/// A task file is read as a whole.
const LARGEST_FILE: u64 = 256 << 20;
/// Names are part of file names.
const LONGEST_NAME: usize = 64;
/// A title, a session, a unit, an address, a cell's name.
const LONGEST_LINE: usize = 512;
/// It goes into the ledger's description.
const LONGEST_SQL: usize = 1 << 15;
/// What the hash begins with, so that it is a hash of nothing else.
const DOMAIN: &[u8] = b"reticent party task 1\n";

/// What the parties do together.
///
/// | field | what it says | default |
/// |---|---|---|
/// | `title` | what it is about, in words | – |
/// | `session` | when: a task that is done again has another one | – |
/// | `protocol` | `broadcast` or `masked` | – |
/// | `colluders` | how many parties may pool what they know; for `masked` only, and there it must be given | – |
/// | `epsilon` | what each party promises its own units, and charges to its own ledger; who is at k parties has k·ε | – |
/// | `allow_large_epsilon` | confirms an epsilon above 10, which promises next to nothing | false |
/// | `unit`, `adjacency` | whose privacy, and which tables are neighbours | – |
/// | `sql` | the private query that each party asks of its own table | – |
/// | `bounds`, `keys`, `max_rows`, `max_groups` | what the query needs to be bounded, as in a policy | none |
/// | `bound` | the largest size of each party's number in each cell, in steps; beyond it is clamped | – |
/// | `sensitivity` | how far one unit can move one party's numbers, in steps, L1 | – |
/// | `cells` | the name of each number; or `{ name = …, step = … }`, where a step is not worth 1 | – |
/// | `[[party]]` | `name`, `key` and `address` of each party, in the order that counts | – |
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

/// One number that is released.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cell {
    /// Its name.
    pub name: String,
    /// What a step is worth.
    pub step: Rational,
}

impl Task {
    /// Reads a task file.
    ///
    /// # Errors
    /// If there is none, or it says what a task does not.
    pub fn read(path: &Path) -> Result<Self> {
        file::task(path, LARGEST_FILE, "at most 256 MiB")
    }

    /// Checks a draft.
    ///
    /// # Errors
    /// If it means nothing; what is wrong is named.
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
        task.plan()?;
        task.hash = task.canonical();
        Ok(task)
    }

    /// The same for two files exactly if they say the same: order of fields, comments and ways to write a number do not count.
    pub fn hash(&self) -> Digest {
        self.hash
    }

    fn canonical(&self) -> Digest {
        let numbers = (&self.epsilon, self.adjacency, &self.cells);
        // A draft is a fixed order of fields and of sorted maps; its two fields of many spellings are replaced by what they mean.
        let rest = Draft { epsilon: Number::Integer(0), cells: Vec::new(), ..self.draft.clone() };
        let text = serde_json::to_vec(&(rest, numbers)).expect("a task is plain data");
        sha256([DOMAIN, &text])
    }

    /// How the parties speak, with which noise.
    ///
    /// # Errors
    /// If ε, bound, sensitivity and the number of parties do not go together; never for a task that was made.
    pub fn plan(&self) -> Result<Plan> {
        let parties = u32::try_from(self.draft.parties.len()).expect("there are at most 256");
        let Draft { bound, sensitivity, .. } = self.draft;
        Ok(Plan::new(self.protocol, parties, self.cells.len(), bound, sensitivity, &self.epsilon)?)
    }

    pub(crate) fn shape(&self) -> Shape {
        Shape { parties: self.draft.parties.len(), cells: self.cells.len() }
    }

    /// The place of a party.
    ///
    /// # Errors
    /// If there is none of that name.
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

    /// How the parties speak.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// What is promised to each unit.
    pub fn epsilon(&self) -> &Epsilon {
        &self.epsilon
    }

    /// Whose privacy is protected.
    pub fn unit(&self) -> &str {
        &self.draft.unit
    }

    /// Which tables are neighbours.
    pub fn adjacency(&self) -> Adjacency {
        self.adjacency
    }

    /// What each party asks of its own table.
    pub fn sql(&self) -> &str {
        &self.draft.sql
    }

    /// The bounds of columns, as in a policy.
    pub fn bounds(&self) -> &BTreeMap<String, String> {
        &self.draft.bounds
    }

    /// The keys of columns, as in a policy.
    pub fn keys(&self) -> &BTreeMap<String, Vec<String>> {
        &self.draft.keys
    }

    /// How many rows of a unit count.
    pub fn max_rows(&self) -> Option<u64> {
        self.draft.max_rows
    }

    /// In how many groups a unit counts.
    pub fn max_groups(&self) -> Option<u64> {
        self.draft.max_groups
    }

    /// The largest size of each party's number, in steps.
    pub fn bound(&self) -> i64 {
        self.draft.bound
    }

    /// How far one unit can move a party's numbers: L1, in steps.
    pub fn sensitivity(&self) -> u64 {
        self.draft.sensitivity
    }

    /// What is released.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Who takes part, in the order that counts.
    pub fn parties(&self) -> &[Member] {
        &self.draft.parties
    }

    /// The same task between others: for simulations.
    pub(crate) fn between(&self, parties: Vec<Member>) -> Result<Self> {
        Self::new(Draft { parties, ..self.draft.clone() })
    }
}

impl FromStr for Task {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let draft: Draft = toml::from_str(text).map_err(|error| {
            let allowed = format!("as its documentation says: {}", error.to_string().trim_end());
            Error::parameter("the task", "not a task", allowed)
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
            let allowed = "given: how many parties may pool what they know; write for example colluders = 1";
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

pub(crate) fn members(parties: &[Member]) -> Result<()> {
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

/// A task is sent around and kept in transcripts.
pub(crate) fn for_everybody(draft: &impl Serialize) -> Result<()> {
    match holds_a_key(&serde_json::to_string(draft).expect("a task is plain data")) {
        true => {
            Err(Error::parameter("the task", "a text with a private key or a token in it", "one that anybody may read"))
        }
        false => Ok(()),
    }
}

fn line(field: &'static str, text: &str) -> Result<()> {
    if text.is_empty() || text.len() > LONGEST_LINE || text.chars().any(char::is_control) {
        let value = if text.len() > LONGEST_LINE { format!("{} bytes long", text.len()) } else { format!("{text:?}") };
        let allowed = "one line of text that is not empty, of at most 512 bytes, without control characters";
        return Err(Error::parameter(field, value, allowed));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
