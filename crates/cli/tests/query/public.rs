//! One file, one budget: a file that is private under one name is not public under another.
//!
//! The attack: a public table is shown as it is. So giving a private file as public would reveal its rows for free.

use std::os::unix::fs::symlink;

use super::*;

const COUNT: &str = "SELECT COUNT(*) AS n FROM visits";
/// Joins the public table row by row.
const READ: &str = "SELECT b.age AS age, COUNT(*) AS n FROM other JOIN b ON other.region = b.region GROUP BY b.age";

fn desk(name: &str) -> Desk {
    let desk = Desk::new(name);
    // One row per region, so that it can be joined.
    desk.write("data/visits.csv", visits(3));
    desk.write("other.csv", visits(30));
    fs::hard_link(desk.0.join("data/visits.csv"), desk.0.join("hard.csv")).expect("a hard link");
    symlink(desk.0.join("data/visits.csv"), desk.0.join("soft.csv")).expect("a link");
    symlink(desk.0.join("data"), desk.0.join("folder")).expect("a link");
    desk
}

const NAMES: [&str; 7] =
    ["data/visits.csv", "./data/../data/visits.csv", "hard.csv", "soft.csv", "data", "folder/*.csv", "*ard.csv"];

fn refused(desk: &Desk, why: &str) {
    let before = desk.all_charges();
    for name in NAMES {
        for ledger in ["", "--no-ledger", "--dry-run"] {
            let arguments =
                format!("--table other=other.csv --public-table b={name} --epsilon 1 --delta 1e-6 {ledger}");
            let said = desk.fails(2, READ, &arguments);
            assert!(said.contains(why) && said.contains("give it as --table"), "{name} {ledger}: {said}");
        }
    }
    let said = desk.fails(
        2,
        "SELECT region, COUNT(*) AS n FROM other GROUP BY region",
        "--table other=other.csv --keys region=hard.csv --epsilon 1",
    );
    assert!(said.contains(why), "keys are public, too: {said}");
    assert_eq!(desk.all_charges(), before);
}

#[test]
fn a_file_with_a_budget_is_not_public_under_any_name() {
    let desk = desk("public-budget");
    desk.write("small.toml", "unit = \"row\"\n[budget]\nepsilon = 1\n");
    desk.answer(COUNT, "--table visits=data/visits.csv --policy small.toml --epsilon 1");
    refused(&desk, "has a budget of ε = 1");
    // Nor private under another name.
    let said = desk.fails(2, COUNT, "--table visits=hard.csv --epsilon 1");
    assert!(said.contains("data/visits.csv has a budget of ε = 1"), "{said}");
    desk.fails(2, COUNT, "--table visits=hard.csv --epsilon 1 --no-ledger");
}

#[test]
fn a_file_that_was_ever_private_is_not_public() {
    let desk = desk("public-charged");
    desk.answer(COUNT, "--table visits=data/visits.csv --epsilon 1");
    refused(&desk, "was queried as a private table before");
}

#[test]
fn a_file_in_a_folder_with_a_budget_is_not_public() {
    let desk = desk("public-folder");
    desk.write("data/more.csv", visits(3));
    desk.answer(COUNT, "--table visits=data --epsilon 1");
    for name in ["data/visits.csv", "data/more.csv", "folder/more.csv", "data"] {
        let said =
            desk.fails(2, READ, &format!("--table other=other.csv --public-table b={name} --epsilon 1 --delta 1e-6"));
        assert!(said.contains("was queried as a private table before"), "{name}: {said}");
    }
}

#[test]
fn a_file_is_not_public_and_private_at_once() {
    let desk = desk("public-both");
    for name in NAMES {
        let arguments = format!("--table other=data/visits.csv --public-table b={name} --epsilon 1 --delta 1e-6");
        let said = desk.fails(2, READ, &arguments);
        assert!(said.contains("is private in this request, so it cannot be public as well"), "{name}: {said}");
    }
    // Keys are public, too, and may be in a policy.
    let by_region = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region";
    desk.write("keys.toml", "unit = \"row\"\n[keys]\nregion = \"soft.csv\"\n");
    for keys in ["--keys region=hard.csv", "--policy keys.toml"] {
        let said = desk.fails(2, by_region, &format!("--table visits=data/visits.csv --epsilon 1 {keys}"));
        assert!(said.contains("is private in this request, so it cannot be public as well"), "{keys}: {said}");
    }
    assert_eq!(desk.charges(), []);
    desk.answer(READ, "--table other=other.csv --public-table b=hard.csv --epsilon 1 --delta 1e-6");
}

#[test]
fn a_folder_with_a_budget_knows_its_files_by_every_name() {
    let desk = desk("public-folder");
    desk.write("elsewhere/more.csv", visits(3));
    symlink(desk.0.join("elsewhere/more.csv"), desk.0.join("data/more.csv")).expect("a link");
    desk.write("small.toml", "unit = \"row\"\n[budget]\nepsilon = 1\n");
    desk.answer(COUNT, "--table visits=data --policy small.toml --epsilon 1");
    for name in ["hard.csv", "soft.csv", "data/visits.csv", "data/more.csv", "elsewhere/more.csv", "elsewhere"] {
        let public = format!("--table other=other.csv --public-table b={name} --epsilon 1 --delta 1e-6");
        assert!(desk.fails(2, READ, &public).contains("has a budget of ε = 1"), "{name}");
        desk.fails(2, COUNT, &format!("--table visits={name} --epsilon 1 --no-ledger"));
        desk.fails(2, COUNT, &format!("--table visits={name} --epsilon 1 --dataset another"));
    }
    assert_eq!(desk.all_charges(), 1);
}

#[test]
fn which_files_there_are_does_not_change_the_dataset() {
    let desk = Desk::new("public-patterns");
    for file in ["many/a/1.csv", "many/b/2.csv", "one/a.csv"] {
        desk.write(file, visits(3));
    }
    desk.write("other.csv", visits(30));
    for table in ["many/*/*.csv", "one", "one/*.csv"] {
        desk.answer(COUNT, &format!("--table visits={table} --epsilon 1"));
    }
    desk.write("one/b.csv", visits(3));
    for table in ["one", "one/*.csv"] {
        desk.answer(COUNT, &format!("--table visits={table} --epsilon 1"));
    }
    let folder = |name: &str| desk.0.canonicalize().unwrap().join(name).display().to_string();
    assert_eq!(desk.charges(), [(folder("many"), 1), (folder("one"), 4)]);
    let public = "--table other=other.csv --public-table b=many/b/2.csv --epsilon 1 --delta 1e-6";
    assert!(desk.fails(2, READ, public).contains("give it as --table"));
}
