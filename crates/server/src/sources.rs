//! Events from NATS JetStream.
//!
//! The events of a stream NAME are the messages of subject `reticent.NAME` in the JetStream stream `reticent`, taken by a durable
//! consumer `reticent-NAME`. A source that fails is tried again.

use std::sync::Arc;
use std::time::Duration;

use reticent_stream::Stream;
use reticent_stream::source::nats::NatsSource;
use tokio::sync::watch;

/// The JetStream stream, and the first word of all subjects.
const JETSTREAM: &str = "reticent";
/// How long to wait before a source that failed is tried again.
const PAUSE: Duration = Duration::from_secs(5);

/// Takes the events of a stream from a NATS server until the stream ends, or the service stops.
pub fn follow(url: &str, stream: Arc<Stream>, mut stopping: watch::Receiver<bool>) {
    let name = stream.name().to_owned();
    let mut source = NatsSource::new(url, JETSTREAM, format!("{JETSTREAM}-{name}"));
    source.subject = format!("{JETSTREAM}.{name}");
    tokio::spawn(async move {
        loop {
            let running = async {
                match source.run(Arc::clone(&stream)).await {
                    Ok(()) => true,
                    Err(error) => {
                        tracing::warn!(
                            stream = name,
                            "cannot read from NATS; retrying in {} s: {error}",
                            PAUSE.as_secs()
                        );
                        tokio::time::sleep(PAUSE).await;
                        false
                    }
                }
            };
            tokio::select! {
                ended = running => if ended { return },
                _ = stopping.wait_for(|stopping| *stopping) => return,
            }
        }
    });
}
