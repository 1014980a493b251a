//! Replies, and the memory they take until they are sent.
//!
//! Memory is reserved before a reply is built, and given back once it has been sent or its time is up. So neither
//! clients that read nothing nor those that read very slowly can take more than a fixed amount, and one token only its
//! share of that. Short replies have memory of their own: long ones that are sent slowly do not hold them up.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures::{Stream, StreamExt as _, stream};
use reticent_sql::QueryOutcome;
use serde::Serialize;
use tokio::task::JoinSet;

use crate::app::App;
use crate::error::Result;
use crate::room::{Room, Rooms};

/// About the most bytes of a page: of a dataset's history, or of a stream's releases.
pub const PAGE: usize = 1 << 20;
/// Sent at a time. Replies that are no longer need no reservation: they take less than their connection.
pub const PIECE: usize = 1 << 15;
/// The memory of replies of at most a page, and one caller's share.
const SHORT: usize = 128 * PAGE;
const SHORT_EACH: usize = SHORT / 8;
/// The memory of longer ones: for each caller one of the longest answers, and four such callers.
const LONG: usize = 4 * QueryOutcome::LONGEST;
/// How many bytes a client must read per second, on average.
const RATE: usize = 256 << 10;
/// How long a reply waits for memory.
const PATIENCE: Duration = Duration::from_secs(1);
const NO_ROOM: &str = "other replies are still being sent and leave no memory for this one";

/// The memory of all replies.
#[derive(Debug)]
pub struct Replies {
    short: Rooms,
    long: Rooms,
    /// How long a client may take for each reply, and in addition for its bytes at the slowest rate.
    time: Duration,
}

impl Replies {
    /// A client may take `time` for each reply, and longer for long ones.
    pub fn new(time: Duration) -> Self {
        let (short, long) = (Rooms::new(SHORT, SHORT_EACH, NO_ROOM), Rooms::new(LONG, QueryOutcome::LONGEST, NO_ROOM));
        Self { short, long, time }
    }

    /// Memory for a reply of this length.
    ///
    /// # Errors
    /// If there is not enough memory within a second.
    pub async fn room(&self, caller: &str, bytes: usize) -> Result<Room> {
        self.room_within(caller, bytes, PATIENCE).await
    }

    /// Memory for a reply that is worth waiting for as long as a client may take to read one.
    ///
    /// # Errors
    /// If there is not enough memory by then.
    pub async fn worth_waiting(&self, caller: &str, bytes: usize) -> Result<Room> {
        self.room_within(caller, bytes, self.time).await
    }

    /// For a text that needs no reservation.
    pub fn none(&self, caller: &str) -> Room {
        self.short.of(caller)
    }

    /// Memory for a reply of this length, if there is enough without waiting.
    pub fn room_now(&self, caller: &str, bytes: usize) -> Option<Room> {
        let (mut room, bytes) = self.empty(caller, bytes);
        room.grow_now(bytes).then_some(room)
    }

    async fn room_within(&self, caller: &str, bytes: usize, patience: Duration) -> Result<Room> {
        let (mut room, bytes) = self.empty(caller, bytes);
        room.grow_within(bytes, patience).await?;
        Ok(room)
    }

    /// Without memory, and how much to reserve.
    fn empty(&self, caller: &str, bytes: usize) -> (Room, usize) {
        if bytes <= PIECE {
            (self.none(caller), 0)
        } else if bytes <= PAGE {
            (self.short.of(caller), bytes)
        } else {
            // One release of a million keys is longer than the longest answer.
            (self.long.of(caller), bytes.min(QueryOutcome::LONGEST))
        }
    }

    /// A body of these texts, each with the memory that it takes.
    pub fn body(&self, texts: impl Stream<Item = io::Result<(String, Room)>> + Send + 'static) -> Body {
        let time = self.time;
        let pieces = move |text: io::Result<(String, Room)>| match text {
            Ok((text, room)) => Sending::new(text, room, time).pieces().left_stream(),
            Err(error) => stream::iter([Err(error)]).right_stream(),
        };
        Body::from_stream(texts.flat_map(pieces))
    }
}

/// A text that is being sent.
struct Sending {
    /// `None` if its time is up.
    rest: Arc<Mutex<Option<Rest>>>,
    /// Ends when this is dropped.
    _timer: JoinSet<()>,
}

struct Rest {
    text: String,
    sent: usize,
    _room: Room,
}

impl Sending {
    fn new(text: String, room: Room, time: Duration) -> Self {
        let (is_long, time) = (text.len() > PIECE, time + Duration::from_secs((text.len() / RATE) as u64));
        let rest = Arc::new(Mutex::new(Some(Rest { text, sent: 0, _room: room })));
        // The connection of a client that reads too slowly asks for no further piece, so this does not wait for that.
        let (mut timer, late) = (JoinSet::new(), Arc::downgrade(&rest));
        if is_long {
            timer.spawn(async move {
                tokio::time::sleep(time).await;
                if let Some(late) = late.upgrade() {
                    late.lock().unwrap_or_else(PoisonError::into_inner).take();
                }
            });
        }
        Self { rest, _timer: timer }
    }

    fn pieces(self) -> impl Stream<Item = io::Result<Bytes>> {
        stream::try_unfold(self, async |sending| Ok(sending.piece()?.map(|piece| (piece, sending))))
    }

    /// The next piece, copied: a part of the text would keep all of it in memory. `None` at the end.
    fn piece(&self) -> io::Result<Option<Bytes>> {
        let mut rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
        let Rest { text, sent, .. } = rest.as_mut().ok_or(io::ErrorKind::TimedOut)?;
        let piece = &text.as_bytes()[*sent..text.len().min(*sent + PIECE)];
        *sent += piece.len();
        Ok((!piece.is_empty()).then(|| Bytes::copy_from_slice(piece)))
    }
}

/// A reply of one text, with the memory that was reserved for it.
pub fn held(app: &App, kind: &'static str, mut text: String, mut room: Room) -> Response {
    text.shrink_to_fit();
    room.shrink(text.len());
    let length = HeaderValue::from(text.len());
    let headers = [(header::CONTENT_TYPE, HeaderValue::from_static(kind)), (header::CONTENT_LENGTH, length)];
    let body = app.replies.body(stream::iter([Ok((text, room))]));
    (headers, body).into_response()
}

/// A JSON reply, with the memory that was reserved for it.
pub fn held_json(app: &App, value: &impl Serialize, room: Room) -> Response {
    held(app, "application/json", serde_json::to_string(value).expect("plain data"), room)
}

/// A JSON reply. Memory is reserved for its text.
///
/// # Errors
/// If there is not enough memory within a second.
pub async fn json(app: &App, caller: &str, value: &impl Serialize) -> Result<Response> {
    let room = app.replies.room(caller, json_bytes(value)).await?;
    Ok(held_json(app, value, room))
}

/// The length of a value as JSON.
pub fn json_bytes(value: &impl Serialize) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    serde_json::to_writer(&mut count, value).expect("plain data");
    count.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_reply_that_is_read_too_slowly_is_cut_off_and_its_memory_comes_back() {
        let replies = Replies::new(Duration::from_secs(30));
        let bytes = QueryOutcome::LONGEST;
        let room = replies.room("ada", bytes).await.unwrap();
        let text = "x".repeat(bytes);
        let mut body = replies.body(stream::iter([Ok((text, room))])).into_data_stream();
        assert_eq!(body.next().await.unwrap().unwrap().len(), PIECE);
        let time = Duration::from_secs(30 + (bytes / RATE) as u64);
        tokio::time::sleep(time / 2).await;
        assert_eq!(body.next().await.unwrap().unwrap().len(), PIECE);
        assert!(replies.room_now("ada", bytes).is_none() && replies.room_now("alan", bytes).is_some());
        assert!(replies.room_now("ada", PAGE).is_some(), "short replies have memory of their own");
        tokio::time::sleep(time / 2 + Duration::from_secs(1)).await;
        assert!(replies.room_now("ada", bytes).is_some(), "whether or not the client asks for more");
        assert!(body.next().await.unwrap().is_err() && body.next().await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_reply_is_sent_whole_and_its_memory_comes_back() {
        let replies = Replies::new(Duration::from_secs(30));
        let texts = ["a".repeat(3 * PIECE + 1), "b".into(), String::new(), "c".repeat(PAGE)];
        let whole = texts.concat();
        let mut held = Vec::new();
        for text in texts {
            held.push(Ok((text.clone(), replies.room("ada", text.len()).await.unwrap())));
        }
        let mut body = replies.body(stream::iter(held)).into_data_stream();
        let mut read = Vec::new();
        while let Some(piece) = body.next().await {
            let piece = piece.unwrap();
            assert!(piece.len() <= PIECE);
            read.extend_from_slice(&piece);
        }
        assert_eq!(read, whole.as_bytes());
        drop(body);
        assert!(replies.room_now("ada", PAGE).is_some());
        let all: Vec<_> = std::iter::from_fn(|| replies.room_now("ada", PAGE)).collect();
        assert_eq!(all.len(), SHORT_EACH / PAGE);
    }
}
