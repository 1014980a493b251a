//! Passwords in a file, as libpq keeps them: `HOST:PORT:DATABASE:USER:PASSWORD` on each line.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// What a password is for.
#[derive(Debug, Clone, Copy)]
pub struct Login<'a> {
    /// The host; `localhost` for a socket.
    pub host: &'a str,
    pub port: u16,
    pub database: &'a str,
    pub user: &'a str,
}

/// The file that `PGPASSFILE` names, or the user's own.
pub fn place(named: Option<OsString>) -> Option<PathBuf> {
    match named.filter(|named| !named.is_empty()) {
        Some(named) => Some(named.into()),
        None if cfg!(windows) => dirs::config_dir().map(|folder| folder.join("postgresql").join("pgpass.conf")),
        None => dirs::home_dir().map(|home| home.join(".pgpass")),
    }
}

/// The password of the first line that matches. A file that others may read is not used, as libpq does not.
pub fn password(file: &Path, login: Login<'_>) -> Option<String> {
    let metadata = fs::metadata(file).ok().filter(fs::Metadata::is_file)?;
    if is_open_to_others(&metadata) {
        return None;
    }
    let text = fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| matching(line, login))
}

#[cfg(unix)]
fn is_open_to_others(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o077 != 0
}

#[cfg(not(unix))]
fn is_open_to_others(_: &fs::Metadata) -> bool {
    false
}

fn matching(line: &str, login: Login<'_>) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let (mut fields, mut field) = (Vec::new(), String::new());
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => field.extend(letters.next()),
            // A password may contain colons that are not escaped.
            ':' if fields.len() < 4 => fields.push(std::mem::take(&mut field)),
            letter => field.push(letter),
        }
    }
    fields.push(field);
    let [host, port, database, user, password] = fields.try_into().ok()?;
    let port_said = login.port.to_string();
    let wanted = [(host, login.host), (port, &port_said), (database, login.database), (user, login.user)];
    let matches = wanted.iter().all(|(said, wanted)| said == "*" || said == wanted);
    (matches && !password.is_empty()).then_some(password)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGIN: Login<'_> = Login { host: "db.example", port: 5432, database: "shop", user: "ada" };

    #[test]
    fn the_first_line_that_matches_counts() {
        let found = |line| matching(line, LOGIN);
        assert_eq!(found("db.example:5432:shop:ada:love:lace").as_deref(), Some("love:lace"));
        assert_eq!(found(r"*:*:*:ada:a\:b\\c").as_deref(), Some(r"a:b\c"));
        for other in ["", "# *:*:*:*:x", "*:5433:*:*:x", "*:*:*:bob:x", "*:*:*:*:", "*:*:*:x"] {
            assert_eq!(found(other), None, "{other}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_read_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pgpass");
        fs::write(&file, "# mine\nelsewhere:*:*:*:no\n*:*:shop:*:yes\n*:*:*:*:later\n").unwrap();
        for (mode, expected) in [(0o600, Some("yes")), (0o640, None), (0o604, None)] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(password(&file, LOGIN).as_deref(), expected, "{mode:o}");
        }
        assert_eq!(password(folder.path(), LOGIN), None);
        assert_eq!(place(Some(file.clone().into())), Some(file));
    }
}
