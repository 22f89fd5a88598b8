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
        // The engine may pass some on; as the first one, it would have a header, and so would the next.
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let is_first = self.rows == 0;
        self.rows += batch.num_rows() as u64;
        let mut encoded = Vec::new();
        match self.output {
            SqlOutput::Text => {
                let room = TEXT_ROWS_MAX - self.cells.len();
                let shown = batch.slice(0, room.min(batch.num_rows()));
                self.cells.extend(cells(&shown).map_err(io::Error::other)?);
                return Ok(());
            }
            SqlOutput::Csv => {
                csv::WriterBuilder::new().with_header(is_first).build(&mut encoded).write(batch)
            }
            SqlOutput::Json => LineDelimitedWriter::new(&mut encoded).write(batch),
        }
        .map_err(io::Error::other)?;
        // Written here, not by these writers: theirs do not tell a closed pipe from other errors.
        self.out.write_all(&encoded)?;
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
                let mut header = Vec::new();
                let writer = csv::WriterBuilder::new().with_header(true);
                writer.build(&mut header).write(&RecordBatch::new_empty(schema)).map_err(io::Error::other)?;
                self.out.write_all(&header)?;
                0
            }
            SqlOutput::Csv | SqlOutput::Json => 0,
        };
        self.out.flush()?;
        Ok((self.rows, omitted))
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

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::Int64Array;
    use datafusion::arrow::datatypes::{Field, Schema};
    use std::sync::Arc;

    fn batch(rows: i64) -> RecordBatch {
        let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, false)]));
        RecordBatch::try_new(schema, vec![Arc::new(Int64Array::from_iter_values(0..rows))]).unwrap()
    }

    /// A pipe whose reader has gone.
    struct ClosedPipe;

    impl Write for ClosedPipe {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_pipe_is_distinguished_from_other_errors() {
        for output in [SqlOutput::Csv, SqlOutput::Json] {
            let mut out = ClosedPipe;
            let error = AnswerWriter::new(output, &mut out).write(&batch(10_000)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::BrokenPipe, "{output:?}");
        }
    }

    #[test]
    fn csv_has_one_header_even_if_batches_are_empty() {
        let written = |batches: &[i64]| {
            let mut out = Vec::new();
            let mut writer = AnswerWriter::new(SqlOutput::Csv, &mut out);
            writer.begin(batch(0).schema());
            batches.iter().for_each(|&rows| writer.write(&batch(rows)).unwrap());
            writer.finish().unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(written(&[0, 2, 0, 1]), "n\n0\n1\n0\n");
        assert_eq!(written(&[0]), "n\n");
        assert_eq!(written(&[]), "n\n");
    }
}
