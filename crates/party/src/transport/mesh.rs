//! TCP and mutual TLS between all parties.
//!
//! Of two parties the one listed later in the task dials the other, repeatedly until both are done: so they may start
//! in any order, and a broken connection is restored. All earlier frames are resent on each new connection, and
//! duplicates are ignored. A connection on which nothing arrives, not even the empty keep-alive frame, is dropped and
//! made anew.

use std::io;
use std::net::TcpListener as StdListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout, timeout_at};
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};

use super::{Arrival, Heard, Transport, tls};
use crate::error::{Error, Result};
use crate::keys::{PrivateKey, PublicKey};
use crate::task::Member;

/// The time limit for connecting and proving keys.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// The pause before a party is dialled again; doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(25);
/// The longest such pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// How often an idle connection sends a keep-alive frame.
const STILL_HERE: Duration = Duration::from_secs(4);
/// How long a connection may be silent before it is dropped.
const SILENCE: Duration = Duration::from_secs(15);
/// Connections per party that have not proved a key yet; further strangers wait.
const UNPROVED_PER_PARTY: usize = 4;
/// Large frames are read, and memory is allocated for them, piece by piece.
const PIECE: usize = 1 << 16;
/// How many unread frames of each peer are queued before it has to wait.
const WAITING_PER_PARTY: usize = 2;

/// All frames sent to one peer.
type Said = Vec<Arc<[u8]>>;

/// One party's connections to all others. Dropping it cuts them.
#[derive(Debug)]
pub struct Mesh {
    runtime: Option<Runtime>,
    /// By index; `None` for the party itself.
    said: Vec<Option<watch::Sender<Said>>>,
    heard: mpsc::Receiver<Arrival>,
    accepting: Option<JoinHandle<()>>,
    conversations: Vec<JoinHandle<()>>,
}

/// What a conversation with one peer needs.
#[derive(Clone)]
struct Line {
    peer: usize,
    said: watch::Receiver<Said>,
    heard: mpsc::Sender<Arrival>,
    largest: usize,
}

impl Line {
    /// Reports that the connection has ended.
    async fn lose(&self) {
        let _ = self.heard.send(Arrival { from: self.peer, heard: Heard::Lost }).await;
    }
}

impl Mesh {
    /// Listens for those listed after `me` in the roster, and dials those listed before, until dropped. The others need
    /// not be up yet. Must not be called from async code.
    ///
    /// # Errors
    /// If threads cannot be created or the listener cannot be used.
    pub fn start(
        roster: &[Member],
        me: usize,
        key: &PrivateKey,
        listener: StdListener,
        largest_frame: usize,
    ) -> Result<Self> {
        let failed = |error: io::Error| Error::network("the network of this machine", error);
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("party-mesh")
            .enable_all()
            .build()
            .map_err(failed)?;
        let (heard, inbox) = mpsc::channel(WAITING_PER_PARTY * roster.len());
        let (mut outboxes, mut conversations, mut arrivals) = (Vec::new(), Vec::new(), Vec::new());
        for (peer, member) in roster.iter().enumerate() {
            if peer == me {
                outboxes.push(None);
                continue;
            }
            let (said, receiver) = watch::channel(Said::new());
            outboxes.push(Some(said));
            let line = Line { peer, said: receiver, heard: heard.clone(), largest: largest_frame };
            conversations.push(if peer < me {
                let config = tls::client(key, member.key).map_err(|error| Error::network("TLS", error))?;
                runtime.spawn(dial(line, member.address.clone(), TlsConnector::from(Arc::new(config))))
            } else {
                let (newer, streams) = mpsc::channel(1);
                arrivals.push((member.key, newer));
                runtime.spawn(answer(line, streams))
            });
        }
        let keys = arrivals.iter().map(|(key, _)| *key).collect();
        let config = tls::server(key, keys).map_err(|error| Error::network("TLS", error))?;
        listener.set_nonblocking(true).map_err(failed)?;
        let context = runtime.enter();
        let listener = TcpListener::from_std(listener).map_err(failed)?;
        drop(context);
        let accepting = runtime.spawn(accept(listener, TlsAcceptor::from(Arc::new(config)), arrivals));
        Ok(Self { runtime: Some(runtime), said: outboxes, heard: inbox, accepting: Some(accepting), conversations })
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("it is there until it is dropped")
    }
}

impl Transport for Mesh {
    fn send(&mut self, to: usize, frame: &Arc<[u8]>) {
        if let Some(said) = &self.said[to] {
            said.send_modify(|said| said.push(Arc::clone(frame)));
        }
    }

    fn receive(&mut self, deadline: Instant) -> Option<Arrival> {
        let runtime = self.runtime.as_ref().expect("it is there until it is dropped");
        runtime.block_on(async { timeout_at(deadline.into(), self.heard.recv()).await.ok().flatten() })
    }

    fn close(mut self, deadline: Instant) {
        self.said.clear();
        self.heard.close();
        if let Some(accepting) = self.accepting.take() {
            accepting.abort();
        }
        let conversations = std::mem::take(&mut self.conversations);
        self.runtime().block_on(async {
            for conversation in conversations {
                if timeout_at(deadline.into(), conversation).await.is_err() {
                    return;
                }
            }
        });
    }
}

impl Drop for Mesh {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Admits peers that prove a key of the roster; of two connections of one party the newer one counts.
async fn accept(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    peers: Vec<(PublicKey, mpsc::Sender<TlsStream<TcpStream>>)>,
) {
    let places = Arc::new(Semaphore::new(UNPROVED_PER_PARTY * (peers.len() + 1)));
    let peers = Arc::new(peers);
    // They end with this task.
    let mut handshakes = JoinSet::new();
    loop {
        while handshakes.try_join_next().is_some() {}
        let place = Arc::clone(&places).acquire_owned().await.expect("it is never closed");
        let Ok((stream, _)) = listener.accept().await else {
            // Out of file descriptors, for example: some may be closed soon.
            sleep(FIRST_PAUSE).await;
            continue;
        };
        let (acceptor, peers) = (acceptor.clone(), Arc::clone(&peers));
        handshakes.spawn(async move {
            let _place = place;
            let _ = stream.set_nodelay(true);
            let Ok(Ok(stream)) = timeout(HANDSHAKE, acceptor.accept(stream)).await else { return };
            let key = tls::proved(stream.get_ref().1.peer_certificates());
            if let Some((_, peer)) = peers.iter().find(|(known, _)| Some(*known) == key) {
                let _ = peer.send(TlsStream::Server(stream)).await;
            }
        });
    }
}

/// Talks to a peer that dials us.
async fn answer(line: Line, mut streams: mpsc::Receiver<TlsStream<TcpStream>>) {
    let mut next = streams.recv().await;
    while let Some(stream) = next {
        let conversation = converse(line.clone(), stream);
        tokio::pin!(conversation);
        next = tokio::select! {
            newer = streams.recv() => {
                match newer {
                    Some(_) => line.lose().await,
                    // No new connections are accepted; this one runs to its end.
                    None => drop(conversation.await),
                }
                newer
            }
            _ = &mut conversation => {
                line.lose().await;
                streams.recv().await
            }
        };
    }
}

/// Talks to a peer that we dial.
async fn dial(line: Line, address: String, connector: TlsConnector) {
    let name = ServerName::try_from("party").expect("it is a name");
    let mut pause = FIRST_PAUSE;
    while line.said.has_changed().is_ok() {
        let connect = timeout(HANDSHAKE, async {
            let stream = TcpStream::connect(&address).await?;
            stream.set_nodelay(true)?;
            connector.connect(name.clone(), stream).await
        });
        let connected = tokio::select! {
            connected = connect => connected,
            () = closed(&line) => return,
        };
        if let Ok(Ok(stream)) = connected {
            if converse(line.clone(), TlsStream::Client(stream)).await {
                pause = FIRST_PAUSE;
            }
            line.lose().await;
        }
        let _ = timeout(pause, closed(&line)).await;
        pause = (2 * pause).min(LONGEST_PAUSE);
    }
}

/// Waits until there is nothing more to send.
async fn closed(line: &Line) {
    let mut said = line.said.clone();
    while said.changed().await.is_ok() {}
}

/// Talks until the connection ends, or both sides have sent everything. Returns `true` if anything was received.
async fn converse(line: Line, stream: impl AsyncRead + AsyncWrite + Unpin) -> bool {
    let Line { peer, said, heard, largest } = line;
    let (reader, writer) = split(stream);
    let mut any = false;
    {
        let hear = hear(reader, largest, peer, heard, &mut any);
        let speak = speak(writer, said);
        tokio::pin!(hear, speak);
        tokio::select! {
            _ = &mut hear => (),
            // The peer's remaining data is read to its end: closing early could lose what it has not received yet. And
            // if it is gone, which sending notices first, its last messages may still be unread here: the reason for
            // it, for example.
            _ = &mut speak => drop(hear.await),
        }
    }
    any
}

async fn speak(mut writer: impl AsyncWrite + Unpin, mut said: watch::Receiver<Said>) -> io::Result<()> {
    let mut told = 0;
    loop {
        let frames: Said = said.borrow_and_update()[told..].to_vec();
        for frame in &frames {
            let length = u32::try_from(frame.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
            writer.write_u32_le(length).await?;
            writer.write_all(frame).await?;
        }
        writer.flush().await?;
        told += frames.len();
        match timeout(STILL_HERE, said.changed()).await {
            Ok(Ok(())) => (),
            Ok(Err(_)) => return writer.shutdown().await,
            Err(_) => writer.write_u32_le(0).await?,
        }
    }
}

async fn hear(
    mut reader: impl AsyncRead + Unpin,
    largest: usize,
    peer: usize,
    heard: mpsc::Sender<Arrival>,
    any: &mut bool,
) -> io::Result<()> {
    loop {
        let length = timeout(SILENCE, reader.read_u32_le()).await?? as usize;
        *any = true;
        if length == 0 {
            continue;
        }
        if length > largest {
            let _ = heard.send(Arrival { from: peer, heard: Heard::Oversized }).await;
            // Nothing after it counts; but if it were left unread, the peer might not receive what is sent to it.
            let mut rest = vec![0; PIECE];
            while timeout(SILENCE, reader.read(&mut rest)).await?? > 0 {}
            return Ok(());
        }
        let mut frame = Vec::new();
        while frame.len() < length {
            let start = frame.len();
            frame.resize(length.min(start + PIECE), 0);
            timeout(SILENCE, reader.read_exact(&mut frame[start..])).await??;
        }
        // A closed mesh no longer listens, but the peer is read to its end.
        let _ = heard.send(Arrival { from: peer, heard: Heard::Frame(frame) }).await;
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use super::*;

    /// The way to a peer that is gone.
    struct Gone;

    impl AsyncWrite for Gone {
        fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
            Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()))
        }
    }

    #[test]
    fn a_peer_that_has_gone_is_heard_out() {
        let words: Vec<Vec<u8>> = (1..=5).map(|word| vec![word; 3]).collect();
        let arrived: Vec<u8> = words.iter().flat_map(|word| [&[3, 0, 0, 0], word.as_slice()].concat()).collect();
        let (_outbox, said) = watch::channel(vec![Arc::from([9].as_slice())]);
        // There is room for one frame: the others are still unread when sending fails.
        let (heard, mut inbox) = mpsc::channel(1);
        let line = Line { peer: 0, said, heard, largest: 3 };
        let talk = converse(line, tokio::io::join(arrived.as_slice(), Gone));
        let listen = async {
            let mut frames = Vec::new();
            while let Some(arrival) = inbox.recv().await {
                frames.push(arrival.heard);
            }
            frames
        };
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let (any, frames) = runtime.block_on(async { tokio::join!(talk, listen) });
        assert!(any);
        assert_eq!(frames, words.into_iter().map(Heard::Frame).collect::<Vec<_>>());
    }
}
