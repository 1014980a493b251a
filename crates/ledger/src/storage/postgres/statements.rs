//! The SQL that is sent to the server.
//!
//! Every table and function is qualified, and every argument has a type: nothing that other roles create is ever run.

/// Names can be too long for an ordered index, so they are indexed by hash. Two names are joined by a line feed, which
/// no name contains.
pub const SCHEMA: &str = "
    CREATE SCHEMA reticent_ledger;
    CREATE TABLE reticent_ledger.entry (
        number BIGINT PRIMARY KEY,
        body TEXT NOT NULL,
        hash TEXT NOT NULL,
        registered TEXT,
        dataset TEXT,
        request TEXT,
        terms TEXT,
        charge BIGINT UNIQUE,
        CONSTRAINT entry_registered EXCLUDE USING hash (registered WITH =) WHERE (registered IS NOT NULL),
        CONSTRAINT entry_request EXCLUDE USING hash ((dataset || E'\\n' || request) WITH =) WHERE (dataset IS NOT NULL)
    );
    CREATE INDEX entry_terms ON reticent_ledger.entry
        (pg_catalog.hashtextextended(dataset, 0::bigint), pg_catalog.hashtextextended(terms, 0::bigint), number)
        WHERE dataset IS NOT NULL;
    CREATE INDEX entry_registrations ON reticent_ledger.entry (number) WHERE registered IS NOT NULL;
    CREATE TABLE reticent_ledger.release (
        number BIGINT PRIMARY KEY REFERENCES reticent_ledger.entry (number),
        text TEXT NOT NULL
    );
    CREATE TABLE reticent_ledger.writing ();
    CREATE TABLE reticent_ledger.format (version INTEGER NOT NULL);
    INSERT INTO reticent_ledger.format VALUES (4);
";

/// Every wait has a limit, unless the URL or the server sets another one. A plan made while the ledger was small must
/// still be good when it is large.
pub const SESSION: &str = "
    SET search_path = pg_catalog, pg_temp;
    SELECT pg_catalog.set_config('lock_timeout', '60s', false)
        WHERE pg_catalog.current_setting('lock_timeout') = '0';
    SELECT pg_catalog.set_config('statement_timeout', '300s', false)
        WHERE pg_catalog.current_setting('statement_timeout') = '0';
    SET enable_seqscan = off;
    SET plan_cache_mode = force_generic_plan;
";

/// Set in each transaction, so that a connection pooler cannot lose it. A writer that vanishes loses its lock. The last
/// lock prevents adding a trigger, a rule or a policy before the transaction ends.
pub const WRITE: &str = "
    BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
    SET LOCAL search_path = pg_catalog, pg_temp;
    SET LOCAL row_security = off;
    SET LOCAL synchronous_commit = on;
    SET LOCAL idle_in_transaction_session_timeout = '60s';
    LOCK TABLE reticent_ledger.writing IN SHARE ROW EXCLUSIVE MODE;
    LOCK TABLE reticent_ledger.entry, reticent_ledger.release IN ROW EXCLUSIVE MODE;
";
/// With `row_security` off, a read that a policy would filter fails instead.
pub const READ: &str = "
    BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
    SET LOCAL search_path = pg_catalog, pg_temp;
    SET LOCAL row_security = off;
";

/// Holds a lock as long as the transaction is open, which nothing else is done in. A lock of the session could survive
/// its process in a connection pooler. It is shared, so that it can be taken again while the server has not noticed yet
/// that an earlier connection is gone.
pub const HOLD: &str = "
    BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY;
    SET LOCAL search_path = pg_catalog, pg_temp;
    SET LOCAL idle_in_transaction_session_timeout = 0;
    SELECT pg_catalog.set_config('transaction_timeout', '0', true)
        WHERE pg_catalog.current_setting('transaction_timeout', true) IS NOT NULL;
";
/// A standby does not know the locks of its primary server. Any role can take an advisory lock; those of roles that
/// cannot write to the ledger do not count.
pub const HELD: &str = "
    SELECT pg_catalog.pg_is_in_recovery() OR EXISTS (
        SELECT FROM pg_catalog.pg_locks AS l JOIN pg_catalog.pg_database AS d ON d.oid = l.database
            JOIN pg_catalog.pg_stat_activity AS a ON a.pid = l.pid
        WHERE l.locktype = 'advisory' AND l.granted AND d.datname = pg_catalog.current_database() AND l.objsubid = 1
            AND (l.classid::bigint << 32) | l.objid::bigint = $1::bigint
            AND pg_catalog.has_table_privilege(a.usesysid, 'reticent_ledger.entry', 'INSERT'))";

macro_rules! rows {
    ($condition:literal) => {
        concat!(
            "SELECT number, body, hash, registered, dataset, request, terms, charge FROM reticent_ledger.entry ",
            $condition
        )
    };
}

pub const LAST: &str = rows!("ORDER BY number DESC LIMIT 1");
pub const ROW: &str = rows!("WHERE number = $1::bigint");
pub const ROWS: &str = rows!("WHERE number > $1::bigint ORDER BY number LIMIT $2::bigint");
pub const REGISTRATION: &str = rows!("WHERE registered = $1::text");
pub const REGISTRATIONS: &str = rows!("WHERE registered IS NOT NULL ORDER BY number");
pub const CHARGE: &str =
    rows!("WHERE dataset IS NOT NULL AND dataset || E'\\n' || request = $1::text || E'\\n' || $2::text");
pub const LAST_CHARGE: &str = rows!(
    "WHERE pg_catalog.hashtextextended(dataset, 0::bigint) = pg_catalog.hashtextextended($1::text, 0::bigint)
     AND pg_catalog.hashtextextended(terms, 0::bigint) = pg_catalog.hashtextextended($2::text, 0::bigint)
     AND dataset = $1::text AND terms = $2::text ORDER BY number DESC LIMIT 1"
);
/// Skips from one set of terms to the next by index: a dataset has few of these, but many charges.
pub const LAST_CHARGES: &str = rows!(
    "WHERE number IN (
        WITH RECURSIVE charged (terms) AS (
            (SELECT pg_catalog.hashtextextended(e.terms, 0::bigint) FROM reticent_ledger.entry AS e
             WHERE pg_catalog.hashtextextended(e.dataset, 0::bigint) = pg_catalog.hashtextextended($1::text, 0::bigint)
             AND e.dataset = $1::text ORDER BY 1 LIMIT 1)
            UNION ALL SELECT
                (SELECT pg_catalog.hashtextextended(e.terms, 0::bigint) FROM reticent_ledger.entry AS e
                 WHERE pg_catalog.hashtextextended(e.dataset, 0::bigint) = pg_catalog.hashtextextended($1::text, 0::bigint)
                 AND e.dataset = $1::text AND pg_catalog.hashtextextended(e.terms, 0::bigint) > charged.terms
                 ORDER BY 1 LIMIT 1)
                FROM charged WHERE charged.terms IS NOT NULL
        )
        SELECT (SELECT e.number FROM reticent_ledger.entry AS e
                WHERE pg_catalog.hashtextextended(e.dataset, 0::bigint) = pg_catalog.hashtextextended($1::text, 0::bigint)
                AND pg_catalog.hashtextextended(e.terms, 0::bigint) = charged.terms AND e.dataset = $1::text
                ORDER BY e.number DESC LIMIT 1)
        FROM charged
     ) ORDER BY number"
);
pub const RELEASED: &str = rows!("WHERE charge = $1::bigint");
pub const RELEASE: &str = "SELECT text FROM reticent_ledger.release WHERE number = $1::bigint";
pub const APPEND: &str =
    "INSERT INTO reticent_ledger.entry (number, body, hash, registered, dataset, request, terms, charge)
    VALUES ($1::bigint, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text, $8::bigint)";
pub const KEEP: &str = "INSERT INTO reticent_ledger.release (number, text) VALUES ($1::bigint, $2::text)";

/// The schema's owner, if it is not trusted, as an error text.
pub const STRANGER: &str = "
    SELECT 'its schema reticent_ledger belongs to \"' || r.rolname || '\", which is neither a superuser nor the owner of the database '
        || 'nor the connecting role, and could change entries; use another database, or give the schema to the database''s owner'
    FROM pg_catalog.pg_namespace AS n JOIN pg_catalog.pg_roles AS r ON r.oid = n.nspowner
    WHERE n.nspname = 'reticent_ledger' AND NOT r.rolsuper AND r.rolname <> current_user
        AND r.oid <> (SELECT datdba FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())";

/// Anything that could change what is written or read, or run with the ledger's rights, as error texts. The server
/// records no dependencies on its own functions and operators, so each recorded one is on someone else's.
pub const FOREIGN: &str = "
    WITH own AS (
        SELECT c.oid, c.relname, c.relowner, c.relrowsecurity, n.nspowner
        FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname = 'reticent_ledger'
    ), part (class, object) AS (
        SELECT 'pg_catalog.pg_class'::regclass, oid FROM own
        UNION ALL SELECT 'pg_catalog.pg_constraint'::regclass, oid FROM pg_catalog.pg_constraint
            WHERE conrelid IN (SELECT oid FROM own)
        UNION ALL SELECT 'pg_catalog.pg_attrdef'::regclass, oid FROM pg_catalog.pg_attrdef
            WHERE adrelid IN (SELECT oid FROM own)
    )
    SELECT 'the trigger \"' || t.tgname || '\" does not belong to the ledger'
        FROM pg_catalog.pg_trigger AS t JOIN own ON own.oid = t.tgrelid WHERE NOT t.tgisinternal
    UNION ALL SELECT 'the rule \"' || r.rulename || '\" does not belong to the ledger'
        FROM pg_catalog.pg_rewrite AS r JOIN own ON own.oid = r.ev_class
    UNION ALL SELECT 'the table \"' || own.relname || '\" has row-level security' FROM own WHERE own.relrowsecurity
    UNION ALL SELECT 'the table \"' || own.relname || '\" belongs to \"' || pg_catalog.pg_get_userbyid(own.relowner)
        || '\", not to the owner of its schema' FROM own WHERE own.relowner <> own.nspowner
    UNION ALL SELECT 'it uses the ' || pg_catalog.pg_describe_object(d.refclassid, d.refobjid, 0)
        || ', which is not the server''s own'
        FROM pg_catalog.pg_depend AS d JOIN part ON part.class = d.classid AND part.object = d.objid
        WHERE d.refclassid IN ('pg_catalog.pg_proc'::regclass, 'pg_catalog.pg_operator'::regclass)
    UNION ALL SELECT 'others may create objects in its schema; REVOKE CREATE ON SCHEMA reticent_ledger FROM '
        || CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE pg_catalog.pg_get_userbyid(a.grantee)::text END
        FROM pg_catalog.pg_namespace AS n, pg_catalog.aclexplode(n.nspacl) AS a
        WHERE n.nspname = 'reticent_ledger' AND a.privilege_type = 'CREATE' AND a.grantee <> n.nspowner
    ORDER BY 1 LIMIT 100";
