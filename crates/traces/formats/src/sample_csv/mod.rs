//! Sample CSV: measures of servers and transactions by time, one row an instant or a window (wide), or one row
//! a number (long).

mod columns;
mod labels;
mod time;

use crate::columns::shorten;
use crate::delimited::{RecordError, RecordFields, guess_delimiter};
use crate::first_line::{FirstText, first_line, sniff_line};
use crate::format::{Format, FormatError, GroundTable, Reader, ReaderOptions, Recognizer, Sniff};
use crate::measures::{self, FileMeasure, MeasureRule, Measured, MeasuredAs};
use crate::table::{FirstLine, Table, TableReader};
use columns::{SampleColumn, SampleColumns};
pub(crate) use columns::{is_sample_name, names_sample};
use laggard_model::{Loss, SampleRecord, Sink, Timestamp};
use time::TimeNotation;

/// The row in [`FORMATS`](crate::FORMATS).
pub(crate) const FORMAT: Format = Format {
    name: "sample-csv",
    title: "measures by time: CSV with a header, a column or a row for each measure",
    manual: "docs/manual/formats/sample-csv.md",
    fills: GroundTable::Samples,
    recognizer: Recognizer::Start(sniff),
    open,
};

fn open(options: &ReaderOptions) -> Box<dyn Reader> {
    Box::new(TableReader::new(SampleTable::new(options)))
}

/// A header with a time and a measure is recognized, if it is not a header of spans or calls, which are tried before.
fn sniff(prefix: &[u8]) -> Sniff {
    sniff_line(prefix, |line| columns::names_samples(line.split(char::from(guess_delimiter(line)))))
}

/// Whether the input, which no format has recognized, is a table by time of a measure that its file's name or
/// an option determines.
pub(crate) fn is_named_by_file(prefix: &[u8], options: &ReaderOptions) -> bool {
    let is_declared =
        measures::measure_of_file(&options.get::<Vec<MeasureRule>>(), options.source_name.as_deref())
            .is_some();
    match first_line(prefix) {
        FirstText::Line(line) if is_declared => {
            columns::starts_with_time(line.split(char::from(guess_delimiter(line))))
        }
        _ => false,
    }
}

/// State of one table of samples.
struct SampleTable {
    options: ReaderOptions,
    /// The measure of columns whose names are unknown.
    file: Option<FileMeasure>,
    columns: SampleColumns,
    time: TimeNotation,
    /// Whether columns that are passed over have been counted.
    has_counted_unknown: bool,
    /// A long table's measure read last: neighboring rows often share it.
    word: String,
    measured: Option<Measured>,
}

/// Properties shared by all samples of a row.
#[derive(Clone, Copy)]
struct RowContext<'a> {
    time: Timestamp,
    server: &'a str,
    tier: &'a str,
    transaction: &'a str,
    callee: &'a str,
}

impl SampleTable {
    fn new(options: &ReaderOptions) -> SampleTable {
        SampleTable {
            file: measures::measure_of_file(
                &options.get::<Vec<MeasureRule>>(),
                options.source_name.as_deref(),
            ),
            options: options.clone(),
            columns: SampleColumns::default(),
            time: TimeNotation::default(),
            has_counted_unknown: false,
            word: String::new(),
            measured: None,
        }
    }

    fn context<'a>(&mut self, row: &RecordFields<'a>) -> Result<RowContext<'a>, RecordError> {
        let column = self.columns.time;
        let time = self.time.parse(row.get(column));
        let time = time.ok_or(RecordError::field(column, self.time.expectation()))?;
        let text = |column: Option<usize>| column.map_or("", |index| row.get(index));
        Ok(RowContext {
            time,
            server: text(self.columns.server),
            tier: text(self.columns.tier),
            transaction: text(self.columns.transaction),
            callee: text(self.columns.callee),
        })
    }

    /// Counts the columns that are passed over, with the first row that would have had them.
    fn count_unknown(&mut self, titles: &[String], sink: &mut dyn Sink) {
        if std::mem::replace(&mut self.has_counted_unknown, true) {
            return;
        }
        for &column in &self.columns.unknown {
            let title = shorten(&titles[column]);
            sink.lose(Loss::OtherSignal, &|| format!("column {title:?} is of no known measure"));
        }
    }

    /// The sample of a long table's row.
    fn long(
        &mut self,
        row: &RecordFields<'_>,
        context: RowContext<'_>,
        sink: &mut dyn Sink,
    ) -> Result<(), RecordError> {
        let Some(long) = self.columns.long else { return Ok(()) };
        let word = row.get(long.measure);
        if word != self.word || self.measured.is_none() {
            self.measured = measures::parse_measured(word);
            self.word.clear();
            self.word.push_str(word);
        }
        let Some(measured) = &self.measured else {
            sink.lose(Loss::OtherSignal, &|| format!("line {}: {:?} is no measure", row.line, shorten(word)));
            return Ok(());
        };
        let text = row.get(long.value);
        if text.is_empty() {
            return Ok(());
        }
        let value = parse_value(text, measured.what).ok_or(RecordError::field(long.value, NO_NUMBER))?;
        emit(context, measured, value, sink);
        Ok(())
    }
}

const NO_NUMBER: &str = "not a number";

/// A number in the unit of the measure: as `what` says, or `12%` of what is a share.
fn parse_value(text: &str, what: MeasuredAs) -> Option<f64> {
    match text.strip_suffix('%') {
        Some(percent) if measures::is_share(what.measure) => Some(parse_number(percent.trim_end())? * 1e-2),
        Some(_) => None,
        None => Some(parse_number(text)? * what.factor),
    }
}

/// `NaN`, `inf` and the like are numbers, too. With a decimal comma where the delimiter allows it.
fn parse_number(text: &str) -> Option<f64> {
    if let Ok(value) = text.parse() {
        return Some(value);
    }
    let is_comma = text.contains(',') && !text.contains('.');
    if is_comma { text.replacen(',', ".", 1).parse().ok() } else { None }
}

fn emit(context: RowContext<'_>, measured: &Measured, value: f64, sink: &mut dyn Sink) {
    let of_transactions = measures::is_of_transactions(measured.what.measure);
    sink.sample(&SampleRecord {
        time: context.time,
        measure: measured.what.measure,
        server: first_of(&measured.server, context.server),
        tier: context.tier,
        transaction: if of_transactions { first_of(&measured.transaction, context.transaction) } else { "" },
        callee: if of_transactions { first_of(&measured.callee, context.callee) } else { "" },
        value,
    });
}

/// The column's own name, else the row's.
const fn first_of<'a>(own: &'a str, of_row: &'a str) -> &'a str {
    if own.is_empty() { of_row } else { own }
}

impl Table for SampleTable {
    fn begin(&mut self, first: &RecordFields<'_>) -> Result<(FirstLine, Vec<String>), FormatError> {
        let header = crate::columns::Header::new(first, &self.options.columns)?;
        self.columns = SampleColumns::find(&header, first, &self.options.columns, self.file.as_ref())?;
        self.time = self.columns.time_notation;
        Ok((FirstLine::Header, header.into_titles()))
    }

    fn reads_cut_lines(&self) -> bool {
        false
    }

    fn row(
        &mut self,
        row: &RecordFields<'_>,
        titles: &[String],
        sink: &mut dyn Sink,
    ) -> Result<(), RecordError> {
        let context = self.context(row)?;
        self.count_unknown(titles, sink);
        for SampleColumn { index, measured } in &self.columns.measures {
            let text = row.get(*index);
            if text.is_empty() {
                continue;
            }
            match parse_value(text, measured.what) {
                Some(value) => emit(context, measured, value, sink),
                None => sink.lose(Loss::MalformedRecord, &|| {
                    let title = shorten(&titles[*index]);
                    format!("line {}: {title} is {:?}: {NO_NUMBER}", row.line, shorten(text))
                }),
            }
        }
        self.long(row, context, sink)
    }
}
