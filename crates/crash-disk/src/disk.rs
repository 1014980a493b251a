//! The files as programs see them, and the log of changes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::os::raw::c_int;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rusqlite::ffi;

use crate::content::Content;
use crate::fault::{Call, Fault, code};
use crate::locks::{FileLocks, SharedLocks};
use crate::replay::Image;
use crate::vfs::{self, Region};

/// How many bytes [`Disk::rewrite`] writes at a time.
const STRETCH: usize = 1 << 16;

/// A change to the disk, or one that made changes durable. Files are numbered, since names come and go.
#[derive(Debug, Clone)]
pub enum Operation {
    /// A new file.
    Create {
        /// Its name.
        name: String,
        /// Its number.
        file: u64,
    },
    /// A name was deleted.
    Delete {
        /// The name.
        name: String,
    },
    /// A write.
    Write {
        /// The file.
        file: u64,
        /// The position in the file.
        offset: usize,
        /// The bytes.
        bytes: Arc<[u8]>,
    },
    /// A file was truncated or extended.
    Truncate {
        /// The file.
        file: u64,
        /// Its new length.
        length: usize,
    },
    /// All writes to a file became durable.
    Sync {
        /// The file.
        file: u64,
    },
    /// All names became durable.
    SyncNames,
    /// A sync failed: writes to the file that are not durable never will be, though they can be read.
    LoseWrites {
        /// The file.
        file: u64,
    },
}

/// A disk. Copies of this handle refer to the same disk.
///
/// SQLite keeps a registered file system, so a disk lives until the process ends; [`Disk::load`] reuses one.
#[derive(Debug, Clone, Copy)]
pub struct Disk(pub(crate) &'static Shared);

/// What SQLite's calls operate on.
#[derive(Debug)]
pub struct Shared {
    system: String,
    /// How long a sync takes, in microseconds.
    sync_time: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    loaded: Image,
    pub names: BTreeMap<String, u64>,
    pub files: HashMap<u64, File>,
    pub handles: HashMap<u64, Handle>,
    next: u64,
    log: Vec<Operation>,
    calls: Vec<Call>,
    fault: Option<Fault>,
    failed_at: Option<usize>,
    /// Whether the log is off.
    deaf: bool,
}

#[derive(Debug, Default)]
pub(crate) struct File {
    pub content: Content,
    pub locks: FileLocks,
    pub places: SharedLocks,
    regions: Vec<Region>,
    /// The users of the shared memory.
    sharers: HashSet<u64>,
}

#[derive(Debug, Clone)]
pub(crate) struct Handle {
    pub file: u64,
    name: String,
    /// The first sync of a journal or log makes its name durable, too.
    sync_names: bool,
    delete_on_close: bool,
}

/// An SQLite error code.
pub(crate) type Code<T = ()> = Result<T, c_int>;

impl Disk {
    /// An empty disk.
    #[expect(clippy::new_without_default, reason = "it is registered with SQLite and never freed")]
    pub fn new() -> Self {
        static DISKS: AtomicU64 = AtomicU64::new(0);
        let system = format!("crash-disk-{}", DISKS.fetch_add(1, Ordering::Relaxed));
        let shared = Box::leak(Box::new(Shared { system, sync_time: AtomicU64::new(0), state: Mutex::default() }));
        vfs::register(shared);
        Self(shared)
    }

    /// The name under which it is registered with SQLite.
    pub fn system(&self) -> &'static str {
        &self.0.system
    }

    /// Replaces all files on the disk by these, and clears log, calls and faults.
    ///
    /// # Panics
    /// If a file is open.
    pub fn load(&self, image: &Image) {
        let mut state = self.0.state();
        assert!(state.handles.is_empty(), "a file is open");
        *state = State { loaded: image.clone(), ..State::default() };
        for ((name, content), number) in image.files.iter().zip(0..) {
            state.names.insert(name.clone(), number);
            state.files.insert(number, File { content: content.clone(), ..File::default() });
        }
        // The same numbers as in a replay.
        state.next = image.files.len() as u64;
    }

    /// The files as they were when the log began: those loaded, or none.
    pub fn image(&self) -> Image {
        self.0.state().loaded.clone()
    }

    /// The files as programs see them now.
    pub fn present(&self) -> Image {
        let state = self.0.state();
        let files = state.names.iter().map(|(name, file)| (name.clone(), state.files[file].content.clone()));
        Image { files: files.collect() }
    }

    /// The changes so far.
    pub fn log(&self) -> Vec<Operation> {
        self.0.state().log.clone()
    }

    /// The length of the log.
    pub fn steps(&self) -> usize {
        self.0.state().log.len()
    }

    /// Keeps no log of writes until the disk is loaded again, which is faster.
    pub fn keep_no_log(&self) {
        self.0.state().deaf = true;
    }

    /// The calls so far: [`Fault`]s refer to their numbers.
    pub fn calls(&self) -> Vec<Call> {
        self.0.state().calls.clone()
    }

    /// Makes calls fail from now on.
    pub fn fail(&self, fault: Fault) {
        self.0.state().fault = Some(fault);
    }

    /// Makes no more calls fail.
    pub fn heal(&self) {
        self.0.state().fault = None;
    }

    /// Makes every sync of SQLite take this long, as on a real disk, so that others queue up.
    pub fn slow_syncs(&self, time: Duration) {
        self.0.sync_time.store(time.as_micros() as u64, Ordering::Relaxed);
    }

    /// The length of the log when the first call failed.
    pub fn failed_at(&self) -> Option<usize> {
        self.0.state().failed_at
    }

    /// A file's length; `None` if it does not exist.
    pub fn length(&self, name: &str) -> Option<usize> {
        let state = self.0.state();
        state.names.get(name).map(|file| state.files[file].content.len())
    }

    /// Creates an empty file, if it does not exist.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn create(&self, name: &str) -> io::Result<()> {
        let mut state = self.0.state();
        state.call(Call::Open).map_err(failed)?;
        if !state.names.contains_key(name) {
            state.create(name);
        }
        Ok(())
    }

    /// Makes all names durable.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn sync_names(&self) -> io::Result<()> {
        let mut state = self.0.state();
        state.call(Call::Sync).map_err(failed)?;
        state.log.push(Operation::SyncNames);
        Ok(())
    }

    /// Rewrites all bytes of a file in place, and makes them durable; does nothing if it does not exist.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn rewrite(&self, name: &str) -> io::Result<()> {
        let mut state = self.0.state();
        state.call(Call::Open).map_err(failed)?;
        let Some(file) = state.names.get(name).copied() else { return Ok(()) };
        let length = state.file(file).content.len();
        for offset in (0..length).step_by(STRETCH) {
            state.call(Call::Read).map_err(failed)?;
            let mut bytes = vec![0; STRETCH.min(length - offset)];
            state.file(file).content.read(offset, &mut bytes);
            state.write(file, offset, &bytes).map_err(failed)?;
        }
        state.sync(file).map_err(failed)
    }
}

fn failed(code: c_int) -> io::Error {
    io::Error::other(ffi::Error::new(code))
}

impl Shared {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the duration of a sync.
    pub(crate) fn wait_for_sync(&self) {
        let time = self.sync_time.load(Ordering::Relaxed);
        if time > 0 {
            thread::sleep(Duration::from_micros(time));
        }
    }

    pub(crate) fn system(&self) -> &str {
        &self.system
    }
}

impl State {
    /// Records a call; an error if it is to fail.
    pub fn call(&mut self, call: Call) -> Code {
        let number = self.calls.len();
        self.calls.push(call);
        let Some(fault) = &mut self.fault else { return Ok(()) };
        if !fault.hits(number, call) {
            return Ok(());
        }
        self.failed_at.get_or_insert(self.log.len());
        Err(code(call, fault.failure))
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    pub fn file(&mut self, file: u64) -> &mut File {
        self.files.get_mut(&file).expect("an open file is kept")
    }

    /// The file behind an open handle.
    pub fn of(&mut self, handle: u64) -> u64 {
        self.handles[&handle].file
    }

    fn create(&mut self, name: &str) -> u64 {
        let file = self.number();
        self.files.insert(file, File::default());
        self.names.insert(name.into(), file);
        self.log.push(Operation::Create { name: name.into(), file });
        file
    }

    /// Opens or creates a file; returns the handle.
    pub fn open(&mut self, name: Option<&str>, flags: c_int) -> Code<u64> {
        self.call(Call::Open)?;
        let temporary = format!("temporary-{}", self.next);
        let name = name.unwrap_or(&temporary);
        let create = flags & ffi::SQLITE_OPEN_CREATE != 0;
        let file = match self.names.get(name) {
            Some(file) => *file,
            None if create => self.create(name),
            None => return Err(ffi::SQLITE_CANTOPEN),
        };
        let journal = ffi::SQLITE_OPEN_MAIN_JOURNAL | ffi::SQLITE_OPEN_SUPER_JOURNAL | ffi::SQLITE_OPEN_WAL;
        // Whether or not it existed, as in SQLite's unix file system.
        let sync_names = create && flags & journal != 0;
        let delete_on_close = flags & ffi::SQLITE_OPEN_DELETEONCLOSE != 0;
        let handle = self.number();
        self.handles.insert(handle, Handle { file, name: name.into(), sync_names, delete_on_close });
        Ok(handle)
    }

    pub fn close(&mut self, handle: u64) {
        let Some(closed) = self.handles.remove(&handle) else { return };
        self.file(closed.file).locks.lower(handle, crate::locks::LockLevel::None);
        if closed.delete_on_close && self.names.remove(&closed.name).is_some() {
            self.log.push(Operation::Delete { name: closed.name });
        }
    }

    pub fn read(&mut self, handle: u64, offset: usize, bytes: &mut [u8]) -> Code {
        self.call(Call::Read)?;
        let file = self.of(handle);
        let there = self.file(file).content.read(offset, bytes);
        bytes[there..].fill(0);
        if there < bytes.len() { Err(ffi::SQLITE_IOERR_SHORT_READ) } else { Ok(()) }
    }

    pub fn write(&mut self, file: u64, offset: usize, bytes: &[u8]) -> Code {
        let outcome = self.call(Call::Write);
        // A failed write may be partial; a read-only file is left alone.
        let bytes = match outcome {
            Err(ffi::SQLITE_READONLY) => return outcome,
            Err(_) => &bytes[..bytes.len() / 2],
            Ok(()) => bytes,
        };
        self.file(file).content.write(offset, bytes);
        if !self.deaf {
            self.log.push(Operation::Write { file, offset, bytes: bytes.into() });
        }
        outcome
    }

    pub fn truncate(&mut self, handle: u64, length: usize) -> Code {
        self.call(Call::Truncate)?;
        let file = self.of(handle);
        self.file(file).content.resize(length);
        self.log.push(Operation::Truncate { file, length });
        Ok(())
    }

    pub fn sync(&mut self, file: u64) -> Code {
        let outcome = self.call(Call::Sync);
        self.log.push(if outcome.is_ok() { Operation::Sync { file } } else { Operation::LoseWrites { file } });
        outcome
    }

    pub fn sync_handle(&mut self, handle: u64) -> Code {
        let file = self.of(handle);
        self.sync(file)?;
        let handle = self.handles.get_mut(&handle).expect("it is open");
        if std::mem::take(&mut handle.sync_names) {
            self.log.push(Operation::SyncNames);
        }
        Ok(())
    }

    pub fn delete(&mut self, name: &str, sync_names: bool) -> Code {
        self.call(Call::Delete)?;
        if self.names.remove(name).is_none() {
            return Err(ffi::SQLITE_IOERR_DELETE_NOENT);
        }
        self.log.push(Operation::Delete { name: name.into() });
        if sync_names {
            self.log.push(Operation::SyncNames);
        }
        Ok(())
    }

    pub fn access(&mut self, name: &str) -> Code<bool> {
        self.call(Call::Access)?;
        // As in SQLite's own: an empty file counts as missing.
        Ok(self.names.get(name).is_some_and(|file| self.files[file].content.len() > 0))
    }

    /// A piece of the file's shared memory; `None` if it does not exist and must not be created.
    pub fn share(&mut self, handle: u64, piece: usize, size: usize, make: bool) -> Code<Option<&Region>> {
        self.call(Call::Share)?;
        let file = self.of(handle);
        let file = self.file(file);
        file.sharers.insert(handle);
        while make && file.regions.len() <= piece {
            file.regions.push(Region::new(size));
        }
        Ok(file.regions.get(piece))
    }

    /// Shared memory disappears with its last user.
    pub fn unshare(&mut self, handle: u64) {
        let file = self.of(handle);
        let file = self.file(file);
        file.places.give_up(handle, 0..usize::MAX);
        file.sharers.remove(&handle);
        if file.sharers.is_empty() {
            file.regions.clear();
        }
    }

    pub fn size(&mut self, handle: u64) -> Code<usize> {
        self.call(Call::Size)?;
        let file = self.of(handle);
        Ok(self.file(file).content.len())
    }
}
