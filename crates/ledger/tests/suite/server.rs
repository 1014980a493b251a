//! A PostgreSQL server of the tests' own, in a temporary folder.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use postgres::{Client, Config, NoTls};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// The administrator's password over the network, with what a URL must escape.
pub const PASSWORD: &str = "top%20secret";
const PASSWORD_IN_THE_CLEAR: &str = "top secret";
/// A server that has not started after this many tries of 20 ms does not start at all.
const TRIES: u32 = 3000;

/// A server; stopped and removed when dropped, or when the tests end.
pub struct Server {
    programs: PathBuf,
    folder: TempDir,
    port: u16,
    /// Settings beyond the defaults.
    settings: Vec<&'static str>,
    postmaster: Mutex<Option<Child>>,
    databases: AtomicU64,
    /// Stops the server and removes the folder when this process ends, however it ends.
    _guardian: Child,
}

impl Server {
    /// The server that all tests share.
    pub fn shared() -> Arc<Self> {
        static SHARED: OnceLock<Arc<Server>> = OnceLock::new();
        Arc::clone(SHARED.get_or_init(|| Arc::new(Self::start(&[]))))
    }

    /// A test's own server.
    pub fn start(settings: &[&'static str]) -> Self {
        let programs = programs().expect("initdb and postgres are in PATH or /usr/lib/postgresql/*/bin");
        let folder = tempfile::Builder::new().prefix("reticent-pg-").tempdir().unwrap();
        // The system's temporary folder may be private to its owner further down.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        // Its standard input ends when this process does.
        let guard = "cat; read process < data/postmaster.pid && kill -QUIT $process && \
                     while kill -0 $process; do sleep 0.05; done; rm -rf \"$PWD\"";
        let mut guardian = Command::new("sh");
        guardian.args(["-c", guard]).current_dir(folder.path()).stdin(Stdio::piped());
        let _guardian = guardian.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let (postmaster, databases) = (Mutex::new(None), AtomicU64::new(0));
        let server = Self { programs, folder, port, settings: settings.to_vec(), postmaster, databases, _guardian };
        server.initialise();
        server.run();
        server
    }

    /// The certificate of the authority that signed the server's, which is for `localhost`.
    pub fn authority(&self) -> PathBuf {
        self.path("authority.pem")
    }

    /// A new, empty database; its name.
    pub fn database(&self) -> String {
        let name = format!("ledger_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.administrator("postgres").batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
        name
    }

    /// A copy of a database; its name.
    pub fn copy(&self, of: &str) -> String {
        let name = format!("copy_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let mut administrator = self.administrator("postgres");
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1";
        // Open connections prevent it, and take a moment to close.
        for _ in 0..TRIES {
            administrator.execute(end, &[&of]).unwrap();
            if administrator.batch_execute(&format!("CREATE DATABASE {name} TEMPLATE {of}")).is_ok() {
                return name;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("{of} could not be copied");
    }

    /// A database by the server's socket.
    pub fn local(&self, database: &str) -> String {
        let folder = self.folder.path().to_str().unwrap().replace('/', "%2F");
        format!("postgres://postgres@{folder}:{}/{database}", self.port)
    }

    /// A database over the network.
    pub fn remote(&self, host: &str, database: &str) -> String {
        format!("postgres://postgres:{PASSWORD}@{host}:{}/{database}", self.port)
    }

    /// Leave to do anything.
    pub fn administrator(&self, database: &str) -> Client {
        self.configuration(database).connect(NoTls).unwrap()
    }

    /// Changes a setting while the server runs, and returns when new connections see it.
    pub fn set(&self, setting: &str, value: &str) {
        let mut administrator = self.administrator("postgres");
        administrator.batch_execute(&format!("ALTER SYSTEM SET {setting} = {value}")).unwrap();
        administrator.batch_execute("SELECT pg_reload_conf()").unwrap();
        for _ in 0..TRIES {
            let row = self.administrator("postgres").query_one("SELECT current_setting($1)", &[&setting]).unwrap();
            if row.get::<_, &str>(0) == value {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("{setting} did not change");
    }

    /// Starts it and waits until it answers.
    pub fn run(&self) {
        let mut command = self.command("postgres");
        command.arg("-D").arg(self.path("data")).arg("-k").arg(self.folder.path());
        command.args(["-p", &self.port.to_string(), "-h", "127.0.0.1", "-c", "max_connections=300"]);
        for (setting, file) in [("ssl_cert_file", "server.pem"), ("ssl_key_file", "server.key")] {
            command.args(["-c", &format!("{setting}={}", self.path(file).display())]);
        }
        if self.version() >= 14 {
            // After a crash all files are synced, at once instead of one by one.
            command.args(["-c", "recovery_init_sync_method=syncfs"]);
        }
        command.args(self.settings.iter().flat_map(|setting| ["-c", setting]));
        let log = fs::OpenOptions::new().create(true).append(true).open(self.path("log")).unwrap();
        *self.lock() = Some(command.stdout(Stdio::null()).stderr(log).spawn().unwrap());
        for _ in 0..TRIES {
            if self.configuration("postgres").connect(NoTls).is_ok() {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("the server does not start:\n{}", fs::read_to_string(self.path("log")).unwrap_or_default());
    }

    /// Kills the server and all its processes at once, as if the power went off for them.
    pub fn kill(&self) {
        let mut postmaster = self.lock().take().expect("it runs");
        let id = Pid::from_child(&postmaster);
        // Stopped first, so that it starts no more of them.
        kill_process(id, Signal::STOP).unwrap();
        let processes = children(postmaster.id());
        kill_process(id, Signal::KILL).unwrap();
        for process in &processes {
            // One may have ended by itself.
            kill_process(*process, Signal::KILL).ok();
        }
        postmaster.wait().unwrap();
        while processes.iter().any(|process| is_running(*process)) {
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn initialise(&self) {
        self.make_certificates();
        let password = self.path("password");
        fs::write(&password, PASSWORD_IN_THE_CLEAR).unwrap();
        if is_root() {
            let given = Command::new("chown").arg("-R").arg("postgres").arg(self.folder.path()).status();
            assert!(given.unwrap().success(), "there is a user postgres");
        }
        let mut command = self.command("initdb");
        command.arg("-D").arg(self.path("data")).args(["-U", "postgres", "-E", "UTF8", "--no-locale", "--no-sync"]);
        command.args(["--auth-local=trust", "--auth-host=scram-sha-256", "--pwfile"]).arg(&password);
        let made = command.output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }

    /// An authority, and a certificate of it for `localhost` alone.
    fn make_certificates(&self) {
        let openssl = |arguments: &str| {
            let mut command = Command::new("openssl");
            let output = command.args(arguments.split(' ')).current_dir(self.folder.path()).output().unwrap();
            assert!(output.status.success(), "openssl {arguments}: {}", String::from_utf8_lossy(&output.stderr));
        };
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
        openssl(&format!("req -x509 {key} -keyout authority.key -out authority.pem -days 2 -subj /CN=authority"));
        openssl(&format!("req -new {key} -keyout server.key -out server.csr -subj /CN=localhost"));
        fs::write(self.path("extensions"), "subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n").unwrap();
        openssl(
            "x509 -req -in server.csr -CA authority.pem -CAkey authority.key -CAcreateserial -days 2 -extfile extensions -out \
             server.pem",
        );
        fs::set_permissions(self.path("server.key"), fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// A program of the server, as a user that it agrees to run as; the child is the program itself.
    fn command(&self, program: &str) -> Command {
        let program = self.programs.join(program);
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command.current_dir("/").env("LC_ALL", "C").stdin(Stdio::null());
        command
    }

    /// `postgres (PostgreSQL) 15.8 (Debian 15.8-0+deb12u1)` is 15.
    fn version(&self) -> u32 {
        let output = self.command("postgres").arg("--version").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let digits =
            text.split(' ').nth(2).unwrap_or_default().split(|character: char| !character.is_ascii_digit()).next();
        digits.and_then(|digits| digits.parse().ok()).unwrap_or_else(|| panic!("no version: {text}"))
    }

    fn configuration(&self, database: &str) -> Config {
        let mut configuration = Config::new();
        configuration.host_path(self.folder.path()).port(self.port).user("postgres").dbname(database);
        configuration
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Child>> {
        self.postmaster.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.lock().is_some() {
            self.kill();
        }
    }
}

fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

/// Where the server's programs are.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let packages = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let packages = packages.map(|version| version.path().join("bin"));
    let complete = |folder: &PathBuf| ["initdb", "postgres"].iter().all(|program| folder.join(program).is_file());
    std::env::split_paths(&path).chain(packages).find(complete)
}

/// The processes that one has started.
fn children(parent: u32) -> Vec<Pid> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let ids = processes.filter_map(|process| process.file_name().to_str()?.parse().ok().and_then(Pid::from_raw));
    ids.filter(|id| status(*id).is_some_and(|(_, of)| of == parent)).collect()
}

/// Dead ones that nobody has asked after do not run.
fn is_running(process: Pid) -> bool {
    status(process).is_some_and(|(state, _)| state != "Z")
}

/// A process's state and parent. Its name, in brackets, can hold anything.
fn status(process: Pid) -> Option<(String, u32)> {
    let file = Path::new("/proc").join(process.as_raw_nonzero().to_string()).join("stat");
    let text = fs::read_to_string(file).ok()?;
    let mut words = text.rsplit_once(')')?.1.split_whitespace();
    Some((words.next()?.into(), words.next()?.parse().ok()?))
}
