//! What separates values.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What separates the values of a CSV file.
///
/// Unless it is chosen, it is found in the header alone: the one that occurs most often there, outside quotes; if several
/// do, the first of commas, semicolons, tabs and vertical bars, and if none does, commas. So no row can change it.
///
/// # Example
/// ```
/// use reticent_table::Delimiter;
///
/// assert_eq!(";".parse(), Ok(Delimiter::Semicolon));
/// assert_eq!("tab".parse(), Ok(Delimiter::Tab));
/// assert!("::".parse::<Delimiter>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delimiter {
    /// `,`
    Comma,
    /// `;`
    Semicolon,
    /// A tab.
    Tab,
    /// `|`
    Bar,
}

impl Delimiter {
    const ALL: [Self; 4] = [Self::Comma, Self::Semicolon, Self::Tab, Self::Bar];

    pub(super) fn byte(self) -> u8 {
        match self {
            Self::Comma => b',',
            Self::Semicolon => b';',
            Self::Tab => b'\t',
            Self::Bar => b'|',
        }
    }

    /// The delimiter of a header.
    pub(super) fn of(header: &[u8]) -> Self {
        // Where quotes are closed, they are in pairs; a doubled quote is two of them.
        let outside = header.split(|byte| *byte == b'"').step_by(2);
        let count = |delimiter: Self| outside.clone().flatten().filter(|byte| **byte == delimiter.byte()).count();
        // Of equals, the last is the greatest.
        Self::ALL.into_iter().rev().max_by_key(|delimiter| count(*delimiter)).unwrap_or(Self::Comma)
    }
}

impl FromStr for Delimiter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "," => Ok(Self::Comma),
            ";" => Ok(Self::Semicolon),
            "\t" | "\\t" | "tab" => Ok(Self::Tab),
            "|" => Ok(Self::Bar),
            _ => Err("a delimiter is one of , ; | and tab".to_owned()),
        }
    }
}

/// In words, such as `semicolons`.
impl fmt::Display for Delimiter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Comma => "commas",
            Self::Semicolon => "semicolons",
            Self::Tab => "tabs",
            Self::Bar => "vertical bars",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_tells() {
        use Delimiter::*;
        for (header, expected) in [
            ("id,age", Comma),
            ("id;age", Semicolon),
            ("id\tage", Tab),
            ("id|age", Bar),
            ("id", Comma),
            ("", Comma),
            ("id;age, years", Comma),
            ("id;age, years;town", Semicolon),
            ("a|b;c", Semicolon),
            ("a|b\tc|d", Bar),
            ("\"a;b;c\",d", Comma),
            ("x,\"a;b;c\"", Comma),
            ("\"say \"\"a;b;c\"\"\",d", Comma),
            ("\"a,b,c\";\"d,e\"", Semicolon),
        ] {
            assert_eq!(Delimiter::of(header.as_bytes()), expected, "{header}");
        }
    }
}
