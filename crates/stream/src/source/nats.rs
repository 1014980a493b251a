//! Events from NATS JetStream.
//!
//! # Curator mode
//! A message is acknowledged once its events are durable. The same transaction stores which messages were counted: all
//! up to some sequence number, and ranges above it. After a crash the server redelivers unacknowledged messages, in any
//! order and mixed with new ones; messages already counted are recognised by their sequence numbers, with or without
//! ids.
//!
//! # Pan-private mode
//! A message is acknowledged before it is counted, and counted only on its first delivery (the consumer is configured
//! never to redeliver): at most once. No sequence number is stored.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, Consumer, pull};
use async_nats::jetstream::{self, Message};
use futures::StreamExt;

use crate::definition::Mode;
use crate::error::{Error, Result};
use crate::stream::Stream;

/// The number of messages counted together.
const BATCH: usize = 2000;
/// The number of messages that may be in flight without an acknowledgement.
const UNACKNOWLEDGED: i64 = 20_000;
/// How long to wait for a message before asking again.
const WAIT: Duration = Duration::from_secs(5);
/// With more ranges than this, the server is asked for its acknowledgement floor.
const MANY_RANGES: usize = 1000;

/// A durable consumer of a JetStream stream; each message is one or more lines of NDJSON.
///
/// # Example
/// ```no_run
/// # async fn example(visits: std::sync::Arc<reticent_stream::Stream>) -> reticent_stream::Result<()> {
/// use reticent_stream::source::nats::NatsSource;
///
/// NatsSource::new("nats://localhost:4222", "VISITS", "reticent").run(visits).await
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NatsSource {
    /// The server's address: `nats://host:4222`.
    pub url: String,
    /// The JetStream stream, which must exist.
    pub stream: String,
    /// The subject filter; all subjects if empty.
    pub subject: String,
    /// The consumer's durable name.
    pub durable: String,
    /// How long the server waits for an acknowledgement before it redelivers a message.
    pub acknowledged_within: Duration,
}

impl NatsSource {
    /// Reads all messages of a JetStream stream, through a consumer with this durable name.
    pub fn new(url: impl Into<String>, stream: impl Into<String>, durable: impl Into<String>) -> Self {
        let (url, stream, durable) = (url.into(), stream.into(), durable.into());
        Self { url, stream, subject: String::new(), durable, acknowledged_within: Duration::from_secs(30) }
    }

    fn name(&self) -> String {
        format!("nats:{}/{}", self.stream, self.durable)
    }

    /// Counts messages until the stream has ended. To stop earlier, drop the future: unacknowledged messages are
    /// redelivered (in pan-private mode, messages that were acknowledged but not counted are lost).
    ///
    /// # Errors
    /// [`Error::Source`] if the server cannot be reached or the stream does not exist; [`Error::Storage`] if the disk
    /// fails. You can call it again afterwards.
    pub async fn run(&self, stream: Arc<Stream>) -> Result<()> {
        let private = stream.definition().mode() == Mode::PanPrivate;
        let (mut consumer, name) = self.consumer(private).await?;
        let mut counted = match stream.position(&name)? {
            Some(kept) => Counted::decode(&kept).ok_or_else(|| Error::Damaged(format!("the position of {name}")))?,
            None => Counted::default(),
        };
        loop {
            let messages = self.next(&consumer).await?;
            let outcome = if private {
                self.count_privately(&stream, &messages).await
            } else {
                self.count(&stream, &messages, &name, &mut counted).await
            };
            match outcome {
                Err(Error::Ended(_)) => return Ok(()),
                other => other?,
            }
            if counted.above.len() > MANY_RANGES {
                let floor = consumer.info().await.map_err(|error| self.failed(error))?.ack_floor.stream_sequence;
                counted.raise(floor);
            }
        }
    }

    /// The consumer, and the name under which the counted messages are stored. A stream that was deleted and recreated
    /// numbers its messages from 1 again, so its creation time is part of the name.
    async fn consumer(&self, private: bool) -> Result<(Consumer<pull::Config>, String)> {
        let client = async_nats::connect(&self.url).await.map_err(|error| self.failed(error))?;
        let context = jetstream::new(client);
        let stream = context.get_stream(&self.stream).await.map_err(|error| self.failed(error))?;
        let config = pull::Config {
            durable_name: Some(self.durable.clone()),
            filter_subject: self.subject.clone(),
            ack_policy: AckPolicy::Explicit,
            ack_wait: self.acknowledged_within,
            max_ack_pending: UNACKNOWLEDGED,
            max_deliver: if private { 1 } else { -1 },
            ..pull::Config::default()
        };
        let name = format!("{} of {:?}", self.name(), stream.cached_info().created);
        let consumer = stream.get_or_create_consumer(&self.durable, config).await;
        Ok((consumer.map_err(|error| self.failed(error))?, name))
    }

    /// All pending messages; if there are none, waits a while for the next.
    async fn next(&self, consumer: &Consumer<pull::Config>) -> Result<Vec<Message>> {
        let failed = |error: String| self.failed(error);
        let waiting = consumer.fetch().max_messages(BATCH).messages().await;
        let mut messages = gather(waiting.map_err(|error| failed(error.to_string()))?).await.map_err(failed)?;
        if messages.is_empty() {
            let first = consumer.batch().max_messages(1).expires(WAIT).messages().await;
            messages = gather(first.map_err(|error| failed(error.to_string()))?).await.map_err(failed)?;
        }
        Ok(messages)
    }

    /// Counts durably, then acknowledges.
    async fn count(&self, stream: &Arc<Stream>, messages: &[Message], name: &str, counted: &mut Counted) -> Result<()> {
        let mut body = Vec::new();
        let mut now_counted = counted.clone();
        for message in messages {
            let sequence = message.info().map_err(|error| self.failed(error))?.stream_sequence;
            if now_counted.insert(sequence) {
                add_lines(&mut body, &message.payload);
            }
        }
        if !body.is_empty() {
            let (stream, name, position) = (Arc::clone(stream), name.to_owned(), now_counted.encode());
            let counting = move || stream.ingest_from(stream.events_from_ndjson(&body), &name, &position);
            tokio::task::spawn_blocking(counting).await.map_err(|error| self.failed(error))??;
        }
        *counted = now_counted;
        for message in messages {
            // If an acknowledgement is lost, the message is redelivered and recognised.
            message.ack().await.map_err(|error| self.failed(error))?;
        }
        Ok(())
    }

    /// Acknowledges, then counts: at most once.
    async fn count_privately(&self, stream: &Arc<Stream>, messages: &[Message]) -> Result<()> {
        let mut body = Vec::new();
        for message in messages {
            message.ack().await.map_err(|error| self.failed(error))?;
            if message.info().map_err(|error| self.failed(error))?.delivered == 1 {
                add_lines(&mut body, &message.payload);
            }
        }
        let stream = Arc::clone(stream);
        let counting = move || stream.ingest_ndjson(&mut body);
        tokio::task::spawn_blocking(counting).await.map_err(|error| self.failed(error))?
    }

    fn failed(&self, error: impl ToString) -> Error {
        Error::Source { source_name: self.name(), reason: error.to_string() }
    }
}

/// A message is at least one line, even if it is empty.
fn add_lines(body: &mut Vec<u8>, payload: &[u8]) {
    body.extend_from_slice(payload);
    if payload.last() != Some(&b'\n') {
        body.push(b'\n');
    }
}

async fn gather(mut batch: pull::Batch) -> std::result::Result<Vec<Message>, String> {
    let mut messages = Vec::new();
    while let Some(message) = batch.next().await {
        messages.push(message.map_err(|error| error.to_string())?);
    }
    Ok(messages)
}

/// The sequence numbers of counted messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Counted {
    /// All up to this number were counted.
    floor: u64,
    /// Ranges above it: first number to last.
    above: BTreeMap<u64, u64>,
}

impl Counted {
    /// Returns `false` if it was counted before.
    fn insert(&mut self, number: u64) -> bool {
        let before = self.above.range(..=number).next_back().map(|(first, last)| (*first, *last));
        if number <= self.floor || before.is_some_and(|(_, last)| number <= last) {
            return false;
        }
        let mut last = number;
        if let Some(after) = number.checked_add(1).and_then(|next| self.above.remove(&next)) {
            last = after;
        }
        match before {
            Some((first, end)) if end + 1 == number => self.above.insert(first, last),
            _ => self.above.insert(number, last),
        };
        true
    }

    /// Marks all up to this number as counted: they were acknowledged, or will never be delivered.
    fn raise(&mut self, floor: u64) {
        self.floor = self.floor.max(floor);
        let floor = self.floor;
        self.above.retain(|_, last| *last > floor);
    }

    fn encode(&self) -> Vec<u8> {
        postcard::to_allocvec(&(self.floor, &self.above)).expect("numbers can be written")
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (floor, above) = postcard::from_bytes(bytes).ok()?;
        Some(Self { floor, above })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn ranges_are_a_set(numbers in prop::collection::vec(1u64..40, 0..80), floor in 0u64..20) {
            let (mut ranges, mut set) = (Counted::default(), BTreeSet::new());
            for number in &numbers {
                prop_assert_eq!(ranges.insert(*number), set.insert(*number));
            }
            let ends: Vec<_> = ranges.above.iter().collect();
            prop_assert!(ends.windows(2).all(|pair| pair[0].1 + 1 < *pair[1].0), "ranges do not touch");
            prop_assert_eq!(Counted::decode(&ranges.encode()), Some(ranges.clone()));
            ranges.raise(floor);
            for number in 1..40 {
                prop_assert_eq!(ranges.clone().insert(number), number > floor && !set.contains(&number));
            }
        }
    }
}
