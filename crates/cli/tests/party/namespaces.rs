//! A party that is cut off, or slow, on its own network. Needs root, `ip` and `tc`; run by `cargo xtask test`.

use std::process::Command;

use super::hospitals::{Hospitals, Running, truth, visits};

/// One namespace per party, and one for the switch between them; this machine's own network is not touched.
struct Network {
    name: String,
    parties: usize,
}

fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split_whitespace()).status().expect("ip starts");
    assert!(status.success(), "ip {arguments}");
}

impl Network {
    fn new(name: &str, parties: usize) -> Self {
        // Several runs of the tests must not share one.
        let network = Self { name: format!("rt{}{name}", std::process::id()), parties };
        let switch = network.switch();
        ip(&format!("netns add {switch}"));
        ip(&format!("-n {switch} link add name sw0 type bridge"));
        ip(&format!("-n {switch} link set sw0 up"));
        for place in 0..parties {
            let own = network.of(place);
            ip(&format!("netns add {own}"));
            ip(&format!("-n {switch} link add name port{place} type veth peer name eth0 netns {own}"));
            ip(&format!("-n {switch} link set port{place} master sw0 up"));
            ip(&format!("-n {own} addr add 10.99.0.{}/24 dev eth0", place + 1));
            ip(&format!("-n {own} link set lo up"));
            ip(&format!("-n {own} link set eth0 up"));
        }
        network
    }

    fn switch(&self) -> String {
        format!("{}sw", self.name)
    }

    fn of(&self, place: usize) -> String {
        format!("{}p{place}", self.name)
    }

    fn addresses(&self) -> Vec<String> {
        (0..self.parties).map(|place| format!("10.99.0.{}:7001", place + 1)).collect()
    }

    fn start(&self, hospitals: &Hospitals, place: usize) -> Running {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.of(place), env!("CARGO_BIN_EXE_reticent")]);
        hospitals.at_home(&mut command);
        hospitals.start_with(&hospitals.names[place], command)
    }

    fn start_all(&self, hospitals: &Hospitals) -> Vec<Running> {
        (0..self.parties).map(|place| self.start(hospitals, place)).collect()
    }

    /// Cuts off a party.
    fn cut(&self, place: usize) {
        ip(&format!("-n {} link set port{place} down", self.switch()));
    }

    /// Makes a party's connection as slow as an old modem.
    fn slow(&self, place: usize) {
        let line = format!("-n {} qdisc add dev eth0 root tbf rate 64kbit burst 4kb latency 800ms", self.of(place));
        let status = Command::new("tc").args(line.split_whitespace()).status().expect("tc starts");
        assert!(status.success(), "tc {line}");
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for place in 0..self.parties {
            let _ = Command::new("ip").args(["netns", "del", &self.of(place)]).status();
        }
        let _ = Command::new("ip").args(["netns", "del", &self.switch()]).status();
    }
}

#[test]
#[ignore = "needs root, and makes networks"]
fn namespaces_with_a_slow_party_release_one_answer() {
    let network = Network::new("s", 3);
    let hospitals = Hospitals::at("slow", network.addresses());
    hospitals.agree_on_wards();
    network.slow(2);
    for ended in network.start_all(&hospitals).into_iter().map(Running::end) {
        assert_eq!((ended.code, ended.counts()), (Some(0), truth([10, 20, 30])), "{}", ended.stderr);
    }
}

/// Enough rows for the party to be still reading them when it is cut off.
const MANY: usize = 2_000_000;

#[test]
#[ignore = "needs root, and makes networks"]
fn namespaces_with_a_party_cut_off_end_in_aborts_and_kept_charges() {
    let network = Network::new("c", 3);
    let hospitals = Hospitals::at("cut", network.addresses());
    hospitals.agree_on_wards();
    for name in &hospitals.names {
        hospitals.configure(name, "join_seconds = 200\nround_seconds = 10\n");
    }
    hospitals.write("p2.csv", &visits(MANY));
    let running = network.start_all(&hospitals);
    hospitals.names.iter().for_each(|name| super::aborts::until(|| hospitals.charges(name) == 1));
    network.cut(2);
    for (name, ended) in hospitals.names.iter().zip(running.into_iter().map(Running::end)) {
        assert_eq!(ended.code, Some(1), "{name}: {}", ended.stderr);
        assert!(ended.stdout.is_empty() && ended.stderr.contains("nothing was released"), "{name}: {}", ended.stderr);
        assert_eq!(hospitals.charges(name), 1, "{name}: charged once, and kept");
    }
}
