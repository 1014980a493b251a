//! Numbers stored side by side, in as few bytes as the largest needs.
//!
//! For `#[serde(with = "packed")]`. Binary formats get bytes: the width of a number, then the numbers, lowest byte
//! first, so that saving counters of ten thousand keys is as fast as copying them. Human-readable formats get a list.

use std::fmt;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serializer};

/// The bytes of a number.
const WHOLE: usize = size_of::<i128>();
/// Numbers are assembled in batches of this size, without heap allocation.
const LOT: usize = 64;

/// How many of its lowest bytes determine a number: the omitted ones repeat the sign.
fn width(number: i128) -> usize {
    let magnitude = number ^ (number >> 127);
    // One bit more for the sign.
    (129 - magnitude.leading_zeros()).div_ceil(8) as usize
}

pub(super) fn serialize<S: Serializer>(numbers: &[i128], serializer: S) -> Result<S::Ok, S::Error> {
    if serializer.is_human_readable() {
        return serializer.collect_seq(numbers);
    }
    let width = numbers.iter().copied().map(width).max().unwrap_or(1);
    let mut room = [0; 1 + (LOT + 1) * WHOLE];
    let length = 1 + numbers.len() * width;
    if numbers.len() <= LOT {
        put(numbers, width, &mut room);
        return serializer.serialize_bytes(&room[..length]);
    }
    let mut room = vec![0; length + WHOLE];
    put(numbers, width, &mut room);
    serializer.serialize_bytes(&room[..length])
}

/// Writes whole numbers, each overlapping the end of the one before; there is room for the last one in full.
fn put(numbers: &[i128], width: usize, room: &mut [u8]) {
    room[0] = width as u8;
    for (place, number) in numbers.iter().enumerate() {
        let begin = 1 + place * width;
        room[begin..begin + WHOLE].copy_from_slice(&number.to_le_bytes());
    }
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<i128>, D::Error> {
    if deserializer.is_human_readable() {
        Vec::deserialize(deserializer)
    } else {
        deserializer.deserialize_bytes(Packed)
    }
}

struct Packed;

impl Visitor<'_> for Packed {
    type Value = Vec<i128>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a width from 1 to {WHOLE}, and numbers that take that many bytes each")
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        let wrong = || E::invalid_length(bytes.len(), &self);
        let (&width, numbers) = bytes.split_first().ok_or_else(wrong)?;
        let width = usize::from(width);
        if !(1..=WHOLE).contains(&width) || numbers.len() % width != 0 {
            return Err(wrong());
        }
        let whole = |bytes: &[u8]| {
            let sign = if bytes[width - 1] < 0x80 { 0 } else { 0xff };
            let mut number = [sign; WHOLE];
            number[..width].copy_from_slice(bytes);
            i128::from_le_bytes(number)
        };
        Ok(numbers.chunks_exact(width).map(whole).collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Numbers(#[serde(with = "super")] Vec<i128>);

    fn numbers() -> impl Strategy<Value = Numbers> {
        let number = (any::<i128>(), 0..128u32).prop_map(|(number, shift)| number >> shift);
        prop::collection::vec(number, 0..100).prop_map(Numbers)
    }

    proptest! {
        #[test]
        fn numbers_come_back(numbers in numbers()) {
            let bytes = postcard::to_allocvec(&numbers).unwrap();
            prop_assert_eq!(&postcard::from_bytes::<Numbers>(&bytes).unwrap(), &numbers);
            let text = serde_json::to_string(&numbers).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Numbers>(&text).unwrap(), &numbers);
        }

        #[test]
        fn any_bytes_are_numbers_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(numbers) = postcard::from_bytes::<Numbers>(&bytes) {
                let again = postcard::to_allocvec(&numbers).unwrap();
                prop_assert_eq!(postcard::from_bytes::<Numbers>(&again).unwrap(), numbers);
            }
        }
    }

    #[test]
    fn ends_of_each_width_take_no_byte_more() {
        for width in 1..=16u32 {
            let end = if width == 16 { i128::MAX } else { (1 << (8 * width - 1)) - 1 };
            for number in [end, -end - 1] {
                // The length of the bytes, the width, the number.
                assert_eq!(postcard::to_allocvec(&Numbers(vec![number])).unwrap().len() as u32, 2 + width);
            }
        }
    }
}
