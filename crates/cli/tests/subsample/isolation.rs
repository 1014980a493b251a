//! What a run sees of the system, and what it leaves behind.

use super::*;

/// The limits, as the command itself reports them.
fn isolation(folder: &Path) -> String {
    let output = ask_script(folder, "--epsilon 1 --delta 1e-8 --dry-run --format json", "exit 0");
    let dry: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    dry["isolation"].as_str().expect("a word").into()
}

#[test]
fn every_run_has_an_empty_directory_that_goes_with_it() {
    let folder = directory("scratch");
    let script = "ls -A | wc -l | tr -d ' '; touch left behind; mkdir -p deep/er; echo x > deep/er/file";
    assert_eq!(most_say(&folder, "", script).as_deref(), Some("0"));
    let script = "[ \"$HOME\" = \"$(pwd -P)\" ] && [ \"$TMPDIR\" = \"$HOME\" ] && echo same";
    assert_eq!(most_say(&folder, "", script).as_deref(), Some("same"));
    assert_eq!(std::fs::read_dir(folder.join("scratch")).expect("there").count(), 0);
}

#[test]
fn the_environment_is_fixed() {
    let folder = directory("environment");
    let names = "env | cut -d= -f1 | grep -v -x -e PWD -e OLDPWD -e SHLVL -e _ | sort | tr '\\n' ' '";
    assert_eq!(most_say(&folder, "", names).as_deref(), Some("HOME LANG LC_ALL PATH TMPDIR TZ"));
    let values = "echo $PATH $LANG $LC_ALL $TZ";
    assert_eq!(most_say(&folder, "", values).as_deref(), Some("/usr/local/bin:/usr/bin:/bin C C UTC"));
    // It has neither the table nor the ledger open.
    if Path::new("/proc/self/fd").exists() {
        let open = "ls -l /proc/self/fd | grep -c -e people.csv -e sqlite; true";
        assert_eq!(most_say(&folder, "", open).as_deref(), Some("0"));
    }
}

#[test]
fn a_run_has_no_network_where_the_system_allows_that() {
    let folder = directory("network");
    let isolation = isolation(&folder);
    if !["full", "network"].contains(&isolation.as_str()) {
        eprintln!("SKIPPED: the system does not allow a namespace");
        return;
    }
    let ours = std::fs::read_link("/proc/self/ns/net").expect("a namespace").display().to_string();
    let script = format!("[ \"$(readlink /proc/self/ns/net)\" != '{ours}' ] && tail -n +3 /proc/net/dev | cut -d: -f1");
    assert_eq!(most_say(&folder, "", &script).as_deref(), Some("lo"));
}

#[test]
fn a_run_sees_its_own_processes_only_and_none_outlives_it() {
    let folder = directory("processes");
    if isolation(&folder) != "full" {
        eprintln!("SKIPPED: the system does not allow a namespace");
        return;
    }
    // The shell that sets the limits, the shell that runs this, and the command it is running.
    let script = "ls -d /proc/[0-9]* | wc -l | awk '{print ($1 <= 5 ? \"few\" : \"many\")}'";
    assert_eq!(most_say(&folder, "", script).as_deref(), Some("few"));
    // Out of the group, and so out of reach of a signal to it.
    let marker = format!("98765.{}", std::process::id());
    let script = format!("setsid sleep {marker} >/dev/null 2>&1 </dev/null & echo left");
    assert_eq!(most_say(&folder, "", &script).as_deref(), Some("left"));
    let processes = std::fs::read_dir("/proc").expect("there").filter_map(Result::ok);
    let running = |entry: &std::fs::DirEntry| std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
    let left = processes.filter(|entry| memchr::memmem::find(&running(entry), marker.as_bytes()).is_some()).count();
    assert_eq!(left, 0);
}

/// A real file with a real first line, found by a path from here.
#[test]
fn programs_are_files_that_can_be_run() {
    let folder = directory("program");
    std::fs::write(folder.join("people.csv"), people(60)).expect("written");
    // Written by another process: no descriptor of ours keeps it from being run.
    let script = "#!/bin/sh\necho \"$1 of $(basename \"$0\")\"\n";
    let path = folder.join("my statistic");
    let writer = "printf '%s' \"$1\" > \"$0\" && chmod +x \"$0\"";
    let status = Command::new("/bin/sh").arg("-c").arg(writer).arg(&path).arg(script).status().expect("it runs");
    assert!(status.success());
    let mut arguments = vec!["people.csv", "--program", "./my statistic"];
    arguments.extend(ALMOST_EXACT.split_whitespace().chain(UNHURRIED.split_whitespace()));
    arguments.extend(["--", "part two"]);
    let output = command(&folder, &arguments).current_dir(&folder).output().expect("it runs");
    assert_eq!(answered(&output).as_deref(), Some("part two of my statistic"));
}
