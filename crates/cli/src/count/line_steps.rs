//! One line, one step.

use anyhow::{Result, anyhow};
use reticent::continual::Counter;
use zeroize::Zeroize;

use super::engine::Engine;
use super::lines::Lines;
use super::printer::Audience;
use super::record::Parser;

/// What is said when reading fails, whatever the reason: it may lie in the data.
pub const READING_FAILED: &str = "reading the input failed";

/// Counts lines as they arrive, after passing over the first `skip`.
pub fn run(engine: &mut Engine, mut lines: Lines, mut parser: Parser, mut skip: u64, erase: bool) -> Result<()> {
    let (definition, stream) = (engine.definition().clone(), engine.counter().stream().clone());
    // Whoever erases does so line by line, in a place that never moves.
    let at_once = if erase { 1 } else { MOST_AT_ONCE };
    let mut values = Vec::with_capacity(at_once);
    let mut more = true;
    while more {
        more = lines.fill().map_err(|_| anyhow!(READING_FAILED))?;
        loop {
            let seen = lines.each(at_once, |line| {
                if skip > 0 {
                    skip -= 1;
                } else {
                    values.push(definition.admit(&stream, parser.value(line)));
                }
                if erase {
                    parser.erase();
                }
            });
            if seen == 0 {
                break;
            }
            let audience = engine.close(&values);
            if erase {
                values.zeroize();
            }
            values.clear();
            if audience? == Audience::Left {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// So many lines are counted before they are saved and shown: few, slow writes to disk, yet little memory.
const MOST_AT_ONCE: usize = 1 << 17;
