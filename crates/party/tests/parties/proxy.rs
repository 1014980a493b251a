//! A network that cuts connections.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Stands before an address and carries bytes both ways. The first connections are cut, each after so many bytes to the listener.
/// Gives its own address and the number of connections that were cut so far.
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
            thread::spawn(move || carry(back_from, back_to, None));
            let counter = Arc::clone(&counter);
            thread::spawn(move || {
                if carry(near, far, limit) {
                    counter.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
    });
    (own, cut)
}

/// Carries bytes one way until the end, or until so many were carried; then both ends are closed. True if it was cut.
fn carry(mut from: TcpStream, mut to: TcpStream, limit: Option<usize>) -> bool {
    let mut left = limit.unwrap_or(usize::MAX);
    let mut piece = [0; 4096];
    let close = |from: &TcpStream, to: &TcpStream| {
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    };
    loop {
        match from.read(&mut piece) {
            Ok(read) if read > 0 => {
                let read = read.min(left);
                if to.write_all(&piece[..read]).is_err() {
                    close(&from, &to);
                    return false;
                }
                left -= read;
                if left == 0 {
                    close(&from, &to);
                    return true;
                }
            }
            Ok(_) if limit.is_none() => {
                // One side has said all; the other may go on.
                let _ = to.shutdown(Shutdown::Write);
                return false;
            }
            _ => {
                close(&from, &to);
                return false;
            }
        }
    }
}
