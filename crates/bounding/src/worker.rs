//! The work of one thread on its batches.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};

use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::job::Plan;
use crate::keys::DROPPED;
use crate::memory::Memory;
use crate::part::Part;
use crate::scatter::Scatter;

/// Rows processed together: their columns fit in the processor's cache.
pub(crate) const CHUNK: usize = 8192;

/// The most bytes of texts in rows that are processed together, unless a single row has more. A text counts in every row:
/// many rows can share one in memory, but units are copied, and keys may be.
pub(crate) const MOST_TEXT: usize = 8 << 20;

/// Takes batches on one thread. Any batch may go to any worker.
///
/// Created by [`Bounding::worker`](crate::Bounding::worker), and passed back to
/// [`Bounding::finish`](crate::Bounding::finish).
///
/// # Algorithm
/// If the unit is the row, rows are added up as they arrive. If it is a column, they are partitioned into buckets by a
/// hash of their unit, and wait there for the rest of the unit's rows.
pub struct Worker {
    pub(crate) plan: Arc<Plan>,
    pub(crate) part: Part,
    /// `None` if the unit is the row.
    pub(crate) scatter: Option<Scatter>,
    interrupt: Interrupt,
    memory: Memory,
    /// Shared by all workers and the `Bounding`: its reference count reveals how many workers there are.
    crew: Arc<()>,
    groups: Vec<u32>,
    features: Vec<Vec<i32>>,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Worker(…)")
    }
}

impl Worker {
    pub(crate) fn new(plan: &Arc<Plan>, memory: &Memory, interrupt: &Interrupt, crew: &Arc<()>) -> Self {
        Self {
            plan: Arc::clone(plan),
            part: Part::new(plan, memory),
            scatter: plan.by_unit.as_ref().map(|by_unit| Scatter::new(by_unit, memory)),
            interrupt: interrupt.clone(),
            memory: memory.clone(),
            crew: Arc::clone(crew),
            groups: Vec::new(),
            features: Vec::new(),
        }
    }

    /// Adds the rows of a batch. After an error, drop the worker: some of the batch's rows may be in it.
    ///
    /// # Errors
    /// [`Error::Job`](crate::Error::Job) if the batch's columns are not those of the schema; or if memory or disk space
    /// runs out, or the work is interrupted. No value in a row is an error.
    pub fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        self.plan.check(batch)?;
        let mut from = 0;
        while from < batch.num_rows() {
            self.interrupt.check()?;
            let chunk = batch.slice(from, CHUNK.min(batch.num_rows() - from));
            let rows = light(chunk.columns(), chunk.num_rows());
            self.add_chunk(&chunk.slice(0, rows))?;
            from += rows;
        }
        Ok(())
    }

    fn add_chunk(&mut self, rows: &RecordBatch) -> Result<()> {
        let layout = &self.plan.layout;
        let (keys, inputs) = rows.columns()[layout.first_key()..].split_at(layout.keys);
        // Before values are numbered and texts copied. Keys that are public are not, and neither are most inputs.
        let new = if self.part.keys.are_public() { &[][..] } else { keys };
        let texts = new.iter().chain(inputs).map(text_bytes).sum();
        self.reserve(|part| part.make_room(rows.num_rows(), rows.num_rows(), texts))?;
        self.part.keys.group_rows(keys, rows.num_rows(), &mut self.groups)?;
        self.plan.features.read(inputs, &mut self.part.items, &mut self.features)?;
        self.reserve(Part::account)?;
        if let Some(scatter) = &mut self.scatter {
            // Workers share half of the memory equally, so that one that starts late still finds room for its rows.
            let share = self.memory.limit() / 2 / (Arc::strong_count(&self.crew) - 1).max(1);
            scatter.add(rows.column(0), &self.groups, &self.features, share)?;
        } else {
            self.part.totals.resize(self.part.keys.len())?;
            if self.groups.contains(&DROPPED) {
                self.drop_strangers();
            }
            self.part.totals.prepare(&self.groups, &self.features)?;
            self.part.totals.add(&self.groups, &self.features);
        }
        Ok(())
    }

    /// Removes the rows whose keys are not public.
    fn drop_strangers(&mut self) {
        for column in &mut self.features {
            let mut groups = self.groups.iter();
            column.retain(|_| groups.next() != Some(&DROPPED));
        }
        self.groups.retain(|&group| group != DROPPED);
    }

    /// Reserves memory for groups and items; spills rows to make room for them.
    fn reserve(&mut self, reserve: impl Fn(&mut Part) -> Result<()>) -> Result<()> {
        match (reserve(&mut self.part), &mut self.scatter) {
            (Err(_), Some(scatter)) => {
                scatter.buckets.spill()?;
                reserve(&mut self.part)
            }
            (outcome, _) => outcome,
        }
    }
}

/// How many of these rows are processed together: at least one.
fn light(columns: &[ArrayRef], rows: usize) -> usize {
    if columns.iter().map(text_bytes).sum::<usize>() <= MOST_TEXT {
        return rows;
    }
    let mut bytes = 0;
    let fits = (0..rows).take_while(|&row| {
        bytes += columns.iter().map(|column| text_bytes(&column.slice(row, 1))).sum::<usize>();
        bytes <= MOST_TEXT
    });
    fits.count().max(1)
}

/// The bytes of a column's texts, wherever they occur.
fn text_bytes(column: &ArrayRef) -> usize {
    let Some(texts) = column.as_string_view_opt() else { return 0 };
    match texts.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => texts.lengths().map(|length| length as usize).sum(),
        Some(nulls) => nulls.valid_indices().map(|row| texts.views()[row] as u32 as usize).sum(),
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Int64Array, StringViewArray};
    use arrow_schema::{DataType, Field, Schema};

    use super::*;
    use crate::{Bounding, ChoiceKey, Error, Job, Layout};

    fn job(columns: usize) -> Job {
        job_of(columns, &DataType::Utf8View)
    }

    fn job_of(columns: usize, kind: &DataType) -> Job {
        let fields: Vec<Field> = (0..columns).map(|place| Field::new(place.to_string(), kind.clone(), true)).collect();
        let layout = Layout { unit: false, keys: columns, measures: Vec::new() };
        let choice = ChoiceKey::new([0; 32]);
        Job { schema: Arc::new(Schema::new(fields)), layout, caps: None, keys: None, choice }
    }

    fn batch(job: &Job, column: &ArrayRef) -> RecordBatch {
        RecordBatch::try_new(job.schema.clone(), vec![column.clone(); job.layout.keys]).unwrap()
    }

    /// Stored first and counted afterwards, these keys would take seven times as much as is allowed.
    #[test]
    fn memory_is_reserved_before_keys_are_stored() {
        const LIMIT: usize = 16 << 20;
        let job = job(6);
        let texts: StringViewArray = (0..300).map(|row| Some(format!("{row:060000}"))).collect();
        let mut worker = Bounding::new(&job, &Memory::new(LIMIT)).unwrap().worker();
        let outcome = worker.add(&batch(&job, &(Arc::new(texts) as ArrayRef)));
        assert!(matches!(outcome, Err(Error::Memory)));
        assert!(worker.part.keys.bytes() <= LIMIT, "{}", worker.part.keys.bytes());
    }

    const KEYS: usize = 18;

    fn numbers(job: &Job, rows: std::ops::Range<usize>) -> RecordBatch {
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.map(|row| row as i64)));
        batch(job, &column)
    }

    /// All tables double in the same chunk. Doubled first and counted afterwards, they would exceed the limit by 40 %.
    #[test]
    fn memory_is_reserved_before_tables_grow() {
        const LIMIT: usize = 16 << 20;
        let job = job_of(KEYS, &DataType::Int64);
        let memory = Memory::new(LIMIT);
        let mut worker = Bounding::new(&job, &memory).unwrap().worker();
        worker.add(&numbers(&job, 0..CHUNK)).unwrap();
        assert!((LIMIT / 2..=memory.used()).contains(&worker.part.keys.bytes()));
        assert!(matches!(worker.add(&numbers(&job, CHUNK..2 * CHUNK)), Err(Error::Memory)));
        assert!(worker.part.keys.bytes() <= memory.used(), "{}", worker.part.keys.bytes());
        drop(worker);
        assert_eq!(memory.used(), 0);
    }

    /// A few keys of another worker can make all tables double, too.
    #[test]
    fn memory_is_reserved_before_tables_are_merged() {
        const LIMIT: usize = 20 << 20;
        let job = job_of(KEYS, &DataType::Int64);
        let memory = Memory::new(LIMIT);
        let bounding = Bounding::new(&job, &memory).unwrap();
        let (mut large, mut small) = (bounding.worker(), bounding.worker());
        large.add(&numbers(&job, 0..14_000)).unwrap();
        small.add(&numbers(&job, 14_000..14_500)).unwrap();
        assert!(matches!(large.part.number(&small.part), Err(Error::Memory)));
        assert!(large.part.keys.bytes() <= memory.used(), "{}", large.part.keys.bytes());
    }

    /// A long text in many rows takes its own length, not that of all rows.
    #[test]
    fn rows_that_share_a_text_need_memory_for_it_once() {
        let job = job(2);
        let once = StringViewArray::from(vec!["x".repeat(60_000)]);
        let views = vec![once.views()[0]; 5000];
        let often: ArrayRef = Arc::new(StringViewArray::new(views.into(), once.data_buffers().to_vec(), None));
        let bounding = Bounding::new(&job, &Memory::new(16 << 20)).unwrap();
        let mut worker = bounding.worker();
        worker.add(&batch(&job, &often)).unwrap();
        let groups = bounding.finish(vec![worker]).unwrap();
        assert_eq!(groups.groups.iter().map(|group| group.rows).collect::<Vec<_>>(), [5000]);
    }
}
