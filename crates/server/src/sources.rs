//! Events from NATS JetStream.
//!
//! The events of a stream NAME are the messages with subject `reticent.NAME` in the JetStream stream `reticent`, read
//! by a durable consumer `reticent-NAME`. After a failure, the source retries.

use std::sync::Arc;
use std::time::Duration;

use reticent_stream::Stream;
use reticent_stream::source::nats::NatsSource;
use tokio::sync::watch;

/// The JetStream stream, and the first word of all subjects.
const JETSTREAM: &str = "reticent";
/// How long to wait before retrying after a failure.
const PAUSE: Duration = Duration::from_secs(5);

/// Reads the events of a stream from a NATS server until the stream ends or the service stops.
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
