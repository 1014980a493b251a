//! The file of reports.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use reticent::local::{Admission, Collection, Rejection, Report, TaskId};
use reticent_durable::{Access, Database, Form, Journal, SystemFiles};
use rusqlite::{Transaction, params};

use crate::collected::Collected;
use crate::error::{Error, Result};
use crate::estimated::{Estimated, not_people};

/// "RtLc": SQLite's application id, which marks the file as ours.
const FORM: Form = Form {
    application: 0x5274_4c63,
    version: 1,
    // Ids are random: a report may belong on any page.
    journal: Journal::TidiedLog { page_bytes: 4 << 10, cache_kib: 16 << 10 },
    // Reports are ordered by their random ids: the order of the file is not that of arrival.
    schema: "
CREATE TABLE task (number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, written TEXT NOT NULL) STRICT;
CREATE TABLE name (name TEXT PRIMARY KEY, task INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE report (
    task INTEGER NOT NULL, id BLOB NOT NULL, report BLOB NOT NULL, PRIMARY KEY (task, id)) STRICT, WITHOUT ROWID;
",
};

/// The most reports, and bytes of them, that are made durable together.
const TOGETHER: usize = 10_000;
const BYTES_TOGETHER: usize = 1 << 24;
/// A longer line is not a report: the largest set has 2^20 bits, which take a quarter of this in hexadecimal digits.
const LONGEST_LINE: u64 = 1 << 20;

/// The file of reports, for any number of tasks. Several processes may have it open.
///
/// # Privacy
/// Reports were randomised on the devices. The rules here keep the estimates honest: a report counts once, only for the
/// task whose hash it contains, and only until the task expires; and nothing is estimated from fewer than the minimum
/// batch. Estimates can be made any number of times: they are post-processing.
#[derive(Debug)]
pub struct Collector {
    writer: Mutex<Database>,
    /// Does not wait for writers.
    reader: Mutex<Database>,
}

impl Collector {
    /// Opens a file of reports, or creates one.
    ///
    /// # Errors
    /// If it cannot be opened or created, or is something else.
    pub fn open(path: &Path) -> Result<Self> {
        let open = |access| Database::open(path, Box::new(SystemFiles), access, FORM).map(Mutex::new);
        Ok(Self { writer: open(Access::Write)?, reader: open(Access::Read)? })
    }

    fn write<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = writer.write(work);
        writer.tidy();
        outcome
    }

    fn read<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner).read(work)
    }

    /// Binds a name to a task, for good. A task may have several names.
    ///
    /// # Errors
    /// [`Error::OtherTask`] if the name is bound to another task.
    pub fn bind(&self, name: &str, admission: &Admission) -> Result<()> {
        self.write(|pages| {
            let number = number_of(pages, admission)?;
            let sql = "INSERT OR IGNORE INTO name (name, task) VALUES (?1, ?2)";
            pages.execute(sql, params![name, number]).map_err(written)?;
            let sql = "SELECT task FROM name WHERE name = ?1";
            let bound: i64 = pages.query_row(sql, [name], |row| row.get(0)).map_err(written)?;
            // In case of an error nothing is written, not even the task.
            if bound == number { Ok(()) } else { Err(Error::OtherTask(name.into())) }
        })
    }

    /// Stores the reports that count, durably; `now` is in seconds since 1970.
    ///
    /// # Errors
    /// If the disk fails; then none is stored.
    pub fn collect(&self, admission: &Admission, reports: &[Report], now: u64) -> Result<Collected> {
        let mut collected = Collected::default();
        let mut admitted = Vec::with_capacity(reports.len());
        for report in reports {
            match admission.check(report, now) {
                Ok(()) => admitted.push((*report.id.bytes(), report.to_bytes())),
                Err(rejection) => collected.reject(rejection),
            }
        }
        if admitted.is_empty() {
            return Ok(collected);
        }
        // In the file's order, not in order of arrival.
        admitted.sort_unstable();
        let counted = self.write(|pages| {
            let number = number_of(pages, admission)?;
            let sql = "INSERT OR IGNORE INTO report (task, id, report) VALUES (?1, ?2, ?3)";
            let mut insert = pages.prepare_cached(sql).map_err(written)?;
            let mut counted = 0;
            for (id, report) in &admitted {
                counted += insert.execute(params![number, &id[..], report]).map_err(written)? as u64;
            }
            Ok(counted)
        })?;
        collected.counted = counted;
        (counted..admitted.len() as u64).for_each(|_| collected.reject(Rejection::Duplicate));
        Ok(collected)
    }

    /// [`Collector::collect`] for reports as JSON, one per line. Lines that are not reports are counted as
    /// `unreadable`; empty lines are ignored.
    ///
    /// # Errors
    /// If the input or the disk fails. Some of the earlier reports are stored: none is counted twice when all are sent
    /// again.
    pub fn collect_lines(&self, admission: &Admission, input: impl Read, now: u64) -> Result<Collected> {
        let mut input = BufReader::new(input);
        let mut collected = Collected::default();
        let (mut reports, mut bytes) = (Vec::new(), 0);
        let failed = |error: std::io::Error| Error::Input(error.to_string());
        loop {
            let mut line = Vec::new();
            let read = input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line).map_err(failed)?;
            let is_cut = read as u64 == LONGEST_LINE && line.last() != Some(&b'\n');
            if is_cut {
                input.skip_until(b'\n').map_err(failed)?;
            }
            if read == 0 || reports.len() == TOGETHER || bytes > BYTES_TOGETHER {
                collected = collected.and(self.collect(admission, &reports, now)?);
                reports.clear();
                bytes = 0;
            }
            if read == 0 {
                return Ok(collected);
            }
            bytes += read;
            match serde_json::from_slice(&line) {
                Ok(report) if !is_cut => reports.push(report),
                _ if line.trim_ascii().is_empty() => {}
                _ => collected.unreadable(),
            }
        }
    }

    /// The number of reports of a task.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn count(&self, task: &TaskId) -> Result<u64> {
        self.read(|pages| {
            let sql = "SELECT count(*) FROM report WHERE task = (SELECT number FROM task WHERE id = ?1)";
            pages
                .query_row(sql, [&task.bytes()[..]], |row| row.get::<_, i64>(0))
                .map_err(read)
                .map(|count| count as u64)
        })
    }

    /// The estimates from all reports of a task.
    ///
    /// # Errors
    /// [`Error::TooFew`] if there are fewer than the task's minimum batch; if the disk fails.
    pub fn estimate(&self, admission: &Admission) -> Result<Estimated> {
        let mut collection = Collection::new(admission.task().clone());
        let mut periods = BTreeSet::new();
        self.read(|pages| {
            let sql = "SELECT report FROM report WHERE task = (SELECT number FROM task WHERE id = ?1)";
            let mut query = pages.prepare_cached(sql).map_err(read)?;
            let mut rows = query.query([&admission.id().bytes()[..]]).map_err(read)?;
            let damaged = || Error::Damaged("a report".into());
            while let Some(row) = rows.next().map_err(read)? {
                let bytes = row.get_ref(0).map_err(read)?;
                let report = Report::from_bytes(bytes.as_blob().map_err(|_| damaged())?).map_err(|_| damaged())?;
                collection.recount(&report.response).map_err(|_| damaged())?;
                periods.extend(report.period);
            }
            Ok(())
        })?;
        let (there, needed) = (collection.n(), admission.task().minimum_batch());
        if there < needed {
            return Err(Error::TooFew { there, needed });
        }
        Ok(Estimated {
            reports: there,
            periods: periods.len() as u64,
            answers: collection.estimate()?,
            no_interval: not_people(admission.task()),
        })
    }
}

/// The task's number in the file; a new task is added.
fn number_of(pages: &Transaction<'_>, admission: &Admission) -> Result<i64> {
    let id = admission.id();
    let text = serde_json::to_string(admission.task()).map_err(|error| Error::Input(error.to_string()))?;
    let sql = "INSERT OR IGNORE INTO task (id, written) VALUES (?1, ?2)";
    pages.execute(sql, params![&id.bytes()[..], text]).map_err(written)?;
    let sql = "SELECT number FROM task WHERE id = ?1";
    pages.query_row(sql, [&id.bytes()[..]], |row| row.get(0)).map_err(written)
}

fn written(error: rusqlite::Error) -> Error {
    Error::Storage { doing: "written", reason: error.to_string() }
}

fn read(error: rusqlite::Error) -> Error {
    Error::Storage { doing: "read", reason: error.to_string() }
}
