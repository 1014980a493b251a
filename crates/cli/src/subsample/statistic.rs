//! What is asked of every block: a program, or SQL that this program itself runs in another process.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use reticent_ledger::hash::Hash;
use reticent_sql::scalar::ScalarQuery;

use super::Arguments;
use super::environment::find;
use crate::exit::usage;

/// A program with its arguments.
#[derive(Debug, Clone)]
pub struct Statistic {
    /// Its full path.
    pub program: PathBuf,
    /// What it is called with.
    pub arguments: Vec<OsString>,
    /// All that decides its answers, in words.
    pub description: String,
}

impl Statistic {
    /// What the arguments ask for, checked without any row.
    ///
    /// # Errors
    /// If the program is not there or cannot be run; if the SQL cannot be planned on these columns.
    pub fn new(arguments: &Arguments, header: &[String]) -> Result<Self> {
        match (&arguments.sql, &arguments.program) {
            (Some(_), _) if !arguments.program_arguments.is_empty() => {
                Err(usage("what follows -- are the arguments of --program; leave them out with --sql"))
            }
            (Some(sql), _) => of_sql(sql, header),
            (None, Some(program)) => of_program(program, &arguments.program_arguments),
            (None, None) => Err(usage("name the statistic with --sql or --program")),
        }
    }
}

fn of_sql(sql: &str, header: &[String]) -> Result<Statistic> {
    ScalarQuery::new(sql, header).map_err(|error| usage(format!("--sql: {error}")))?;
    let program = std::env::current_exe().context("this program does not find itself to run the SQL")?;
    let arguments = ["block-sql", "--", sql].map(OsString::from).to_vec();
    Ok(Statistic { program, arguments, description: format!("SQL {sql:?}") })
}

fn of_program(named: &Path, arguments: &[OsString]) -> Result<Statistic> {
    let shown = named.display();
    // Without a slash it is looked for where the runs look.
    let found = if named.to_string_lossy().contains('/') {
        named.into()
    } else {
        find(&named.to_string_lossy()).ok_or_else(|| {
            let hint = if named.is_file() { format!("; write ./{shown} for the file here") } else { String::new() };
            usage(format!("--program {shown} is not in the runs' PATH, {}{hint}", super::environment::PATH))
        })?
    };
    let unusable = |error: std::io::Error| usage(format!("--program {shown} cannot be used: {error}"));
    // Not canonical: what a program does may depend on the name by which it is called.
    let program = std::path::absolute(found).map_err(unusable)?;
    let metadata = fs::metadata(&program).map_err(unusable)?;
    if !metadata.is_file() {
        return Err(usage(format!("--program {shown} is not a file")));
    }
    if metadata.permissions().mode() & 0o111 == 0 {
        return Err(usage(format!("--program {shown} is not executable; run chmod +x {shown}")));
    }
    let content = fs::read(&program).map_err(unusable)?;
    check_interpreter(&content).map_err(|what| usage(format!("--program {shown} {what}")))?;
    let description = format!("program {:?} {arguments:?} (SHA-256 {})", program.as_os_str(), Hash::of(&content));
    Ok(Statistic { program, arguments: arguments.to_vec(), description })
}

/// Is there what the program's first line asks for? Better known now than after the charge.
fn check_interpreter(content: &[u8]) -> Result<(), String> {
    let Some(rest) = content.strip_prefix(b"#!") else { return Ok(()) };
    let line = String::from_utf8_lossy(rest.split(|&byte| byte == b'\n').next().unwrap_or_default()).into_owned();
    let mut words = line.split_whitespace();
    let Some(interpreter) = words.next() else { return Err("has an empty #! line".into()) };
    if !Path::new(interpreter).is_file() {
        return Err(format!("asks for {interpreter}, which is not there"));
    }
    if Path::new(interpreter).file_name().is_some_and(|name| name == "env")
        && let Some(name) = words.find(|word| !word.starts_with('-') && !word.contains('='))
        && !name.contains('/')
        && find(name).is_none()
    {
        let path = super::environment::PATH;
        return Err(format!("asks for {name}, which is not in the runs' PATH, {path}; write its full path after #!"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreters_must_be_there() {
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
            assert!(checked.err().unwrap_or_default().contains(said), "{content}");
        }
    }
}
