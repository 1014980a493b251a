//! The possible answers.

use serde::{Deserialize, Serialize};

use super::identity::Canonical;
use crate::error::{Error, Result};
use crate::statistic::{Bounds, Grid};

/// The possible answers, and so what is estimated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Domain {
    /// One of a list: how common each is. `choices = ["yes", "no"]`
    Choices(Vec<String>),
    /// Whole numbers in a range: their mean. `integers = { lower = 0, upper = 10 }`
    Integers {
        /// Smaller values count as this.
        lower: i64,
        /// Larger values count as this.
        upper: i64,
    },
    /// Real numbers in a range: their mean. `numbers = "0..120"`
    Numbers(Bounds),
    /// Texts: the common ones. `texts = { alphabet = "abc…", longest = 8 }`
    Texts {
        /// The allowed letters; others are dropped.
        alphabet: String,
        /// Longer texts are cut off.
        longest: u32,
    },
}

/// An answer that belongs to a domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The number of a choice, counted from 0.
    Choice(u64),
    /// A number, in steps of the grid for real ones.
    Number(i64),
    /// A text.
    Text(String),
}

impl Domain {
    /// [`Domain::Choices`] from anything that lists texts.
    pub fn choices<T: Into<String>>(choices: impl IntoIterator<Item = T>) -> Self {
        Self::Choices(choices.into_iter().map(Into::into).collect())
    }

    /// Reads an answer as a person enters it on their own device: one of the choices, a number, or a text.
    ///
    /// # Errors
    /// If it is not a valid answer. The message does not contain it.
    pub fn answer(&self, text: &str) -> Result<Answer> {
        let wrong = |allowed| Error::Answer { allowed };
        match self {
            Self::Choices(choices) => choices
                .iter()
                .position(|choice| choice == text)
                .map(|place| Answer::Choice(place as u64))
                .ok_or_else(|| wrong("one of the task's choices, letter for letter")),
            Self::Integers { lower, upper } => {
                let number: i64 = text.trim().parse().map_err(|_| wrong("a whole number"))?;
                Ok(Answer::Number(number.clamp(*lower, *upper)))
            }
            Self::Numbers(bounds) => {
                let number: f64 = text.trim().parse().map_err(|_| wrong("a number"))?;
                Grid::new(bounds).steps(number).map(Answer::Number).ok_or_else(|| wrong("a number"))
            }
            Self::Texts { .. } => Ok(Answer::Text(text.into())),
        }
    }

    /// The choices, if the domain is a list. The other domains are checked when the mechanism is made.
    pub(super) fn listed(&self) -> Option<&[String]> {
        if let Self::Choices(choices) = self { Some(choices) } else { None }
    }

    pub(super) fn write(&self, canonical: &mut Canonical) {
        match self {
            Self::Choices(choices) => {
                canonical.field("choices", &choices.len().to_string());
                choices.iter().for_each(|choice| canonical.field("choice", choice));
            }
            Self::Integers { lower, upper } => {
                canonical.field("integers", &lower.to_string());
                canonical.field("to", &upper.to_string());
            }
            Self::Numbers(bounds) => canonical.field("numbers", &bounds.to_string()),
            Self::Texts { alphabet, longest } => {
                canonical.field("alphabet", alphabet);
                canonical.field("longest", &longest.to_string());
            }
        }
    }
}
