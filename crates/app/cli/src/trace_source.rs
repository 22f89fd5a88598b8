//! Traces of a server that stores them, instead of files.

use crate::exit::CommandError;
use crate::load::{CountingSink, Loaded};
use crate::progress::Meter;
use crate::small_files::text_of;
use clap::error::ErrorKind;
use clap::{Arg, ArgGroup, ArgMatches, Args, Command, FromArgMatches};
use laggard_diagnose::{BaselineChoice, DiagnoseSettings};
use laggard_engine::Ingest;
use laggard_formats::{InputSettings, Outcome};
use laggard_model::{Nanos, Timestamp};
use laggard_params::Window;
use laggard_system::{Credentials, now};
use laggard_trace_sources::{
    BASIC_VARIABLE, ReadRequest, SOURCES, SourceClient, SourceError, SourceRow, SourceSettings,
    TOKEN_VARIABLE, TimeSlice, read_traces,
};
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

/// The group of the flags of all kinds of servers: what conflicts with one of them names it.
pub(crate) const SOURCE_GROUP: &str = "trace-source";

/// Length of the window when the command line names no start.
const HOUR: Nanos = Nanos::from_secs(3_600);

/// The server, and how its traces are read. The flags are in the manual; help shows those that most people need.
#[derive(Args, Debug)]
pub(crate) struct TraceSource {
    #[command(flatten)]
    server: SourceUrl,
    /// About the most traces to read of a window; of more, evenly spread slices of it are read, and the report says so
    #[arg(long, value_name = "N", default_value = "10000", requires = SOURCE_GROUP, hide = true)]
    source_traces: NonZeroU64,
    /// Table (DATABASE.TABLE) or pattern of indices that has the spans, where the server is a database
    /// [default: otel_traces, signoz_traces.distributed_signoz_index_v3, jaeger-span-*]
    #[arg(long, value_name = "NAME", requires = SOURCE_GROUP, hide = true)]
    source_table: Option<String>,
    /// Tenant of the server, sent as X-Scope-OrgID
    #[arg(long, value_name = "NAME", requires = SOURCE_GROUP, hide = true)]
    source_tenant: Option<String>,
    /// File with the certificates (PEM) of the authorities to trust, instead of the well-known ones
    #[arg(long, value_name = "FILE", requires = SOURCE_GROUP, hide = true)]
    source_ca_file: Option<PathBuf>,
    /// Longest time to wait for one answer of the server
    #[arg(long, value_name = "LENGTH", value_parser = laggard_settings::parse_length, default_value = "60s", requires = SOURCE_GROUP, hide = true)]
    source_timeout: Nanos,
}

impl Default for TraceSource {
    /// No server: what the flags are when none is given.
    fn default() -> TraceSource {
        let command = TraceSource::augment_args(clap::Command::new("laggard"));
        let matches = command.get_matches_from(["laggard"]);
        TraceSource::from_arg_matches(&matches).expect("every flag has a default")
    }
}

/// The flag of a kind of server, and its value. There is a flag for every row of [`SOURCES`].
#[derive(Clone, Debug, Default)]
struct SourceUrl(Option<(&'static SourceRow, String)>);

impl FromArgMatches for SourceUrl {
    fn from_arg_matches(matches: &ArgMatches) -> Result<SourceUrl, clap::Error> {
        let mut url = SourceUrl::default();
        url.update_from_arg_matches(matches)?;
        Ok(url)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for row in SOURCES {
            let value = matches.try_get_one::<String>(row.name);
            let value = value.map_err(|error| clap::Error::raw(ErrorKind::UnknownArgument, error))?;
            if let Some(url) = value {
                self.0 = Some((row, url.clone()));
            }
        }
        Ok(())
    }
}

impl Args for SourceUrl {
    fn augment_args(command: Command) -> Command {
        let flag = |row: &SourceRow| {
            let help = format!("{}: {}", row.help, row.example);
            Arg::new(row.name).long(row.name).value_name("URL").help(help).hide(true)
        };
        let group = ArgGroup::new(SOURCE_GROUP).args(SOURCES.iter().map(|row| row.name)).multiple(false);
        command.args(SOURCES.iter().map(flag)).group(group)
    }

    fn augment_args_for_update(command: Command) -> Command {
        SourceUrl::augment_args(command)
    }
}

/// Traces of a server, with sentences about what was left out.
pub(crate) struct LoadedSource {
    pub(crate) loaded: Loaded,
    pub(crate) cautions: Vec<String>,
}

impl TraceSource {
    /// Whether traces are read from a server.
    pub(crate) fn is_set(&self) -> bool {
        self.server.0.is_some()
    }

    /// What the report calls the data.
    pub(crate) fn label(&self) -> String {
        self.server.0.as_ref().map(|(row, url)| format!("{} {url}", row.title)).unwrap_or_default()
    }

    /// Reads the traces of some windows into a span table.
    pub(crate) fn load(
        &self,
        windows: &[Window],
        service: Option<&str>,
        input: &InputSettings,
        table: Ingest,
        meter: &Meter,
    ) -> Result<LoadedSource, CommandError> {
        if input.format.is_some() {
            return Err(CommandError::usage("--format is of files: the format of a server is known"));
        }
        let client = self.client()?;
        let windows: Vec<TimeSlice> = windows.iter().map(slice).collect();
        let request = ReadRequest {
            windows: &windows,
            service,
            traces_max: self.source_traces.get(),
            reader: &input.reader,
            now: Some(now()),
        };
        let mut sink = CountingSink::new(table, meter);
        let summary = read_traces(&client, &request, &mut sink, meter).map_err(failure)?;
        let mut outcome = Outcome { bytes: summary.bytes, decompressed: summary.bytes, ..Outcome::default() };
        outcome.formats.insert(summary.row.format, 1);
        let loaded = Loaded { ingest: sink.finish(), outcome };
        Ok(LoadedSource { loaded, cautions: summary.cautions() })
    }

    fn client(&self) -> Result<SourceClient, CommandError> {
        let Some((row, url)) = &self.server.0 else {
            return Err(CommandError::usage("no server with traces is named"));
        };
        let settings = SourceSettings {
            credentials: credentials(|name| std::env::var(name).ok())?,
            tenant: self.source_tenant.clone(),
            table: self.source_table.clone(),
            authorities_pem: self.source_ca_file.as_deref().map(text_of).transpose()?.map(String::into_bytes),
            timeout: Duration::from_nanos(self.source_timeout.ns()),
            ..SourceSettings::new(row, url)
        };
        SourceClient::new(settings).map_err(failure)
    }
}

/// The window and the baseline's: what the command line leaves open ends now, takes an hour, or as long as the window before it.
pub(crate) fn windows_to_diagnose(
    settings: &DiagnoseSettings,
    now: Timestamp,
) -> Result<(Window, Option<Window>), CommandError> {
    let window = bounded(Window { since: settings.since, until: settings.until }, now, HOUR);
    let baseline = match settings.baseline {
        BaselineChoice::None => None,
        BaselineChoice::Rest => {
            return Err(CommandError::usage(
                "the rest of a server is everything it stores: name the baseline's time with --baseline-since and --baseline-until",
            ));
        }
        BaselineChoice::Within { since, until } => {
            let before = window.since.minus(Nanos::from_ns(1));
            Some(bounded(Window { since, until }, before, length(window)))
        }
    };
    for window in [Some(window), baseline].into_iter().flatten() {
        check(window)?;
    }
    Ok((window, baseline))
}

/// The windows before and after: what is left open ends now, or takes as long before the other.
pub(crate) fn windows_to_compare(windows: [Window; 2], now: Timestamp) -> Result<[Window; 2], CommandError> {
    let [before, after] = windows;
    let after = bounded(after, now, HOUR);
    let before = bounded(before, after.since.minus(Nanos::from_ns(1)), length(after));
    check(before)?;
    check(after)?;
    Ok([before, after])
}

fn bounded(window: Window, until: Timestamp, length: Nanos) -> Window {
    let until = if window.until == Timestamp::MAX { until } else { window.until };
    let since = if window.since == Timestamp::MIN { until.minus(length) } else { window.since };
    Window { since, until }
}

fn length(window: Window) -> Nanos {
    window.until.since(window.since).non_negative().unwrap_or_default()
}

fn check(window: Window) -> Result<(), CommandError> {
    if window.since < window.until {
        return Ok(());
    }
    Err(CommandError::usage(
        "a window of a server ends before it begins: --since and --until are in the wrong order, or in the future",
    ))
}

/// Both ends of a window belong to it; the end of a slice does not.
fn slice(window: &Window) -> TimeSlice {
    TimeSlice { since: window.since, until: window.until.plus(Nanos::from_ns(1)) }
}

/// The credentials of the environment.
fn credentials(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Credentials>, CommandError> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let named = |name: &'static str| move |error| CommandError::usage(format!("{name}: {error}"));
    match (set(TOKEN_VARIABLE), set(BASIC_VARIABLE)) {
        (None, None) => Ok(None),
        (Some(token), None) => Credentials::bearer(&token).map(Some).map_err(named(TOKEN_VARIABLE)),
        (None, Some(pair)) => Credentials::basic(&pair).map(Some).map_err(named(BASIC_VARIABLE)),
        (Some(_), Some(_)) => {
            Err(CommandError::usage(format!("set one of {TOKEN_VARIABLE} and {BASIC_VARIABLE}, not both")))
        }
    }
}

fn failure(error: SourceError) -> CommandError {
    match error {
        SourceError::Settings(_) | SourceError::UnknownService { .. } => CommandError::usage(error),
        SourceError::NoTrace(_) => CommandError::too_little(error),
        error => CommandError::unreadable(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn time(s: i64) -> Timestamp {
        Timestamp::from_unix_ns(s * 1_000_000_000)
    }

    #[test]
    fn open_windows_are_bounded() {
        let now = time(10_000);
        let settings = DiagnoseSettings::default();
        let window = |since, until| Window { since: time(since), until: time(until) };
        assert_eq!(windows_to_diagnose(&settings, now).unwrap(), (window(6_400, 10_000), None));
        let open = BaselineChoice::Within { since: time(9_000), until: Timestamp::MAX };
        let settings = DiagnoseSettings { since: time(9_500), baseline: open, ..settings };
        let (after, before) = windows_to_diagnose(&settings, now).unwrap();
        let end = time(9_500).minus(Nanos::from_ns(1));
        assert_eq!((after, before), (window(9_500, 10_000), Some(Window { since: time(9_000), until: end })));
        let [before, after] = windows_to_compare([Window::ALL, window(9_500, 9_600)], now).unwrap();
        assert_eq!(after, window(9_500, 9_600));
        assert_eq!((before.until, length(before)), (end, Nanos::from_secs(100)));
        let rest = DiagnoseSettings { baseline: BaselineChoice::Rest, ..settings };
        assert!(windows_to_diagnose(&rest, now).is_err());
        assert!(windows_to_compare([Window::ALL, window(9_600, 9_500)], now).is_err());
    }

    #[test]
    fn credentials_are_those_of_one_variable() {
        let environment = |known: &'static [(&str, &str)]| {
            move |name: &str| known.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        assert_eq!(credentials(environment(&[])).unwrap(), None);
        let token = credentials(environment(&[(TOKEN_VARIABLE, "abc"), (BASIC_VARIABLE, "")])).unwrap();
        assert_eq!(token.unwrap().header(), "Bearer abc");
        assert!(credentials(environment(&[(BASIC_VARIABLE, "me:pw")])).unwrap().is_some());
        assert!(credentials(environment(&[(BASIC_VARIABLE, "me")])).is_err());
        assert!(credentials(environment(&[(TOKEN_VARIABLE, "a"), (BASIC_VARIABLE, "b:c")])).is_err());
    }
}
