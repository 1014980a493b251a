//! API tokens: shown once, stored as hashes.
//!
//! Before the first token is created, anyone who can read the data directory is the owner, so existing tokens must not
//! get lost: a file beside them records that there were some.
//!
//! | module | holds |
//! |---|---|
//! | [`secret`] | the token itself |
//! | [`owner`] | the owner's token, before there are others |
//! | [`caps`] | what an analyst may spend from a dataset's budget, and has spent |

pub mod caps;
pub mod owner;
pub mod secret;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use jiff::Timestamp;
use reticent::privacy::Guarantee;
use reticent_durable::{Failure, FileId, Form, Journal, Opening, SystemFiles, replace};
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Map, Value, json};

use crate::error::{Error, Result};
use crate::role::Role;
use secret::Secret;

/// Their file within the data directory.
const FILE: &str = "tokens.sqlite";
/// The file that records that there were tokens.
const MEMORY: &str = "tokens.made";
const REMEMBERED: &[u8] = b"Tokens have been created here. Without tokens.sqlite the service does not start.\n";
/// Longest name, in bytes; the ledger records it as the caller.
const LONGEST_NAME: usize = 64;

/// "RtTk": SQLite's application id, which marks the file as ours.
const FORM: Form = Form { application: 0x5274_546b, version: 1, schema: SCHEMA, journal: Journal::Log };

const SCHEMA: &str = "
    CREATE TABLE tokens (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        role TEXT NOT NULL,
        hash BLOB NOT NULL,
        caps TEXT NOT NULL,
        created TEXT NOT NULL,
        revoked TEXT
    ) STRICT;
    CREATE TABLE spent (
        number INTEGER PRIMARY KEY,
        token TEXT NOT NULL REFERENCES tokens (id),
        dataset TEXT NOT NULL,
        request TEXT NOT NULL,
        cost TEXT NOT NULL,
        total TEXT NOT NULL,
        UNIQUE (token, dataset, request, cost)
    ) STRICT;";

/// What an analyst may spend, by dataset.
pub type SpendingCaps = BTreeMap<String, Guarantee>;

/// A token's record, without the token itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Its public part.
    pub id: String,
    /// Its name, recorded in the ledger as the caller.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// What an analyst may spend.
    pub caps: SpendingCaps,
    /// When it was created.
    pub created: String,
    /// When it was revoked, if it was.
    pub revoked: Option<String>,
}

impl Token {
    /// The record, for programs.
    pub fn to_json(&self) -> Value {
        let Self { id, name, role, caps, created, revoked } = self;
        let caps: Map<_, _> = caps.iter().map(|(dataset, cap)| (dataset.clone(), cap.to_string().into())).collect();
        json!({ "id": id, "name": name, "role": role, "caps": caps, "created": created, "revoked": revoked })
    }
}

/// All tokens of a data directory. Commands and the service may have them open at the same time.
#[derive(Debug)]
pub struct Tokens {
    connection: Mutex<Connection>,
    path: PathBuf,
    /// The file that is open.
    file: Option<FileId>,
    memory: PathBuf,
}

impl Tokens {
    /// Opens the tokens of an existing data directory.
    ///
    /// # Errors
    /// If the file cannot be used, or there were tokens and there are none now.
    pub fn open(directory: &Path) -> Result<Self> {
        let (path, memory) = (directory.join(FILE), directory.join(MEMORY));
        let lost = || {
            let (path, memory) = (path.display(), memory.display());
            Error::asked(format!(
                "there were tokens, but {path} has none; restore it. To discard all tokens and start over, remove {memory}"
            ))
        };
        let had = memory.exists();
        // Opens nothing: the log of the lost file may still be beside it.
        if had && std::fs::metadata(&path).map_or(0, |file| file.len()) == 0 {
            return Err(lost());
        }
        let failed =
            |error: &dyn std::fmt::Display| Error::asked(format!("{} cannot be used: {error}", path.display()));
        let unusable = |failure| match failure {
            Failure::Foreign(_) => failed(&"it does not hold tokens, or is from another version"),
            Failure::Damaged(_) => failed(&"it is damaged"),
            Failure::Storage { reason, .. } => failed(&reason),
        };
        let opening = Opening { path: &path, files: &SystemFiles, form: FORM };
        let mut connection = opening.connect_or_create().map_err(unusable)?;
        // Earlier versions did not mark it.
        opening.adopt(&mut connection, &["tokens", "spent"]).map_err(unusable)?;
        opening.prepare(&mut connection).map_err(unusable)?;
        connection.pragma_update(None, "foreign_keys", true).map_err(|error| failed(&error))?;
        let file = FileId::of(&path);
        let tokens = Self { connection: Mutex::new(connection), path: path.clone(), file, memory: memory.clone() };
        if tokens.any()? {
            tokens.remember()?;
        } else if had {
            return Err(lost());
        }
        Ok(tokens)
    }

    /// Records, durably, that there are tokens.
    fn remember(&self) -> Result<()> {
        if self.memory.exists() {
            return Ok(());
        }
        let failed = |error| Error::asked(format!("{} cannot be written: {error}", self.memory.display()));
        replace(&self.memory, REMEMBERED).map_err(failed)
    }

    /// The connection, if its file is still the one at the path: otherwise commands would create and revoke tokens in
    /// vain.
    fn connection(&self) -> Result<MutexGuard<'_, Connection>> {
        if FileId::of(&self.path) != self.file {
            let path = self.path.display();
            return Err(Error::Machine(format!(
                "{path} was removed or replaced while it was open; restore it, or restart with the right one"
            )));
        }
        // A thread that panicked left no open transaction: it was rolled back.
        Ok(self.connection.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// Whether a token was ever created. From then on tokens are required, even when all were revoked.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn any(&self) -> Result<bool> {
        let connection = self.connection()?;
        let mut statement = connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM tokens)")?;
        Ok(statement.query_row([], |row| row.get(0))?)
    }

    /// Creates a token, durably. The returned text is to be shown once, and is not stored.
    ///
    /// # Errors
    /// If the name is invalid or taken, if caps and role do not match, if a cap gives almost no protection and is not
    /// confirmed, or if there is no randomness.
    pub fn create(&self, name: &str, role: Role, caps: &SpendingCaps, allow_large_epsilon: bool) -> Result<String> {
        check_name(name)?;
        for cap in caps.values() {
            cap.clone().confirmed(allow_large_epsilon)?;
        }
        match (role, caps.is_empty()) {
            (Role::Analyst, true) => {
                let message =
                    "an analyst needs a cap to spend anything; add --cap DATASET=EPSILON, such as --cap staff=1";
                return Err(Error::field("cap", message));
            }
            (Role::Analyst, false) | (_, true) => {}
            (role, false) => {
                return Err(Error::field("cap", format!("only analysts have caps, but the role is {role}")));
            }
        }
        let secret = Secret::draw()?;
        let created = format!("{:.0}", Timestamp::now());
        let caps = serde_json::to_string(caps).expect("plain data");
        let inserted = self.connection()?.execute(
            "INSERT INTO tokens (id, name, role, hash, caps, created) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (name) DO NOTHING",
            params![secret.id(), name, role.name(), secret.hash().as_slice(), caps, created],
        )?;
        if inserted == 0 {
            let message = format!(
                "there is already a token {name}; names cannot be reused, so that the ledger stays unambiguous"
            );
            return Err(Error::field("name", message));
        }
        self.remember()?;
        Ok(secret.text())
    }

    /// All tokens, oldest first.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn list(&self) -> Result<Vec<Token>> {
        let connection = self.connection()?;
        let mut statement =
            connection.prepare("SELECT id, name, role, caps, created, revoked FROM tokens ORDER BY created, name")?;
        let rows = statement.query_map([], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?, row.get::<_, String>(3)?, row.get(4)?, row.get(5)?))
        })?;
        let tokens = rows.map(|row| {
            let (id, name, role, caps, created, revoked) = row?;
            Ok(Token { id, name, role: role.parse()?, caps: read_caps(&caps)?, created, revoked })
        });
        tokens.collect()
    }

    /// Revokes a token, durably.
    ///
    /// # Errors
    /// If there is no token of that name, or it was already revoked.
    pub fn revoke(&self, name: &str) -> Result<()> {
        let revoked = format!("{:.0}", Timestamp::now());
        let changed = self
            .connection()?
            .execute("UPDATE tokens SET revoked = ?2 WHERE name = ?1 AND revoked IS NULL", params![name, revoked])?;
        if changed == 0 {
            let message = format!("there is no active token {name}; `reticent token list` shows all tokens");
            return Err(Error::field("name", message));
        }
        Ok(())
    }

    /// The record of a token; `None` if it is unknown or revoked.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn holder(&self, text: &str) -> Result<Option<Token>> {
        let Some(secret) = Secret::read(text) else { return Ok(None) };
        let connection = self.connection()?;
        let mut statement = connection
            .prepare_cached("SELECT hash, name, role, caps, created FROM tokens WHERE id = ?1 AND revoked IS NULL")?;
        let found = statement
            .query_row([secret.id()], |row| {
                let hash: Vec<u8> = row.get(0)?;
                Ok((hash, row.get(1)?, row.get::<_, String>(2)?, row.get::<_, String>(3)?, row.get(4)?))
            })
            .optional()?;
        let Some((hash, name, role, caps, created)) = found else { return Ok(None) };
        if !secret.has_hash(&hash) {
            return Ok(None);
        }
        let (id, caps) = (secret.id().to_owned(), read_caps(&caps)?);
        Ok(Some(Token { id, name, role: role.parse()?, caps, created, revoked: None }))
    }
}

fn read_caps(text: &str) -> Result<SpendingCaps> {
    serde_json::from_str(text).map_err(|_| Error::Machine("the caps of a token were changed by hand".into()))
}

fn check_name(name: &str) -> Result<()> {
    let usable = |letter: char| letter.is_ascii_alphanumeric() || "._@-".contains(letter);
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(usable) {
        let message = format!("a name has 1 to {LONGEST_NAME} letters, digits, dots, @, - or _, such as ada or till-7");
        return Err(Error::field("name", message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_its_holder_until_it_is_revoked() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = Tokens::open(folder.path()).unwrap();
        assert!(!tokens.any().unwrap());
        let text = tokens.create("ada", Role::Owner, &SpendingCaps::new(), false).unwrap();
        let other = tokens.create("till", Role::Source, &SpendingCaps::new(), false).unwrap();
        assert_eq!(tokens.holder(&text).unwrap().unwrap().name, "ada");
        assert_eq!(tokens.holder(&other).unwrap().unwrap().role, Role::Source);
        // The id of one with the secret of the other, and one wrong digit.
        let (id, _) = text.rsplit_once('_').unwrap();
        let (_, secret) = other.rsplit_once('_').unwrap();
        assert_eq!(tokens.holder(&format!("{id}_{secret}")).unwrap(), None);
        let last = if text.ends_with('0') { "1" } else { "0" };
        assert_eq!(tokens.holder(&format!("{}{last}", &text[..text.len() - 1])).unwrap(), None);
        tokens.revoke("ada").unwrap();
        assert_eq!(tokens.holder(&text).unwrap(), None);
        assert!(tokens.revoke("ada").is_err() && tokens.any().unwrap());
        assert!(tokens.create("ada", Role::Owner, &SpendingCaps::new(), false).is_err(), "a name is used once");
    }

    #[test]
    fn tokens_that_were_there_do_not_get_lost() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let tokens = Tokens::open(folder.path()).unwrap();
        drop(Tokens::open(folder.path()).unwrap());
        tokens.create("ada", Role::Owner, &SpendingCaps::new(), false).unwrap();
        std::fs::rename(at(FILE), at("aside")).unwrap();
        assert!(matches!(tokens.any(), Err(Error::Machine(_))), "it is gone");
        assert!(Tokens::open(folder.path()).unwrap_err().to_string().contains("there were tokens"));
        assert!(!at(FILE).exists(), "none is made");
        std::fs::write(at(FILE), "").unwrap();
        assert!(matches!(tokens.any(), Err(Error::Machine(_))), "it is another one");
        assert!(Tokens::open(folder.path()).unwrap_err().to_string().contains("there were tokens"));
        std::fs::rename(at("aside"), at(FILE)).unwrap();
        assert!(tokens.any().unwrap() && Tokens::open(folder.path()).is_ok());
        // Tokens from before this file existed are recorded, too.
        std::fs::remove_file(at(MEMORY)).unwrap();
        drop((Tokens::open(folder.path()).unwrap(), tokens));
        assert!(at(MEMORY).exists());
    }

    /// A reservation is durable before the ledger is charged. On macOS this needs more than a plain fsync, which was not
    /// asked for.
    #[test]
    fn what_is_spent_is_on_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = Tokens::open(folder.path()).unwrap();
        let connection = tokens.connection().unwrap();
        let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(["synchronous", "fullfsync", "checkpoint_fullfsync", "foreign_keys"].map(pragma), [2, 1, 1, 1]);
    }

    #[test]
    fn another_database_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE person (name TEXT)").unwrap();
        let before = std::fs::read(&path).unwrap();
        assert!(Tokens::open(folder.path()).unwrap_err().to_string().contains("does not hold tokens"));
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }

    #[test]
    fn no_token_lies_in_the_files() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = Tokens::open(folder.path()).unwrap();
        let text = tokens.create("ada", Role::Owner, &SpendingCaps::new(), false).unwrap();
        let (_, secret) = text.rsplit_once('_').unwrap();
        let holds = |needle: &[u8]| {
            let files =
                std::fs::read_dir(folder.path()).unwrap().map(|file| std::fs::read(file.unwrap().path()).unwrap());
            files.into_iter().any(|file| file.windows(needle.len()).any(|window| window == needle))
        };
        let raw: Vec<u8> = (0..32).map(|at| u8::from_str_radix(&secret[2 * at..2 * at + 2], 16).unwrap()).collect();
        assert!(holds(b"ada") && !holds(secret.as_bytes()) && !holds(&raw));
    }

    #[test]
    fn names_roles_and_caps_must_fit() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = Tokens::open(folder.path()).unwrap();
        let caps = SpendingCaps::from([("staff".to_owned(), Guarantee::Pure("1".parse().unwrap()))]);
        assert!(tokens.create("ada", Role::Analyst, &SpendingCaps::new(), false).is_err());
        assert!(tokens.create("ada", Role::Viewer, &caps, false).is_err());
        assert!(tokens.create("ada lovelace", Role::Viewer, &SpendingCaps::new(), false).is_err());
        let large = SpendingCaps::from([("staff".to_owned(), Guarantee::Pure("1000".parse().unwrap()))]);
        let error = tokens.create("ada", Role::Analyst, &large, false).unwrap_err().to_string();
        assert!(error.contains("confirmed with"), "{error}");
        tokens.create("alan", Role::Analyst, &large, true).unwrap();
        tokens.create("ada", Role::Analyst, &caps, false).unwrap();
        assert!(tokens.list().unwrap().iter().any(|token| token.caps == caps));
    }
}
