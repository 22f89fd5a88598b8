//! The reader for formats with rows of delimited fields.

mod split;

use crate::columns::{COLUMNS_MAX, shorten};
use crate::delimited::{
    FieldBuffers, RawRecord, RecordCutter, RecordError, RecordEvent, RecordFields, guess_delimiter,
};
use crate::format::{FormatError, Reader, Splitter};
use laggard_model::{Loss, Sink};
use split::TableSplitter;

/// Kind of a table's first line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FirstLine {
    /// Names of columns.
    Header,
    /// Already a record.
    Record,
}

/// One kind of table.
pub(crate) trait Table: Send + Sized + 'static {
    /// Determines the columns from the first line that is not empty; returns their titles.
    fn begin(&mut self, first: &RecordFields<'_>) -> Result<(FirstLine, Vec<String>), FormatError>;

    /// Fewest fields of a row, at most the `width` of the header.
    fn fields_min(&self, width: usize) -> usize {
        width
    }

    /// Whether a last line without its line break may be read unchanged. Not when a line is several
    /// records: only one record may differ from those of the complete line.
    fn reads_cut_lines(&self) -> bool {
        true
    }

    /// The same table for another part of the input, once it has begun; `None` if rows depend on earlier ones.
    fn for_another_part(&self) -> Option<Self> {
        None
    }

    /// Emits the records of a row of at least [`Table::fields_min`] fields, or returns why it cannot.
    fn row(
        &mut self,
        row: &RecordFields<'_>,
        titles: &[String],
        sink: &mut dyn Sink,
    ) -> Result<(), RecordError>;
}

/// Turns chunks into rows for a [`Table`].
pub(crate) struct TableReader<T> {
    cutter: RecordCutter,
    rows: Rows<T>,
}

/// Handles complete records; separate from the cutter, which lends them.
struct Rows<T> {
    table: T,
    /// Titles of the columns. Rows are split no further than a few more.
    titles: Vec<String>,
    fields: FieldBuffers,
    /// Set once the first line is read.
    delimiter: Option<u8>,
}

/// Surplus fields that are recorded: enough to see that they are all empty in the usual cases.
const SURPLUS_FIELDS: usize = 8;

impl<T: Table> TableReader<T> {
    pub(crate) fn new(table: T) -> TableReader<T> {
        TableReader {
            rows: Rows { table, titles: Vec::new(), fields: FieldBuffers::default(), delimiter: None },
            cutter: RecordCutter::new(),
        }
    }
}

impl<T: Table> Reader for TableReader<T> {
    fn push(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<(), FormatError> {
        let mut rest = chunk;
        while let Some(cut) = self.cutter.next(&mut rest) {
            let record = match cut {
                RecordEvent::Record(record) => record,
                RecordEvent::Oversized { line } => {
                    sink.lose(Loss::OversizedRecord, &|| format!("line {line}"));
                    continue;
                }
            };
            if let Some(delimiter) = self.rows.delimiter {
                self.rows.read(record, delimiter, sink);
                continue;
            }
            self.rows.read_first(record, sink)?;
            if let Some(delimiter) = self.rows.delimiter {
                self.cutter.set_delimiter(delimiter);
            }
        }
        Ok(())
    }

    fn finish(&mut self, sink: &mut dyn Sink) -> Result<(), FormatError> {
        let Some(record) = self.cutter.unterminated() else { return Ok(()) };
        self.rows.read_unterminated(record, sink)
    }

    fn split(&mut self, block_bytes: usize) -> Option<Box<dyn Splitter>> {
        let splitter = TableSplitter::new(&mut self.cutter, &self.rows, block_bytes)?;
        Some(Box::new(splitter))
    }
}

impl<T: Table> Rows<T> {
    fn begin(&mut self, record: RawRecord<'_>) -> Result<FirstLine, FormatError> {
        let Ok(text) = std::str::from_utf8(record.bytes) else {
            return Err(FormatError::new("the first line is not UTF-8 text."));
        };
        let delimiter = guess_delimiter(text);
        self.delimiter = Some(delimiter);
        let row = self
            .fields
            .split(record, delimiter, COLUMNS_MAX)
            .map_err(|error| FormatError::new(format!("the first line is {}.", error.reason)))?;
        let (first_line, titles) = self.table.begin(&row)?;
        self.titles = titles;
        Ok(first_line)
    }

    fn read_first(&mut self, record: RawRecord<'_>, sink: &mut dyn Sink) -> Result<(), FormatError> {
        let record = without_byte_order_mark(record);
        if is_blank(record.bytes) {
            return Ok(());
        }
        if self.begin(record)? == FirstLine::Record
            && let Some(delimiter) = self.delimiter
        {
            self.read(record, delimiter, sink);
        }
        Ok(())
    }

    #[inline]
    fn read(&mut self, record: RawRecord<'_>, delimiter: u8, sink: &mut dyn Sink) {
        if let Err(error) = self.try_read(record, delimiter, sink)
            && !is_blank(record.bytes)
        {
            self.lose(record, delimiter, error, sink);
        }
    }

    #[inline]
    fn try_read(
        &mut self,
        record: RawRecord<'_>,
        delimiter: u8,
        sink: &mut dyn Sink,
    ) -> Result<(), RecordError> {
        let width = self.titles.len();
        let row = self.fields.split(record, delimiter, width + SURPLUS_FIELDS)?;
        if row.len() > width && row.iter().skip(width).any(|field| !field.is_empty()) {
            return Err(RecordError::record(Loss::MalformedRecord, "more fields than columns"));
        }
        if row.len() < self.table.fields_min(width) {
            return Err(RecordError::record(Loss::MalformedRecord, "fewer fields than columns"));
        }
        self.table.row(&row, &self.titles, sink)
    }

    /// Counts a skipped row; its field is looked up again only when the example is needed.
    #[cold]
    fn lose(&mut self, record: RawRecord<'_>, delimiter: u8, error: RecordError, sink: &mut dyn Sink) {
        let Some(column) = error.column else {
            sink.lose(error.loss, &|| format!("line {}: {}", record.line, error.reason));
            return;
        };
        let title = shorten(self.titles.get(column).map_or("", String::as_str));
        let value = match self.fields.split(record, delimiter, self.titles.len() + SURPLUS_FIELDS) {
            Ok(row) => shorten(row.get(column)),
            Err(_) => String::new(),
        };
        sink.lose(error.loss, &|| format!("line {}: {title} is {value:?}: {}", record.line, error.reason));
    }

    /// A line without its line break may be complete or truncated anywhere, even inside its last number.
    fn read_unterminated(&mut self, record: RawRecord<'_>, sink: &mut dyn Sink) -> Result<(), FormatError> {
        let record = without_byte_order_mark(record);
        if is_blank(record.bytes) {
            return Ok(());
        }
        if self.delimiter.is_none() && self.begin(record)? == FirstLine::Header {
            return Ok(());
        }
        let Some(delimiter) = self.delimiter else { return Ok(()) };
        let line = record.line;
        let is_read = self.table.reads_cut_lines() && self.try_read(record, delimiter, sink).is_ok();
        match is_read {
            true => sink.lose(Loss::TruncatedInput, &|| {
                format!("line {line} has no line break at its end; it was read unchanged")
            }),
            false => sink.lose(Loss::TruncatedInput, &|| format!("the input ends inside line {line}")),
        }
        Ok(())
    }
}

fn without_byte_order_mark(record: RawRecord<'_>) -> RawRecord<'_> {
    let is_first = record.line == 1;
    let bytes = record.bytes.strip_prefix(b"\xEF\xBB\xBF").filter(|_| is_first).unwrap_or(record.bytes);
    RawRecord { bytes, ..record }
}

fn is_blank(bytes: &[u8]) -> bool {
    bytes.trim_ascii().is_empty()
}
