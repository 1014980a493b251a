//! A network that cuts connections.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Sits in front of an address and forwards bytes both ways. The first connections are cut, each after a number of
/// bytes to the listener, unless one of the two ends it earlier. Returns its own address and how many of these
/// connections have ended so far.
pub fn cutting(address: String, cuts: Vec<usize>) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap().to_string();
    let cut = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&cut);
    thread::spawn(move || {
        let mut cuts = cuts.into_iter();
        while let Ok((near, _)) = listener.accept() {
            let Ok(far) = TcpStream::connect(&address) else { continue };
            let limit = cuts.next();
            let (back_from, back_to) = (far.try_clone().unwrap(), near.try_clone().unwrap());
            thread::spawn(move || carry(&back_from, &back_to, None));
            let counter = Arc::clone(&counter);
            thread::spawn(move || {
                carry(&near, &far, limit);
                // It is counted before anyone can notice.
                if limit.is_some() {
                    counter.fetch_add(1, Ordering::SeqCst);
                    close(&near, &far);
                }
            });
        }
    });
    (own, cut)
}

/// Forwards bytes one way until the end, or up to a limit.
fn carry(mut from: &TcpStream, mut to: &TcpStream, limit: Option<usize>) {
    let mut left = limit.unwrap_or(usize::MAX);
    let mut piece = [0; 4096];
    while left > 0 {
        match from.read(&mut piece) {
            Ok(read) if read > 0 => {
                let read = read.min(left);
                if to.write_all(&piece[..read]).is_err() {
                    return close(from, to);
                }
                left -= read;
            }
            // One side has sent everything; the other may go on.
            Ok(_) => return drop(to.shutdown(Shutdown::Write)),
            Err(_) => return close(from, to),
        }
    }
}

fn close(from: &TcpStream, to: &TcpStream) {
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
