//! Compressed text: read as what it holds, broken if it is damaged, refused if it is something else.

mod common;

use std::fs;
use std::io::Write;
use std::path::Path;

use common::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use reticent_table::{Broken, Table, Type};

const PEOPLE: [(&str, Type); 2] = [("id", Type::Text), ("age", Type::Number)];
const ENDINGS: [&str; 2] = ["gz", "zst"];

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A text as one member or frame.
fn packed(ending: &str, bytes: &[u8]) -> Vec<u8> {
    if ending == "gz" { gzip(bytes) } else { zstd::encode_all(bytes, 3).unwrap() }
}

fn written(path: &Path, bytes: &[u8]) -> Table {
    fs::write(path, bytes).unwrap();
    open(path).unwrap()
}

#[test]
fn every_text_format_is_read_under_both_compressions() {
    let folder = tempfile::tempdir().unwrap();
    for (format, text) in [
        ("csv", "id,age\na,1\nb,2\n"),
        ("CSV", "id;age\na;1\nb;2\n"),
        ("tsv", "id\tage\na\t1\nb\t2\n"),
        ("ndjson", "{\"id\":\"a\",\"age\":1}\n{\"id\":\"b\",\"age\":2}\n"),
        ("jsonl", "\u{feff}{\"id\":\"a\",\"age\":1}\n{\"id\":\"b\",\"age\":2}"),
        ("json", " [{\"id\":\"a\",\"age\":1},\n{\"id\":\"b\",\"age\":2}]\n"),
    ] {
        for ending in ENDINGS {
            let table = written(&folder.path().join(format!("t.{format}.{ending}")), &packed(ending, text.as_bytes()));
            assert_eq!(rows(&table, &columns(&PEOPLE)), ["a|1", "b|2"], "{format}.{ending}");
        }
    }
}

/// A member or frame may end anywhere, also within a row or within the header; frames to skip hold no text.
#[test]
fn members_and_frames_are_one_text() {
    let folder = tempfile::tempdir().unwrap();
    let text = b"id,age\na,1\nb,2\nc,3\n";
    for ending in ENDINGS {
        let path = folder.path().join(format!("t.csv.{ending}"));
        for cut in 0..=text.len() {
            let mut bytes = Vec::new();
            if ending == "zst" {
                bytes.extend(b"\x5a\x2a\x4d\x18\x03\0\0\0abc");
            }
            bytes.extend(packed(ending, &text[..cut]));
            bytes.extend(packed(ending, &text[cut..]));
            bytes.extend(packed(ending, b""));
            assert_eq!(
                rows(&written(&path, &bytes), &columns(&PEOPLE)),
                ["a|1", "b|2", "c|3"],
                "{ending} cut at {cut}"
            );
        }
    }
}

/// Wherever a file of two members was cut off, except between them: an error before any row is read, or none of its rows.
#[test]
fn a_file_that_was_cut_off_is_never_a_shorter_table() {
    let folder = tempfile::tempdir().unwrap();
    let row = |row: u32| format!("{},{row}\n", u64::from(row).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let text: String = (0..40).map(row).collect();
    for (ending, said) in [
        ("gz", "t.csv.gz cannot be decompressed: it is damaged or was cut off"),
        ("zst", "t.csv.zst cannot be decompressed: it is damaged, was cut off, or was written with --long=28 or more"),
    ] {
        let path = folder.path().join(format!("t.csv.{ending}"));
        let first = packed(ending, b"id,age\na,1\n");
        let whole = [&first[..], &packed(ending, text.as_bytes())].concat();
        fs::write(&path, &whole).unwrap();
        let (mut refused, mut broken) = (0, 0);
        for length in 0..=whole.len() {
            replace(&path, &whole[..length]);
            match open(&path) {
                Err(error) => {
                    refused += 1;
                    let error = error.to_string();
                    let unlike = format!("t.csv.{ending} is not compressed; rename it to end in .csv");
                    assert!(error.ends_with(said) || error.ends_with(&unlike), "{length} bytes: {error}");
                }
                Ok(table) => {
                    let scan = table.scan(&columns(&PEOPLE), 1).unwrap();
                    let is_whole = length == first.len() || length == whole.len();
                    assert_eq!(read(&scan).is_ok(), is_whole, "{length} bytes of {}, {ending}", whole.len());
                    broken += usize::from(!is_whole);
                }
            }
        }
        assert!(refused > 0 && broken > 300, "{refused} and {broken}");
    }
}

/// A changed byte is found by the checksum, and the error says nothing of rows.
#[test]
fn a_damaged_file_is_broken() {
    let folder = tempfile::tempdir().unwrap();
    for ending in ENDINGS {
        let path = folder.path().join(format!("t.csv.{ending}"));
        let text = format!("id,age\n{}", "secret,7\n".repeat(50));
        let mut whole = match ending {
            "gz" => gzip(text.as_bytes()),
            _ => {
                let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
                encoder.include_checksum(true).unwrap();
                encoder.write_all(text.as_bytes()).unwrap();
                encoder.finish().unwrap()
            }
        };
        // Beyond gzip's own header, most of which is not checked.
        for place in 10..whole.len() {
            whole[place] ^= 0x10;
            fs::write(&path, &whole).unwrap();
            match open(&path) {
                Err(error) => assert!(!error.to_string().contains("secret"), "{error}"),
                Ok(table) => match table.scan(&columns(&PEOPLE), 1) {
                    Err(error) => assert!(error.to_string().contains("there is no column"), "{error}"),
                    // Between the last bit and the checksum, some bits mean nothing.
                    Ok(scan) => {
                        let same = |batches: Vec<_>| cells(&batches) == vec!["secret|7"; 50];
                        assert!(read(&scan).is_ok_and(same) || read(&scan) == Err(Broken), "{ending}, byte {place}");
                    }
                },
            }
            whole[place] ^= 0x10;
        }
    }
}

#[test]
fn what_a_name_says_is_checked_before_rows_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let (csv, gz) = (&b"id,age\nsecret,1\n"[..], gzip(b"id,age\nsecret,1\n"));
    let zst = packed("zst", csv);
    let parquet = gzip(b"PAR1\x15\x04secret");
    for (name, bytes, said) in [
        ("t.csv", &gz[..], "t.csv is compressed with gzip; rename it to end in .csv.gz"),
        ("t.ndjson", &zst, "t.ndjson is compressed with Zstandard; rename it to end in .ndjson.zst"),
        ("t.json.gz", &zst, "t.json.gz is compressed with Zstandard; rename it to end in .json.zst"),
        ("t.csv.zst", &gz, "t.csv.zst is compressed with gzip; rename it to end in .csv.gz"),
        ("t.csv.gz", csv, "t.csv.gz is not compressed; rename it to end in .csv"),
        ("t.csv.gz", b"", "t.csv.gz is not compressed; rename it to end in .csv"),
        ("t.csv.gz", &gzip(b""), "t.csv.gz has no header: its first line must name the columns"),
        ("t.csv.gz", &gzip(&gz), "t.csv.gz, decompressed, is compressed with gzip; decompress it first"),
        ("t.tsv.gz", &parquet, "t.tsv.gz, decompressed, is a Parquet file; decompress it first"),
        (
            "t.parquet.gz",
            &parquet,
            "t.parquet.gz must be decompressed first: only text is read while it is decompressed",
        ),
        ("t.arrow.zst", &zst, "t.arrow.zst must be decompressed first: only text is read while it is decompressed"),
        (
            "t.json.gz",
            &gzip(b"{\"id\":\"secret\"}\n"),
            "t.json.gz does not begin with `[`, as a JSON array does; if each line is an object, name it .ndjson",
        ),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        assert_eq!(reason(open(&path)), said);
    }
    let utf_16 = folder.path().join("t.ndjson.gz");
    fs::write(&utf_16, gzip(b"\xff\xfe{\0")).unwrap();
    assert!(matches!(open(&utf_16), Err(reticent_table::Error::Utf16 { file, .. }) if file == "t.ndjson.gz"));
    fs::write(folder.path().join("t.gz"), gz).unwrap();
    assert!(
        reason(open(&folder.path().join("t.gz"))).starts_with("t.gz has an unknown format; supported file endings")
    );
    let none = written(&folder.path().join("t.ndjson.gz"), &gzip(b""));
    assert_eq!(rows(&none, &columns(&PEOPLE)), [""; 0]);
}

/// An array that ends too early is found while it is read: before, all of it would have to be decoded.
#[test]
fn an_array_that_was_cut_off_before_it_was_packed_is_broken() {
    let folder = tempfile::tempdir().unwrap();
    let table = written(&folder.path().join("t.json.gz"), &gzip(b"[{\"id\":\"a\",\"age\":1},{\"id\""));
    assert_eq!(read(&table.scan(&columns(&PEOPLE), 1).unwrap()), Err(Broken));
}

#[test]
fn a_folder_of_packed_files_is_a_table_but_not_a_mixed_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for (name, text) in [("a.csv.gz", "id;age\na;1\n"), ("b.csv.gz", "id;age\nb;2\n")] {
        fs::write(path(name), gzip(text.as_bytes())).unwrap();
    }
    let found = |location: &Path| rows(&open(location).unwrap(), &columns(&PEOPLE));
    assert_eq!(found(folder.path()), ["a|1", "b|2"]);
    assert_eq!(found(&path("*.csv.gz")), ["a|1", "b|2"]);
    // What `gzip -k a.csv` leaves: the same rows twice.
    fs::write(path("a.csv"), "id;age\na;1\n").unwrap();
    let said = "all files of a table must have the same format, but there are a.csv and a.csv.gz";
    assert_eq!(reason(open(folder.path())), said);
}

/// The name that was given tells the format, not that of the file it leads to.
#[cfg(unix)]
#[test]
fn a_link_names_the_format() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for (link, file, bytes) in [
        ("t.csv.gz", "blob", gzip(b"id,age\na,1\n")),
        ("t.csv", "u.csv.gz", b"id,age\na,1\n".to_vec()),
        ("t.json", "blob2", b"[{\"id\":\"a\",\n\"age\":1}]".to_vec()),
        ("t.ndjson", "u.json", b"{\"id\":\"a\",\"age\":1}\n".to_vec()),
    ] {
        fs::write(path(file), bytes).unwrap();
        symlink(path(file), path(link)).unwrap();
        assert_eq!(rows(&open(&path(link)).unwrap(), &columns(&PEOPLE)), ["a|1"], "{link}");
    }
}

/// The attack: whatever a row contains, the header alone tells the delimiter.
#[test]
fn no_row_changes_the_delimiter() {
    let folder = tempfile::tempdir().unwrap();
    for row in [";;;;;;;;", "\"a;b\";\"c;d\"", "\t\t\t\t\t", "||||||", "\",\",\",\"", "\"", "a;b\"c;d\"\"", ",,,,,,,,"]
    {
        for (name, pack) in [("t.csv", (|bytes| bytes) as fn(Vec<u8>) -> Vec<u8>), ("t.csv.gz", |bytes| gzip(&bytes))] {
            for place in 0..3 {
                let mut lines = vec!["a;1", "b;2"];
                lines.insert(place, row);
                let table = written(&folder.path().join(name), &pack(format!("id;age\n{}\n", lines.join("\n")).into()));
                assert_eq!(table.columns().unwrap(), ["id", "age"], "{row}");
                let mut found = rows(&table, &columns(&PEOPLE));
                assert_eq!(found.len(), 3, "{row}");
                found.remove(place);
                assert_eq!(found, ["a|1", "b|2"], "{row} as row {place}");
            }
        }
    }
}

#[test]
fn a_chosen_delimiter_is_used_for_csv_alone() {
    use reticent_table::Delimiter;
    let folder = tempfile::tempdir().unwrap();
    let open = |name: &str, text: &str, delimiter| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        Table::open_separated("t", path.to_str().unwrap(), delimiter).unwrap()
    };
    let text = "id|age, years|x\na|1|2\n";
    assert_eq!(open("t.csv", text, None).columns().unwrap(), ["id", "age, years", "x"]);
    let chosen = open("t.csv", text, Some(Delimiter::Comma));
    assert_eq!(chosen.columns().unwrap(), ["id|age", "years|x"]);
    assert_eq!(chosen.chosen_delimiter(), Some(Delimiter::Comma));
    let other = open("t.tsv", "id\tage\na\t1\n", Some(Delimiter::Comma));
    assert_eq!((other.columns().unwrap().len(), other.chosen_delimiter()), (2, None));
}

#[test]
fn the_index_of_pandas_is_a_column() {
    let folder = tempfile::tempdir().unwrap();
    let table = written(&folder.path().join("t.csv"), b",id,age\n0,a,1\n1,b,2\n");
    assert_eq!(table.columns().unwrap(), ["index", "id", "age"]);
    assert_eq!(rows(&table, &columns(&[("index", Type::Number), ("id", Type::Text)])), ["0|a", "1|b"]);
}
