//! Masks keys, tokens and passwords in text that people see.
//!
//! An error that quotes its input also quotes a key that was put in the wrong place. Text written to a terminal, a log
//! or a reply passes through [`hide`]; text that is stored or sent to others is refused if it [`holds_a_key`]. While
//! rows are processed, [`Quiet`] keeps the messages of panics from being printed. [`burn_stack`] overwrites what they
//! left on the stack, where nothing may be left.

mod quiet;
mod stack;

pub use quiet::Quiet;
pub use stack::burn_stack;

use std::borrow::Cow;
use std::ops::Range;

/// The prefix of a party's private key in its file.
pub const PRIVATE_KEY: &str = "ed25519-private:";
/// The prefix of a service's token.
pub const TOKEN: &str = "reticent_";

/// The replacement for a secret.
const MASK: &str = "***";
/// A token has at least this many digits; an ordinary name with the same prefix has fewer.
const SHORTEST_TOKEN: usize = 32;
/// A private key without its prefix has at least this many digits.
const SHORTEST_KEY: usize = 64;
/// Every Ed25519 key in PKCS #8 names its algorithm with these digits, near its beginning.
const ALGORITHM: &str = "06032b6570";

/// The text with `***` in place of each private key, token and password.
///
/// Errs on the side of hiding too much: an address ends at the next space, because a password may contain anything
/// else.
///
/// # Example
/// ```
/// use reticent::secrets::hide;
///
/// assert_eq!(hide("cannot reach postgres://ada:lovelace@db.example/x"), "cannot reach postgres://ada:***@db.example/x");
/// ```
pub fn hide(text: &str) -> Cow<'_, str> {
    let (mut shown, mut rest) = (String::new(), text);
    while let Some(secret) = first(rest, &[private_key, bare_key, token, login, password]) {
        shown += &rest[..secret.start];
        shown += MASK;
        rest = &rest[secret.end..];
    }
    if rest.len() == text.len() { Cow::Borrowed(text) } else { Cow::Owned(shown + rest) }
}

/// Does the text contain a private key or a token? These have recognisable forms; a password has none.
pub fn holds_a_key(text: &str) -> bool {
    first(text, &[private_key, bare_key, token]).is_some()
}

type Finder = fn(&str) -> Option<Range<usize>>;

fn first(text: &str, finders: &[Finder]) -> Option<Range<usize>> {
    finders.iter().filter_map(|find| find(text)).min_by_key(|found| found.start)
}

fn private_key(text: &str) -> Option<Range<usize>> {
    runs_after(text, PRIVATE_KEY, |letter| letter.is_ascii_alphanumeric()).find(|run| !run.is_empty())
}

fn token(text: &str) -> Option<Range<usize>> {
    runs_after(text, TOKEN, |letter| letter.is_ascii_hexdigit() || letter == '_')
        .find(|run| run.len() >= SHORTEST_TOKEN)
}

fn bare_key(text: &str) -> Option<Range<usize>> {
    let is_key = |run: &Range<usize>| {
        let digits = &text[run.clone()];
        let named = digits.to_ascii_lowercase().find(ALGORITHM).is_some_and(|place| place < SHORTEST_KEY / 2);
        digits.len() >= SHORTEST_KEY && named
    };
    let mut end = 0;
    std::iter::from_fn(|| {
        let start = end + text[end..].find(|letter: char| letter.is_ascii_hexdigit())?;
        end = run_from(text, start, |letter| letter.is_ascii_hexdigit()).end;
        Some(start..end)
    })
    .find(is_key)
}

/// The password of `SCHEME://USER:PASSWORD@…` or `//USER:PASSWORD@…`. With a scheme but without a colon, the whole login,
/// which is NATS's form of a token; for PostgreSQL it is only a user name and is not hidden.
fn login(text: &str) -> Option<Range<usize>> {
    text.match_indices("//").find_map(|(place, separator)| {
        let address = run_from(text, place + separator.len(), |letter| !letter.is_whitespace() && !letter.is_control());
        let end = address.start + text[address.clone()].rfind('@')?;
        let start = match text[address.start..end].find(':') {
            Some(colon) => address.start + colon + 1,
            None if !text[..place].ends_with(':') => return None,
            None if text[..place].to_ascii_lowercase().ends_with("postgres:") => return None,
            None if text[..place].to_ascii_lowercase().ends_with("postgresql:") => return None,
            None => address.start,
        };
        (text[start..end] != *MASK && start < end).then_some(start..end)
    })
}

/// The value of `password=…`, `password = "…"` or `"password": "…"`.
fn password(text: &str) -> Option<Range<usize>> {
    let lower = text.to_ascii_lowercase();
    lower.match_indices("password").find_map(|(place, name)| {
        let after = &text[place + name.len()..];
        let bare = after.trim_start_matches(['"', '\'']);
        let value = match bare.trim_start().strip_prefix('=') {
            Some(value) => value,
            None if bare.len() < after.len() => bare.trim_start().strip_prefix(':')?,
            None => return None,
        }
        .trim_start();
        let quote = value.chars().next().filter(|letter| ['"', '\''].contains(letter));
        let start = text.len() - value.len() + quote.map_or(0, char::len_utf8);
        let value = run_from(text, start, |letter| match quote {
            Some(quote) => letter != quote,
            None => !letter.is_whitespace() && !['&', '"', '\'', ',', ';'].contains(&letter),
        });
        (!value.is_empty() && text[value.clone()] != *MASK).then_some(value)
    })
}

/// The runs of matching letters that follow each `prefix`.
fn runs_after<'text>(
    text: &'text str,
    prefix: &'static str,
    belongs: fn(char) -> bool,
) -> impl Iterator<Item = Range<usize>> + 'text {
    text.match_indices(prefix).map(move |(place, _)| run_from(text, place + prefix.len(), belongs))
}

/// The range from `start` to the first letter that does not belong.
fn run_from(text: &str, start: usize, belongs: impl Fn(char) -> bool) -> Range<usize> {
    start..text[start..].find(|letter| !belongs(letter)).map_or(text.len(), |length| start + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str =
        "3053020101300506032b657004220420aabbccddeeff00112233445566778899aabbccddeeff00112233445566778899";
    const DIGITS: &str = "0123456789abcdef_00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

    #[test]
    fn secrets_are_hidden_wherever_they_stand() {
        let cases = [
            (format!("a key is {PRIVATE_KEY}{KEY}, but"), "a key is ed25519-private:***, but"),
            (format!("1 | {KEY}\n  | ^"), "1 | ***\n  | ^"),
            (format!("1 | {}", KEY.to_uppercase()), "1 | ***"),
            (format!("\"{TOKEN}{DIGITS}\" and {TOKEN}{DIGITS}"), "\"reticent_***\" and reticent_***"),
            ("postgres://u:p@h/d".into(), "postgres://u:***@h/d"),
            ("x POSTGRES://u:a b".into(), "x POSTGRES://u:a b"),
            ("//ada:pw@h is no name".into(), "//ada:***@h is no name"),
            ("/a//b@c".into(), "/a//b@c"),
            ("nats://topsecret@h:4222".into(), "nats://***@h:4222"),
            ("nats://u:p:q@r@h".into(), "nats://u:***@h"),
            ("http://a:b@c and http://d:e@f".into(), "http://a:***@c and http://d:***@f"),
            ("host=h password=top&x=1".into(), "host=h password=***&x=1"),
            ("host=h Password = 'top secret' user=u".into(), "host=h Password = '***' user=u"),
            ("{\"password\": \"top\"}".into(), "{\"password\": \"***\"}"),
            ("postgres://u@h/d?sslpassword=top".into(), "postgres://u@h/d?sslpassword=***"),
            ("größe password=größe!".into(), "größe password=***"),
        ];
        for (text, shown) in cases {
            assert_eq!(hide(&text), shown);
            assert_eq!(hide(shown), shown, "hidden once and for all");
        }
    }

    #[test]
    fn what_is_no_secret_is_left_as_it_is() {
        let texts = [
            "reticent_party",
            "postgres://ada@h/d",
            "http://127.0.0.1:8080/v1",
            "a password: write it as %40",
            "ed25519:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
            "aabbccddeeff00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff00112233445566778899",
            "ed25519-private:",
            "password=",
            "",
        ];
        for text in texts {
            assert!(matches!(hide(text), Cow::Borrowed(same) if same == text), "{text}");
            assert!(!holds_a_key(text), "{text}");
        }
        assert!(holds_a_key(KEY) && holds_a_key(&format!("x{TOKEN}{DIGITS}")));
        assert!(!holds_a_key("postgres://u:p@h/d?password=p"));
    }
}
