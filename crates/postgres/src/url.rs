//! URLs of servers, as they may be shown and stored.

use percent_encoding::percent_decode_str;

/// The URL schemes of a server, in any case.
pub const SCHEMES: [&str; 2] = ["postgres", "postgresql"];

/// The URL of a server, with its scheme in lower case, as the client library requires; `None` if it is something else.
pub fn known_url(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let scheme = SCHEMES.into_iter().find(|known| known.eq_ignore_ascii_case(scheme))?;
    Some(format!("{scheme}://{rest}"))
}

/// A URL with `***` in place of each password.
pub fn masked(url: &str) -> String {
    replace_passwords(url, Some("***"))
}

/// A URL without its passwords: the same server, database and user.
pub fn without_passwords(url: &str) -> String {
    replace_passwords(url, None)
}

/// A URL with `mask` in place of each password; without a mask they are left out.
///
/// Errs on the side of hiding too much: a password may contain characters that should have been escaped.
fn replace_passwords(url: &str, mask: Option<&str>) -> String {
    let mask_alone = mask.unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else { return mask_alone.into() };
    let mut place = rest.to_owned();
    if let Some((address, query)) = rest.split_once('?') {
        let parts: Vec<String> = query.split('&').filter_map(|part| replace_in_parameter(part, mask)).collect();
        place = if parts.is_empty() { address.into() } else { format!("{address}?{}", parts.join("&")) };
    }
    if rest.contains('@') && !place.contains('@') {
        // It is no longer clear where the login ended, or whether there was one.
        return format!("{scheme}://{mask_alone}");
    }
    if let Some((login, host)) = place.rsplit_once('@')
        && let Some((user, _)) = login.split_once(':')
    {
        let password = mask.map(|mask| format!(":{mask}")).unwrap_or_default();
        place = format!("{user}{password}@{host}");
    }
    format!("{scheme}://{place}")
}

/// `NAME=VALUE`, where both may be percent-encoded.
fn replace_in_parameter(part: &str, mask: Option<&str>) -> Option<String> {
    match part.split_once('=') {
        Some((name, _)) if is_password(name) => mask.map(|mask| format!("{name}={mask}")),
        _ => Some(part.to_owned()),
    }
}

/// Whether the value of a parameter with this name is a password. The name may be percent-encoded.
pub fn is_password(name: &str) -> bool {
    percent_decode_str(name).decode_utf8_lossy().to_ascii_lowercase().ends_with("password")
}
