//! A page that the kernel wipes in a forked child.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// The word in the page that holds the mark; null until the first call. It never moves, and is never freed.
static WORD: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());

/// The target of [`WORD`] if the kernel has no such pages: a word that stays 0.
static NONE: AtomicU64 = AtomicU64::new(0);

/// The mark, if any.
#[inline]
pub fn mark() -> Option<u64> {
    word().map(|word| word.load(Ordering::Relaxed)).filter(|mark| *mark != 0)
}

/// Whether there is a page. The first call asks the kernel for one.
pub fn is_there() -> bool {
    let word = word().unwrap_or_else(|| {
        let page = map().unwrap_or(&NONE);
        // Another thread may have been faster: its page counts, and this one, if any, stays unused.
        let _ = WORD.compare_exchange(
            ptr::null_mut(),
            ptr::from_ref(page).cast_mut(),
            Ordering::Release,
            Ordering::Relaxed,
        );
        word().unwrap_or(&NONE)
    });
    !ptr::eq(word, &NONE)
}

/// Makes these bits the mark, unless another thread was faster; returns the mark.
pub fn put(bits: u64) -> u64 {
    // Odd, because 0 means no mark.
    let mark = bits | 1;
    let word = word().unwrap_or(&NONE);
    word.compare_exchange(0, mark, Ordering::Relaxed, Ordering::Relaxed).map_or_else(|earlier| earlier, |_| mark)
}

#[inline]
fn word() -> Option<&'static AtomicU64> {
    // SAFETY: null, or one of the two references that `is_there` stored, valid for the whole life of the process; in a
    // child the same addresses are mapped. The kernel wipes the page in a child before any code runs there, so no load
    // races with it.
    #[allow(unsafe_code, reason = "an atomic pointer is the only way to publish a reference without a lock")]
    unsafe {
        WORD.load(Ordering::Acquire).as_ref()
    }
}

/// A new page of zeros that is zeroed again in every forked child; `None` if the kernel does not support it.
fn map() -> Option<&'static AtomicU64> {
    // The word must be in its own mapping; the kernel rounds up to a whole page.
    let size = size_of::<AtomicU64>();
    // SAFETY: a new private mapping, at an address that the kernel chooses, touches no memory that exists.
    #[allow(unsafe_code, reason = "maps memory")]
    let page = unsafe {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        libc::mmap(ptr::null_mut(), size, access, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
    };
    if page == libc::MAP_FAILED {
        return None;
    }
    // Some emulators accept every advice and follow none. One that accepts an advice that does not exist is not
    // trusted.
    const NO_ADVICE: libc::c_int = -1;
    // SAFETY: the mapping belongs to this function. The first advice does not exist, the second changes nothing before
    // a fork.
    #[allow(unsafe_code, reason = "tells the kernel to wipe the page in children")]
    let wiped =
        unsafe { libc::madvise(page, size, NO_ADVICE) != 0 && libc::madvise(page, size, libc::MADV_WIPEONFORK) == 0 };
    if !wiped {
        return None;
    }
    // SAFETY: the start of a page is aligned for every type, its zeros are an `AtomicU64`, it can be read and written, and it
    // stays mapped forever.
    #[allow(unsafe_code, reason = "refers to a word in the mapping")]
    unsafe {
        page.cast::<AtomicU64>().as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails on older kernels, which have only the handler.
    #[test]
    fn this_kernel_has_such_pages() {
        assert!(is_there());
    }

    #[test]
    fn threads_agree_on_the_first_mark() {
        let threads: Vec<_> = (0..8).map(|bits| std::thread::spawn(move || is_there().then(|| put(bits)))).collect();
        let marks: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert!(marks.iter().all(|told| *told == mark()), "{marks:?}");
    }
}
