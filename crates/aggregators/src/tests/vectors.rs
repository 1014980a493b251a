//! The published test vectors of Prio3, through our own functions.

use serde::Deserialize;
use serde_json::Value;

use super::*;
use crate::scheme::Scheme;
use reticent::hexadecimal;

#[derive(Deserialize)]
struct Vector {
    shares: u8,
    ctx: String,
    verify_key: String,
    reports: Vec<VectorReport>,
    agg_shares: Vec<String>,
    agg_result: Value,
    max_measurement: Option<i64>,
    length: Option<usize>,
    chunk_length: Option<usize>,
}

#[derive(Deserialize)]
struct VectorReport {
    nonce: String,
    public_share: String,
    input_shares: Vec<String>,
    verifier_shares: Vec<Vec<String>>,
    out_shares: Vec<String>,
}

fn bytes(text: &str) -> Vec<u8> {
    hexadecimal::read(text).unwrap()
}

fn scheme(vector: &Vector) -> Scheme {
    let statistic = match (vector.max_measurement, vector.length) {
        (Some(upper), None) => Statistic::Sum { lower: 0, upper },
        (None, Some(length)) => Statistic::Histogram { buckets: (0..length).map(|name| name.to_string()).collect() },
        _ => Statistic::Count,
    };
    Scheme::in_chunks(&statistic, vector.shares, vector.chunk_length.unwrap_or(1)).unwrap()
}

macro_rules! vectors {
    ($($name:literal),*) => { [$(($name, include_str!(concat!("../../vectors/", $name, ".json")))),*] };
}

/// All bytes that are kept, sent and opened, and the result.
#[test]
fn good_reports_give_the_published_bytes() {
    for (name, text) in
        vectors!("Prio3Count_0", "Prio3Count_1", "Prio3Sum_0", "Prio3Sum_1", "Prio3Histogram_0", "Prio3Histogram_1")
    {
        let vector: Vector = serde_json::from_str(text).unwrap();
        let (scheme, context) = (scheme(&vector), bytes(&vector.ctx));
        let key = bytes(&vector.verify_key).try_into().unwrap();
        let mut sums: Vec<_> = (0..vector.shares).map(|_| scheme.nothing()).collect();
        for report in &vector.reports {
            let (nonce, public) = (bytes(&report.nonce).try_into().unwrap(), bytes(&report.public_share));
            assert_eq!(scheme.lengths().public, public.len(), "{name}");
            let said: Vec<Vec<u8>> = report.verifier_shares[0].iter().map(|said| bytes(said)).collect();
            let all: Vec<&[u8]> = said.iter().map(Vec::as_slice).collect();
            for (place, input) in report.input_shares.iter().enumerate() {
                let begun = scheme.begin(&key, &context, place, &nonce, &public, &bytes(input));
                let (kept, says) = begun.unwrap();
                assert_eq!(says, said[place], "{name}");
                let share = scheme.finish(&context, place, &kept, &all).unwrap();
                let mut alone = scheme.nothing();
                alone.add(&share);
                assert_eq!(*alone.encode(), bytes(&report.out_shares[place]), "{name}");
                sums[place].add(&share);
            }
        }
        let mut total = scheme.nothing();
        for (sums, published) in sums.iter().zip(&vector.agg_shares) {
            assert_eq!(*sums.encode(), bytes(published), "{name}");
            total.merge(sums);
        }
        let published = match &vector.agg_result {
            Value::Array(cells) => cells.iter().map(|cell| cell.as_i64().unwrap()).collect(),
            number => vec![number.as_i64().unwrap()],
        };
        assert_eq!(total.numbers(), published, "{name}");
    }
}

/// Invalid reports are rejected by at least one aggregator, and hence by all.
#[test]
fn bad_reports_are_refused() {
    for (name, text) in vectors!(
        "Prio3Count_bad_gadget_poly",
        "Prio3Count_bad_helper_seed",
        "Prio3Count_bad_meas_share",
        "Prio3Count_bad_wire_seed",
        "Prio3Histogram_bad_helper_jr_blind",
        "Prio3Histogram_bad_leader_jr_blind",
        "Prio3Histogram_bad_public_share"
    ) {
        let vector: Vector = serde_json::from_str(text).unwrap();
        let (scheme, context) = (scheme(&vector), bytes(&vector.ctx));
        let key = bytes(&vector.verify_key).try_into().unwrap();
        for report in &vector.reports {
            let (nonce, public) = (bytes(&report.nonce).try_into().unwrap(), bytes(&report.public_share));
            let begin = |(place, input): (usize, &String)| {
                scheme.begin(&key, &context, place, &nonce, &public, &bytes(input)).unwrap()
            };
            let begun: Vec<_> = report.input_shares.iter().enumerate().map(begin).collect();
            for (place, (_, said)) in begun.iter().enumerate() {
                assert_eq!(*said, bytes(&report.verifier_shares[0][place]), "{name}");
            }
            let all: Vec<&[u8]> = begun.iter().map(|(_, said)| said.as_slice()).collect();
            let finish = |(place, (kept, _)): (usize, &(Vec<u8>, Vec<u8>))| scheme.finish(&context, place, kept, &all);
            assert!(begun.iter().enumerate().map(finish).any(|share| share.is_none()), "{name}");
        }
    }
}
