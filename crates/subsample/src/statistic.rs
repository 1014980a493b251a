//! The program that runs on every block.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use reticent_sql::scalar::ScalarQuery;
use sha2::{Digest, Sha256};

use crate::environment::find;
use crate::error::{Error, ProgramFault, Result};

/// A program with its arguments. It reads a block from standard input, as CSV with a header, and prints its answer on
/// the first line of standard output.
#[derive(Debug, Clone)]
pub struct Statistic {
    program: PathBuf,
    arguments: Vec<OsString>,
    description: String,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Program,
    Sql,
}

/// A program that answers SQL on a block, started with its arguments followed by the query. It does what
/// [`block_sql::answer`](crate::block_sql::answer) does.
#[derive(Debug, Clone)]
pub struct Worker {
    /// The program's full path.
    pub program: PathBuf,
    /// The arguments before the query.
    pub arguments: Vec<OsString>,
}

impl Statistic {
    /// The user's own program. A name without a slash is looked up in the runs' `PATH`.
    ///
    /// # Errors
    /// [`Error::Program`] if it does not exist, is not executable, or its interpreter does not exist: better to find
    /// out now than after the charge.
    pub fn program(named: &Path, arguments: &[OsString]) -> Result<Self> {
        let shown = named.display().to_string();
        let (program, content) = runnable(named).map_err(|fault| Error::Program { program: shown.clone(), fault })?;
        let hash = reticent::hexadecimal::write(&Sha256::digest(&content));
        let description = format!("program {:?} {arguments:?} (SHA-256 {hash})", program.as_os_str());
        Ok(Self { program, arguments: arguments.to_vec(), description, kind: Kind::Program })
    }

    /// A query over the table `data` that returns one value; see [`ScalarQuery`].
    ///
    /// # Errors
    /// [`Error::Sql`] if the query does not fit a table with these columns.
    pub fn sql(sql: &str, header: &[String], worker: Worker) -> Result<Self> {
        ScalarQuery::new(sql, header).map_err(Error::Sql)?;
        let Worker { program, mut arguments } = worker;
        arguments.push(sql.into());
        Ok(Self { program, arguments, description: format!("SQL {sql:?}"), kind: Kind::Sql })
    }

    /// The program's full path.
    pub fn path(&self) -> &Path {
        &self.program
    }

    /// Its arguments.
    pub fn arguments(&self) -> &[OsString] {
        &self.arguments
    }

    /// Everything that decides its answers, in words: a program by the hash of its file, a query by its text.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Whether it is the user's own program, about which nothing is known before it has run.
    pub fn is_program(&self) -> bool {
        self.kind == Kind::Program
    }

    /// A shell script.
    pub(crate) fn script(text: &str) -> Self {
        let arguments = ["-c", text].map(OsString::from).to_vec();
        Self { program: "/bin/sh".into(), arguments, description: text.into(), kind: Kind::Program }
    }
}

/// The full path of an executable program, and its content.
fn runnable(named: &Path) -> Result<(PathBuf, Vec<u8>), ProgramFault> {
    let found = match named.to_string_lossy() {
        name if name.contains('/') => named.into(),
        name => find(&name).ok_or_else(|| ProgramFault::NotInPath { here: named.is_file() })?,
    };
    let unreadable = |error: std::io::Error| ProgramFault::Unreadable(error.to_string());
    // Links are not resolved: a program's behaviour may depend on the name it is started under.
    let program = std::path::absolute(found).map_err(unreadable)?;
    let metadata = fs::metadata(&program).map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(ProgramFault::NotAFile);
    }
    if metadata.permissions().mode() & 0o111 == 0 {
        return Err(ProgramFault::NotExecutable);
    }
    let content = fs::read(&program).map_err(unreadable)?;
    check_interpreter(&content)?;
    Ok((program, content))
}

/// Checks that the interpreter named in the first line exists.
fn check_interpreter(content: &[u8]) -> Result<(), ProgramFault> {
    let Some(rest) = content.strip_prefix(b"#!") else { return Ok(()) };
    let line = String::from_utf8_lossy(rest.split(|&byte| byte == b'\n').next().unwrap_or_default()).into_owned();
    let mut words = line.split_whitespace();
    let interpreter = words.next().ok_or(ProgramFault::NoInterpreter)?;
    if !Path::new(interpreter).is_file() {
        return Err(ProgramFault::InterpreterMissing(interpreter.into()));
    }
    if Path::new(interpreter).file_name().is_some_and(|name| name == "env")
        && let Some(name) = words.find(|word| !word.starts_with('-') && !word.contains('='))
        && !name.contains('/')
        && find(name).is_none()
    {
        return Err(ProgramFault::InterpreterNotInPath(name.into()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreters_must_exist() {
        for content in
            ["", "echo 1\n", "#!/bin/sh\n", "#!/bin/sh -e\n", "#! /usr/bin/env sh\n", "#!/usr/bin/env -S sh -e\n"]
        {
            assert_eq!(check_interpreter(content.as_bytes()), Ok(()), "{content}");
        }
        for (content, said) in [
            ("#!\n", "empty"),
            ("#!/no/such/thing\n", "/no/such/thing"),
            ("#!/bin/sh\r\n", ""),
            ("#!/usr/bin/env nosuchthing\n", "asks for nosuchthing"),
        ] {
            let checked = check_interpreter(content.as_bytes());
            assert_eq!(checked.is_err(), !said.is_empty(), "{content}");
            assert!(checked.map_or_else(|fault| fault.of("it"), |()| String::new()).contains(said), "{content}");
        }
    }
}
