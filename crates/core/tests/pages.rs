//! The Rust code in the README and in the pages of `docs`: it compiles, it runs, and every block of it is here.

use std::error::Error;
use std::fs;
use std::path::Path;

type Outcome = Result<(), Box<dyn Error>>;

#[test]
fn a_noisy_count() -> Outcome {
    let mut permit = reticent::Permit::unaccounted()?;
    let visitors = reticent::mechanism::Laplace::new(1, &"0.5".parse()?)?.release(1234, &mut permit)?;
    println!("{} ± {}", visitors.value(), visitors.error_bar().half_width()); // 1231 ± 6, say
    Ok(())
}

#[test]
fn an_audit() -> Outcome {
    use reticent::Permit;
    use reticent::audit::{EmpiricalEpsilon, Verdict};
    use reticent::mechanism::Laplace;

    let noise = Laplace::new(1, &"1".parse()?)?;
    let (mut one, mut other) = (Permit::unaccounted()?, Permit::unaccounted()?);
    let found = EmpiricalEpsilon::measure(
        || *noise.release(100, &mut one).unwrap().value(),
        || *noise.release(101, &mut other).unwrap().value(),
        0.0,     // δ
        200_000, // samples
        0.999,   // confidence
    )?;
    println!("{found}"); // ε ≥ 0.98… with confidence 0.999
    assert_eq!(found.verdict(&"1".parse()?), Verdict::Consistent);
    Ok(())
}

#[test]
fn a_survey() -> Outcome {
    let folder = std::env::temp_dir().join(format!("reticent-pages-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    std::env::set_current_dir(&folder)?;
    let task = r#"{"question": "How?", "domain": {"choices": ["by bicycle", "by train"]}, "epsilon": "1",
        "minimum-batch": 1, "expires": "2100-01-01"}"#;
    fs::write("task.json", task)?;
    let now = 1_800_000_000;

    use reticent::local::{Answers, Collection, Device, ShortMemory, Task};
    use reticent::noise::Entropy;

    let task: Task = serde_json::from_str(&std::fs::read_to_string("task.json")?)?;

    // On a person's device.
    let mut entropy = Entropy::from_os()?;
    let mut device = Device::new(Device::new_key(&mut entropy)?, ShortMemory::default());
    let report = device.respond(&task, &task.domain().answer("by train")?, now, &mut entropy)?;

    // At the collector.
    let mut collection = Collection::new(task);
    collection.add(&report, now)?;
    if let Answers::Choices(rows) = collection.estimate()? {
        for row in rows {
            // None if the task lets a device report more than once.
            let Some((lower, upper)) = row.interval else { continue };
            println!("{}: {:.0} ({lower:.0} to {upper:.0})", row.answer, row.count);
        }
    }
    fs::remove_dir_all(folder)?;
    Ok(())
}

#[test]
fn a_shuffler() -> Outcome {
    use reticent::local::Shuffled;

    let central = Shuffled::new(100_000, &"1".parse()?)?.guarantee(&"1e-6".parse()?);
    assert!(central.to_string().starts_with("ε = 0.0"), "{central}");
    Ok(())
}

/// Text without the differences that formatting and indentation make.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_block_is_here() -> Outcome {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("README.md")];
    for page in fs::read_dir(root.join("docs"))? {
        pages.push(page?.path());
    }
    let here = squeezed(include_str!("pages.rs"));
    let mut blocks = 0;
    for page in pages.iter().filter(|page| page.extension().is_some_and(|end| end == "md")) {
        for block in fs::read_to_string(page)?.split("```rust\n").skip(1) {
            let block = squeezed(block.split("```").next().unwrap_or_default());
            assert!(here.contains(&block), "{}: {block}", page.display());
            blocks += 1;
        }
    }
    assert!(blocks >= 4, "only {blocks} blocks were found");
    Ok(())
}
