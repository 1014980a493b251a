//! | module | holds |
//! |---|---|
//! | `honest` | the results when everyone follows the protocol |
//! | `clients` | invalid reports |
//! | `liars` | aggregators that violate the protocol |
//! | `durable` | charges, crashes, batches that never overlap |
//! | `decoders` | arbitrary incoming bytes |
//! | `network` | a network with a liar in it, and its own clock |
//! | `reception` | clients that connect over the network |
//! | `vectors` | the published test vectors |

mod clients;
mod decoders;
mod durable;
mod honest;
mod liars;
mod network;
mod reception;
mod vectors;

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use reticent_party::keys::PrivateKey;
use reticent_party::task::draft::Number;
use reticent_party::times::Times;

use self::network::{Lie, network};
use crate::collect::Collected;
use crate::error::Result;
use crate::record::Record;
use crate::simulate::Simulated;
use crate::statistic::{Answer, Statistic};
use crate::task::{Draft, Site};

/// Nothing is slow within one process; these are the timeouts for silent peers, by the network's own clock.
const PATIENT: Times =
    Times { join: Duration::from_secs(60), round: Duration::from_secs(60), linger: Duration::from_secs(0) };

/// A connection from another address of this machine.
pub(crate) fn dial(source: [u8; 4], address: SocketAddr) -> io::Result<TcpStream> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let stream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4()?;
        socket.bind((source, 0).into())?;
        socket.connect(address).await?.into_std()
    })?;
    stream.set_nonblocking(false)?;
    Ok(stream)
}

fn sum() -> Statistic {
    Statistic::Sum { lower: -10, upper: 100 }
}

fn histogram() -> Statistic {
    Statistic::Histogram { buckets: ["a", "b", "c", "d", "e"].map(String::from).to_vec() }
}

fn draft(statistic: &Statistic, aggregators: usize) -> Draft {
    let (name, range, buckets) = match statistic {
        Statistic::Count => ("count", None, None),
        Statistic::Sum { lower, upper } => ("sum", Some((*lower, *upper)), None),
        Statistic::Histogram { buckets } => ("histogram", None, Some(buckets.clone())),
    };
    let site = |place: usize| Site {
        name: format!("aggregator-{place}"),
        key: PrivateKey::generate().unwrap().public(),
        address: format!("localhost:{}", 7001 + place),
        reports: format!("localhost:{}", 8001 + place),
    };
    Draft {
        title: "A test".into(),
        statistic: name.into(),
        lower: range.map(|(lower, _)| lower),
        upper: range.map(|(_, upper)| upper),
        buckets,
        epsilon: Number::Integer(1),
        allow_large_epsilon: false,
        colluders: aggregators as u32 - 1,
        minimum_reports: 3,
        maximum_reports: 1000,
        aggregators: (0..aggregators).map(site).collect(),
    }
}

fn simulated(statistic: &Statistic, aggregators: usize) -> Simulated {
    Simulated::new(draft(statistic, aggregators)).unwrap()
}

fn answers(statistic: &Statistic, numbers: &[i64]) -> Vec<Answer> {
    numbers.iter().map(|&number| statistic.number(number)).collect()
}

/// The one result that all aggregators have.
fn released(outcomes: Vec<Result<Collected>>) -> (Vec<i64>, Record) {
    let mut all = outcomes.into_iter().map(|outcome| match outcome.unwrap() {
        Collected::Released { release, record } => (release.value().clone(), *record),
        other => panic!("{other:?}"),
    });
    let first = all.next().unwrap();
    all.for_each(|other| assert_eq!(other, first));
    first
}

/// Where the kind of round is in a frame, and where the message begins.
const KIND: usize = 32 + 16 + 4;
const MESSAGE: usize = KIND + 1;
