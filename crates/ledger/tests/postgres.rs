//! Every rule of a ledger, on PostgreSQL.
#![cfg(all(feature = "postgres", target_os = "linux"))]

#[path = "suite/server.rs"]
mod server;
mod suite;

use std::sync::{Arc, Mutex};

use reticent::error::Explained;
use reticent::ledger::{ChargeOutcome, Keeper, OnInterruption};
use reticent_ledger::storage::{Postgres, Storage};
use reticent_ledger::{DurableLedger, Error, Event, Location, Row};
use server::Server;
use suite::kills::Blow;
use suite::{Place, ask, create, limited, open, pure, receipt, receipt_again};

struct Database {
    server: Arc<Server>,
    name: String,
    vandal: Mutex<Option<postgres::Client>>,
}

impl Database {
    fn new(server: Arc<Server>) -> Self {
        let name = server.database();
        Self { server, name, vandal: Mutex::default() }
    }

    fn url(&self) -> String {
        self.server.local(&self.name)
    }
}

impl Place for Database {
    fn location(&self) -> Location {
        Location::Postgres(self.url())
    }

    fn vandalise(&self, sql: &str) {
        // No constraint hinders a vandal, nor need it survive a crash.
        let freely = "CREATE SCHEMA IF NOT EXISTS saved; \
            SET search_path = reticent_ledger; SET session_replication_role = replica; SET synchronous_commit = off";
        let mut vandal = self.vandal.lock().unwrap();
        let vandal = vandal.get_or_insert_with(|| self.server.administrator(&self.name));
        vandal.batch_execute(&format!("{freely}; BEGIN; {sql}; COMMIT")).unwrap();
    }

    fn copy(&self) -> Box<dyn Place> {
        *self.vandal.lock().unwrap() = None;
        let (server, name) = (Arc::clone(&self.server), self.server.copy(&self.name));
        Box::new(Self { server, name, vandal: Mutex::default() })
    }
}

fn database() -> Database {
    Database::new(Server::shared())
}

fn fresh() -> Box<dyn Place> {
    Box::new(database())
}

suite::every_rule!(ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one", fresh);

/// What the children of these tests run.
#[test]
fn worker() {
    suite::worker();
}

#[test]
#[ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one"]
fn of_10_000_charges_by_64_threads_of_2_processes_exactly_1_000_are_granted() {
    suite::crowd::exactly_what_fits_is_granted(&*fresh(), 10_000);
}

#[test]
#[ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one"]
fn without_the_lock_too_much_is_granted() {
    let place = database();
    suite::crowd::without_the_lock_too_much_is_granted(&place, || Box::new(Postgres::open(&place.url()).unwrap()));
}

/// 150 kills of clients, twice of all 16 at once, and 20 of the whole server.
#[test]
#[ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one"]
fn kills_of_clients_and_of_the_server_lose_nothing_and_charge_nothing_twice() {
    let server = Arc::new(Server::start(&[]));
    let place = Database::new(Arc::clone(&server));
    let mut blows = Vec::new();
    for round in 0..20 {
        blows.extend([Blow::One; 5]);
        blows.push(if round % 10 == 5 { Blow::All } else { Blow::One });
        blows.push(Blow::Server);
    }
    suite::kills::survive(&place, 16, &blows, || {
        server.kill();
        server.run();
    });
}

/// What a server that goes away does to those who were connected.
#[test]
#[ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one"]
fn a_server_that_was_away_is_found_again() {
    let place = Database::new(Arc::new(Server::start(&[])));
    let ledger = create(&place);
    ledger.register(&limited("people", pure("1"))).unwrap();
    let charge = ask("people", "a", pure("0.1"));
    let first = receipt(&ledger, &charge);
    place.server.kill();
    let error = ledger.charge(&charge, OnInterruption::Recompute).unwrap_err();
    assert!(error.is_storage(), "{error}");
    place.server.run();
    assert_eq!(receipt_again(&ledger, &charge), first);
    // Nothing was under way, so nothing needs to be told.
    place.server.kill();
    place.server.run();
    assert_eq!(receipt_again(&ledger, &charge), first);
    assert!(ledger.verify().unwrap().is_sound());
}

#[test]
#[ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one"]
fn a_server_that_could_lose_what_it_acknowledged_is_not_used() {
    let server = Arc::new(Server::start(&["synchronous_commit=off", "wal_writer_delay=10s"]));
    let place = Database::new(Arc::clone(&server));
    let ledger = create(&place);
    for setting in ["fsync", "full_page_writes"] {
        server.set(setting, "off");
        for opened in [DurableLedger::open, DurableLedger::create] {
            let error = opened(&place.location()).unwrap_err();
            assert!(error.is_storage() && error.to_string().contains(&format!("{setting} = off")), "{error}");
        }
        server.set(setting, "on");
    }
    // The server's own default does not count: what it acknowledged was not only in its memory.
    ledger.register(&limited("people", pure("1"))).unwrap();
    let charge = ask("people", "a", pure("0.1"));
    let charged = receipt(&ledger, &charge);
    server.kill();
    server.run();
    assert_eq!(receipt_again(&open(&place), &charge), charged);
    let mut administrator = server.administrator(&place.name);
    administrator.batch_execute("ALTER TABLE reticent_ledger.writing SET UNLOGGED").unwrap();
    let error = DurableLedger::open(&place.location()).unwrap_err();
    assert!(error.to_string().contains("its table writing is not logged"), "{error}");
}

/// The server answers a COMMIT after a failed statement with success, and rolls back.
#[test]
#[ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one"]
fn a_commit_after_a_failed_statement_is_no_success() {
    let place = database();
    drop(create(&place));
    let mut storage = Postgres::open(&place.url()).unwrap();
    let outcome = storage.write(&mut |pages| {
        let last = pages.last()?.expect("the ledger was started");
        pages.append(&Row::after(Some(&last), Event::Opened { ledger: "a".into() }), None)?;
        // The same number again; and the failure is overlooked.
        assert!(pages.append(&last, None).is_err());
        Ok(())
    });
    assert!(outcome.unwrap_err().is_storage());
    assert_eq!(suite::history(&open(&place)).len(), 1);
}

#[test]
#[ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one"]
fn a_charge_that_waits_too_long_says_why() {
    let place = database();
    let ledger = create(&place);
    ledger.register(&limited("people", pure("1"))).unwrap();
    let mut locker = place.server.administrator(&place.name);
    locker.batch_execute("BEGIN; LOCK TABLE reticent_ledger.writing IN SHARE ROW EXCLUSIVE MODE").unwrap();
    // A minute is too long for a test.
    let waiting = DurableLedger::open(&Location::Postgres(place.url() + "?options=-c%20lock_timeout%3D50")).unwrap();
    let charge = ask("people", "a", pure("0.1"));
    let error = waiting.charge(&charge, OnInterruption::Recompute).unwrap_err();
    assert_eq!(error.to_string(), "the ledger could not be written: it is locked by other processes");
    // Readers go on.
    assert_eq!(waiting.account("people").unwrap().unwrap().charges, 0);
    locker.batch_execute("ROLLBACK").unwrap();
    receipt(&waiting, &charge);
}

#[test]
#[ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one"]
fn connections_are_private_as_the_url_says() {
    let server = Arc::new(Server::start(&[]));
    server.set("ssl", "on");
    let place = Database::new(Arc::clone(&server));
    drop(create(&place));
    let url = |host: &str, options: &str| server.remote(host, &place.name) + options;
    let trusted = format!("sslrootcert={}", server.authority().display());
    // Whether a connection made with such a URL is encrypted, or why it is refused.
    let private = |url: String| -> Result<bool, String> {
        let storage = Postgres::open(&url);
        let storage = storage.inspect_err(|error| assert!(!error.to_string().contains("secret"), "{error}"));
        let _open = storage.map_err(|error| error.to_string())?;
        let look = "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
            WHERE datname = $1 AND pid <> pg_backend_pid()";
        Ok(server.administrator(&place.name).query_one(look, &[&place.name]).unwrap().get(0))
    };
    let settle = || {
        let look = "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()";
        let mut administrator = server.administrator(&place.name);
        while administrator.query_one(look, &[&place.name]).unwrap().get::<_, i64>(0) > 0 {
            std::thread::yield_now();
        }
    };
    let allowed = [
        (url("localhost", ""), true),
        (url("127.0.0.1", ""), true),
        (url("localhost", "?sslmode=disable"), false),
        (url("localhost", &format!("?sslmode=verify-full&{trusted}")), true),
        (url("localhost", &format!("?{trusted}&connect_timeout=5&sslmode=require")), true),
        (server.local(&place.name), false),
    ];
    for (url, expected) in allowed {
        assert_eq!(private(url.clone()), Ok(expected), "{url}");
        settle();
    }
    let refused = [
        (url("localhost", "?sslmode=require"), "sslrootcert=FILE"),
        (url("127.0.0.1", &format!("?sslmode=verify-full&{trusted}")), "not valid for name"),
        (url("127.0.0.1", &format!("?sslmode=prefer&{trusted}")), "not valid for name"),
        (url("localhost", "").replace("top%20secret", "not%20the%20secret"), "password authentication failed"),
    ];
    for (url, reason) in refused {
        let error = private(url.clone()).unwrap_err();
        assert!(error.contains(reason), "{url}: {error}");
        settle();
    }
    server.set("ssl", "off");
    assert_eq!(private(url("localhost", "")), Ok(false));
    let error = private(url("localhost", &format!("?sslmode=require&{trusted}"))).unwrap_err();
    assert!(error.contains("add sslmode=disable"), "{error}");
}

#[test]
#[ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one"]
fn a_ledger_of_another_version_is_left_alone() {
    let place = database();
    drop(create(&place));
    place.vandalise("UPDATE format SET version = 1");
    for opened in [DurableLedger::open, DurableLedger::create] {
        assert!(matches!(opened(&place.location()), Err(Error::NotALedger(_))));
    }
    place
        .vandalise("DROP SCHEMA reticent_ledger CASCADE; CREATE SCHEMA reticent_ledger; CREATE TABLE diary (day TEXT)");
    for opened in [DurableLedger::open, DurableLedger::create] {
        assert!(matches!(opened(&place.location()), Err(Error::NotALedger(_))));
    }
}

/// A role that may only add can do all that a ledger does, and change nothing.
#[test]
#[ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one"]
fn a_role_that_may_only_add_is_enough() {
    let place = database();
    drop(create(&place));
    let role = format!("clerk_{}", place.name);
    place.vandalise(&format!(
        "CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA reticent_ledger TO {role}; GRANT SELECT, INSERT ON entry, release TO \
         {role}; GRANT SELECT ON format TO {role}; GRANT UPDATE ON writing TO {role}"
    ));
    let url = place.url().replace("postgres@", &format!("{role}@"));
    let ledger = DurableLedger::open(&Location::Postgres(url.clone())).unwrap();
    ledger.register(&limited("people", pure("1"))).unwrap();
    let kept = receipt(&ledger, &ask("people", "a", pure("0.1")));
    ledger.keep(&kept, "17").unwrap();
    assert!(ledger.verify().unwrap().is_sound());
    let mut clerk = postgres::Client::connect(&url, postgres::NoTls).unwrap();
    for statement in ["UPDATE reticent_ledger.entry SET body = ''", "DELETE FROM reticent_ledger.release"] {
        assert!(clerk.batch_execute(statement).is_err(), "{statement}");
    }
}

/// Any role can take the advisory lock by which a process is known to be alive; that of a stranger does not count.
#[test]
#[ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one"]
fn a_stranger_does_not_keep_a_dead_process_alive() {
    let place = database();
    let role = format!("stranger_{}", place.name);
    suite::runs::a_process_that_ends_is_noticed_whoever_shares_its_lock(&place, || {
        place.server.administrator(&place.name).batch_execute(&format!("CREATE ROLE {role} LOGIN")).unwrap();
        let url = place.url().replace("postgres@", &format!("{role}@"));
        let mut stranger = postgres::Client::connect(&url, postgres::NoTls).unwrap();
        let share = "SELECT pg_advisory_lock_shared((classid::bigint << 32) | objid::bigint), 1 FROM pg_locks
            WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
        assert!(!stranger.query(share, &[]).unwrap().is_empty());
        stranger
    });
}

/// CVE-2018-1058's kind: an overload in `public` that fits a call better than the server's own.
#[test]
#[ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one"]
fn what_others_make_in_public_is_never_run() {
    for before_the_ledger in [true, false] {
        let place = database();
        let mut administrator = place.server.administrator(&place.name);
        // An index takes immutable functions only, and those cannot write.
        let volatility = if before_the_ledger { "IMMUTABLE" } else { "VOLATILE" };
        let mut plant = || {
            let role = format!("mallory_{}", place.name);
            let plant = format!(
                "CREATE ROLE {role}; GRANT CREATE ON SCHEMA public TO {role};
                 CREATE TABLE public.ran (as_role TEXT); GRANT INSERT ON public.ran TO PUBLIC; SET ROLE {role};
                 CREATE FUNCTION public.hashtextextended(TEXT, INTEGER) RETURNS BIGINT LANGUAGE plpgsql {volatility} AS
                     $$ BEGIN INSERT INTO public.ran VALUES (current_user); RETURN NULL; END $$;
                 RESET ROLE"
            );
            administrator.batch_execute(&plant).unwrap();
        };
        if before_the_ledger {
            plant();
        }
        let ledger = create(&place);
        ledger.register(&limited("people", pure("2"))).unwrap();
        receipt(&ledger, &ask("people", "a", pure("2")));
        if !before_the_ledger {
            plant();
        }
        for ledger in [ledger, open(&place)] {
            assert!(
                ledger.charge(&ask("people", "b", pure("0.1")), OnInterruption::Recompute).unwrap_err().is_overdrawn()
            );
            assert!(ledger.verify().unwrap().is_sound());
        }
        let ran = administrator.query_one("SELECT count(*) FROM public.ran", &[]).unwrap();
        assert_eq!(ran.get::<_, i64>(0), 0, "somebody else's function ran");
    }
}

#[test]
#[ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one"]
fn nothing_is_written_where_others_could_undo_it_or_run_with_its_rights() {
    let place = database();
    let ledger = create(&place);
    ledger.register(&limited("people", pure("1"))).unwrap();
    place.vandalise(
        "CREATE FUNCTION saved.forget() RETURNS TRIGGER LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
         CREATE FUNCTION saved.likes(TEXT) RETURNS BOOLEAN LANGUAGE sql IMMUTABLE AS 'SELECT true';
         CREATE OPERATOR saved.~~~ (LEFTARG = TEXT, RIGHTARG = TEXT, FUNCTION = pg_catalog.texteq)",
    );
    let role = format!("mallory_{}", place.name);
    place.vandalise(&format!("CREATE ROLE {role}"));
    let planted = [
        (
            "CREATE TRIGGER forget BEFORE INSERT ON entry FOR EACH ROW EXECUTE FUNCTION saved.forget()",
            "DROP TRIGGER forget ON entry",
            "the trigger \"forget\" does not belong to the ledger".to_owned(),
        ),
        (
            "CREATE RULE forget AS ON INSERT TO release DO INSTEAD NOTHING",
            "DROP RULE forget ON release",
            "the rule \"forget\" does not belong to the ledger".to_owned(),
        ),
        (
            "ALTER TABLE entry ENABLE ROW LEVEL SECURITY",
            "ALTER TABLE entry DISABLE ROW LEVEL SECURITY",
            "the table \"entry\" has row-level security".to_owned(),
        ),
        (
            "ALTER TABLE release ADD CONSTRAINT liked CHECK (saved.likes(text))",
            "ALTER TABLE release DROP CONSTRAINT liked",
            "it uses the function saved.likes(text), which is not the server's own".to_owned(),
        ),
        (
            "CREATE INDEX liked ON entry ((body OPERATOR(saved.~~~) hash))",
            "DROP INDEX liked",
            "it uses the operator saved.~~~(text,text), which is not the server's own".to_owned(),
        ),
        (
            "GRANT CREATE ON SCHEMA reticent_ledger TO PUBLIC",
            "REVOKE CREATE ON SCHEMA reticent_ledger FROM PUBLIC",
            "others may create objects in its schema; REVOKE CREATE ON SCHEMA reticent_ledger FROM PUBLIC".to_owned(),
        ),
        (
            &format!("ALTER TABLE writing OWNER TO {role}"),
            "ALTER TABLE writing OWNER TO postgres",
            format!("the table \"writing\" belongs to \"{role}\", not to the owner of its schema"),
        ),
    ];
    for (number, (plant, remove, found)) in planted.into_iter().enumerate() {
        place.vandalise(plant);
        let charge = ask("people", &number.to_string(), pure("0.1"));
        assert_eq!(
            ledger.charge(&charge, OnInterruption::Recompute).unwrap_err(),
            Error::Damaged(found.clone()),
            "{plant}"
        );
        let findings: Vec<_> = ledger.verify().unwrap().findings.iter().map(ToString::to_string).collect();
        assert_eq!(findings, [format!("the file is damaged: {found}")], "{plant}");
        place.vandalise(remove);
        receipt(&ledger, &charge);
    }
    assert!(ledger.verify().unwrap().is_sound());
}

/// A role that may create schemas could create this one first: with tables whose rows it deletes again, or with views
/// that run as the ledger's role when they are read.
#[test]
#[ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one"]
fn a_schema_that_somebody_else_made_is_not_used() {
    for squatted in [
        "CREATE SCHEMA reticent_ledger; GRANT ALL ON SCHEMA reticent_ledger TO PUBLIC;
         CREATE FUNCTION reticent_ledger.ran() RETURNS INTEGER LANGUAGE plpgsql AS
             $$ BEGIN INSERT INTO public.ran VALUES (current_user); RETURN 2; END $$;
         CREATE VIEW reticent_ledger.format AS SELECT reticent_ledger.ran() AS version;
         GRANT ALL ON reticent_ledger.format TO PUBLIC",
        "CREATE SCHEMA reticent_ledger",
    ] {
        let place = database();
        let (eve, clerk) = (format!("eve_{}", place.name), format!("clerk_{}", place.name));
        let mut administrator = place.server.administrator(&place.name);
        let squat = format!(
            "CREATE TABLE public.ran (as_role TEXT); GRANT INSERT ON public.ran TO PUBLIC;
             CREATE ROLE {eve}; GRANT CREATE ON DATABASE {name} TO {eve};
             CREATE ROLE {clerk} LOGIN; GRANT CREATE ON DATABASE {name} TO {clerk};
             SET ROLE {eve}; {squatted}; RESET ROLE",
            name = place.name
        );
        administrator.batch_execute(&squat).unwrap();
        let as_clerk = Location::Postgres(place.url().replace("postgres@", &format!("{clerk}@")));
        for location in [&place.location(), &as_clerk] {
            for opened in [DurableLedger::create(location), DurableLedger::open(location)] {
                let error = opened.unwrap_err().to_string();
                assert!(error.contains(&format!("belongs to \"{eve}\"")), "{error}");
            }
        }
        let ran = administrator.query_one("SELECT count(*) FROM public.ran", &[]).unwrap();
        assert_eq!(ran.get::<_, i64>(0), 0, "somebody else's function ran");
        // Its owner may be the one who owns the database; and the role that created a ledger may use it.
        administrator.batch_execute("DROP SCHEMA reticent_ledger CASCADE").unwrap();
        drop(DurableLedger::create(&as_clerk).unwrap());
        drop(DurableLedger::open(&as_clerk).unwrap());
    }
}

/// Made by the program and `pg_dump`. A change of the format must raise its version and add a fixture; this one stays as it is, and must still
/// open, or be refused with the text that `docs/formats.md` tells.
#[test]
#[ignore = "needs a PostgreSQL server: cargo xtask test installs and starts one"]
fn a_ledger_of_version_2_says_what_it_said_and_other_versions_are_refused() {
    let place = database();
    place.server.administrator(&place.name).batch_execute(include_str!("fixtures/postgres-2.sql")).unwrap();
    let ledger = open(&place);
    let verdict = ledger.verify().unwrap();
    assert!(verdict.is_sound() && verdict.entries == 4, "{verdict:?}");
    let (charge, _) = ledger.request("people", "monday").unwrap().unwrap();
    assert!(
        matches!(ledger.charge(&charge, OnInterruption::Recompute).unwrap(), ChargeOutcome::AlreadyAnswered(text) if text.starts_with("{\"answer\":"))
    );
    drop(ledger);
    for version in [1, 5] {
        place.vandalise(&format!("UPDATE format SET version = {version}"));
        let refused = DurableLedger::open(&place.location()).expect_err("it is of another version");
        assert!(matches!(refused, Error::NotALedger(_)), "{refused}");
    }
}
