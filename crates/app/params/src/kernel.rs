//! Parameters of `laggard kernel`: instants, executions, windows.

use crate::{
    AtLeastOne, Declaration, DeclaredQuestion, Field, FromParams, FromText, Hosts, KernelQuestion,
    KernelReadSettings, KernelSources, OneSet, ParamsError, QuestionPage, RawParams, ReadError, ReadProgress,
    Text, TraceFile, read_hosts, times,
};
use clap::Args;
use laggard_kernel_diagnose::{
    Instant, KernelPathQuestion, PathChoice, TimeWindow, kernel_path, kernel_stats,
};
use laggard_kernel_graph::{Delimiter, Execution};
use laggard_model::{KernelTime, Nanos};
use laggard_report::{KernelPathReport, KernelStatsReport, Setting};
use laggard_settings::parse_length;
use serde::{Deserialize, Serialize};
use std::num::NonZeroUsize;
use utoipa::ToSchema;

const EXAMPLES: &str = "Examples:
  laggard kernel path trace.dat --thread nginx --from +1s --to +1.5s
  laggard kernel path trace.dat --thread 812 --output html -o path.html
  laggard kernel path trace.dat --executions marker                 what requests wait for, all together
  laggard kernel path trace.dat --executions marker --execution 17  one of them
  laggard kernel path trace.dat --executions between:accept4
  laggard kernel path client/ server/ --executions marker           across hosts, where their packets were recorded
  laggard kernel path trace.dat --traces spans.json --span 00f067aa0ba902b7

Exit status: 0 success, 2 invalid usage, 3 unreadable input, 4 there is no such thread or execution.";

/// What was the time of a thread or of executions spent on?
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, Args, ToSchema)]
#[group(skip)]
#[serde(rename_all = "kebab-case", default)]
pub struct KernelPathParams {
    /// The thread: its number, or its name (* matches anything)
    #[arg(long, value_name = "TID|NAME", conflicts_with = "executions")]
    pub thread: Option<String>,
    /// What begins and ends executions
    // Its help is no doc comment: brackets are links there.
    #[arg(
        long,
        value_name = "DELIMITER",
        help = "What begins and ends executions: auto, marker[:NAME], marker:BEGIN,END, process[:NAME], \
                    events:BEGIN[key=FIELD],END[key=FIELD], syscall:NAME, between:NAME, thread:NAME or tid:NUMBER"
    )]
    pub executions: Option<String>,
    /// Only the execution of this number, from 1, in order of time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    #[schema(minimum = 1)]
    pub execution: Option<u64>,
    /// From when: seconds of the trace's clock, +1.5s from its first event, or calendar time
    #[arg(long, value_name = "T")]
    #[schema(value_type = Option<String>)]
    pub from: Option<Text<Instant>>,
    /// Until when
    #[arg(long, value_name = "T")]
    #[schema(value_type = Option<String>)]
    pub to: Option<Text<Instant>>,
    /// Build the graph as the published reference does, without the corrections that current kernels need
    #[arg(long)]
    pub compat: bool,
    /// Executions at most; the first in time
    #[arg(long, value_name = "N", default_value = "10000")]
    #[schema(value_type = u32, minimum = 1)]
    pub executions_max: Text<AtLeastOne>,
}

impl Default for KernelPathParams {
    fn default() -> KernelPathParams {
        KernelPathParams {
            thread: None,
            executions: None,
            execution: None,
            from: None,
            to: None,
            compat: false,
            executions_max: "10000".parse().expect("10000 is a number from 1"),
        }
    }
}

impl FromParams for KernelPathParams {
    fn from_raw(raw: &mut RawParams) -> Result<KernelPathParams, ParamsError> {
        let params: KernelPathParams = raw.group()?;
        if params.execution == Some(0) {
            return Err(ParamsError::new("execution: write a whole number from 1"));
        }
        if params.thread.is_some() && params.executions.is_some() {
            return Err(ParamsError::new("thread cannot be used with executions"));
        }
        Ok(params)
    }
}

impl KernelPathParams {
    /// The delimiter of executions. A thread is a delimiter too: its number, or all of a name.
    ///
    /// # Errors
    /// A delimiter that cannot be read.
    pub fn delimiter_or(&self, otherwise: &str) -> Result<Delimiter, ParamsError> {
        let text = match (&self.thread, &self.executions) {
            (Some(thread), _) if thread.bytes().all(|byte| byte.is_ascii_digit()) => format!("tid:{thread}"),
            (Some(thread), _) => format!("thread:{thread}"),
            (None, Some(executions)) => executions.clone(),
            (None, None) => otherwise.to_owned(),
        };
        Delimiter::parse(&text).map_err(ParamsError::new)
    }

    /// The question about traces that were read; `executions` are those of spans.
    pub fn question(&self, executions: Option<Vec<Execution>>) -> KernelPathQuestion {
        KernelPathQuestion {
            window: window(self.from.as_ref(), self.to.as_ref()),
            choice: self.execution.map_or(PathChoice::All, PathChoice::Number),
            executions_max: self.executions_max.0,
            executions,
            settings: self.rows(),
        }
    }

    fn rows(&self) -> Vec<Setting> {
        vec![
            setting("thread", self.thread.as_deref().unwrap_or("")),
            setting("executions", self.executions.as_deref().unwrap_or("")),
            setting("execution", self.execution.map_or_else(String::new, |number| number.to_string())),
            setting("compat", self.compat),
            setting("executions-max", self.executions_max.0),
        ]
    }
}

impl DeclaredQuestion for KernelPathParams {
    type Settings = KernelPathQuestion;
    type Output = KernelPathReport;
    const DECLARATION: Declaration = Declaration {
        name: "kernel/path",
        own_command: true,
        question: "What was the time of a thread or of executions spent on?",
        about: "Show what the time of a thread or of executions was spent on: their critical paths",
        examples: EXAMPLES,
        alarm: None,
        stage: "following waits",
        thresholds: None,
        page: QuestionPage {
            title: "What was the time spent on?",
            key: "",
            introduction: "",
            command: "",
            button: "Find the critical paths",
            fields: &[
                Field { hint: "its number, or its name", ..Field::new("thread", "Thread") },
                Field {
                    hint: "instead of a thread: auto, marker, …",
                    ..Field::new("executions", "Executions by")
                },
                Field { hint: "+1.5s from the first event", rare: true, ..Field::new("from", "From") },
                Field { rare: true, ..Field::new("to", "To") },
                Field { rare: true, ..Field::new("execution", "Execution number") },
            ],
        },
    };
}

impl KernelQuestion for KernelPathParams {
    type Input = OneSet;

    fn delimiter(&self) -> Result<Option<Delimiter>, ParamsError> {
        self.delimiter_or("auto").map(Some)
    }

    fn compat(&self) -> bool {
        self.compat
    }

    fn settings(
        &self,
        _sources: &KernelSources,
        _threads: NonZeroUsize,
    ) -> Result<KernelPathQuestion, ParamsError> {
        Ok(self.question(None))
    }

    fn read(
        files: &[TraceFile],
        reading: &KernelReadSettings,
        watch: &dyn ReadProgress,
    ) -> Result<Hosts, ReadError> {
        read_hosts(files, reading, watch)
    }

    fn answer(settings: KernelPathQuestion, hosts: Hosts) -> Result<KernelPathReport, ParamsError> {
        let mut report = kernel_path(&hosts.runs, &settings).map_err(ParamsError::new)?;
        report.cautions.extend(hosts.remarks);
        Ok(report)
    }
}

/// What do these traces hold?
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, Args, ToSchema)]
#[group(skip)]
#[serde(default)]
pub struct KernelStatsParams {}

impl FromParams for KernelStatsParams {
    fn from_raw(raw: &mut RawParams) -> Result<KernelStatsParams, ParamsError> {
        raw.group()
    }
}

impl DeclaredQuestion for KernelStatsParams {
    type Settings = ();
    type Output = KernelStatsReport;
    const DECLARATION: Declaration = Declaration {
        name: "kernel/stats",
        own_command: false,
        question: "What do these traces hold?",
        about: "Summarize traces, and suggest what could delimit executions",
        examples: "",
        alarm: None,
        stage: "summarizing",
        thresholds: None,
        page: QuestionPage {
            title: "What is in a trace?",
            key: "",
            introduction: "",
            command: "",
            button: "Show contents",
            fields: &[],
        },
    };
}

impl KernelQuestion for KernelStatsParams {
    type Input = OneSet;

    fn delimiter(&self) -> Result<Option<Delimiter>, ParamsError> {
        Ok(None)
    }

    fn settings(&self, _sources: &KernelSources, _threads: NonZeroUsize) -> Result<(), ParamsError> {
        Ok(())
    }

    fn answer((): (), hosts: Hosts) -> Result<KernelStatsReport, ParamsError> {
        Ok(kernel_stats(&hosts.runs))
    }
}

/// A window from its ends.
pub(crate) fn window(from: Option<&Text<Instant>>, to: Option<&Text<Instant>>) -> TimeWindow {
    TimeWindow { from: from.map(|instant| **instant), to: to.map(|instant| **instant) }
}

/// A setting of a report.
pub(crate) fn setting(name: &str, value: impl std::fmt::Display) -> Setting {
    Setting { name: name.to_owned(), value: value.to_string() }
}

impl FromText for Instant {
    /// Reads seconds of the trace's clock (`8578.07`), `+1.5s` from the first event, or a calendar time.
    fn from_text(text: &str) -> Result<Instant, String> {
        let text = text.trim();
        if let Some(after) = text.strip_prefix('+') {
            return Ok(Instant::AfterStart(parse_length(after)?));
        }
        let is_number = text.parse::<f64>().is_ok();
        let time = match clock_seconds(text) {
            Some(time) => Some(Instant::Clock(time)),
            None if is_number => None,
            None => times::parse(text).map(Instant::Calendar).ok(),
        };
        time.ok_or_else(|| {
            format!(
                "{text:?} is no instant; write seconds of the trace's clock (8578.07), +1.5s from its first event, or \
                 2026-01-12T09:10:00.5Z"
            )
        })
    }
}

/// Seconds with at most nine decimals, exactly; `None` when it is something else or too large to be seconds since boot.
fn clock_seconds(text: &str) -> Option<KernelTime> {
    let (seconds, decimals) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if seconds.is_empty() || decimals.len() > 9 || !digits(seconds) || !digits(decimals) {
        return None;
    }
    let fraction: u64 = format!("{decimals:0<9}").parse().ok()?;
    let seconds: u64 = seconds.parse().ok()?;
    Some(KernelTime::from_ns(seconds.checked_mul(Nanos::from_secs(1).ns())?.checked_add(fraction)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn instants_are_clock_relative_or_calendar_times() {
        assert_eq!(Instant::from_text("8578.07"), Ok(Instant::Clock(KernelTime::from_ns(8_578_070_000_000))));
        assert_eq!(Instant::from_text("+1.5s"), Ok(Instant::AfterStart(Nanos::from_ms(1_500))));
        assert_eq!(Instant::from_text("+250us"), Ok(Instant::AfterStart(Nanos::from_us(250))));
        assert!(matches!(Instant::from_text("2026-01-12T09:10:00Z"), Ok(Instant::Calendar(_))));
        for text in ["", "+", "soon", "1.0000000001", "-1", "+-1s"] {
            assert!(Instant::from_text(text).is_err(), "{text}");
        }
    }

    #[test]
    fn settings_have_the_names_of_the_flags() {
        let read =
            KernelPathParams::from_json(json!({"thread": "812", "from": "+1s", "execution": 3})).unwrap();
        assert_eq!(read.delimiter_or("auto").unwrap(), Delimiter::parse("tid:812").unwrap());
        let question = read.question(None);
        assert_eq!(question.window.from, Some(Instant::AfterStart(Nanos::from_secs(1))));
        assert_eq!((question.choice, question.executions_max), (PathChoice::Number(3), 10_000));
        for value in [
            json!({"execution": 0}),
            json!({"thread": "a", "executions": "marker"}),
            json!({"executions-max": 0}),
            json!({"from": "soon"}),
        ] {
            assert!(KernelPathParams::from_json(value.clone()).is_err(), "{value}");
        }
        assert!(
            KernelStatsParams::from_json(json!({})).is_ok()
                && KernelStatsParams::from_json(json!({"x": 1})).is_err()
        );
    }
}
