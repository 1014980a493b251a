//! Rows of separated values, one after the other.

use std::io::{ErrorKind, Read, Result};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

/// How much is read from the file at a time.
const CHUNK: usize = 256 << 10;
/// A row's fields get this much room at first.
const FIRST_ROOM: usize = 16 << 10;
/// Fields that end beyond these first bytes of a row are dropped.
pub const LONGEST_RECORD: usize = 16 << 20;
/// Room for what is passed over.
const SPARE: usize = 4 << 10;

/// Splits input into rows of fields.
pub struct Records<R> {
    input: R,
    /// Made once: its tables take longer to set up than a row to read.
    reader: Box<Reader>,
    chunk: Box<[u8]>,
    start: usize,
    end: usize,
    /// The fields of the row, without what lies between them.
    fields: Vec<u8>,
    used: usize,
    /// Where the first fields end, counted from the start of the row.
    ends: Box<[usize]>,
    count: usize,
    spare: Box<[u8; SPARE]>,
}

impl<R: Read> Records<R> {
    /// `input` begins where a row begins. Of each row, the first `most` fields are kept.
    pub fn new(input: R, delimiter: u8, most: usize) -> Self {
        let mut reader = Box::new(ReaderBuilder::new().delimiter(delimiter).build());
        // An empty line, so that the reader takes no byte order mark out of what follows: a row may begin like that.
        reader.read_record(b"\n", &mut [0], &mut [0]);
        Self {
            input,
            reader,
            chunk: vec![0; CHUNK].into_boxed_slice(),
            start: 0,
            end: 0,
            fields: vec![0; FIRST_ROOM],
            used: 0,
            ends: vec![0; most].into_boxed_slice(),
            count: 0,
            spare: Box::new([0; SPARE]),
        }
    }

    /// Goes to the next row; false if there is none.
    pub fn advance(&mut self) -> Result<bool> {
        (self.used, self.count) = (0, 0);
        let mut given_up = false;
        loop {
            if self.start == self.end {
                (self.start, self.end) = (0, fill(&mut self.input, &mut self.chunk)?);
            }
            // No input at all tells the reader that it has come to the end.
            let input = &self.chunk[self.start..self.end];
            let room = if given_up { &mut self.spare[..] } else { &mut self.fields[self.used..] };
            let mut spare_end = [0];
            let all_kept = self.count == self.ends.len();
            let ends = if all_kept { &mut spare_end[..] } else { &mut self.ends[self.count..] };
            let (result, read, written, ended) = self.reader.read_record(input, room, ends);
            self.start += read;
            self.used += if given_up { 0 } else { written };
            self.count += if all_kept { 0 } else { ended };
            match result {
                ReadRecordResult::Record => return Ok(true),
                ReadRecordResult::End => return Ok(false),
                ReadRecordResult::InputEmpty | ReadRecordResult::OutputEndsFull => {}
                ReadRecordResult::OutputFull if self.fields.len() < LONGEST_RECORD => {
                    self.fields.resize(self.fields.len() * 2, 0);
                }
                ReadRecordResult::OutputFull => given_up = true,
            }
        }
    }

    /// How many fields of the row are kept.
    pub fn len(&self) -> usize {
        self.count
    }

    /// A field of the row, counted from 0, if the row has it.
    pub fn field(&self, place: usize) -> Option<&[u8]> {
        let ends = &self.ends[..self.count];
        let end = *ends.get(place)?;
        let start = if place == 0 { 0 } else { ends[place - 1] };
        // Beyond what is used lies what was given up.
        self.fields[..self.used].get(start..end)
    }
}

/// Reads what there is, at least a byte unless it is the end.
pub fn fill(input: &mut impl Read, chunk: &mut [u8]) -> Result<usize> {
    loop {
        match input.read(chunk) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
