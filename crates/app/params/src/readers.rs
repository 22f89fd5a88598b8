//! Parameters of how inputs are read, shared by all questions.

use crate::text::one_or_more;
use crate::{FromParams, ParamsError, RawParams, Text, Windows};
use clap::{Args, ValueEnum};
use laggard_formats::{
    AccessLogSettings, FORMATS, Format, InputSettings, LogTimeUnit, ReaderOptions, SelectedAttributes,
    find_format, parse_column_option, parse_measure_option, parse_metric_option,
};
use laggard_model::Nanos;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Which format inputs have.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, Args, ToSchema)]
#[group(skip)]
#[serde(rename_all = "kebab-case", default)]
pub struct Inputs {
    /// Read every input as this format instead of recognizing it (see `laggard formats`)
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Map a column of somebody else's table: NAME=HEADER, with the unit in NAME (start_us, duration_ms, …)
    #[arg(long = "column", value_name = "NAME=HEADER")]
    #[serde(rename = "column", deserialize_with = "one_or_more")]
    pub columns: Vec<String>,
    /// Attributes of requests and services to retain, separated by commas: version, zone, route, tenant, account, or their
    /// own names; empty for none [default: version,zone,route,tenant,account]
    #[arg(long, value_name = "KEYS", hide = true)]
    pub attributes: Option<String>,
}

/// Which attribute states how many requests a sampled one represents.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, Args, ToSchema)]
#[group(skip)]
#[serde(rename_all = "kebab-case", default)]
pub struct Weights {
    /// Attribute or column of spans that states how many requests a sampled one represents, like Honeycomb's SampleRate
    #[arg(long, value_name = "NAME", hide = true)]
    pub weight_attribute: Option<String>,
    /// Attribute or column of spans that states the sampling probability of a request, like _sample_rate
    #[arg(long, value_name = "NAME", hide = true, conflicts_with = "weight_attribute")]
    pub probability_attribute: Option<String>,
}

/// How tables, metrics and access logs become samples.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, Args, ToSchema)]
#[group(skip)]
#[serde(rename_all = "kebab-case", default)]
pub struct SampleFormats {
    /// What the columns of a table measure that does not say so: [FILE=]MEASURE, where FILE is a pattern; repeat for more
    #[arg(long = "measure", value_name = "[FILE=]MEASURE")]
    #[serde(rename = "measure", deserialize_with = "one_or_more")]
    pub measures: Vec<String>,
    /// What OpenTelemetry metrics of a name are: `NAME=MEASURE[:TRANSACTION[:CALLEE]]` with attributes, or `NAME=none`; repeat for more
    #[arg(long = "metric", value_name = "NAME=MEASURE")]
    #[serde(rename = "metric", deserialize_with = "one_or_more")]
    pub metrics: Vec<String>,
    /// Of access logs: a client's request within this time after a page may belong to that page
    #[arg(long, value_name = "LENGTH", default_value = "5s")]
    #[schema(value_type = String)]
    pub page_gap: Text<Nanos>,
    /// Of access logs: unit of response times [default: seconds with a decimal point, else microseconds]
    #[arg(long, value_enum, value_name = "UNIT")]
    pub log_time: Option<LogTime>,
}

/// Unit of response times in access logs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, ValueEnum, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LogTime {
    /// Seconds (%T)
    S,
    /// Milliseconds (%{ms}T)
    Ms,
    /// Microseconds (%D)
    Us,
}

impl Default for SampleFormats {
    fn default() -> SampleFormats {
        let page_gap = "5s".parse().expect("5 seconds are a length");
        SampleFormats { measures: Vec::new(), metrics: Vec::new(), page_gap, log_time: None }
    }
}

impl Inputs {
    /// How inputs are read.
    ///
    /// # Errors
    /// A format that does not exist, and a column that cannot be mapped.
    pub fn settings(&self) -> Result<InputSettings, ParamsError> {
        Ok(InputSettings { format: self.format()?, reader: self.reader()?, threads: None })
    }

    fn format(&self) -> Result<Option<&'static Format>, ParamsError> {
        let Some(name) = self.format.as_deref() else { return Ok(None) };
        let known: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        let unknown =
            || ParamsError::new(format_args!("there is no format {name:?}; there is {}", known.join(", ")));
        find_format(name).map(Some).ok_or_else(unknown)
    }

    fn reader(&self) -> Result<ReaderOptions, ParamsError> {
        let columns: Result<Vec<_>, _> = self.columns.iter().map(|text| parse_column_option(text)).collect();
        let attributes =
            self.attributes.as_deref().map_or_else(SelectedAttributes::default, SelectedAttributes::parse);
        Ok(ReaderOptions {
            columns: columns.map_err(ParamsError::new)?,
            attributes,
            ..ReaderOptions::default()
        })
    }
}

impl Weights {
    /// Sets the attributes that weigh spans.
    pub fn apply(&self, options: &mut ReaderOptions) {
        options.weight_attribute.clone_from(&self.weight_attribute);
        options.probability_attribute.clone_from(&self.probability_attribute);
    }
}

impl SampleFormats {
    /// Sets how samples are made.
    ///
    /// # Errors
    /// A rule that cannot be read.
    pub fn apply(&self, options: &mut ReaderOptions) -> Result<(), ParamsError> {
        let measures: Result<Vec<_>, _> =
            self.measures.iter().map(|text| parse_measure_option(text)).collect();
        let metrics: Result<Vec<_>, _> = self.metrics.iter().map(|text| parse_metric_option(text)).collect();
        let time_unit = self.log_time.map(|unit| match unit {
            LogTime::S => LogTimeUnit::Seconds,
            LogTime::Ms => LogTimeUnit::Milliseconds,
            LogTime::Us => LogTimeUnit::Microseconds,
        });
        options.set(measures.map_err(ParamsError::new)?);
        options.set(metrics.map_err(ParamsError::new)?);
        options.set(AccessLogSettings { page_gap: *self.page_gap, time_unit });
        Ok(())
    }
}

/// How files of samples and spans are read.
#[derive(Clone, PartialEq, Debug, Default, Serialize, ToSchema)]
pub struct SampleReading {
    /// Their format.
    #[serde(flatten)]
    pub inputs: Inputs,
    /// Of spans.
    #[serde(flatten)]
    pub weights: Weights,
    /// Of samples.
    #[serde(flatten)]
    pub formats: SampleFormats,
}

impl FromParams for SampleReading {
    fn from_raw(raw: &mut RawParams) -> Result<SampleReading, ParamsError> {
        Ok(SampleReading { inputs: raw.group()?, weights: raw.group()?, formats: raw.group()? })
    }
}

impl SampleReading {
    /// How inputs are read.
    ///
    /// # Errors
    /// What cannot be read, and what does not exist.
    pub fn settings(&self) -> Result<InputSettings, ParamsError> {
        let mut settings = self.inputs.settings()?;
        self.weights.apply(&mut settings.reader);
        self.formats.apply(&mut settings.reader)?;
        Ok(settings)
    }
}

/// Parameters of a question about samples, stored or in files.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct SampleQuery<P> {
    /// Which samples.
    #[serde(flatten)]
    pub windows: Windows,
    /// The question's own parameters.
    #[serde(flatten)]
    pub params: P,
    /// How files are read.
    #[serde(flatten)]
    pub reading: SampleReading,
}

impl<P: FromParams> FromParams for SampleQuery<P> {
    fn from_raw(raw: &mut RawParams) -> Result<SampleQuery<P>, ParamsError> {
        Ok(SampleQuery {
            params: P::from_raw(raw)?,
            windows: raw.group()?,
            reading: SampleReading::from_raw(raw)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn file_questions_accept_settings_of_reader_and_method() {
        let read = SampleQuery::<crate::ChangesParams>::from_json(json!({
            "window": "5m", "format": "sample-csv", "column": "time=Zeit", "page-gap": "2s", "log-time": "ms"
        }));
        let read = read.unwrap();
        assert_eq!(read.windows.window.to_string(), "5m");
        let settings = read.reading.settings().unwrap();
        assert_eq!(settings.format.map(|format| format.name), Some("sample-csv"));
        assert_eq!(settings.reader.get::<AccessLogSettings>().page_gap, Nanos::from_secs(2));
        let unknown = SampleQuery::<crate::ChangesParams>::from_json(json!({"format": "docx"})).unwrap();
        let message = unknown.reading.settings().err().unwrap().to_string();
        assert!(message.contains("there is no format"), "{message}");
    }
}
