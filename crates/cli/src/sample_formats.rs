//! Flags that say how the formats of samples are read.

use crate::exit::Failure;
use clap::{Args, ValueEnum};
use laggard_formats::{
    AccessLogSettings, LogTimeUnit, ReaderOptions, parse_measure_option, parse_metric_option,
};
use laggard_model::Nanos;

/// How tables, metrics and access logs become samples.
#[derive(Args, Debug)]
pub(crate) struct SampleFormats {
    /// What the columns of a table measure that does not say so: [FILE=]MEASURE, where FILE is a pattern; repeat for more
    #[arg(long = "measure", value_name = "[FILE=]MEASURE")]
    pub(crate) measures: Vec<String>,
    /// What OpenTelemetry metrics of a name are: `NAME=MEASURE[:TRANSACTION[:CALLEE]]` with attributes, or `NAME=none`; repeat for more
    #[arg(long = "metric", value_name = "NAME=MEASURE")]
    pub(crate) metrics: Vec<String>,
    /// Of access logs: what a client asks for so long after a page may belong to it
    #[arg(long, value_name = "LENGTH", default_value = "5s", value_parser = crate::samples::length)]
    pub(crate) page_gap: Nanos,
    /// Of access logs: unit of response times [default: seconds with a decimal point, else microseconds]
    #[arg(long, value_enum, value_name = "UNIT")]
    pub(crate) log_time: Option<LogTime>,
}

/// Unit of response times in access logs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum LogTime {
    /// Seconds (%T)
    S,
    /// Milliseconds (%{ms}T)
    Ms,
    /// Microseconds (%D)
    Us,
}

impl SampleFormats {
    /// The options with these flags in them.
    pub(crate) fn options(&self, options: ReaderOptions) -> Result<ReaderOptions, Failure> {
        let measures: Result<Vec<_>, _> =
            self.measures.iter().map(|text| parse_measure_option(text)).collect();
        let metrics: Result<Vec<_>, _> = self.metrics.iter().map(|text| parse_metric_option(text)).collect();
        let time_unit = self.log_time.map(|unit| match unit {
            LogTime::S => LogTimeUnit::Seconds,
            LogTime::Ms => LogTimeUnit::Milliseconds,
            LogTime::Us => LogTimeUnit::Microseconds,
        });
        Ok(ReaderOptions {
            measures: measures.map_err(Failure::usage)?,
            metrics: metrics.map_err(Failure::usage)?,
            access_log: AccessLogSettings { page_gap: self.page_gap, time_unit },
            ..options
        })
    }
}
