//! One run: a process that reads a block and prints an answer.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::table::Block;

/// The longest answer, in bytes.
pub const LONGEST_ANSWER: usize = 4096;

/// How often to check whether a run has ended.
const PULSE: Duration = Duration::from_millis(1);

/// How long a written answer may take to reach us.
const ON_ITS_WAY: Duration = Duration::from_millis(20);

/// A process to start.
#[derive(Debug)]
pub struct Run {
    /// The command to start.
    pub command: Command,
    /// Its standard input.
    pub input: Block,
    /// Its time limit.
    pub limit: Duration,
    /// Where its standard error goes.
    pub errors: Stdio,
}

/// The first line that a run prints, if it exits by itself, in time and with code 0.
pub fn answer(run: Run) -> Option<String> {
    let deadline = Instant::now() + run.limit;
    let (child, line) = start(run)?;
    if !finish(child, deadline) {
        return None;
    }
    let wait = deadline.saturating_duration_since(Instant::now()).max(ON_ITS_WAY);
    line.recv_timeout(wait).ok().flatten()
}

/// Whether a run exits by itself, in time and with code 0, whatever it prints.
pub fn ended_well(run: Run) -> bool {
    let deadline = Instant::now() + run.limit;
    start(run).is_some_and(|(child, _)| finish(child, deadline))
}

/// Starts a run; its first line arrives through the receiver.
fn start(run: Run) -> Option<(Child, Receiver<Option<String>>)> {
    let Run { mut command, input, errors, .. } = run;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
    // Its own process group, so that everything it starts can be killed with it.
    let mut child = command.process_group(0).spawn().ok()?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let (sender, line) = channel();
    // These threads may outlive the run if a process escaped and keeps the pipes open; nobody waits for them.
    if let Some(mut stdin) = stdin {
        // A program need not read all of its input.
        std::thread::spawn(move || drop(stdin.write_all(&input)));
    }
    if let Some(stdout) = stdout {
        std::thread::spawn(move || {
            let (line, mut rest) = first_line(stdout);
            let _ = sender.send(line);
            // Read to the end: a program that prints more must not be killed by a broken pipe.
            let _ = std::io::copy(&mut rest, &mut std::io::sink());
        });
    }
    Some((child, line))
}

/// The first line, trimmed; `None` if it is missing or too long.
fn first_line(stdout: ChildStdout) -> (Option<String>, BufReader<ChildStdout>) {
    let mut reader = BufReader::new(stdout);
    let mut line = Vec::new();
    let read = reader.by_ref().take(LONGEST_ANSWER as u64 + 1).read_until(b'\n', &mut line);
    (read.ok().and_then(|_| answer_of(&line)), reader)
}

/// Parses a line as an answer.
fn answer_of(line: &[u8]) -> Option<String> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    if line.len() > LONGEST_ANSWER {
        return None;
    }
    let text = String::from_utf8_lossy(line);
    let text = text.trim();
    // Control characters could move a terminal's cursor.
    let printable = |letter: char| if letter.is_control() { '\u{fffd}' } else { letter };
    (!text.is_empty()).then(|| text.chars().map(printable).collect())
}

/// Waits until the process exits or the deadline passes, then kills what is left of its group. Returns whether it
/// exited in time and with code 0.
fn finish(mut child: Child, deadline: Instant) -> bool {
    let id = Pid::from_child(&child);
    // The process is not reaped before its group is killed, so that its id cannot be reused until then.
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let well = loop {
        match waitid(WaitId::Pid(id), options) {
            Ok(Some(status)) => break status.exit_status() == Some(0),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(PULSE),
            Ok(None) | Err(_) => break false,
        }
    };
    let _ = kill_process_group(id, Signal::KILL);
    let _ = child.wait();
    well
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str, input: &[u8], limit: Duration) -> Option<String> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        answer(Run { command, input: input.into(), limit, errors: Stdio::null() })
    }

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn the_first_line_of_a_good_end_is_the_answer() {
        for (script, expected) in [
            ("echo ' blue '; echo red", Some("blue")),
            ("printf blue", Some("blue")),
            ("printf 'a\\tb\\033[2J\\n'", Some("a\u{fffd}b\u{fffd}[2J")),
            ("wc -l", Some("3")),
            ("seq 100000", Some("1")),
            ("exit 0", None),
            ("echo", None),
            ("echo blue; exit 1", None),
            ("echo blue; kill -SEGV $$", None),
            (
                "awk 'BEGIN {for (i = 0; i < 4096; i++) printf \"x\"; print \"\"; exit}' | tr x y | head -c 3",
                Some("yyy"),
            ),
            ("awk 'BEGIN {for (i = 0; i < 4097; i++) printf \"x\"}'", None),
            ("no-such-program", None),
        ] {
            let answer = run(script, b"1\n2\n3\n", LONG);
            assert_eq!(answer.as_deref(), expected, "{script}");
        }
        let longest = run("awk 'BEGIN {for (i = 0; i < 4096; i++) printf \"x\"}'", b"", LONG);
        assert_eq!(longest.map(|answer| answer.len()), Some(LONGEST_ANSWER));
    }

    #[test]
    fn unread_input_is_not_a_failure() {
        assert_eq!(run("echo done", &vec![b'x'; 1 << 22], LONG).as_deref(), Some("done"));
    }

    /// Its children end too; one that inherited the output does not keep us from the answer.
    #[test]
    fn nothing_is_left_of_a_run() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("child");
        let script = format!("sleep 1000 & echo $! > {}; echo started", file.display());
        assert_eq!(run(&script, b"", LONG).as_deref(), Some("started"));
        let child: i32 = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
        let gone = || rustix::process::test_kill_process(Pid::from_raw(child).unwrap()).is_err();
        // It is dead at once, but gone only when its new parent has reaped it.
        let patience = Instant::now() + LONG;
        while !gone() && !is_zombie(child) {
            assert!(Instant::now() < patience, "it is still running");
            std::thread::sleep(PULSE);
        }
        assert_eq!(run("yes", b"", Duration::from_millis(200)), None);
        assert_eq!(run("echo early; sleep 1000", b"", Duration::from_millis(200)), None);
    }

    fn is_zombie(child: i32) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        status.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z'))
    }
}
