//! The words for measures: titles of columns, cells of long tables, values of options.
//!
//! ```text
//! WORD[UNIT][:TRANSACTION[:CALLEE]]     count:Home   response_ms:Home   calls:Home:db   utilization_percent
//! ```

use crate::columns::{comparable, shorten};
use crate::format::FormatError;
use laggard_model::Measure;

/// A measure, and what a number must be multiplied by to be in the measure's unit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct MeasuredAs {
    pub(crate) measure: Measure,
    pub(crate) factor: f64,
}

/// Which suffixes a word may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Unit {
    /// None.
    Plain,
    /// `percent`, `pct` or `%`; without it the number is a fraction.
    Fraction,
    /// A unit of time; without it the number is in seconds.
    Time,
    /// None, and the number is in thousandths.
    Thousandths,
}

/// Every word, normalized, with its meaning. The first that fits wins, so longer ones and those with
/// fewer suffixes stand before those that they start with.
const WORDS: [(&str, Measure, Unit); 58] = [
    ("utilization", Measure::Utilization, Unit::Fraction),
    ("utilisation", Measure::Utilization, Unit::Fraction),
    ("cpuutilization", Measure::Utilization, Unit::Fraction),
    ("cpuutilisation", Measure::Utilization, Unit::Fraction),
    ("cpuusagerate", Measure::Utilization, Unit::Fraction),
    ("cpuusage", Measure::Utilization, Unit::Fraction),
    ("util", Measure::Utilization, Unit::Fraction),
    ("cpusecondstotal", Measure::CpuSecondsTotal, Unit::Plain),
    ("processcpusecondstotal", Measure::CpuSecondsTotal, Unit::Plain),
    ("containercpuusagesecondstotal", Measure::CpuSecondsTotal, Unit::Plain),
    ("cputimetotal", Measure::CpuSecondsTotal, Unit::Time),
    ("cpu", Measure::Utilization, Unit::Fraction),
    ("millicores", Measure::Cores, Unit::Thousandths),
    ("cores", Measure::Cores, Unit::Plain),
    ("cpus", Measure::Cores, Unit::Plain),
    ("cpucores", Measure::Cores, Unit::Plain),
    ("cpulimit", Measure::Cores, Unit::Plain),
    ("counttotal", Measure::TransactionsTotal, Unit::Plain),
    ("count", Measure::Transactions, Unit::Plain),
    ("transactionstotal", Measure::TransactionsTotal, Unit::Plain),
    ("transactions", Measure::Transactions, Unit::Plain),
    ("requeststotal", Measure::TransactionsTotal, Unit::Plain),
    ("requests", Measure::Transactions, Unit::Plain),
    ("rate", Measure::TransactionRate, Unit::Plain),
    ("transactionrate", Measure::TransactionRate, Unit::Plain),
    ("throughput", Measure::TransactionRate, Unit::Plain),
    ("responsesecondstotal", Measure::ResponseSecondsTotal, Unit::Plain),
    ("responsesecondssum", Measure::ResponseSeconds, Unit::Plain),
    ("responsetotal", Measure::ResponseSecondsTotal, Unit::Time),
    ("responsesum", Measure::ResponseSeconds, Unit::Time),
    ("responsetime", Measure::ResponseTime, Unit::Time),
    ("response", Measure::ResponseTime, Unit::Time),
    ("averageresponsetime", Measure::ResponseTime, Unit::Time),
    ("meanresponsetime", Measure::ResponseTime, Unit::Time),
    ("latency", Measure::ResponseTime, Unit::Time),
    ("meanlatency", Measure::ResponseTime, Unit::Time),
    ("callstotal", Measure::CallsTotal, Unit::Plain),
    ("calls", Measure::Calls, Unit::Plain),
    ("callsecondstotal", Measure::CallSecondsTotal, Unit::Plain),
    ("callsecondssum", Measure::CallSeconds, Unit::Plain),
    ("calltotal", Measure::CallSecondsTotal, Unit::Time),
    ("callsum", Measure::CallSeconds, Unit::Time),
    ("calltime", Measure::CallTime, Unit::Time),
    ("call", Measure::CallTime, Unit::Time),
    ("clients", Measure::Clients, Unit::Plain),
    ("activeclients", Measure::Clients, Unit::Plain),
    ("users", Measure::Clients, Unit::Plain),
    ("activeusers", Measure::Clients, Unit::Plain),
    ("sessions", Measure::Clients, Unit::Plain),
    ("activesessions", Measure::Clients, Unit::Plain),
    ("concurrency", Measure::Clients, Unit::Plain),
    ("memoryutilization", Measure::MemoryUtilization, Unit::Fraction),
    ("memoryavailable", Measure::MemoryAvailable, Unit::Plain),
    ("memorysize", Measure::MemorySize, Unit::Plain),
    ("diskutilization", Measure::DiskUtilization, Unit::Fraction),
    ("diskavailable", Measure::DiskAvailable, Unit::Plain),
    ("disksize", Measure::DiskSize, Unit::Plain),
    ("networkutilization", Measure::NetworkUtilization, Unit::Fraction),
];

/// One word of every measure, for messages.
pub(crate) const EXAMPLES: &str = "utilization, utilization_percent, cpu_seconds_total, cores, count, count_total, \
     rate, response_ms, response_sum_ms, response_seconds_total, calls, calls_total, call_ms, call_sum_ms, \
     call_seconds_total, clients, memory_utilization, memory_available, memory_size, disk_utilization, disk_available, \
     disk_size, network_utilization";

/// Reads a word: `cpu_usage(%)`, `response_ms`.
pub(crate) fn find_word(text: &str) -> Option<MeasuredAs> {
    let word = comparable(text).replace(['(', ')', '[', ']'], "").replace('%', "percent");
    WORDS.iter().find_map(|&(stem, measure, unit)| {
        let factor = unit.factor(word.strip_prefix(stem)?)?;
        Some(MeasuredAs { measure, factor })
    })
}

impl Unit {
    fn factor(self, suffix: &str) -> Option<f64> {
        match (self, suffix) {
            (Unit::Thousandths, "") => Some(1e-3),
            (_, "") => Some(1.0),
            (Unit::Fraction, "percent" | "pct") => Some(1e-2),
            (Unit::Time, _) => time_factor(suffix),
            _ => None,
        }
    }
}

/// Seconds in a unit of time.
pub(crate) fn time_factor(unit: &str) -> Option<f64> {
    match unit {
        "s" | "seconds" | "sec" => Some(1.0),
        "ms" | "milliseconds" => Some(1e-3),
        "us" | "µs" | "microseconds" => Some(1e-6),
        "ns" | "nanoseconds" => Some(1e-9),
        _ => None,
    }
}

/// A column's or cell's measure with the names in it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Measured {
    pub(crate) what: MeasuredAs,
    /// Empty when the text names none.
    pub(crate) transaction: String,
    pub(crate) callee: String,
    /// Of a measure of servers: `utilization@app-1`.
    pub(crate) server: String,
}

/// Whether a measure is one of transactions or of their calls, not of servers.
pub(crate) const fn is_of_transactions(measure: Measure) -> bool {
    !measure.is_of_storage()
        && !matches!(
            measure,
            Measure::Utilization
                | Measure::CpuSecondsTotal
                | Measure::Cores
                | Measure::Clients
                | Measure::NetworkUtilization
        )
}

/// Whether a measure is a share of a capacity, 0..1.
pub(crate) const fn is_share(measure: Measure) -> bool {
    matches!(
        measure,
        Measure::Utilization
            | Measure::MemoryUtilization
            | Measure::DiskUtilization
            | Measure::NetworkUtilization
    )
}

const fn is_of_calls(measure: Measure) -> bool {
    matches!(
        measure,
        Measure::Calls
            | Measure::CallsTotal
            | Measure::CallTime
            | Measure::CallSeconds
            | Measure::CallSecondsTotal
    )
}

/// Reads `WORD[:TRANSACTION[:CALLEE]]`, or `WORD[@SERVER]` of a measure of servers.
pub(crate) fn parse_measured(text: &str) -> Option<Measured> {
    let (word, names) = text.split_once(':').unwrap_or((text, ""));
    let (word, server) = word.split_once('@').unwrap_or((word, ""));
    let what = find_word(word)?;
    let of_transactions = is_of_transactions(what.measure);
    if of_transactions != server.is_empty() && !(names.is_empty() && server.is_empty()) {
        return None;
    }
    let (transaction, callee) = match names.rsplit_once(':') {
        Some((transaction, callee)) if is_of_calls(what.measure) => (transaction, callee),
        None if is_of_calls(what.measure) => ("", names),
        _ => (names, ""),
    };
    Some(Measured {
        what,
        transaction: transaction.trim().to_owned(),
        callee: callee.trim().to_owned(),
        server: server.trim().to_owned(),
    })
}

/// The measure of the columns of a table without titles: `--measure [FILE=]WORD`.
#[derive(Clone, PartialEq, Debug)]
pub struct MeasureRule {
    /// For files whose name matches this; `*` matches anything. Empty for every file.
    pattern: String,
    word: MeasuredAs,
}

/// Reads one `--measure` argument.
///
/// # Errors
/// A word that is no measure.
///
/// ```
/// assert!(laggard_formats::parse_measure_option("*_THROUGHPUT*=rate").is_ok());
/// assert!(laggard_formats::parse_measure_option("speed").is_err());
/// ```
pub fn parse_measure_option(text: &str) -> Result<MeasureRule, FormatError> {
    let (pattern, word) = text.rsplit_once('=').unwrap_or(("", text));
    match find_word(word) {
        Some(word) => Ok(MeasureRule { pattern: pattern.to_owned(), word }),
        None => Err(FormatError::new(format!(
            "--measure {}: {:?} is no measure. Give [FILE=]MEASURE, for example --measure '*THROUGHPUT*=rate'; \
             measures are {EXAMPLES}.",
            shorten(text),
            shorten(word)
        ))),
    }
}

/// The measure of all columns of a table, from a file's name or a rule.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct FileMeasure {
    pub(crate) what: MeasuredAs,
    /// The server, when the name gives one.
    pub(crate) server: String,
}

/// File names that imply a measure, normalized.
const FILE_WORDS: [(&str, Measure); 8] = [
    ("cpuutil", Measure::Utilization),
    ("cpuusage", Measure::Utilization),
    ("utiliz", Measure::Utilization),
    ("utilis", Measure::Utilization),
    ("throughput", Measure::TransactionRate),
    ("averageresponsetime", Measure::ResponseTime),
    ("responsetime", Measure::ResponseTime),
    ("latency", Measure::ResponseTime),
];

/// What all columns of a file measure that are not known by name: the first rule that fits, else what the
/// file's name says.
pub(crate) fn measure_of_file(rules: &[MeasureRule], source_name: Option<&str>) -> Option<FileMeasure> {
    let path = source_name.unwrap_or_default();
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let rule = rules.iter().find(|rule| rule.pattern.is_empty() || is_like(&rule.pattern, name));
    let measure = from_file_name(name);
    let server = measure.as_ref().map(|measure| measure.server.clone()).unwrap_or_default();
    rule.map(|rule| FileMeasure { what: rule.word, server }).or(measure)
}

fn from_file_name(name: &str) -> Option<FileMeasure> {
    // Comparable names are shorter, so the text before the word is found by its own length.
    let lower = name.to_ascii_lowercase();
    let bare: String = comparable(name);
    let (word, measure) = FILE_WORDS.iter().copied().find(|(word, _)| bare.contains(word))?;
    let server = match measure {
        Measure::Utilization => server_before(name, &lower, word),
        _ => String::new(),
    };
    Some(FileMeasure { what: MeasuredAs { measure, factor: 1.0 }, server })
}

/// The server in `host1_CPU_UTILIZATION.csv`: the text before the word, without separators.
fn server_before(name: &str, lower: &str, word: &str) -> String {
    let first = if word.starts_with("cpu") { "cpu" } else { word };
    let end = lower.find(first).unwrap_or(0);
    name.get(..end).unwrap_or("").trim_matches(['_', '-', '.', ' ']).to_owned()
}

/// Whether a name matches a pattern in which `*` matches anything. Case-insensitive.
fn is_like(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.to_lowercase(), name.to_lowercase());
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut last = None;
    for part in parts {
        let Some(position) = rest.find(part) else { return false };
        rest = &rest[position + part.len()..];
        last = Some(part);
    }
    match last {
        None => rest.is_empty(),
        Some(part) => part.is_empty() || name.ends_with(part),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, measure: Measure, factor: f64) {
        assert_eq!(find_word(text), Some(MeasuredAs { measure, factor }), "{text}");
    }

    #[test]
    fn units_are_read_from_column_titles() {
        check("Utilization", Measure::Utilization, 1.0);
        check("CpuUsageRate(%)", Measure::Utilization, 0.01);
        check("utilization_percent", Measure::Utilization, 0.01);
        check("cpu", Measure::Utilization, 1.0);
        check("cpu_seconds_total", Measure::CpuSecondsTotal, 1.0);
        check("cores", Measure::Cores, 1.0);
        check("millicores", Measure::Cores, 1e-3);
        check("count", Measure::Transactions, 1.0);
        check("count total", Measure::TransactionsTotal, 1.0);
        check("response_time", Measure::ResponseTime, 1.0);
        check("response_s", Measure::ResponseTime, 1.0);
        check("response_ms", Measure::ResponseTime, 1e-3);
        check("Latency (us)", Measure::ResponseTime, 1e-6);
        check("response_sum_ms", Measure::ResponseSeconds, 1e-3);
        check("response_seconds_total", Measure::ResponseSecondsTotal, 1.0);
        check("calls", Measure::Calls, 1.0);
        check("call_ms", Measure::CallTime, 1e-3);
        check("call_time_s", Measure::CallTime, 1.0);
        for text in ["", "speed", "response_km", "cores_ms", "counts", "memory"] {
            assert_eq!(find_word(text), None, "{text}");
        }
    }

    #[test]
    fn prefixes_select_measure_transaction_and_callee() {
        let measured = parse_measured("calls:GET /a:b:db").unwrap();
        assert_eq!((&*measured.transaction, &*measured.callee), ("GET /a:b", "db"));
        let measured = parse_measured("count:GET /a:b").unwrap();
        assert_eq!((&*measured.transaction, &*measured.callee), ("GET /a:b", ""));
        let measured = parse_measured("calls:db").unwrap();
        assert_eq!((&*measured.transaction, &*measured.callee), ("", "db"));
        assert_eq!(parse_measured("utilization@app-1").unwrap().server, "app-1");
        assert_eq!(parse_measured("count@app-1"), None);
        assert_eq!(parse_measured("utilization:Home"), None);
    }

    #[test]
    fn measures_and_servers_are_read_from_file_names() {
        let measure =
            |name| measure_of_file(&[], Some(name)).map(|measure| (measure.what.measure, measure.server));
        let host = Some((Measure::Utilization, "host1".to_owned()));
        assert_eq!(measure("a/host1_CPU_UTILIZATION.csv"), host);
        assert_eq!(measure("host1_THROUGHPUT.csv"), Some((Measure::TransactionRate, String::new())));
        let response = Some((Measure::ResponseTime, String::new()));
        assert_eq!(measure("x\\experiment1_AVERAGE_RESPONSE_TIME.csv"), response);
        assert_eq!(measure("throughput/demands.csv"), None);
        let rules = [parse_measure_option("*demands*=response_ms").unwrap()];
        let measure = measure_of_file(&rules, Some("throughput/Demands.csv")).unwrap();
        assert_eq!(measure.what, MeasuredAs { measure: Measure::ResponseTime, factor: 1e-3 });
    }

    #[test]
    fn patterns_match_like_names() {
        for (pattern, name, expected) in [
            ("*", "a", true),
            ("a*c", "abc", true),
            ("a*c", "abcd", false),
            ("a*b*", "xab", false),
            ("*b*d", "abcd", true),
            ("abc", "abc", true),
            ("abc", "abcd", false),
            ("*ÄB*", "xäby", true),
        ] {
            assert_eq!(is_like(pattern, name), expected, "{pattern} {name}");
        }
    }
}
