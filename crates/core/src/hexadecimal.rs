//! Bytes as text, two digits each.

/// Two lower-case digits per byte.
pub fn write(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The bytes; `None` unless the text is pairs of lower-case digits: any given bytes are written in exactly one way.
pub fn read(text: &str) -> Option<Vec<u8>> {
    let value = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some(value(pair[0])? << 4 | value(*pair.get(1)?)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_in_one_way() {
        assert_eq!(write(&[0, 0x9f, 0xff]), "009fff");
        assert_eq!(read("009fff"), Some(vec![0, 0x9f, 0xff]));
        for wrong in ["0", "0G", "FF", "é1"] {
            assert_eq!(read(wrong), None);
        }
    }
}
