//! The columns of a table of samples.

use super::labels::{LabeledTitle, parse_labels};
use super::time::TimeNotation;
use crate::columns::{Column, Header, comparable};
use crate::delimited::RecordFields;
use crate::format::FormatError;
use crate::measures::{EXAMPLES, FileMeasure, Measured, find_word, is_of_transactions, parse_measured};
use crate::time_text::TimeFormat;
use laggard_model::Measure;

/// Stems of the time column, in order of preference; with a unit (`time_ms`) or without.
const TIMES: [&str; 7] = ["time", "timestamp", "datetime", "date", "windowstart", "start", "window"];
const SUFFIXES: [&str; 5] = ["", "ns", "us", "ms", "s"];

const SERVER: Column = Column {
    name: "server",
    synonyms: &["host", "hostname", "instance", "pod", "podname", "node", "replica"],
};
const TIER: Column = Column { name: "tier", synonyms: &["service", "service.name", "servicename", "job"] };
const TRANSACTION: Column = Column {
    name: "transaction",
    synonyms: &["operation", "endpoint", "route", "page", "class", "transactiontype"],
};
const CALLEE: Column = Column { name: "callee", synonyms: &["target", "peer"] };
const MEASURE: Column = Column { name: "measure", synonyms: &["metric", "metricname"] };
const VALUE: Column = Column { name: "value", synonyms: &[] };

/// Titles of a table's only column of a server, which contain no name.
const SERVER_TOTALS: [&str; 7] = ["all", "total", "value", "avg", "mean", "average", "cpu"];

/// Titles of tables with a row for each request.
const REQUEST_IDS: [&str; 5] = ["traceid", "spanid", "requestid", "request", "mid"];

/// One column of a measure.
#[derive(Clone, Debug)]
pub(super) struct SampleColumn {
    pub(super) index: usize,
    pub(super) measured: Measured,
}

/// The two columns of a long table.
#[derive(Clone, Copy, Debug)]
pub(super) struct LongColumns {
    pub(super) measure: usize,
    pub(super) value: usize,
}

/// Positions of the columns; the default is that of no table and is replaced by the header.
#[derive(Clone, Debug, Default)]
pub(super) struct SampleColumns {
    pub(super) time: usize,
    pub(super) time_notation: TimeNotation,
    pub(super) server: Option<usize>,
    pub(super) tier: Option<usize>,
    pub(super) transaction: Option<usize>,
    pub(super) callee: Option<usize>,
    pub(super) long: Option<LongColumns>,
    pub(super) measures: Vec<SampleColumn>,
    /// Columns that are ignored.
    pub(super) unknown: Vec<usize>,
}

fn bare(title: &str) -> String {
    comparable(title.trim().trim_matches('"'))
}

fn is_time(title: &str) -> bool {
    let is = |stem: &str| title.strip_prefix(stem).is_some_and(|rest| SUFFIXES.contains(&rest));
    TIMES.iter().any(|stem| is(stem))
}

fn is(column: &Column, title: &str) -> bool {
    title == comparable(column.name) || column.synonyms.contains(&title)
}

/// Whether a label or column of this name names a server.
pub(super) fn is_server_name(name: &str) -> bool {
    is(&SERVER, &comparable(name))
}

/// Whether a label or column of this name names a transaction type.
pub(super) fn is_transaction_name(name: &str) -> bool {
    let name = comparable(name);
    is(&TRANSACTION, &name) || ["uri", "handler", "path"].contains(&name.as_str())
}

/// Whether a header has a time, and a measure by name or the two columns of a long table.
pub(super) fn names_samples<'a>(titles: impl Iterator<Item = &'a str> + Clone) -> bool {
    let has = |is_match: &dyn Fn(&str) -> bool| titles.clone().any(|title| is_match(&bare(title)));
    let is_long = || has(&|title| is(&MEASURE, title)) && has(&|title| is(&VALUE, title));
    // Titles with labels contain commas, where this text is cut; a brace and a label remain.
    let is_labeled = |title: &str| title.split_once('{').is_some_and(|(_, labels)| labels.contains('='));
    let is_wide =
        || titles.clone().any(|title| is_distinctive(title.trim().trim_matches('"')) || is_labeled(title));
    has(&is_time) && !has(&|title| REQUEST_IDS.contains(&title)) && (is_long() || is_wide())
}

/// Whether only a table of samples has a column of this title. A mean time alone is not distinctive: a request
/// table has a `latency`.
fn is_distinctive(title: &str) -> bool {
    parse_measured(title).is_some_and(|measured| {
        let is_mean = matches!(measured.what.measure, Measure::ResponseTime | Measure::CallTime);
        !is_mean || !measured.transaction.is_empty()
    })
}

/// Whether a header's first title is of a time, and more follow.
pub(super) fn starts_with_time<'a>(mut titles: impl Iterator<Item = &'a str>) -> bool {
    titles.next().is_some_and(|title| is_time(&bare(title))) && titles.next().is_some()
}

impl SampleColumns {
    /// Finds the columns in a header. `file` is the measure of columns that are not known by name.
    ///
    /// # Errors
    /// There is no time, or nothing is measured.
    pub(super) fn find(
        header: &Header,
        titles: &RecordFields<'_>,
        mapping: &[(String, String)],
        file: Option<&FileMeasure>,
    ) -> Result<SampleColumns, FormatError> {
        let Some((time, time_notation)) = find_time(header) else {
            return Err(header.lacks(&["time (or time_s, time_ms, time_us, time_ns)"], NEEDED));
        };
        let mut columns = SampleColumns {
            time,
            time_notation,
            server: header.find(&SERVER),
            tier: header.find(&TIER),
            transaction: header.find(&TRANSACTION),
            callee: header.find(&CALLEE),
            long: header
                .find(&MEASURE)
                .zip(header.find(&VALUE))
                .map(|(measure, value)| LongColumns { measure, value }),
            ..SampleColumns::default()
        };
        columns.find_measures(header, titles, mapping, file);
        if columns.measures.is_empty() && columns.long.is_none() {
            return Err(header.lacks(&[&format!("utilization (or another measure: {EXAMPLES})")], NEEDED));
        }
        Ok(columns)
    }

    fn find_measures(
        &mut self,
        header: &Header,
        titles: &RecordFields<'_>,
        mapping: &[(String, String)],
        file: Option<&FileMeasure>,
    ) {
        let labels = [Some(self.time), self.server, self.tier, self.transaction, self.callee];
        let long = self.long.map_or([None; 2], |long| [Some(long.measure), Some(long.value)]);
        let is_assigned = |index| labels.contains(&Some(index)) || long.contains(&Some(index));
        let mut unnamed = Vec::new();
        for (index, title) in titles.iter().enumerate().filter(|&(index, _)| !is_assigned(index)) {
            let title = title.trim_start_matches('\u{feff}');
            let mapped: Vec<Measured> = mapping
                .iter()
                .filter(|(name, _)| header.mapped_to(&comparable(name)) == Some(index))
                .filter_map(|(name, _)| parse_measured(name))
                .collect();
            let is_mapped = !mapped.is_empty();
            self.measures.extend(mapped.into_iter().map(|measured| SampleColumn { index, measured }));
            match parse_measured(title).or_else(|| measured_by_labels(title)) {
                _ if is_mapped => {}
                Some(measured) => self.measures.push(SampleColumn { index, measured }),
                // Another time, or no name at all.
                None if is_time(&bare(title)) || bare(title).is_empty() => {}
                None => unnamed.push((index, title)),
            }
        }
        let file = file.filter(|_| self.measures.is_empty() && self.long.is_none());
        match file {
            Some(file) => {
                self.measures.extend(unnamed.iter().map(|&(index, title)| from_file(file, index, title)))
            }
            None => self.unknown.extend(unnamed.iter().map(|&(index, _)| index)),
        }
    }
}

/// A column whose title is a measure with labels: `cpu_usage{instance="app-1"}`.
fn measured_by_labels(title: &str) -> Option<Measured> {
    let title = parse_labels(title)?;
    let what = find_word(title.name)?;
    let (transaction, server) = match is_of_transactions(what.measure) {
        true => (title.first(is_transaction_name).to_owned(), String::new()),
        false => (String::new(), title.first(is_server_name).to_owned()),
    };
    Some(Measured { what, transaction, callee: String::new(), server })
}

/// A column of a table whose measure follows from the file name or an option: the title is the transaction type's name,
/// or the server's.
fn from_file(file: &FileMeasure, index: usize, title: &str) -> SampleColumn {
    let labeled = parse_labels(title);
    let named = |of_labels: fn(&LabeledTitle<'_>) -> String| {
        labeled.as_ref().map(of_labels).filter(|name| !name.is_empty()).unwrap_or_else(|| title.to_owned())
    };
    let is_total = SERVER_TOTALS.contains(&bare(title).as_str());
    let (transaction, server) = match is_of_transactions(file.what.measure) {
        true => (named(|title| title.first(is_transaction_name).to_owned()), String::new()),
        false if is_total || file.what.measure == Measure::Clients => (String::new(), file.server.clone()),
        false => (String::new(), named(|title| title.first(is_server_name).to_owned())),
    };
    SampleColumn { index, measured: Measured { what: file.what, transaction, callee: String::new(), server } }
}

/// A time column with a unit in its name has precedence over one with a unit in its text.
fn find_time(header: &Header) -> Option<(usize, TimeNotation)> {
    let stated = TIMES.iter().find_map(|stem| {
        let column = header.find_time(stem, &[])?;
        Some((column.index, column.format))
    });
    match stated? {
        (index, TimeFormat::Rfc3339) => Some((index, TimeNotation::Free(None))),
        (index, format) => Some((index, TimeNotation::Stated(format))),
    }
}

/// Whether only a table of samples has a column of this name.
pub(crate) fn names_sample(name: &str) -> bool {
    let labels = [SERVER, TIER, TRANSACTION, CALLEE, MEASURE, VALUE];
    labels.iter().any(|column| column.name == name) || parse_measured(name).is_some()
}

/// Whether `--column` may give this name to a column of a table of samples.
pub(crate) fn is_sample_name(name: &str) -> bool {
    names_sample(name) || is_time(&comparable(name))
}

const NEEDED: &str = "a time and either columns of measures or the columns measure and value; --measure MEASURE \
                      says what all columns measure whose titles do not";
