//! One line, one step.

use anyhow::{Result, anyhow};
use reticent::continual::Stream;
use reticent_erase::burn_stack;
use zeroize::Zeroize;

use super::definition::Definition;
use super::engine::Engine;
use super::lines::Lines;
use super::printer::Audience;
use super::record::{Parser, Record};
use super::released::{Event, releases_a_step};

/// What is said when reading fails, whatever the reason: it may lie in the data.
pub const READING_FAILED: &str = "reading the input failed";

/// So many lines are counted before they are saved and shown: few, slow writes to disk, yet little memory.
const MOST_AT_ONCE: usize = 1 << 17;

/// Counts lines as they arrive, after passing over the first `skip`.
pub fn run(engine: &mut Engine, lines: Lines, parser: Parser, skip: u64, erase: bool) -> Result<()> {
    let (definition, stream) = (engine.definition().clone(), engine.tally().stream().clone());
    let mut reading = Reading { lines, parser, definition, stream, skip, erase };
    if reading.definition.keyed() {
        return run_keyed(engine, reading);
    }
    // Whoever erases does so line by line, in a place that never moves.
    let at_once = if erase { 1 } else { MOST_AT_ONCE };
    let mut values = Vec::with_capacity(at_once);
    let mut more = true;
    loop {
        // What came with the header is there already.
        while reading.read(at_once, &mut values) > 0 {
            let audience = engine.close(&values);
            values.clear();
            if erase {
                values.zeroize();
                burn_stack();
            }
            if audience? == Audience::Left {
                return Ok(());
            }
        }
        if !more {
            return Ok(());
        }
        more = reading.lines.fill().map_err(|_| anyhow!(READING_FAILED))?;
    }
}

/// The same with keys: a line is one event, and all keys are released after it.
fn run_keyed(engine: &mut Engine, mut reading: Reading) -> Result<()> {
    let mut steps: Vec<Vec<Event>> = Vec::new();
    let mut more = true;
    loop {
        loop {
            let at_once = (MOST_AT_ONCE / releases_a_step(engine.tally())).max(1);
            let Reading { lines, parser, skip, .. } = &mut reading;
            let seen = lines.each(at_once, |line| {
                if *skip > 0 {
                    *skip -= 1;
                } else {
                    let Record { value, key, .. } = parser.record(line);
                    // Without a key nothing happened to any; the step is released all the same.
                    steps.push(key.map(|key| (key, value)).into_iter().collect());
                }
            });
            if seen == 0 {
                break;
            }
            let audience = engine.close_keyed(&steps)?;
            steps.clear();
            if audience == Audience::Left {
                return Ok(());
            }
        }
        if !more {
            return Ok(());
        }
        more = reading.lines.fill().map_err(|_| anyhow!(READING_FAILED))?;
    }
}

struct Reading {
    lines: Lines,
    parser: Parser,
    definition: Definition,
    stream: Stream,
    skip: u64,
    erase: bool,
}

impl Reading {
    /// Reads what lines say, in a frame of its own that can be overwritten afterwards; tells how many lines there were.
    #[inline(never)]
    fn read(&mut self, limit: usize, values: &mut Vec<i64>) -> usize {
        let Self { lines, parser, definition, stream, skip, erase } = self;
        lines.each(limit, |line| {
            if *skip > 0 {
                *skip -= 1;
            } else {
                values.push(definition.admit(stream, parser.value(line)));
            }
            if *erase {
                parser.erase();
            }
        })
    }
}
