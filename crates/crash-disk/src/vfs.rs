//! The C functions that SQLite calls. Everything `unsafe` is here; the meaning of the calls is in
//! [`disk`](crate::disk).
#![allow(unsafe_code, reason = "SQLite hands over pointers, as C does")]

use std::cell::UnsafeCell;
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_int, c_void};
use std::ptr;
use std::slice;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::ffi::{self, SQLITE_BUSY, SQLITE_NOTFOUND, SQLITE_OK, sqlite3_file, sqlite3_io_methods, sqlite3_vfs};

use crate::disk::{Code, Shared, State};
use crate::locks::{Hold, LockLevel};

/// The same as in SQLite's unix file system.
const SECTOR: c_int = 4096;
const LONGEST_NAME: c_int = 512;
/// Milliseconds from the Julian day 0 to 1970.
const UNIX_IN_JULIAN: i64 = 210_866_760_000_000;

/// What SQLite stores for an open file; it begins as a `sqlite3_file` must.
#[repr(C)]
struct OpenFile {
    base: sqlite3_file,
    shared: *const Shared,
    handle: u64,
}

/// A piece of shared memory. Only SQLite accesses it, and synchronises its readers and writers itself.
#[derive(Debug)]
pub struct Region(Box<[UnsafeCell<u64>]>);

impl Region {
    /// `size` zero bytes.
    pub fn new(size: usize) -> Self {
        Self((0..size.div_ceil(8)).map(|_| UnsafeCell::new(0)).collect())
    }

    fn address(&self) -> *mut c_void {
        self.0.first().map_or(ptr::null_mut(), |first| first.get().cast())
    }
}

// SAFETY: Rust code never reads or writes the cells; it only hands out their address.
unsafe impl Send for Region {}

/// Registers a disk with SQLite.
pub fn register(shared: &'static Shared) {
    let name = CString::new(shared.system()).expect("a name without NUL");
    let system = Box::new(sqlite3_vfs {
        iVersion: 2,
        szOsFile: c_int::try_from(size_of::<OpenFile>()).expect("small"),
        mxPathname: LONGEST_NAME,
        pNext: ptr::null_mut(),
        zName: name.into_raw(),
        pAppData: ptr::from_ref(shared).cast_mut().cast(),
        xOpen: Some(open),
        xDelete: Some(delete),
        xAccess: Some(access),
        xFullPathname: Some(full_name),
        xDlOpen: None,
        xDlError: None,
        xDlSym: None,
        xDlClose: None,
        xRandomness: Some(randomness),
        xSleep: Some(sleep),
        xCurrentTime: Some(current_time),
        xGetLastError: None,
        xCurrentTimeInt64: Some(current_milliseconds),
        xSetSystemCall: None,
        xGetSystemCall: None,
        xNextSystemCall: None,
    });
    // SAFETY: the structure, its name and the disk are leaked, so they live as long as SQLite may use them.
    let code = unsafe { ffi::sqlite3_vfs_register(Box::into_raw(system), 0) };
    assert_eq!(code, SQLITE_OK, "SQLite takes a new file system");
}

static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

fn code(outcome: Code) -> c_int {
    outcome.err().unwrap_or(SQLITE_OK)
}

/// The disk and the handle behind an open file.
fn opened(file: *mut sqlite3_file) -> (&'static Shared, u64) {
    // SAFETY: SQLite passes files that `open` filled in, and `shared` is a leaked disk.
    unsafe {
        let file = &*file.cast::<OpenFile>();
        (&*file.shared, file.handle)
    }
}

/// Runs a closure on an open file.
fn on<T>(file: *mut sqlite3_file, act: impl FnOnce(&mut State, u64) -> T) -> T {
    let (shared, handle) = opened(file);
    act(&mut shared.state(), handle)
}

fn disk(system: *mut sqlite3_vfs) -> &'static Shared {
    // SAFETY: `register` put a leaked disk there.
    unsafe { &*(*system).pAppData.cast::<Shared>() }
}

fn text<'a>(name: *const c_char) -> Option<&'a str> {
    // SAFETY: SQLite passes null or a text that ends with NUL and outlives the call.
    (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_str().expect("tests use UTF-8 names"))
}

/// Returns a result through one of SQLite's pointers.
fn give<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: SQLite passes a pointer to a variable of its own.
        unsafe { place.write(value) }
    }
}

fn position(offset: ffi::sqlite3_int64) -> usize {
    usize::try_from(offset).expect("not negative")
}

fn length(bytes: c_int) -> usize {
    usize::try_from(bytes).expect("not negative")
}

unsafe extern "C" fn open(
    system: *mut sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut sqlite3_file,
    flags: c_int,
    flags_given: *mut c_int,
) -> c_int {
    let shared = disk(system);
    let outcome = shared.state().open(text(name), flags);
    let (methods, handle): (*const sqlite3_io_methods, _) = match outcome {
        Ok(handle) => (&raw const METHODS, handle),
        // Without methods SQLite does not close it.
        Err(_) => (ptr::null(), 0),
    };
    // SAFETY: SQLite gives `szOsFile` bytes for it, aligned for any type.
    unsafe { file.cast::<OpenFile>().write(OpenFile { base: sqlite3_file { pMethods: methods }, shared, handle }) };
    give(flags_given, flags);
    code(outcome.map(drop))
}

unsafe extern "C" fn delete(system: *mut sqlite3_vfs, name: *const c_char, sync_names: c_int) -> c_int {
    code(disk(system).state().delete(text(name).unwrap_or_default(), sync_names != 0))
}

unsafe extern "C" fn access(system: *mut sqlite3_vfs, name: *const c_char, _: c_int, there: *mut c_int) -> c_int {
    let outcome = disk(system).state().access(text(name).unwrap_or_default());
    give(there, c_int::from(outcome == Ok(true)));
    code(outcome.map(drop))
}

unsafe extern "C" fn full_name(_: *mut sqlite3_vfs, name: *const c_char, size: c_int, full: *mut c_char) -> c_int {
    let name = text(name).unwrap_or_default();
    if name.len() >= length(size) {
        return ffi::SQLITE_CANTOPEN;
    }
    // SAFETY: SQLite passes room for `size` bytes, which are more than the name has.
    unsafe {
        ptr::copy_nonoverlapping(name.as_ptr().cast(), full, name.len());
        full.add(name.len()).write(0);
    }
    SQLITE_OK
}

/// SQLite takes its own randomness from the default file system, not from here.
unsafe extern "C" fn randomness(_: *mut sqlite3_vfs, _: c_int, _: *mut c_char) -> c_int {
    0
}

unsafe extern "C" fn sleep(_: *mut sqlite3_vfs, microseconds: c_int) -> c_int {
    thread::sleep(Duration::from_micros(length(microseconds) as u64));
    microseconds
}

unsafe extern "C" fn current_time(_: *mut sqlite3_vfs, days: *mut f64) -> c_int {
    give(days, julian() as f64 / 86_400_000.0);
    SQLITE_OK
}

unsafe extern "C" fn current_milliseconds(_: *mut sqlite3_vfs, time: *mut ffi::sqlite3_int64) -> c_int {
    give(time, julian());
    SQLITE_OK
}

fn julian() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UNIX_IN_JULIAN + i64::try_from(since.as_millis()).unwrap_or_default()
}

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    on(file, |state, handle| state.close(handle));
    SQLITE_OK
}

unsafe extern "C" fn read(
    file: *mut sqlite3_file,
    bytes: *mut c_void,
    size: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite passes room for `size` bytes.
    let bytes = unsafe { slice::from_raw_parts_mut(bytes.cast::<u8>(), length(size)) };
    on(file, |state, handle| code(state.read(handle, position(offset), bytes)))
}

unsafe extern "C" fn write(
    file: *mut sqlite3_file,
    bytes: *const c_void,
    size: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite passes `size` bytes.
    let bytes = unsafe { slice::from_raw_parts(bytes.cast::<u8>(), length(size)) };
    on(file, |state, handle| {
        let file = state.of(handle);
        code(state.write(file, position(offset), bytes))
    })
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, size: ffi::sqlite3_int64) -> c_int {
    on(file, |state, handle| code(state.truncate(handle, position(size))))
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, _: c_int) -> c_int {
    let (shared, handle) = opened(file);
    shared.wait_for_sync();
    code(shared.state().sync_handle(handle))
}

unsafe extern "C" fn file_size(file: *mut sqlite3_file, size: *mut ffi::sqlite3_int64) -> c_int {
    let outcome = on(file, State::size);
    give(size, outcome.map_or(0, |size| i64::try_from(size).expect("it is in memory")));
    code(outcome.map(drop))
}

fn level(number: c_int) -> LockLevel {
    match number {
        ffi::SQLITE_LOCK_NONE => LockLevel::None,
        ffi::SQLITE_LOCK_SHARED => LockLevel::Shared,
        ffi::SQLITE_LOCK_RESERVED => LockLevel::Reserved,
        ffi::SQLITE_LOCK_PENDING => LockLevel::Pending,
        _ => LockLevel::Exclusive,
    }
}

unsafe extern "C" fn lock(file: *mut sqlite3_file, number: c_int) -> c_int {
    on(file, |state, handle| {
        let file = state.of(handle);
        if state.file(file).locks.raise(handle, level(number)) { SQLITE_OK } else { SQLITE_BUSY }
    })
}

unsafe extern "C" fn unlock(file: *mut sqlite3_file, number: c_int) -> c_int {
    on(file, |state, handle| {
        let file = state.of(handle);
        state.file(file).locks.lower(handle, level(number));
    });
    SQLITE_OK
}

unsafe extern "C" fn check_reserved_lock(file: *mut sqlite3_file, reserved: *mut c_int) -> c_int {
    let answer = on(file, |state, handle| {
        let file = state.of(handle);
        state.file(file).locks.is_reserved()
    });
    give(reserved, c_int::from(answer));
    SQLITE_OK
}

unsafe extern "C" fn file_control(_: *mut sqlite3_file, _: c_int, _: *mut c_void) -> c_int {
    SQLITE_NOTFOUND
}

unsafe extern "C" fn sector_size(_: *mut sqlite3_file) -> c_int {
    SECTOR
}

unsafe extern "C" fn device_characteristics(_: *mut sqlite3_file) -> c_int {
    ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE
}

unsafe extern "C" fn shm_map(
    file: *mut sqlite3_file,
    piece: c_int,
    size: c_int,
    make: c_int,
    memory: *mut *mut c_void,
) -> c_int {
    let outcome = on(file, |state, handle| {
        let region = state.share(handle, length(piece), length(size), make != 0)?;
        Ok(region.map_or(ptr::null_mut(), Region::address))
    });
    give(memory, outcome.unwrap_or(ptr::null_mut()));
    code(outcome.map(drop))
}

unsafe extern "C" fn shm_lock(file: *mut sqlite3_file, first: c_int, places: c_int, flags: c_int) -> c_int {
    let places = length(first)..length(first + places);
    on(file, |state, handle| {
        let file = state.of(handle);
        let locks = &mut state.file(file).places;
        if flags & ffi::SQLITE_SHM_UNLOCK != 0 {
            locks.give_up(handle, places);
            return SQLITE_OK;
        }
        let hold = if flags & ffi::SQLITE_SHM_EXCLUSIVE != 0 { Hold::Exclusive } else { Hold::Shared };
        if locks.take(handle, places, hold) { SQLITE_OK } else { SQLITE_BUSY }
    })
}

/// The lock around the disk's state orders memory between threads.
unsafe extern "C" fn shm_barrier(file: *mut sqlite3_file) {
    on(file, |_, _| ());
}

unsafe extern "C" fn shm_unmap(file: *mut sqlite3_file, _: c_int) -> c_int {
    on(file, State::unshare);
    SQLITE_OK
}
