//! Free ports on loopback.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

/// An address that is free and stays so until it is used: its port is outside the range that systems assign to outgoing
/// connections, is handed out once, and other processes start elsewhere.
pub fn free() -> String {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    loop {
        let port = 20_000 + (128 * std::process::id() + ASKED.fetch_add(1, Ordering::Relaxed)) % 12_000;
        if let Ok(listener) = TcpListener::bind(format!("127.0.0.1:{port}")) {
            return listener.local_addr().expect("an address").to_string();
        }
    }
}
