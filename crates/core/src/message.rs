//! Messages that name settings, which every interface spells its own way.
//!
//! A library that says "add `--bounds age=LO..HI`" assumes a command line that its caller may not have. A [`Message`]
//! keeps setting names separate from the text around them, and [`Message::spelled`] writes them as the reader knows
//! them.

use std::fmt;

/// How an interface spells the name of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// `--max-rows 3`: the command line.
    Flag,
    /// `max_rows` 3: a JSON field.
    Field,
    /// `max-rows` 3: neither, for readers whose interface is unknown.
    Plain,
}

impl Spelling {
    /// The name of a setting, spelled this way.
    pub fn name(self, setting: &str) -> String {
        match self {
            Self::Flag => format!("--{setting}"),
            Self::Field => format!("`{}`", setting.replace('-', "_")),
            Self::Plain => format!("`{setting}`"),
        }
    }
}

/// A text that may name settings; see [`message!`](crate::message!).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message(Vec<Piece>);

/// A piece of a [`Message`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text that reads the same everywhere.
    Text(String),
    /// The name of a setting, as on the command line but without its dashes.
    Setting(&'static str),
}

impl Message {
    /// The text, with settings spelled for an interface.
    pub fn spelled(&self, spelling: Spelling) -> String {
        self.0
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => text.clone(),
                Piece::Setting(name) => spelling.name(name),
            })
            .collect()
    }

    /// The first setting that the message names.
    pub fn setting(&self) -> Option<&'static str> {
        self.0.iter().find_map(|piece| match piece {
            Piece::Setting(name) => Some(*name),
            Piece::Text(_) => None,
        })
    }
}

/// Spells settings plainly.
impl fmt::Display for Message {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.spelled(Spelling::Plain))
    }
}

impl FromIterator<Piece> for Message {
    fn from_iter<I: IntoIterator<Item = Piece>>(pieces: I) -> Self {
        Self(pieces.into_iter().collect())
    }
}

impl Extend<Piece> for Message {
    fn extend<I: IntoIterator<Item = Piece>>(&mut self, pieces: I) {
        self.0.extend(pieces);
    }
}

impl IntoIterator for Message {
    type Item = Piece;
    type IntoIter = std::vec::IntoIter<Piece>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self(vec![Piece::Text(text)])
    }
}

/// Builds a [`Message`](crate::message::Message) from format strings and, in brackets, names of settings.
///
/// ```
/// use reticent::message;
/// use reticent::message::Spelling;
///
/// let column = "age";
/// let message = message!("{column} needs bounds: add ", ["bounds"], " {column}=LO..HI");
/// assert_eq!(message.spelled(Spelling::Flag), "age needs bounds: add --bounds age=LO..HI");
/// assert_eq!(message.to_string(), "age needs bounds: add `bounds` age=LO..HI");
/// assert_eq!(message.setting(), Some("bounds"));
/// ```
#[macro_export]
macro_rules! message {
    (@piece [$name:expr]) => { $crate::message::Piece::Setting($name) };
    (@piece $text:literal) => { $crate::message::Piece::Text(format!($text)) };
    ($($piece:tt),+ $(,)?) => {
        [$($crate::message!(@piece $piece)),+].into_iter().collect::<$crate::message::Message>()
    };
}
