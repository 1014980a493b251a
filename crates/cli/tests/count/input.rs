//! What is read, and how it is printed.

use std::io::{BufRead, BufReader, Write};

use super::*;

#[test]
fn every_format_shows_step_value_and_half_width() {
    let arguments = "- --epsilon 1 --horizon 4 --range 0..9";
    let json = text(&count_with(&format!("{arguments} --format json --level 0.9"), b"1\n2\n").stdout);
    let release: serde_json::Value = serde_json::from_str(json.lines().next().expect("a release")).expect("JSON");
    assert_eq!((&release["step"], &release["level"]), (&1.into(), &0.9.into()));
    assert!(release["half_width"].as_f64().expect("a number") > 1.0 && release["value"].is_i64(), "{release}");
    assert_eq!(release.as_object().expect("an object").len(), 4);

    let csv = text(&count_with(&format!("{arguments} --format csv"), b"1\n2\n").stdout);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!((lines.len(), lines[0]), (3, "step,value,half_width,level"));
    assert!(lines[2].starts_with("2,") && lines[2].ends_with(",0.95"), "{csv}");

    let table = text(&count_with(arguments, b"1\n2\n").stdout);
    assert!(table.lines().next().expect("a header").contains("± (95 %)"), "{table}");
    let widths: Vec<usize> = table.lines().map(|line| line.chars().count()).collect();
    assert!(widths.len() == 3 && widths.iter().all(|width| *width == widths[0]), "{table}");
}

#[test]
fn lines_are_whole_numbers_within_the_range() {
    let arguments = "- --range -5..10 --horizon 100";
    assert_eq!(sums(arguments, b"1\n2\n3\n"), [1, 3, 6]);
    assert_eq!(sums(arguments, b"1\r\n2\r\n3"), [1, 3, 6], "Windows line ends, and none at the end");
    assert_eq!(sums(arguments, b"1\n\n2\nx\n1.5\n3\n"), [1, 1, 3, 3, 3, 6], "what cannot be read is a step of 0");
    assert_eq!(sums(arguments, b"99999999999999999999999\n-99\n+4\n"), [10, 5, 9], "clamped");
    assert_eq!(sums(arguments, b"\xff\x00\x80\n7\n\x00\n"), [0, 7, 7], "garbage");
    assert_eq!(sums(arguments, b""), [0i64; 0], "no line, no step");
    assert_eq!(sums("- --horizon 3", b"1\n0\n5\n"), [1, 1, 2], "bits unless a range is given");
    let huge = [&b"1\n"[..], &vec![b'9'; 3 << 20], b"\n2\n"].concat();
    assert_eq!(sums(arguments, &huge), [1, 1, 3], "a line without end is a step of 0");
}

#[test]
fn lines_that_are_sums_of_events_are_not_clamped() {
    assert_eq!(sums("- --adjacency add-remove --horizon 3", b"12\n7\n"), [12, 19]);
    assert_eq!(sums("- --adjacency add-remove --unit step --range 0..9 --horizon 3", b"12\n7\n"), [9, 16]);
    assert_eq!(sums("- --unit event --range 0..9 --horizon 3", b"12\n7\n"), [9, 16]);
    assert_eq!(sums("- --unit events:3 --range 0..9 --horizon 3", b"12\n7\n"), [9, 16]);
}

#[test]
fn events_count_one_each() {
    assert_eq!(sums("- --events --horizon 9", b"GET /\n\n7\n \nx\n"), [1, 1, 2, 2, 3]);
    assert_eq!(sums("- --events --input csv --horizon 9", b"a,b\n1,2\n\n3,4\n"), [1, 1, 2]);
    assert_eq!(sums("- --events --column b --horizon 9", b"a,b\n1,2\n1,\n1\n,x\n"), [1, 1, 1, 2]);
    assert_eq!(sums("- --events --input ndjson --horizon 9", b"{}\n\n{\"a\":1}\n"), [1, 1, 2]);
}

#[test]
fn csv_has_a_header_quotes_and_any_line_end() {
    let arguments = "- --column n --range 0..9 --horizon 100";
    assert_eq!(sums(arguments, b"who,n\r\n\"a,b\",3\r\nc,\"4\"\r\n"), [3, 7]);
    assert_eq!(sums(arguments, b"\xef\xbb\xbfn\n3\n"), [3], "byte-order mark");
    assert_eq!(sums(arguments, b"\"n\",who\n3,\"open quote\n4,x\n\n5\n"), [3, 7, 7, 12], "no line swallows the next");
    assert_eq!(sums(arguments, b"who,n\nonly\n,,,\nx,7,more\n"), [0, 0, 7], "missing cells");
    assert_eq!(sums(arguments, b"n\n"), [0i64; 0]);
    let path = directory("csv").join("rows.csv");
    std::fs::write(&path, "n,m\n1,2\n").expect("written");
    let path = path.to_str().expect("text");
    assert_eq!(sums(&format!("{path} --column m --range 0..9 --horizon 3"), b""), [2]);
}

#[test]
fn ndjson_names_a_field() {
    let lines = b"{\"n\":3}\n{\"n\":\"4\",\"x\":[1,{\"n\":9}]}\nnot json\n{\"n\":null}\n{\"m\":1}\n{\"n\":2}";
    assert_eq!(sums("- --input ndjson --column n --range 0..9 --horizon 9", lines), [3, 7, 7, 7, 7, 9]);
    let bare = b"3\n\"4\"\ntrue\n{\"n\":true}\n[5]\n-2.0\n";
    assert_eq!(
        sums("- --input ndjson --column n --range -9..9 --horizon 9", bare),
        [3, 7, 8, 9, 9, 7],
        "as in a stream"
    );
    assert_eq!(sums("- --input ndjson --events --column n --horizon 9", b"3\n{}\n{\"n\":0}\nnull\n"), [1, 1, 2, 2]);
    for extension in ["ndjson", "jsonl"] {
        let path = directory(extension).join(format!("rows.{extension}"));
        std::fs::write(&path, lines).expect("written");
        let path = path.to_str().expect("text");
        assert_eq!(sums(&format!("{path} --column n --range 0..9 --horizon 9"), b"").len(), 6);
    }
}

#[test]
fn a_release_appears_before_the_input_ends() {
    for (header, more) in [("", ""), ("n\n", " --column n")] {
        let arguments = format!("- --epsilon 1 --unbounded --format json{more}");
        let mut child = command(&arguments.split_whitespace().collect::<Vec<_>>()).spawn().expect("the program starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        for step in 1..=5 {
            // The first row comes together with the header.
            stdin.write_all(format!("{}1\n", if step == 1 { header } else { "" }).as_bytes()).expect("written");
            let mut line = String::new();
            stdout.read_line(&mut line).expect("read");
            assert!(line.starts_with(&format!("{{\"step\":{step},")), "{line}");
        }
        drop(stdin);
        assert!(child.wait().expect("it ends").success());
    }
}

#[test]
fn a_million_lines_are_counted() {
    const LINES: usize = 1_000_000;
    let path = directory("million").join("lines.txt");
    std::fs::write(&path, "1\n".repeat(LINES)).expect("written");
    let path = path.to_str().expect("text");
    let output = count_with(&format!("{path} --epsilon 1 --horizon {LINES} --counter binary --format csv"), b"");
    let last = text(&output.stdout).lines().last().expect("a release").to_owned();
    assert!(last.starts_with("1000000,"), "{last}");
    let value: f64 = last.split(',').nth(1).expect("a value").parse().expect("a number");
    // 21 levels with 20 draws at the most: a standard deviation of 21·√(2·20) ≈ 133.
    assert!((value - LINES as f64).abs() < 133.0 * 10.0, "{last}");
}

#[test]
fn post_processing_changes_what_is_printed_only() {
    let lines: Vec<u8> = (0..200).flat_map(|_| *b"0\n").collect();
    let arguments = "- --epsilon 1 --horizon 200 --counter output-noise --format json";
    let plain = values_from(1, &count_with(arguments, &lines));
    assert!(plain.iter().any(|value| *value < 0) && !plain.is_sorted());
    let values = values_from(1, &count_with(&format!("{arguments} --non-negative"), &lines));
    assert!(values.iter().all(|value| *value >= 0) && !values.is_sorted());
    let values = values_from(1, &count_with(&format!("{arguments} --monotone"), &lines));
    assert!(values.is_sorted());
}
