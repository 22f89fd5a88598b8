//! Which column of a table is which: header names, their synonyms, and `--column` mappings.

use crate::delimited::{RecordError, RecordFields};
use crate::format::FormatError;
use crate::sample_csv::{is_sample_name, names_sample};
use crate::time_text::{TimeFormat, TimeUnit};
use laggard_model::{ParsedTraceId, TraceId};

// Limit: columns of a table | error
/// Most columns a header may have.
pub(crate) const COLUMNS_MAX: usize = 4_096;

/// A known column. Names are compared without regard to case, `_`, `-`, spaces and a leading `attr.`.
pub(crate) struct Column {
    /// The name in the manual.
    pub(crate) name: &'static str,
    /// Alternative names, normalized.
    pub(crate) synonyms: &'static [&'static str],
}

/// The column of a time and its format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TimeColumn {
    pub(crate) index: usize,
    pub(crate) format: TimeFormat,
}

impl TimeColumn {
    /// Nanoseconds in a row's field.
    #[inline]
    pub(crate) fn read(self, row: &RecordFields<'_>) -> Result<i64, RecordError> {
        let time = self.format.parse_ns(row.get(self.index));
        time.ok_or(RecordError::field(self.index, self.format.expectation()))
    }
}

/// Parses trace ids; remembers the last one, because neighboring rows often share it.
#[derive(Default)]
pub(crate) struct TraceIdReader {
    text: String,
    id: Option<ParsedTraceId>,
}

impl TraceIdReader {
    #[inline]
    pub(crate) fn read(&mut self, text: &str) -> Option<ParsedTraceId> {
        if text != self.text || self.id.is_none() {
            self.id = TraceId::parse_text(text);
            self.text.clear();
            self.text.push_str(text);
        }
        self.id
    }
}

/// The first line of a table.
pub(crate) struct Header {
    titles: Vec<String>,
    comparable: Vec<String>,
    /// Comparable names that a mapping gave to columns.
    mapped: Vec<(String, usize)>,
}

/// Names that [`ReaderOptions::columns`](crate::ReaderOptions) may give to columns of span tables.
pub(crate) const SPAN_NAMES: [&str; 20] = [
    "trace_id",
    "span_id",
    "parent_span_id",
    "service",
    "replica",
    "operation",
    "start_ns",
    "start_us",
    "start_ms",
    "start_s",
    "start",
    "duration_ns",
    "duration_us",
    "duration_ms",
    "duration_s",
    "status",
    "kind",
    "adjusted_count",
    "sampling_probability",
    "trace_state",
];

/// End times of span tables, a separate list only for readability.
const SPAN_END_NAMES: [&str; 5] = ["end_ns", "end_us", "end_ms", "end_s", "end"];

/// Names that mappings may give to columns of call logs.
pub(crate) const CALL_NAMES: [&str; 12] = [
    "host",
    "time_ns",
    "time_us",
    "time_ms",
    "time_s",
    "time",
    "request_id",
    "mid",
    "method",
    "flag",
    "callee_mid",
    "service",
];

/// A name normalized for comparison.
pub(crate) fn comparable(name: &str) -> String {
    let bare = name.trim().trim_start_matches('\u{feff}');
    let bare = bare.strip_prefix("attr.").unwrap_or(bare);
    bare.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

/// Reads one `NAME=HEADER` argument.
///
/// # Errors
/// Text without `=`, and a NAME that no table format has.
///
/// ```
/// let pair = laggard_formats::parse_column_option("duration_ms=Elapsed").unwrap();
/// assert_eq!(pair, ("duration_ms".to_owned(), "Elapsed".to_owned()));
/// assert!(laggard_formats::parse_column_option("speed=Elapsed").is_err());
/// ```
pub fn parse_column_option(text: &str) -> Result<(String, String), FormatError> {
    let Some((name, header)) =
        text.split_once('=').filter(|(name, header)| !name.is_empty() && !header.is_empty())
    else {
        return Err(FormatError::new(format!(
            "--column needs NAME=HEADER, for example --column duration_ms=Elapsed; got {:?}.",
            shorten(text)
        )));
    };
    if !is_known(name) {
        let names: Vec<_> = SPAN_NAMES.iter().chain(&SPAN_END_NAMES).chain(&CALL_NAMES).copied().collect();
        return Err(FormatError::new(format!(
            "--column {}: no table has a column of that name. The names are {} and attr.* for attributes; of \
             tables of samples server, tier, transaction, callee, measure, value and measures ({}), also with \
             a transaction's name (count:Home).",
            shorten(text),
            names.join(", "),
            crate::measures::EXAMPLES
        )));
    }
    Ok((name.to_owned(), header.to_owned()))
}

fn is_known(name: &str) -> bool {
    let mut names = SPAN_NAMES.iter().chain(&SPAN_END_NAMES).chain(&CALL_NAMES);
    name.starts_with("attr.") || names.any(|&known| known == name) || is_sample_name(name)
}

/// The table format that a mapping is meant for, inferred from names that only one of them has.
pub(crate) fn format_of_mapping(columns: &[(String, String)]) -> Option<&'static str> {
    let names = || columns.iter().map(|(name, _)| name.as_str());
    if names().any(names_sample) {
        return Some("sample-csv");
    }
    let is_span = |name: &str| SPAN_NAMES.contains(&name) || SPAN_END_NAMES.contains(&name);
    if names().any(|name| is_span(name) && !CALL_NAMES.contains(&name)) {
        return Some("span-csv");
    }
    names().any(|name| CALL_NAMES.contains(&name) && !is_span(name)).then_some("call-log")
}

impl Header {
    /// Reads a header line and applies a mapping.
    ///
    /// # Errors
    /// A mapping to a title that the header does not have, or of a name no table has; too many columns.
    pub(crate) fn new(row: &RecordFields<'_>, columns: &[(String, String)]) -> Result<Header, FormatError> {
        if row.len() > COLUMNS_MAX {
            return Err(FormatError::new(format!("the header has more than {COLUMNS_MAX} columns.")));
        }
        let titles: Vec<String> =
            row.iter().map(|title| title.trim_start_matches('\u{feff}').to_owned()).collect();
        let comparable = titles.iter().map(|title| comparable(title)).collect();
        let mut header = Header { titles, comparable, mapped: Vec::new() };
        for (name, title) in columns {
            header.map(name, title)?;
        }
        Ok(header)
    }

    fn map(&mut self, name: &str, title: &str) -> Result<(), FormatError> {
        if !is_known(name) {
            return parse_column_option(&format!("{name}={title}")).map(|_| ());
        }
        let exact = self.titles.iter().position(|found| found == title);
        let loose = || self.comparable.iter().position(|found| *found == comparable(title));
        let Some(index) = exact.or_else(loose) else {
            return Err(FormatError::new(format!(
                "--column {name}={}: the header has no such column. It has: {}.",
                shorten(title),
                self.list()
            )));
        };
        self.mapped.push((comparable(name), index));
        Ok(())
    }

    /// Position of a column that must be there; without it, 0, and its name is added to `missing`.
    pub(crate) fn require(&self, column: &Column, missing: &mut Vec<&'static str>) -> usize {
        self.find(column).unwrap_or_else(|| {
            missing.push(column.name);
            0
        })
    }

    /// Position of a column: a mapping counts before the name, the name before its synonyms.
    pub(crate) fn find(&self, column: &Column) -> Option<usize> {
        let name = comparable(column.name);
        let named = |name: &str| self.comparable.iter().position(|found| found == name);
        self.mapped_to(&name)
            .or_else(|| named(&name))
            .or_else(|| column.synonyms.iter().find_map(|name| named(name)))
    }

    /// Position of a column by its comparable name alone.
    pub(crate) fn find_exactly(&self, name: &str) -> Option<usize> {
        self.mapped_to(name).or_else(|| self.comparable.iter().position(|found| found == name))
    }

    /// Position of the column that a mapping gives this comparable name.
    pub(crate) fn mapped_to(&self, name: &str) -> Option<usize> {
        self.mapped.iter().find(|(mapped, _)| mapped == name).map(|&(_, index)| index)
    }

    /// Whether a mapping names this column.
    pub(crate) fn is_mapped(&self, index: usize) -> bool {
        self.mapped.iter().any(|&(_, mapped)| mapped == index)
    }

    /// A time column `stem_ns`, `stem_us`, `stem_ms`, `stem_s` or, for RFC 3339 text, `stem`; mappings
    /// first, then the finest unit. `synonyms` name columns in nanoseconds.
    pub(crate) fn find_time(&self, stem: &str, synonyms: &[&str]) -> Option<TimeColumn> {
        let time_column = |index, unit| TimeColumn { index, format: TimeFormat::Decimal(unit) };
        let text = |index| TimeColumn { index, format: TimeFormat::Rfc3339 };
        let named = |name: &str| self.comparable.iter().position(|found| found == name);
        let units = TimeUnit::SUFFIXES.map(|(unit, suffix)| (unit, format!("{stem}{suffix}")));
        let mapped = units.iter().find_map(|(unit, name)| Some(time_column(self.mapped_to(name)?, *unit)));
        let natural = || units.iter().find_map(|(unit, name)| Some(time_column(named(name)?, *unit)));
        let synonym =
            || synonyms.iter().find_map(|name| Some(time_column(named(name)?, TimeUnit::Nanoseconds)));
        mapped
            .or_else(|| self.mapped_to(stem).map(text))
            .or_else(natural)
            .or_else(synonym)
            .or_else(|| named(stem).map(text))
    }

    /// The titles, as in the file.
    pub(crate) fn titles(&self) -> &[String] {
        &self.titles
    }

    /// The titles, for examples of losses.
    pub(crate) fn into_titles(self) -> Vec<String> {
        self.titles
    }

    /// The error for columns that are needed and not there. `missing` are names as the manual gives them;
    /// the first is used in the example of a mapping.
    pub(crate) fn lacks(&self, missing: &[&str], needed: &str) -> FormatError {
        let first = missing.first().and_then(|names| names.split_whitespace().next()).unwrap_or("span_id");
        FormatError::new(format!(
            "the table lacks {}. Its header has: {}. Needed are {needed}. If the columns have other names, map \
             them: --column {first}=HEADER, where HEADER is one of the names above{}.",
            missing.join(", "),
            self.list(),
            self.example(first)
        ))
    }

    fn example(&self, name: &str) -> String {
        let title = self.titles.iter().find(|title| !title.is_empty());
        title.map(|title| format!(" (for example --column {name}={:?})", shorten(title))).unwrap_or_default()
    }

    /// The titles, cut to a readable length.
    fn list(&self) -> String {
        const SHOWN: usize = 40;
        let mut shown: Vec<String> = self.titles.iter().take(SHOWN).map(|title| shorten(title)).collect();
        if self.titles.len() > SHOWN {
            shown.push(format!("and {} more", self.titles.len() - SHOWN));
        }
        shown.join(", ")
    }
}

/// At most 80 characters of some input's text, for messages.
pub(crate) fn shorten(text: &str) -> String {
    const SHOWN: usize = 80;
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
