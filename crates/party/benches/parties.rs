//! How long many parties take on one machine: each is its own process, with a ledger, TLS to all others, and a thousand
//! counters. Prints one JSON object per size.
//!
//! `cargo bench -p reticent-party --bench parties -- [PARTIES]…`

use std::error::Error;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Instant;

use reticent::privacy::Adjacency;
use reticent_ledger::{Budget, Dataset, DurableLedger, Location, Terms};
use reticent_party::{Config, PrivateKey, Statistic, Task, Transcript, run};

const CELLS: usize = 1000;
/// The default numbers of parties.
const SIZES: [usize; 3] = [3, 20, 50];
/// A child's first argument.
const CHILD: &str = "--party";

struct Thousand;

impl Statistic for Thousand {
    fn check(&self, _: &Task) -> reticent_party::Result<()> {
        Ok(())
    }

    fn exact(&mut self, task: &Task, _: [u8; 32]) -> Result<Vec<i64>, String> {
        Ok((0..task.cells().len() as i64).collect())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let [flag, config] = &arguments[..]
        && flag == CHILD
    {
        let config = Config::read(Path::new(config))?;
        run(&config, &Task::read(&config.task)?, &mut Thousand)?;
        return Ok(());
    }
    let sizes: Result<Vec<usize>, _> = arguments.iter().map(|argument| argument.parse()).collect();
    let sizes = sizes.map_err(|_| "usage: party_bench [PARTIES]…")?;
    for parties in if sizes.is_empty() { SIZES.to_vec() } else { sizes } {
        measure(parties)?;
    }
    Ok(())
}

fn measure(parties: usize) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    prepare(folder.path(), parties)?;
    let program = std::env::current_exe()?;
    let started = Instant::now();
    let child = |place| Command::new(&program).arg(CHILD).arg(folder.path().join(format!("{place}.toml"))).spawn();
    let children: Vec<Child> = (0..parties).map(child).collect::<Result<_, _>>()?;
    for mut child in children {
        if !child.wait()?.success() {
            return Err("a party failed".into());
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    let transcript = folder.path().join("0.json");
    let bytes = fs::metadata(&transcript)?.len();
    let started = Instant::now();
    let verdict = Transcript::read(&transcript)?.verify(None);
    if !verdict.is_sound() {
        return Err(verdict.findings.join("; ").into());
    }
    let verified = started.elapsed().as_secs_f64();
    println!(
        "{{\"task\":\"{parties} parties\",\"cells\":{CELLS},\"seconds\":{seconds:.3},\"verify_seconds\":{verified:.3},\
         \"transcript_bytes\":{bytes}}}"
    );
    Ok(())
}

/// Keys, ledgers, configurations and the task.
fn prepare(folder: &Path, parties: usize) -> Result<(), Box<dyn Error>> {
    let cells: Vec<String> = (0..CELLS).map(|cell| format!("\"{cell}\"")).collect();
    let mut task = format!(
        "title = \"Bench\"\nsession = \"1\"\nprotocol = \"masked\"\ncolluders = {}\nepsilon = 1\nunit = \"row\"\n\
         adjacency = \"add-remove\"\nsql = \"SELECT COUNT(*) FROM t\"\nbound = 1000000\nsensitivity = 1\ncells = [{}]\n",
        parties / 3,
        cells.join(","),
    );
    // All ports are held until all are known, so that they differ; the children bind them again.
    let listeners: Vec<TcpListener> =
        (0..parties).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<_, _>>()?;
    for (place, listener) in listeners.iter().enumerate() {
        let (key, address) = (PrivateKey::create(&folder.join(format!("{place}.key")))?, listener.local_addr()?);
        task += &format!("[[party]]\nname = \"p{place}\"\nkey = \"{key}\"\naddress = \"{address}\"\n");
        let ledger = DurableLedger::create(&Location::File(folder.join(format!("{place}.sqlite"))))?;
        let terms = Some(Terms { unit: "row".into(), adjacency: Adjacency::AddRemove });
        ledger.register(&Dataset { name: "t".into(), budget: Budget::Unlimited, terms })?;
        let config = format!(
            "task = \"task.toml\"\nparty = \"p{place}\"\nkey = \"{place}.key\"\nledger = \"{place}.sqlite\"\n\
             dataset = \"t\"\nstate = \"{place}.state\"\ntranscript = \"{place}.json\"\n"
        );
        fs::write(folder.join(format!("{place}.toml")), config)?;
    }
    fs::write(folder.join("task.toml"), task)?;
    Ok(())
}
