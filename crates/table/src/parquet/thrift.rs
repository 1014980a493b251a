//! Whether a footer is safe to decode.
//!
//! The decoder of Parquet's footers allocates as much memory as a list claims to need, and uses as much stack as groups
//! of columns are nested. A hostile file of a few kilobytes could end the process, which no caller can catch. So the
//! footer is walked first: every list must be present in full, and nothing may be nested too deeply.
//!
//! Footers use Thrift's compact protocol.

/// Nothing sensible is nested more deeply; the decoder of Arrow schemas has the same limit.
const DEEPEST: usize = 64;
/// The field number of the `SchemaElement` list in `FileMetaData`, and of `num_children` in each element.
const SCHEMA: i64 = 2;
const CHILDREN: i64 = 5;

/// Whether a footer is safe to decode. It may still be broken.
pub fn is_safe(footer: &[u8]) -> bool {
    let mut walk = Walk { bytes: footer };
    let mut columns = Nesting::default();
    walk.fields(|walk, id, kind| match (id, kind) {
        (SCHEMA, Kind::List) => {
            let (length, of) = walk.list()?;
            if of != Kind::Struct {
                return None;
            }
            (0..length).try_for_each(|_| {
                let mut children = 0;
                walk.fields(|walk, id, kind| match (id, kind) {
                    (CHILDREN, Kind::Number) => walk.number().map(|number| children = number),
                    _ => walk.skip(kind, 1),
                })?;
                columns.push(children)
            })
        }
        _ => walk.skip(kind, 1),
    })
    .is_some()
}

/// How deeply groups of columns are nested: the schema is a tree, listed from the root down.
#[derive(Default)]
struct Nesting {
    /// For each open group, how many children are still to come.
    open: Vec<i64>,
}

impl Nesting {
    /// Adds the next column; `None` if it is too deep.
    fn push(&mut self, children: i64) -> Option<()> {
        while self.open.pop_if(|left| *left <= 0).is_some() {}
        if let Some(left) = self.open.last_mut() {
            *left -= 1;
        }
        if children > 0 {
            self.open.push(children);
        }
        (self.open.len() <= DEEPEST).then_some(())
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// In a struct the kind itself is the value; in a list it is a byte.
    Boolean,
    Byte,
    /// Of 16, 32 or 64 bits.
    Number,
    Double,
    Bytes,
    List,
    Map,
    Struct,
    Uuid,
}

impl Kind {
    fn of(code: u8) -> Option<Self> {
        Some(match code {
            1 | 2 => Self::Boolean,
            3 => Self::Byte,
            4..=6 => Self::Number,
            7 => Self::Double,
            8 => Self::Bytes,
            9 | 10 => Self::List,
            11 => Self::Map,
            12 => Self::Struct,
            13 => Self::Uuid,
            _ => return None,
        })
    }
}

/// A walk over bytes; every step is `None` if there are too few.
struct Walk<'a> {
    bytes: &'a [u8],
}

impl Walk<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    fn pass(&mut self, length: u64) -> Option<()> {
        self.bytes = self.bytes.get(usize::try_from(length).ok()?..)?;
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn number(&mut self) -> Option<i64> {
        let zigzag = self.varint()?;
        Some((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
    }

    /// Visits the fields of a struct, by number and kind.
    fn fields(&mut self, mut field: impl FnMut(&mut Self, i64, Kind) -> Option<()>) -> Option<()> {
        let mut id = 0;
        loop {
            let head = self.byte()?;
            if head & 0x0f == 0 {
                return Some(());
            }
            id = if head >> 4 == 0 { self.number()? } else { id + i64::from(head >> 4) };
            field(self, id, Kind::of(head & 0x0f)?)?;
        }
    }

    /// The length and element kind of a list. Every element takes at least one byte.
    fn list(&mut self) -> Option<(u64, Kind)> {
        let head = self.byte()?;
        let length = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        // The kind of an empty list may be missing.
        let of = if length == 0 { Kind::Byte } else { Kind::of(head & 0x0f)? };
        (length <= self.bytes.len() as u64).then_some((length, of))
    }

    /// Skips the value of a field at this depth.
    fn skip(&mut self, kind: Kind, depth: usize) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        match kind {
            Kind::Boolean => Some(()),
            Kind::Byte => self.pass(1),
            Kind::Number => self.varint().map(|_| ()),
            Kind::Double => self.pass(8),
            Kind::Uuid => self.pass(16),
            Kind::Bytes => self.varint().and_then(|length| self.pass(length)),
            Kind::Struct => self.fields(|walk, _, kind| walk.skip(kind, depth + 1)),
            Kind::List => {
                let (length, of) = self.list()?;
                (0..length).try_for_each(|_| self.skip_element(of, depth))
            }
            Kind::Map => {
                let length = self.varint()?;
                if length == 0 {
                    return Some(());
                }
                let kinds = self.byte()?;
                let (key, value) = (Kind::of(kinds >> 4)?, Kind::of(kinds & 0x0f)?);
                (0..length).try_for_each(|_| {
                    self.skip_element(key, depth)?;
                    self.skip_element(value, depth)
                })
            }
        }
    }

    fn skip_element(&mut self, kind: Kind, depth: usize) -> Option<()> {
        self.skip(if kind == Kind::Boolean { Kind::Byte } else { kind }, depth + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A footer with a schema of columns that each have this many children.
    fn schema(children: &[u8]) -> Vec<u8> {
        let mut footer = vec![0x29, 0xfc];
        let length = children.len() as u64;
        footer.extend([(length & 0x7f) as u8 | 0x80, (length >> 7) as u8]);
        children.iter().for_each(|children| footer.extend([0x55, children << 1, 0]));
        footer.push(0);
        footer
    }

    #[test]
    fn groups_may_be_nested_to_a_limit() {
        let nested = |depth: usize| [vec![1; depth], vec![0]].concat();
        assert!(is_safe(&schema(&nested(DEEPEST))));
        assert!(!is_safe(&schema(&nested(DEEPEST + 1))));
        assert!(is_safe(&schema(&[&[60][..], &[0; 60]].concat())), "a flat table");
        assert!(is_safe(&schema(&[&[50][..], &[1, 1, 0].repeat(50)].concat())), "many groups side by side");
    }

    #[test]
    fn what_a_list_says_must_be_there() {
        assert!(is_safe(&[0x19, 0x2c, 0, 0, 0]), "two empty structs");
        assert!(!is_safe(&[0x19, 0x3c, 0, 0, 0]), "three of them, and no end");
        assert!(!is_safe(&[0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0, 0]), "billions of them");
        assert!(!is_safe(&[0x18, 0x7f, 0, 0]), "text that is too long");
        assert!(!is_safe(&[]) && !is_safe(&[0x1e]));
        assert!(is_safe(&[0]));
    }

    #[test]
    fn values_may_be_nested_to_a_limit() {
        let nested = |depth: usize| [vec![0x1c; depth], vec![0; depth + 1]].concat();
        assert!(is_safe(&nested(DEEPEST)));
        assert!(!is_safe(&nested(DEEPEST + 1)) && !is_safe(&nested(1 << 20)));
    }
}
