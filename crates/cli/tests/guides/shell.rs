//! A reader's terminal: one shell that keeps its variables and jobs from command to command.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use crate::page::{Page, root};

/// The timeout of everything. Nothing takes this long unless the machine is very busy.
pub const PATIENCE: Duration = Duration::from_secs(240);

/// A shell in a new folder with the examples.
pub struct Shell {
    /// The reader's working directory, and home.
    pub folder: PathBuf,
    outputs: PathBuf,
    commands: usize,
    child: Child,
    input: ChildStdin,
    codes: Receiver<i32>,
}

impl Shell {
    pub fn new(name: &str, page: &Page) -> Self {
        let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("guide-{name}"));
        let _ = fs::remove_dir_all(&place);
        let (folder, outputs) = (place.join("home"), place.join("outputs"));
        for new in [&folder, &outputs] {
            fs::create_dir_all(new).expect("a folder");
        }
        let examples = root().join("examples").canonicalize().expect("the examples");
        std::os::unix::fs::symlink(examples, folder.join("examples")).expect("a link");
        // Progress is not shown on a terminal either, and a page shows no refused requests.
        fs::write(folder.join(".curlrc"), "silent\nfail-with-body\n").expect("written");
        let mut command = Command::new("bash");
        command.current_dir(&folder).env("PATH", search_path()).env("HOME", &folder).env("USER", "ada");
        command.env("XDG_DATA_HOME", folder.join("data")).env_remove("RUST_BACKTRACE");
        for name in ["RETICENT_LEDGER", "RETICENT_TOKEN", "RETICENT_SERVER"] {
            command.env_remove(name);
        }
        if let Some(address) = page.addresses.get("127.0.0.1:8080") {
            command.env("RETICENT_SERVER", format!("http://{address}"));
        }
        // A group of its own, so that whatever is still running ends with the shell.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("bash starts");
        let (input, output) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        let (ended, codes) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if ended.send(line.parse().expect("an exit code")).is_err() {
                    break;
                }
            }
        });
        let mut shell = Self { folder, outputs, commands: 0, child, input, codes };
        shell.tell("set -o pipefail");
        shell
    }

    /// Runs a command to its end, or to its first failing part if it must succeed. Returns its exit code and all its output.
    pub fn run(&mut self, command: &str, must_succeed: bool) -> (i32, String) {
        let output = self.output();
        let on_failure = if must_succeed { "set -e" } else { "set +e" };
        let path = output.display();
        self.tell(&format!("{on_failure}\n{{ {command}\n}} < /dev/null > '{path}' 2>&1\necho $?"));
        (self.code(), fs::read_to_string(output).expect("it was written"))
    }

    /// Starts a command that ends only when it is told to, instead of the one that was started before. Returns the file with its output.
    pub fn start(&mut self, command: &str) -> PathBuf {
        let output = self.output();
        let path = output.display();
        self.stop();
        self.tell(&format!("exec {command} < /dev/null > '{path}' 2>&1 & started=$!\necho 0"));
        assert_eq!(self.code(), 0);
        output
    }

    /// Ends the command that was started.
    pub fn stop(&mut self) {
        self.tell("set +e\n[ -z \"$started\" ] || { kill $started && wait $started; }\necho $?\nstarted=");
        assert_eq!(self.code(), 0, "what was started ends as it should");
    }

    fn output(&mut self) -> PathBuf {
        self.commands += 1;
        self.outputs.join(format!("{}.txt", self.commands))
    }

    fn tell(&mut self, lines: &str) {
        self.input.write_all(format!("{lines}\n").as_bytes()).expect("the shell is there");
    }

    /// The next exit code: of a command, or of the shell, if a command ended it.
    fn code(&mut self) -> i32 {
        match self.codes.recv_timeout(PATIENCE) {
            Ok(code) => code,
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => {
                self.child.wait().expect("it ended").code().expect("not by a signal")
            }
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("it does not end"),
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.child.wait();
    }
}

/// A search path on which `reticent` is the program under test.
fn search_path() -> std::ffi::OsString {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_reticent"));
    let folder = program.parent().expect("a folder").to_owned();
    let others = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths([folder].into_iter().chain(std::env::split_paths(&others))).expect("a search path")
}
