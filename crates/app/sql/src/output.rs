//! Answers as text, CSV, and JSON.

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::csv;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::json::LineDelimitedWriter;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use std::io::{self, Write};

/// How an answer is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SqlOutput {
    /// A table for people, of a limited number of rows.
    Text,
    /// Comma-separated values with a header.
    Csv,
    /// A JSON object on a line for each row.
    Json,
}

// Limit: rows of an answer of `laggard sql` as text | further ones are left out, counted; CSV and JSON have all
/// Rows of a table for people.
const TEXT_ROWS_MAX: usize = 1_000;

/// Writes an answer as its batches come.
pub(crate) struct AnswerWriter<'a> {
    output: SqlOutput,
    out: &'a mut (dyn Write + Send),
    schema: Option<SchemaRef>,
    /// Cells of a table for people, whose widths are known at its end.
    cells: Vec<Vec<String>>,
    rows: u64,
    has_written: bool,
}

impl<'a> AnswerWriter<'a> {
    pub(crate) fn new(output: SqlOutput, out: &'a mut (dyn Write + Send)) -> AnswerWriter<'a> {
        AnswerWriter { output, out, schema: None, cells: Vec::new(), rows: 0, has_written: false }
    }

    /// The same for another attempt.
    pub(crate) fn again(self) -> AnswerWriter<'a> {
        AnswerWriter::new(self.output, self.out)
    }

    /// Whether something of the answer is out of hand.
    pub(crate) const fn has_written(&self) -> bool {
        self.has_written
    }

    pub(crate) fn begin(&mut self, schema: SchemaRef) {
        self.schema = Some(schema);
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let is_first = self.rows == 0;
        self.rows += batch.num_rows() as u64;
        match self.output {
            SqlOutput::Text => {
                let room = TEXT_ROWS_MAX - self.cells.len();
                self.cells
                    .extend(cells(&batch.slice(0, room.min(batch.num_rows()))).map_err(io::Error::other)?);
                return Ok(());
            }
            SqlOutput::Csv => {
                let writer = csv::WriterBuilder::new().with_header(is_first);
                writer.build(&mut *self.out).write(batch)
            }
            SqlOutput::Json => LineDelimitedWriter::new(&mut *self.out).write(batch),
        }
        .map_err(of_output)?;
        self.has_written = true;
        Ok(())
    }

    /// Writes what is left; the rows of the answer, and how many of them were left out.
    pub(crate) fn finish(self) -> io::Result<(u64, u64)> {
        let Some(schema) = self.schema else { return Ok((0, 0)) };
        let omitted = match self.output {
            SqlOutput::Text => {
                write_table(&schema, &self.cells, self.out)?;
                self.rows - self.cells.len() as u64
            }
            SqlOutput::Csv if self.rows == 0 => {
                // Without rows, there was no batch with a header.
                let writer = csv::WriterBuilder::new().with_header(true);
                writer.build(&mut *self.out).write(&RecordBatch::new_empty(schema)).map_err(of_output)?;
                0
            }
            SqlOutput::Csv | SqlOutput::Json => 0,
        };
        self.out.flush()?;
        Ok((self.rows, omitted))
    }
}

fn of_output(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        other => io::Error::other(other),
    }
}

/// The cells of a batch, by row. Line breaks within a cell are shown as `\n`.
fn cells(batch: &RecordBatch) -> Result<Vec<Vec<String>>, ArrowError> {
    let options = FormatOptions::default();
    let columns: Vec<ArrayFormatter<'_>> = batch
        .columns()
        .iter()
        .map(|column| ArrayFormatter::try_new(column, &options))
        .collect::<Result<_, _>>()?;
    let cell = |column: &ArrayFormatter<'_>, row| Ok(column.value(row).try_to_string()?.replace('\n', "\\n"));
    (0..batch.num_rows()).map(|row| columns.iter().map(|column| cell(column, row)).collect()).collect()
}

/// Numbers to the right, everything else to the left.
fn write_table(schema: &SchemaRef, cells: &[Vec<String>], out: &mut (dyn Write + Send)) -> io::Result<()> {
    let fields = schema.fields();
    let widths: Vec<usize> = fields
        .iter()
        .enumerate()
        .map(|(index, field)| {
            let cells = cells.iter().map(|row| width(&row[index]));
            cells.chain([width(field.name())]).max().unwrap_or(0)
        })
        .collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| -> String {
        let cells = cells.enumerate().map(|(index, cell)| {
            let space = " ".repeat(widths[index] - width(cell));
            match is_number(fields[index].data_type()) {
                true => space + cell,
                false => cell.to_owned() + &space,
            }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    writeln!(out, "{}", line(&mut fields.iter().map(|field| field.name().as_str())))?;
    let rule: Vec<String> = widths.iter().map(|&width| "─".repeat(width)).collect();
    writeln!(out, "{}", rule.join("  "))?;
    for row in cells {
        writeln!(out, "{}", line(&mut row.iter().map(String::as_str)))?;
    }
    Ok(())
}

fn width(text: &str) -> usize {
    text.chars().count()
}

fn is_number(data: &DataType) -> bool {
    data.is_numeric()
}
