//! A separate folder for each test.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

pub struct Place(pub PathBuf);

impl Place {
    pub fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("local-{name}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    /// With a task for two answers in `tea.toml`, at a given epsilon.
    pub fn with_tea(name: &str, epsilon: &str, more: &str) -> Self {
        let place = Self::new(name);
        let arguments = format!("local task new --choices yes,no --epsilon {epsilon} --out tea.toml {more}");
        let made = place.run_with(&(arguments + " --expires 2999-01-01 --question"), &["Tea?"], "");
        assert!(made.status.success(), "{}", text(&made.stderr));
        place
    }

    pub fn run(&self, arguments: &str) -> Output {
        self.run_with(arguments, &[], "")
    }

    /// Runs `reticent` with arguments in one string, further ones that may contain spaces, and an input.
    pub fn run_with(&self, arguments: &str, more: &[&str], input: &str) -> Output {
        let mut child = Command::new(env!("CARGO_BIN_EXE_reticent"))
            .args(arguments.split_whitespace())
            .args(more)
            .current_dir(&self.0)
            .env("HOME", &self.0)
            .env("XDG_DATA_HOME", self.0.join("data"))
            .env_remove("RUST_BACKTRACE")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        // It may exit before it has read everything.
        let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
        child.wait_with_output().expect("it ends")
    }

    /// The report of a device.
    #[track_caller]
    pub fn report(&self, device: usize, answer: &str) -> String {
        let output = self.run(&format!("local respond --task tea.toml --answer {answer} --device devices/{device}"));
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}
