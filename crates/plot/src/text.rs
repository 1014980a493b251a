//! Text: its approximate width, and the characters allowed in a document.

/// The width in a sans-serif font, in multiples of the font size; rather over- than underestimated.
pub fn width(text: &str) -> f64 {
    let of = |character: char| match character {
        'i' | 'j' | 'l' | 'f' | 't' | 'r' | 'I' | '.' | ',' | '\'' | ' ' | ':' | '|' | '(' | ')' => 0.36,
        'm' | 'w' | 'M' | 'W' | '—' => 0.9,
        '⁰'..='⁹' | '⁻' | '¹' | '²' | '³' => 0.42,
        _ if character.is_uppercase() => 0.7,
        _ if character.is_ascii() => 0.58,
        _ => 0.8,
    };
    text.chars().map(of).sum()
}

/// Shortened to at most this width, with an ellipsis.
pub fn shortened(text: &str, most: f64) -> String {
    if width(text) <= most {
        return text.into();
    }
    let mut kept = String::new();
    for character in text.chars() {
        kept.push(character);
        if width(&kept) + 0.8 > most {
            kept.pop();
            break;
        }
    }
    kept.trim_end().to_owned() + "…"
}

/// Wrapped into at most three lines of at most this width.
pub fn wrapped(text: &str, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line) + 0.36 + width(word) <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    if lines.len() > 3 {
        lines.truncate(3);
        lines[2].push_str(" …");
    }
    lines.into_iter().map(|line| shortened(&line, most)).collect()
}

/// Without the characters that XML does not allow, even escaped; line breaks become spaces.
pub fn allowed(text: &str) -> String {
    let keep = |character: char| match character {
        '\u{9}' | '\u{a}' | '\u{d}' => ' ',
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
        other => other,
    };
    text.chars().map(keep).collect()
}

/// Escaped for the content of an element.
pub fn escaped(text: &str) -> String {
    allowed(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_words_are_shortened_and_titles_wrapped() {
        assert_eq!(shortened("short", 10.0), "short");
        let cut = shortened(&"x".repeat(100), 10.0);
        assert!(cut.ends_with('…') && width(&cut) <= 10.0);
        assert_eq!(wrapped("one two three", 5.0), ["one two", "three"]);
        assert_eq!(wrapped(&"word ".repeat(50), 10.0).len(), 3);
        assert!(wrapped("", 10.0).is_empty());
    }
}
