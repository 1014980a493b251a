//! Texts in the formats of today, made by the program, must mean the same with whatever the code becomes.
//!
//! A change of a format must raise its version (see `docs/formats.md`) and add a fixture. These stay as they are.

use reticent::hexadecimal;
use reticent::local::{Device, Memory, Payload, Report, Task};
use reticent::noise::Entropy;

const NOW: u64 = 1_800_000_000;

fn task() -> Task {
    serde_json::from_str(include_str!("fixtures/task.json")).unwrap()
}

#[test]
fn a_survey_task_has_the_id_it_had() {
    assert_eq!(task().id().to_string(), "99b649e7c180f70c00804f02ae533b892ae8c119fc03ff1106727b9950d57fc4");
}

#[test]
fn a_report_reads_the_same_from_both_of_its_forms() {
    let report: Report = serde_json::from_str(include_str!("fixtures/report.json")).unwrap();
    let compact = hexadecimal::read(include_str!("fixtures/report-1.hex").trim()).unwrap();
    assert_eq!((report.task, &report.response), (task().id(), &Payload::Value(0)));
    assert_eq!(Report::from_bytes(&compact).unwrap(), report);
    assert_eq!(report.to_bytes(), compact);
    let other = [&[2], &compact[1..]].concat();
    assert!(Report::from_bytes(&other).is_err(), "of another form");
}

/// A memory that holds what a device wrote for the task, under the name that it wrote it.
struct Written;

impl Memory for Written {
    fn read(&self, name: &str) -> reticent::error::Result<Option<String>> {
        let known = name == "f9b307160839b1d0017a95b7980b23ec";
        Ok(known.then(|| include_str!("fixtures/device-record.txt").into()))
    }

    fn write(&mut self, name: &str, text: &str) -> reticent::error::Result<()> {
        assert_eq!(self.read(name)?.as_deref(), Some(text), "nothing new was said");
        Ok(())
    }
}

#[test]
fn a_device_remembers_its_first_response() {
    let key = hexadecimal::read(include_str!("fixtures/device-key.hex").trim()).unwrap().try_into().unwrap();
    let mut device = Device::new(key, Written);
    for answer in ["on foot", "by train"] {
        let answer = task().domain().answer(answer).unwrap();
        let report = device.respond(&task(), &answer, NOW, &mut Entropy::seeded(1)).unwrap();
        assert_eq!(report.response, Payload::Value(1), "whatever the answer is now");
    }
}
