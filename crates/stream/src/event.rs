//! Parsed events.

use std::fmt;
use std::hash::Hasher;
use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use siphasher::sip128::{Hasher128, SipHasher24};
use zeroize::Zeroize;

use crate::definition::{Definition, Keys, LONGEST_KEY, Mode};
use crate::ndjson::{self, Line};

/// 64 KiB: more than reading and counting events takes on the stack, even in unoptimised builds.
pub(crate) const EVENT_FRAMES: usize = 1 << 16;

/// How a stream reads its events.
pub(crate) struct Rules {
    pub definition: Arc<Definition>,
    /// The indices of known keys.
    places: HashMap<Arc<str>, u32, RandomState>,
    /// Ids are stored as keyed 128-bit hashes, so that nobody can construct a collision.
    id_key: [u8; 16],
}

/// Stands for a missing key.
const NO_KEY: Key = Key { start: u32::MAX, length: 0 };

/// A key: the index of a known key, or the position of its text in the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    start: u32,
    length: u32,
}

/// One event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Event {
    /// The clamped value.
    pub value: i64,
    pub key: Key,
    /// The hash of its id; 0 if it has no id.
    pub id: u128,
}

/// Events of one stream, parsed and clamped; created by [`Stream::events`](crate::Stream::events).
///
/// In pan-private mode their memory is overwritten on drop, and no ids are kept.
pub struct Events {
    pub(crate) rules: Arc<Rules>,
    pub(crate) events: Vec<Event>,
    text: Vec<u8>,
}

impl Rules {
    pub fn new(definition: Arc<Definition>, id_key: [u8; 16]) -> Arc<Self> {
        let mut places = HashMap::with_hasher(RandomState::default());
        if let Keys::Known(keys) = definition.keys() {
            places.extend(keys.iter().cloned().zip(0..));
        }
        Arc::new(Self { definition, places, id_key })
    }

    fn erases(&self) -> bool {
        self.definition.mode() == Mode::PanPrivate
    }

    /// Never returns 0, which stands for a missing id.
    fn hash(&self, pieces: impl FnOnce(&mut SipHasher24)) -> u128 {
        if self.definition.dedup() == 0 {
            return 0;
        }
        let mut hasher = SipHasher24::new_with_key(&self.id_key);
        pieces(&mut hasher);
        hasher.finish128().as_u128().max(1)
    }
}

impl Events {
    pub(crate) fn new(rules: Arc<Rules>, capacity: usize) -> Self {
        Self { rules, events: Vec::with_capacity(capacity), text: Vec::new() }
    }

    /// One event per line: see [`Stream::events_from_ndjson`](crate::Stream::events_from_ndjson).
    pub(crate) fn from_ndjson(rules: Arc<Rules>, body: &[u8]) -> Self {
        let lines = memchr::memchr_iter(b'\n', body).count() + 1;
        let mut events = Self::new(rules, lines);
        ndjson::lines(body).for_each(|line| events.push_line(&ndjson::read(line, &ndjson::EVENT)));
        events
    }

    /// The number of events.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Adds an event. Its value is clamped; an unknown key, or one longer than 256 bytes, counts as no key.
    pub fn push(&mut self, id: Option<&str>, key: Option<&str>, value: i64) {
        let id = id.map_or(0, |id| self.rules.hash(|hasher| hasher.write(id.as_bytes())));
        let key = key.map_or(NO_KEY, |key| self.key(key.as_bytes()));
        self.add(id, key, value);
    }

    fn push_line(&mut self, line: &Line<'_>) {
        let id = line.id.map_or(0, |id| self.rules.hash(|hasher| id.pieces(|piece| hasher.write(piece))));
        let key = line.key.map_or(NO_KEY, |text| {
            let mut plain = [0; LONGEST_KEY];
            let key = text.copy_to(&mut plain).map_or(NO_KEY, |key| self.key(key));
            if self.rules.erases() {
                plain.zeroize();
            }
            key
        });
        self.add(id, key, line.value.number(1));
    }

    fn key(&mut self, key: &[u8]) -> Key {
        match (self.rules.definition.keys(), std::str::from_utf8(key)) {
            (Keys::Known(_), Ok(key)) => {
                self.rules.places.get(key).map_or(NO_KEY, |&place| Key { start: place, length: 0 })
            }
            (Keys::Selected, Ok(text)) if key.len() <= LONGEST_KEY && !text.is_empty() => {
                let Ok(start) = u32::try_from(self.text.len()) else { return NO_KEY };
                self.text.extend_from_slice(key);
                Key { start, length: key.len() as u32 }
            }
            _ => NO_KEY,
        }
    }

    fn add(&mut self, id: u128, key: Key, value: i64) {
        if self.rules.erases() && self.events.len() == self.events.capacity() {
            // A vector that grows by itself does not erase its old memory.
            let mut larger = Vec::with_capacity(2 * self.events.len() + 16);
            larger.extend_from_slice(&self.events);
            self.erase();
            self.events = larger;
        }
        let value = self.rules.definition.admit(value);
        self.events.push(Event { value, key, id });
    }

    /// The index of an event's key, for known keys.
    pub(crate) fn place(&self, event: &Event) -> Option<u32> {
        (event.key != NO_KEY).then_some(event.key.start)
    }

    /// The text of an event's key, for keys from the data.
    pub(crate) fn key_text(&self, event: &Event) -> Option<&str> {
        let Key { start, length } = event.key;
        let text = self.text.get(start as usize..start as usize + length as usize)?;
        std::str::from_utf8(text).ok().filter(|text| !text.is_empty())
    }

    fn erase(&mut self) {
        for event in &mut self.events {
            event.value.zeroize();
            event.id.zeroize();
            event.key.start.zeroize();
            event.key.length.zeroize();
        }
        self.text.zeroize();
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        if self.rules.erases() {
            self.erase();
        }
    }
}

/// Omits the content of the events.
impl fmt::Debug for Events {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Events").field("stream", &self.rules.definition.name()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Rules").field("stream", &self.definition.name()).finish_non_exhaustive()
    }
}
