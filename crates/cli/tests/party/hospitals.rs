//! Several parties in one folder, and their processes.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::ports::free;

/// With this epsilon there is no noise: the chance of any in a count is below e^−200.
pub const WITHOUT_NOISE: &str = "200 --allow-large-epsilon";
/// A count of visits by ward.
pub const BY_WARD: &str = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward";
/// The public wards.
pub const WARDS: &str = "ward=A,B,C";
/// The timeout of everything. Nothing takes this long unless the machine is very busy.
pub const AT_THE_MOST: Duration = Duration::from_secs(240);

/// Parties of one task in one folder, which is also their home and working directory.
pub struct Hospitals {
    pub folder: PathBuf,
    pub names: Vec<String>,
    pub addresses: Vec<String>,
}

/// A party's process.
pub struct Running {
    pub name: String,
    child: Child,
    folder: PathBuf,
}

/// How a process ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Hospitals {
    /// This many parties `p0`, `p1`, … on loopback, each with a key, a ledger of ε = 1000, a table of visits, and no
    /// task yet.
    pub fn new(name: &str, parties: usize) -> Self {
        Self::at(name, (0..parties).map(|_| free()).collect())
    }

    /// The same at these addresses.
    pub fn at(name: &str, addresses: Vec<String>) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("party-{name}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a directory");
        let folder = folder.canonicalize().expect("its full path");
        let names: Vec<String> = (0..addresses.len()).map(|place| format!("p{place}")).collect();
        let hospitals = Self { folder, names, addresses };
        for (place, name) in hospitals.names.iter().enumerate() {
            let key = hospitals.succeeds(&["party", "keygen", &format!("{name}.key")]).stdout;
            hospitals.write(&format!("{name}.pub"), &key);
            hospitals.budget(name, "1000");
            hospitals.write(&format!("{name}.csv"), &visits(10 * (place + 1)));
            hospitals.configure(name, "");
        }
        hospitals
    }

    /// A new ledger with this budget for visits.
    pub fn budget(&self, name: &str, epsilon: &str) {
        let ledger = format!("{name}.sqlite");
        let _ = fs::remove_file(self.folder.join(&ledger));
        let budget = ["--epsilon", epsilon, "--allow-large-epsilon", "--unit", "row", "--ledger", &ledger];
        self.succeeds(&[&["ledger", "create", "visits"][..], &budget].concat());
    }

    /// A party's own configuration, with additional lines.
    pub fn configure(&self, name: &str, more: &str) {
        let times = if more.contains("_seconds") { "" } else { "join_seconds = 200\nround_seconds = 200\n" };
        let task = if more.contains("task = ") { "" } else { "task = \"task.toml\"\n" };
        let text = format!(
            "party = \"{name}\"\nkey = \"{name}.key\"\ntables = {{ visits = \"{name}.csv\" }}\nledger = \"{name}.sqlite\"\n\
             dataset = \"visits\"\nstate = \"{name}.state\"\n{task}{times}{more}"
        );
        self.write(&format!("{name}.toml"), &text);
    }

    /// Creates `task.toml`, or another one, with further arguments in one string.
    pub fn agree(&self, file: &str, sql: &str, more: &str) -> Ended {
        let mut command = self.program();
        command.args(["party", "task", "new", sql, "--title", "Visits", "--session", "week-46", "--out", file]);
        for (name, address) in self.names.iter().zip(&self.addresses) {
            command.arg("--party").arg(format!("{name},{name}.pub,{address}"));
        }
        self.ended(command.args(more.split_whitespace()).output().expect("the program starts"))
    }

    /// A count by ward without noise, masked against one colluder.
    pub fn agree_on_wards(&self) {
        let more = format!("--epsilon {WITHOUT_NOISE} --keys {WARDS} --colluders 1");
        let made = self.agree("task.toml", BY_WARD, &more);
        assert_eq!(made.code, Some(0), "{}", made.stderr);
    }

    pub fn program(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reticent"));
        self.at_home(&mut command);
        command
    }

    /// Keeps everything of the user who runs the tests out of it.
    pub fn at_home(&self, command: &mut Command) {
        command.current_dir(&self.folder).env("HOME", &self.folder).env("XDG_DATA_HOME", &self.folder);
        command.env_remove("RETICENT_LEDGER").env_remove("RUST_BACKTRACE");
    }

    pub fn run(&self, arguments: &[&str]) -> Ended {
        self.ended(self.program().args(arguments).output().expect("the program starts"))
    }

    #[track_caller]
    pub fn succeeds(&self, arguments: &[&str]) -> Ended {
        let ended = self.run(arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
        ended
    }

    /// Starts a party.
    pub fn start(&self, name: &str) -> Running {
        self.start_with(name, self.program())
    }

    /// Starts a party with a command that ends in the program.
    pub fn start_with(&self, name: &str, mut command: Command) -> Running {
        let (out, err) = (self.create(&format!("{name}.out")), self.create(&format!("{name}.err")));
        let arguments = ["party", "run", "--format", "json", "--config"];
        command.args(arguments).arg(format!("{name}.toml")).stdin(Stdio::null()).stdout(out).stderr(err);
        let child = command.spawn().expect("the program starts");
        Running { name: name.into(), child, folder: self.folder.clone() }
    }

    /// Starts all of them, the last first.
    pub fn start_all(&self) -> Vec<Running> {
        let mut running: Vec<Running> = self.names.iter().rev().map(|name| self.start(name)).collect();
        running.reverse();
        running
    }

    /// Runs all of them to their end.
    pub fn run_all(&self) -> Vec<Ended> {
        self.start_all().into_iter().map(Running::end).collect()
    }

    /// How often a party's ledger was charged.
    pub fn charges(&self, name: &str) -> u64 {
        let ledger = format!("{name}.sqlite");
        let shown = self.succeeds(&["ledger", "show", "--ledger", &ledger, "--format", "json"]).stdout;
        let shown: Value = serde_json::from_str(shown.lines().next().expect("a dataset")).expect("JSON");
        shown["charges"].as_u64().expect("a number")
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.join(name), text).expect("written");
    }

    pub fn read(&self, name: impl AsRef<Path>) -> String {
        fs::read_to_string(self.folder.join(name)).expect("it is there")
    }

    fn create(&self, name: &str) -> fs::File {
        fs::File::create(self.folder.join(name)).expect("a file")
    }

    fn ended(&self, output: Output) -> Ended {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the output is text");
        Ended { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Running {
    /// Waits for it to exit.
    #[track_caller]
    pub fn end(mut self) -> Ended {
        let deadline = Instant::now() + AT_THE_MOST;
        let status = loop {
            match self.child.try_wait().expect("it can be waited for") {
                Some(status) => break status,
                None if Instant::now() > deadline => {
                    let _ = self.child.kill();
                    panic!("{} did not end: {}", self.name, self.said("err"));
                }
                None => sleep(Duration::from_millis(20)),
            }
        };
        Ended { code: status.code(), stdout: self.said("out"), stderr: self.said("err") }
    }

    pub fn kill(mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
    }

    fn said(&self, end: &str) -> String {
        fs::read_to_string(self.folder.join(format!("{}.{end}", self.name))).unwrap_or_default()
    }
}

impl Ended {
    /// The released rows of a run, verification or simulation that printed JSON.
    #[track_caller]
    pub fn rows(&self) -> Vec<Value> {
        let objects = self.objects();
        objects
            .into_iter()
            .filter(|object| ["summary", "parties", "verdict"].iter().all(|name| object.get(name).is_none()))
            .collect()
    }

    /// The printed object of this name.
    #[track_caller]
    pub fn object(&self, name: &str) -> Value {
        let objects = self.objects();
        let found = objects.into_iter().find_map(|mut object| object.get_mut(name).map(Value::take));
        found.unwrap_or_else(|| panic!("no {name} in {self:?}"))
    }

    /// The released counts of visits, by ward.
    #[track_caller]
    pub fn counts(&self) -> Vec<(String, i64)> {
        let count = |row: &Value| {
            (row["ward"].as_str().expect("a ward").to_owned(), row["visits"]["value"].as_i64().expect("a count"))
        };
        self.rows().iter().map(count).collect()
    }

    fn objects(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect()
    }
}

/// This many rows: half in ward A, a third in B, the rest in D, which is not public; ages from 20 to 69.
pub fn visits(rows: usize) -> String {
    let mut csv = String::from("patient,ward,age\n");
    for row in 0..rows {
        let ward = match row % 6 {
            0..3 => "A",
            3 | 4 => "B",
            _ => "D",
        };
        let _ = writeln!(csv, "u{row},{ward},{}", 20 + row % 50);
    }
    csv
}

/// How many of the rows are in each public ward.
pub fn truth(rows: impl IntoIterator<Item = usize>) -> Vec<(String, i64)> {
    let mut counts = [0, 0, 0];
    for row in rows.into_iter().flat_map(|rows| 0..rows) {
        match row % 6 {
            0..3 => counts[0] += 1,
            3 | 4 => counts[1] += 1,
            _ => {}
        }
    }
    ["A", "B", "C"].map(String::from).into_iter().zip(counts).collect()
}
