//! An aggregator that listens to clients over the network.

use std::io::{ErrorKind, Read};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use super::*;
use crate::aggregators::task::Task;
use crate::aggregators::upload::{MOST_CONNECTIONS, upload_to};
use crate::aggregators::{Reception, Report, Store};

/// Were idle connections waited for, they would all be gone when it is somebody else's turn.
#[test]
fn idle_connections_give_way_one_by_one() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let key = PrivateKey::generate().unwrap();
    let mut draft = draft(&Statistic::Count, 2);
    draft.aggregators[0].key = key.public();
    draft.aggregators[0].reports = address.to_string();
    let task = Task::new(draft).unwrap();
    let mut reception = Reception::new(&task, 0, &key, listener, Store::in_memory(&task, 0).unwrap()).unwrap();
    reception.silence = Duration::from_secs(60);
    thread::spawn(|| reception.run());

    let mut idle: Vec<_> = (0..MOST_CONNECTIONS).map(|_| TcpStream::connect(address).unwrap()).collect();
    let report = Report::new(&task, answers(&Statistic::Count, &[1]).remove(0)).unwrap();
    assert_eq!(upload_to(&task, 0, &[report]).unwrap().kept, 1);
    let gone = idle.iter_mut().filter_map(|stream| {
        stream.set_nonblocking(true).unwrap();
        (!stream.read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)).then_some(())
    });
    assert_eq!(gone.count(), 1);
}
