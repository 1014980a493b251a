//! Nothing but the release depends on the rows, and one unit touches no more blocks than stated.

use super::*;

/// Everything observable of a run, with its own ledger, except the noisy number of runs without an answer.
fn seen(folder: &Path, table: &[u8], options: &str, script: &str) -> (Option<i32>, String, String) {
    std::fs::write(folder.join("people.csv"), table).expect("written");
    let _ = std::fs::remove_dir_all(folder.join("own"));
    let output = ask_script(folder, options, script);
    (output.status.code(), before_the_number(&text(&output.stdout)).into(), text(&output.stderr))
}

#[test]
fn neighbours_look_the_same_from_outside() {
    let folder = directory("neighbours");
    let table = people(60);
    let rows: [&[u8]; 12] = [
        b"",
        b"\n",
        b"u1,north,30\n",
        b"u1\n",
        b",,\n",
        b"u1,\"north,30\n",
        b"\"\"\"\n",
        b"u1,north,30,40,50\n",
        b"u1,\xff\xfe\x00,NaN\n",
        b"u1,north,-1e999\n",
        b"\r\r\n",
        b"u1,crash,0\n",
    ];
    // One run crashes noisily where the odd row is; the answer stays the same.
    let script = "grep -q crash && { echo 'found crash' >&2; kill -SEGV $$; }; echo fine";
    for unit in ["row", "user"] {
        let options = format!("{ALMOST_EXACT} {UNHURRIED} --unit {unit}");
        let first = seen(&folder, table.as_bytes(), &options, script);
        assert_eq!((first.0, first.1.as_str()), (Some(0), "fine\n"));
        for row in rows {
            let neighbour = [table.as_bytes(), row].concat();
            assert_eq!(seen(&folder, &neighbour, &options, script), first, "{unit}: {:?}", text_of(row));
        }
    }
}

#[test]
fn a_table_without_rows_is_a_table() {
    let folder = directory("no-rows");
    let options = format!("{ALMOST_EXACT} {UNHURRIED}");
    let header = seen(&folder, b"user,region,age\n", &options, "wc -l | tr -d ' '");
    assert_eq!((header.0, header.1.as_str()), (Some(0), "1\n"));
    assert_eq!(seen(&folder, b"user,region,age", &options, "wc -l | tr -d ' '"), header);
}

fn text_of(row: &[u8]) -> String {
    String::from_utf8_lossy(row).into_owned()
}

/// Every user has three rows. Assigned row by row they would hardly ever meet.
#[test]
fn the_rows_of_a_unit_stay_together() {
    let folder = directory("together");
    let script = "awk -F, 'NR > 1 {rows[$1]++} END {for (user in rows) if (rows[user] != 3) torn = 1; \
                  print torn ? \"torn\" : \"whole\"}'";
    for adjacency in ["add-remove", "replace"] {
        let options = format!(
            "--unit user --adjacency {adjacency} --blocks 12 --epsilon 20 --allow-large-epsilon --delta 1e-3 {UNHURRIED}"
        );
        assert_eq!(answered(&ask_script(&folder, &options, script)).as_deref(), Some("whole"), "{adjacency}");
    }
    assert_eq!(most_say(&folder, "--unit row", script).as_deref(), Some("torn"));
    // Rows without an id belong to nobody, as in private SQL: no block has any.
    std::fs::write(folder.join("people.csv"), format!("user,age\n{}", ",1\n".repeat(600))).expect("written");
    let script = "awk 'END {print (NR > 1 ? \"some\" : \"none\")}'";
    assert_eq!(most_say(&folder, "--unit user", script).as_deref(), Some("none"));
}

/// By position, six blocks of 60,000 rows would have 10,000 each. At random the sizes spread by 91, so that four of six
/// agree with probability below 1e-6.
#[test]
fn rows_go_to_blocks_by_lot_not_by_position() {
    let folder = directory("lots");
    std::fs::write(folder.join("people.csv"), people(60_000)).expect("written");
    assert_eq!(most_say(&folder, "", "wc -l"), None);
    let script = "wc -l | awk '{print ($1 > 9000 && $1 < 11000 ? \"even\" : \"uneven\")}'";
    assert_eq!(most_say(&folder, "", script).as_deref(), Some("even"));
}
