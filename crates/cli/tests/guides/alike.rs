//! Whether a program says what a page shows.
//!
//! Noise is fresh each time, so numbers in rows of tables, in CSV and in JSON are free; the words around them and the number of lines are
//! not. In sentences (guarantees, charges, what is left) numbers must be those of the page. Lines in which the page has `…` may have
//! anything there. Identifiers in hexadecimal digits, the length of bars, and spaces do not matter.

/// The shortest run of hexadecimal digits that is an identifier.
const IDENTIFIER: usize = 16;
/// The same for one that is cut off by `…`.
const BEGINNING: usize = 8;

/// The first difference between the lines that a page shows and an output, leaving out lines with one of the words in `optional`.
pub fn difference(shown: &[String], said: &str, optional: &[&str]) -> Option<String> {
    let kept = |line: &&str| !optional.iter().any(|word| line.contains(word));
    let shown: Vec<&str> = shown.iter().map(String::as_str).filter(kept).collect();
    let said: Vec<&str> = said.lines().filter(kept).collect();
    let place = shown.iter().zip(&said).position(|(shown, said)| !alike(shown, said));
    let place = place.or((shown.len() != said.len()).then_some(shown.len().min(said.len())))?;
    let line = |lines: &[&str]| lines.get(place).map_or("nothing".into(), |line| format!("{line:?}"));
    Some(format!("the page shows {}, not {}", line(&shown), line(&said)))
}

fn alike(shown: &str, said: &str) -> bool {
    let (shown, said) = (shape(shown), shape(said));
    let Some((first, rest)) = shown.split_once('…') else { return shown == said };
    let Some(mut said) = said.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('…').collect();
    let Some(left) = said.strip_suffix(parts.pop().unwrap_or_default()) else { return false };
    said = left;
    parts.into_iter().all(|part| {
        let found = said.split_once(part);
        said = found.map_or(said, |(_, after)| after);
        found.is_some()
    })
}

/// A line without what may differ.
fn shape(line: &str) -> String {
    let data = line.starts_with(' ') || line.contains("{\"") || !line.contains(' ');
    let mut shape = String::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let before = shape.chars().next_back().unwrap_or(' ');
        let length = |is: fn(char) -> bool| rest.find(|c| !is(c)).unwrap_or(rest.len());
        let identifier = length(|c| matches!(c, '0'..='9' | 'a'..='f'));
        let cut_off = identifier >= BEGINNING && rest[identifier..].starts_with('…');
        // Letters belong to a word, such as ed25519, except that of a time.
        let numbers = data && (!before.is_alphanumeric() || shape.ends_with("#T"));
        let (token, taken) = match first {
            _ if cut_off => ("#", identifier + '…'.len_utf8()),
            _ if identifier >= IDENTIFIER => ("#", identifier),
            '0'..='9' if numbers => ("#", number(rest)),
            '-' if numbers && number(&rest[1..]) > 0 => ("#", 1 + number(&rest[1..])),
            '─' | '═' => ("─", length(|c| matches!(c, '─' | '═'))),
            '\u{2580}'..='\u{259f}' => ("", first.len_utf8()),
            ' ' if before == ' ' => ("", 1),
            _ => (&rest[..first.len_utf8()], first.len_utf8()),
        };
        shape.push_str(token);
        rest = &rest[taken..];
    }
    shape.trim_end().to_owned()
}

/// The length of the number that a text begins with: digits, decimals, an exponent.
fn number(text: &str) -> usize {
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let mut length = digits(text);
    for mark in [".", "e-", "e"] {
        let more = text[length..].strip_prefix(mark).map_or(0, digits);
        if more > 0 {
            length += mark.len() + more;
        }
    }
    length
}

#[test]
fn noise_does_not_matter_and_words_do() {
    for (shown, said) in [
        (" Care   1912 ± 6    30215.5", " Care  9 ± 123  -2e-3"),
        ("──────", "──"),
        (" by car  118 ███▏", " by car    -3"),
        ("charged to …/staff.csv, entry 3", "charged to /home/ada/staff.csv, entry 3"),
        ("hash 3d2cf39a…", "hash 3d2cf39a00112233"),
        ("{\"step\":3,\"value\":504}", "{\"step\":4,\"value\":-1}"),
        ("1,2026-11-18T06:28:20Z,499,8", "2,2026-11-19T17:29:00Z,-3,8.5"),
        ("task b49e3d7843d94b8e: k-ary", "task 00003d7843d94b8e: k-ary"),
    ] {
        assert!(alike(shown, said), "{shown:?} {said:?}");
    }
    for (shown, said) in [
        (" Care   1912 ± 6", " Case   1912 ± 6"),
        (" Care   1912 ± 6", " Care   1912"),
        ("ε = 1 is left", "ε = 2 is left"),
        ("charged to …/staff.csv, entry 3", "charged to /home/ada/staff.csv, entry 4"),
        ("{\"step\":3}", "{\"steps\":3}"),
        ("north", "south"),
        ("p1 p2", "p1 p3"),
        (" ed25519", " ed448"),
    ] {
        assert!(!alike(shown, said), "{shown:?} {said:?}");
    }
}

#[test]
fn lines_count() {
    let shown = ["one".to_owned(), "two".to_owned()];
    assert_eq!(difference(&shown, "one\ntwo\n", &[]), None);
    assert_eq!(difference(&shown, "one\n", &[]).as_deref(), Some("the page shows \"two\", not nothing"));
    assert!(difference(&shown, "one\ntwo\nthree\n", &[]).is_some());
    assert_eq!(difference(&shown, "one\nthree\n", &["t"]), None);
}
