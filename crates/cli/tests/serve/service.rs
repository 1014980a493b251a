//! A separate service for each test.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use reticent_server::tokens::owner::Owner;
use serde_json::{Value, json};

use crate::http::{Answer, PATIENCE, Waiting, say};

/// With this epsilon there is no noise in sums of single digits, except with negligible probability.
pub const WITHOUT_NOISE: &str = "10000";
/// The same for sums of values up to a thousand.
const WITHOUT_NOISE_IN_THOUSANDS: &str = "1000000";

/// A task of the local model.
pub const COMMUTE: &str = r#"
question = "How did you come here today?"
epsilon = "2"
minimum-batch = 20
expires = "2999-01-01"

[domain]
choices = ["on foot", "by bicycle", "by train"]
"#;

/// A folder with a data directory and whatever the service needs.
pub struct Place(pub PathBuf);

/// A running service.
pub struct Service {
    pub address: SocketAddr,
    /// The owner's token, if there are no others.
    pub owner: Option<String>,
    child: Child,
}

impl Place {
    pub fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("serve-{name}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).expect("written");
    }

    /// With a table `visits` of 300 rows of 100 users, whose budget is ε = 2500.
    pub fn with_visits(name: &str) -> Self {
        let place = Self::new(name);
        let rows =
            (0..300).map(|row| format!("u{},{},{}\n", row % 100, ["north", "south", "east"][row % 3], 20 + row % 50));
        place.write("visits.csv", &("user,region,age\n".to_owned() + &rows.collect::<String>()));
        place.write(
            "reticent.toml",
            r#"
                [[table]]
                name = "visits"
                file = "visits.csv"
                policy = { unit = "user", max_rows = 3, max_groups = 1, bounds = { age = "0..120" }, budget = { epsilon = 2500, delta = "1e-6", allow_large_epsilon = true } }
            "#,
        );
        place
    }

    /// With a survey `commute`, whose task is in `commute.toml`.
    pub fn with_survey(name: &str, open: bool) -> Self {
        let place = Self::new(name);
        place.write("commute.toml", COMMUTE);
        let survey = format!("[[survey]]\nname = \"commute\"\ntask = \"commute.toml\"\nopen = {open}\n");
        place.write("reticent.toml", &survey);
        place
    }

    /// Runs `reticent` with arguments in one string, with this folder as home.
    pub fn program(&self, arguments: &str) -> Command {
        self.at_home(Command::new(env!("CARGO_BIN_EXE_reticent")), arguments)
    }

    fn at_home(&self, mut command: Command, arguments: &str) -> Command {
        command.args(arguments.split_whitespace()).current_dir(&self.0);
        command.env("HOME", &self.0).env("XDG_DATA_HOME", &self.0);
        for name in ["RETICENT_LEDGER", "RETICENT_TOKEN", "RETICENT_SERVER", "RUST_BACKTRACE"] {
            command.env_remove(name);
        }
        command
    }

    pub fn run(&self, arguments: &str) -> Output {
        self.program(arguments).output().expect("the program starts")
    }

    pub fn token(&self, name: &str, role: &str, more: &str) -> String {
        let output = self.run(&format!("token create {name} --role {role} --data-dir data {more}"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text").trim().to_owned()
    }

    /// A running service, on its own port; with the configuration if there is one.
    pub fn start(&self) -> Service {
        self.start_at("127.0.0.1:0")
    }

    pub fn start_at(&self, listen: &str) -> Service {
        self.start_with(listen, &[])
    }

    /// With these variables in its environment.
    pub fn start_with(&self, listen: &str, environment: &[(&str, &str)]) -> Service {
        let mut command = self.program(&self.serve(listen));
        command.envs(environment.iter().copied());
        self.launch(command)
    }

    /// With the signal for exceeded file sizes ignored, so that it is an error like any other.
    pub fn start_on_a_disk_that_can_be_full(&self) -> Service {
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' XFSZ; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_reticent")]);
        self.launch(self.at_home(shell, &self.serve("127.0.0.1:0")))
    }

    fn serve(&self, listen: &str) -> String {
        let config = if self.0.join("reticent.toml").is_file() { "--config reticent.toml" } else { "" };
        format!("serve --listen {listen} --data-dir data {config}")
    }

    fn launch(&self, mut command: Command) -> Service {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.log()).expect("a log");
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("an address");
        let address = line.trim().strip_prefix("http://").and_then(|rest| rest.strip_suffix('/'));
        let address = address.and_then(|address| address.parse().ok());
        let address = address.unwrap_or_else(|| panic!("no address: {line:?}; {}", self.logged()));
        let owner = Owner::published(&self.0.join("data")).map(|(_, token)| token);
        Service { address, owner, child }
    }

    /// The message of a service that must not start with the configuration and these arguments.
    pub fn does_not_start(&self, arguments: &str) -> String {
        let arguments = format!("serve --listen 127.0.0.1:0 --data-dir data --config reticent.toml {arguments}");
        let mut child =
            self.program(&arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("a process");
        let start = Instant::now();
        while child.try_wait().expect("its state").is_none() {
            if start.elapsed() > PATIENCE {
                child.kill().expect("it ends");
                panic!("it runs");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let output = child.wait_with_output().expect("its output");
        let said = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "{said}");
        said
    }

    pub fn log(&self) -> PathBuf {
        self.0.join("log")
    }

    pub fn logged(&self) -> String {
        fs::read_to_string(self.log()).unwrap_or_default()
    }
}

impl Service {
    /// The process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a request, as the owner unless the headers name someone else or there are tokens.
    pub fn say(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Waiting {
        let bearer = self.bearer();
        let mut headers = headers.to_vec();
        if self.owner.is_some() && !headers.iter().any(|(name, _)| *name == "Authorization") {
            headers.push(("Authorization", &bearer));
        }
        say(self.address, method, path, &headers, body)
    }

    /// What the owner sends to authenticate.
    pub fn bearer(&self) -> String {
        format!("Bearer {}", self.owner.as_deref().unwrap_or_default())
    }

    /// The page, as the owner opens it.
    pub fn page(&self) -> String {
        format!("http://{}/#token={}", self.address, self.owner.as_deref().unwrap_or_default())
    }

    pub fn get(&self, path: &str) -> Answer {
        self.say("GET", path, &[], b"").answer()
    }

    pub fn post(&self, path: &str, value: &Value) -> Answer {
        self.say("POST", path, &[("Content-Type", "application/json")], value.to_string().as_bytes()).answer()
    }

    pub fn post_as(&self, token: &str, path: &str, value: &Value) -> Answer {
        let bearer = format!("Bearer {token}");
        let headers = [("Content-Type", "application/json"), ("Authorization", &bearer)];
        self.say("POST", path, &headers, value.to_string().as_bytes()).answer()
    }

    pub fn get_as(&self, token: &str, path: &str) -> Answer {
        self.say("GET", path, &[("Authorization", &format!("Bearer {token}"))], b"").answer()
    }

    pub fn send(&self, stream: &str, lines: &str) -> Answer {
        self.say("POST", &format!("/v1/streams/{stream}/events"), &[], lines.as_bytes()).answer()
    }

    /// A stream that releases without noise after this many events.
    #[track_caller]
    pub fn create_exact(&self, name: &str, events: u64) {
        let step = format!("{events} events");
        let stream = json!({ "name": name, "step": step, "range": "0..1000", "horizon": 1000, "epsilon": WITHOUT_NOISE_IN_THOUSANDS, "allow_large_epsilon": true });
        let created = self.post("/v1/streams", &stream);
        assert_eq!(created.status, 201, "{}", created.text());
    }

    /// The latest release, once it is of this step.
    #[track_caller]
    pub fn released(&self, stream: &str, step: u64) -> Value {
        wait_for(&format!("step {step} of {stream}"), || {
            let now = self.get(&format!("/v1/streams/{stream}/releases/now"));
            (now.status == 200).then(|| now.json()).filter(|release| release["step"].as_u64() >= Some(step))
        })
    }

    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
        assert!(sent.expect("kill is there").success());
    }

    pub fn ended(&mut self) -> ExitStatus {
        wait_for("the end", || self.child.try_wait().expect("a child"))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for something, generously.
#[track_caller]
pub fn wait_for<T>(what: &str, mut there: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = there() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "{what} never came");
        std::thread::sleep(Duration::from_millis(20));
    }
}
