//! Parameters of the question `diagnose`: flags of the command and fields of the HTTP body.

use crate::set::{self, SetArgument};
use crate::text::one_or_more;
use crate::{AtLeastOne, FromParams, Moment, ParamsError, Probability, RawParams, ServiceDeployment, Text};
use clap::Args;
use laggard_diagnose::{
    AttributeFilter, BaselineChoice, DiagnoseMethod, DiagnoseSettings, METHODS, RequestSelection,
};
use laggard_localize::{CloudDiagSettings, Mode};
use laggard_model::Timestamp;
use laggard_report::SystemEvent;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Why are requests of this window slow: the window, what it is compared with, and how.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, Args, ToSchema)]
#[group(skip)]
#[serde(rename_all = "kebab-case", default)]
pub struct DiagnoseParams {
    /// Leave out requests that start before this: RFC 3339, `2026-01-12 09:10` (UTC), a Unix time in s, ms, µs or ns, or
    /// relative to now: -15m
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub since: Option<Moment>,
    /// Leave out requests that start after this
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub until: Option<Moment>,
    /// Compare with requests that start at this time or later: of the baseline's files, else of the same files
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub baseline_since: Option<Moment>,
    /// … and not after this
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub baseline_until: Option<Moment>,
    /// Compare with everything in the same files outside --since and --until
    #[arg(long, conflicts_with_all = ["baseline_since", "baseline_until"])]
    pub baseline_rest: bool,
    /// Of a server: whether it chooses a baseline from earlier stored requests when no other is named
    #[arg(skip)]
    pub baseline: BaselineMode,
    /// Only requests that enter at this service
    #[arg(long, value_name = "NAME")]
    pub service: Option<String>,
    /// Only requests with this attribute: KEY=VALUE, or KEY@SERVICE=VALUE for one service's; repeat for more, which must all hold
    #[arg(id = "attribute", long = "attribute", value_name = "KEY=VALUE")]
    #[serde(rename = "attribute", deserialize_with = "one_or_more")]
    pub attributes: Vec<String>,
    /// Only requests that enter at this operation: NAME or SERVICE:NAME
    #[arg(long, value_name = "NAME")]
    pub operation: Option<String>,
    /// Only requests of this category: its id as reports print it, or a unique beginning of it
    #[arg(long, value_name = "ID")]
    pub category: Option<String>,
    /// Declare a deployment, to compare with the time since when a suspect is slow: SERVICE@VERSION=T; repeat for more
    #[arg(id = "deployment", long = "deployment", value_name = "SERVICE@VERSION=T")]
    #[schema(value_type = Vec<String>)]
    #[serde(rename = "deployment", deserialize_with = "one_or_more")]
    pub deployments: Vec<Text<ServiceDeployment>>,
    /// Sampling probability of requests whose spans do not state it, 0 to 1
    #[arg(long, value_name = "P", hide = true)]
    #[schema(value_type = Option<f64>)]
    pub sampling_probability: Option<Text<Probability>>,
    /// Method (see `laggard methods`)
    #[arg(long, value_name = "NAME", default_value = "combined")]
    pub method: String,
    /// Most suspects to report
    #[arg(long, value_name = "N", default_value = "10")]
    #[schema(value_type = u32, minimum = 1)]
    pub top: Text<AtLeastOne>,
    /// Set a threshold, like cv-min=1.5; repeat for more (`laggard settings diagnose` lists them)
    #[arg(long, value_name = "NAME=VALUE")]
    #[schema(schema_with = crate::openapi::settings::<DiagnoseSettings>)]
    #[serde(with = "crate::set")]
    pub set: Vec<SetArgument>,
}

/// What a window is compared with when no baseline is named.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BaselineMode {
    /// Earlier requests that the server has stored; nothing where files are read.
    #[default]
    Auto,
    /// Nothing.
    None,
}

impl Default for DiagnoseParams {
    fn default() -> DiagnoseParams {
        DiagnoseParams {
            since: None,
            until: None,
            baseline_since: None,
            baseline_until: None,
            baseline_rest: false,
            baseline: BaselineMode::Auto,
            service: None,
            attributes: Vec::new(),
            operation: None,
            category: None,
            deployments: Vec::new(),
            sampling_probability: None,
            method: DiagnoseMethod::default().name().to_owned(),
            top: "10".parse().expect("10 is a number from 1"),
            set: Vec::new(),
        }
    }
}

impl FromParams for DiagnoseParams {
    fn from_raw(raw: &mut RawParams) -> Result<DiagnoseParams, ParamsError> {
        raw.gather_settings::<DiagnoseSettings>()?;
        let params: DiagnoseParams = raw.group()?;
        if params.baseline_rest && params.names_baseline() {
            return Err(ParamsError::new(
                "baseline-rest cannot be used with baseline-since or baseline-until",
            ));
        }
        if params.baseline == BaselineMode::None && (params.baseline_rest || params.names_baseline()) {
            return Err(ParamsError::new(
                "baseline none cannot be used with baseline-rest, baseline-since or baseline-until",
            ));
        }
        Ok(params)
    }
}

impl DiagnoseParams {
    fn names_baseline(&self) -> bool {
        self.baseline_since.is_some() || self.baseline_until.is_some()
    }

    /// Whether a server chooses the baseline: none is named, none is declined, and the method can use one.
    pub fn baseline_is_automatic(&self, settings: &DiagnoseSettings) -> bool {
        self.baseline == BaselineMode::Auto
            && settings.baseline == BaselineChoice::None
            && settings.method.uses_baseline()
    }

    /// The declared deployments.
    pub fn events(&self, now: Timestamp) -> Vec<SystemEvent> {
        self.deployments.iter().map(|deployment| deployment.event(now)).collect()
    }

    fn baseline(&self, now: Timestamp) -> Result<BaselineChoice, ParamsError> {
        if self.baseline_rest {
            return Ok(BaselineChoice::Rest);
        }
        if !self.names_baseline() {
            return Ok(BaselineChoice::None);
        }
        let since = self.baseline_since.map_or(Timestamp::MIN, |moment| moment.at(now));
        let until = self.baseline_until.map_or(Timestamp::MAX, |moment| moment.at(now));
        if since > until {
            return Err(ParamsError::new("--baseline-since is later than --baseline-until"));
        }
        Ok(BaselineChoice::Within { since, until })
    }

    fn method(&self) -> Result<DiagnoseMethod, ParamsError> {
        if let Some(row) = METHODS.iter().find(|row| row.name == self.method) {
            return Ok(row.method);
        }
        let known: Vec<&str> = METHODS.iter().map(|row| row.name).collect();
        Err(ParamsError::new(format_args!(
            "there is no method {:?}; there is {}",
            self.method,
            known.join(", ")
        )))
    }
}

/// Reads attributes that requests must have.
pub(crate) fn attribute_filters(texts: &[String]) -> Result<Vec<AttributeFilter>, ParamsError> {
    texts.iter().map(|text| text.parse().map_err(ParamsError::new)).collect()
}

/// Where the requests of the baseline come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BaselineData {
    /// Files of its own.
    Own,
    /// The data of the window, at other times.
    Same,
}

impl DiagnoseParams {
    /// The settings, every range checked.
    ///
    /// # Errors
    /// What is out of range, or does not fit together.
    pub fn settings(&self, now: Timestamp) -> Result<DiagnoseSettings, ParamsError> {
        let mut settings = DiagnoseSettings {
            method: self.method()?,
            baseline: self.baseline(now)?,
            since: self.since.map_or(Timestamp::MIN, |moment| moment.at(now)),
            until: self.until.map_or(Timestamp::MAX, |moment| moment.at(now)),
            attributes: attribute_filters(&self.attributes)?,
            selection: RequestSelection {
                service: self.service.clone(),
                operation: self.operation.clone(),
                category: self.category.clone(),
            },
            sampling_probability: self.sampling_probability.as_deref().map(|share| share.0),
            suspects_max: self.top.0,
            ..DiagnoseSettings::default()
        };
        if settings.since > settings.until {
            return Err(ParamsError::new("--since is later than --until"));
        }
        set::apply(&self.set, &mut settings, "diagnose")?;
        if settings.clouddiag.mode != Mode::default() {
            // Other defaults; what was set by name is set again.
            settings.clouddiag = CloudDiagSettings::new(settings.clouddiag.mode);
            set::apply(&self.set, &mut settings, "diagnose")?;
        }
        Ok(settings)
    }

    /// Without a window of its own, a baseline in the same data would be compared with itself.
    ///
    /// # Errors
    /// A baseline that cannot be compared with.
    pub fn check_baseline(&self, settings: &DiagnoseSettings, data: BaselineData) -> Result<(), ParamsError> {
        let compares = settings.baseline != BaselineChoice::None;
        if data == BaselineData::Same && compares && self.since.is_none() && self.until.is_none() {
            return Err(ParamsError::new(
                "a baseline in the same files needs --since or --until for what is compared with it",
            ));
        }
        if (compares || data == BaselineData::Own) && !settings.method.uses_baseline() {
            return Err(ParamsError::new(format_args!(
                "--method {} does not compare with a baseline",
                settings.method.name()
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_model::Nanos;
    use serde_json::json;

    const NOW: Timestamp = Timestamp::from_unix_ns(1_768_208_400_000_000_000);

    #[test]
    fn settings_have_the_names_of_the_flags() {
        let read = DiagnoseParams::from_json(json!({
            "since": "-1h", "until": "2026-01-12T09:00:00Z", "service": "cart", "top": 3, "method": "clouddiag",
            "sampling-probability": 0.5, "mode": "paper", "time": "inclusive", "cv-min": 0.7, "pca-row-level": 0.1,
            "set": {"site-fdr": 0.2, "pattern-level": "0.01", "period-bin": 30}
        }));
        let settings = read.unwrap().settings(NOW).unwrap();
        assert_eq!((settings.since, settings.until), (NOW.minus(Nanos::from_secs(3600)), NOW));
        assert_eq!((settings.method.name(), settings.suspects_max), ("clouddiag", 3));
        assert_eq!(
            (settings.clouddiag.cv_min, settings.clouddiag.cosine_max),
            (0.7, 0.5),
            "the paper's default"
        );
        assert_eq!((settings.pca.row_level, settings.sites.change.level), (0.1, 0.2));
        assert_eq!((settings.patterns.level, settings.sites.scan.bin), (0.01, Nanos::from_secs(30)));
        assert_eq!(settings.sampling_probability, Some(0.5));
    }

    #[test]
    fn defaults_are_those_of_the_method() {
        let settings = DiagnoseParams::from_json(json!({})).unwrap().settings(NOW).unwrap();
        assert_eq!(format!("{settings:?}"), format!("{:?}", DiagnoseSettings::default()));
    }

    #[test]
    fn parameters_survive_serialization() {
        let raw = json!({"since": 17, "top": 4, "mode": "paper", "cv-min": 0.5, "baseline-rest": true});
        let read = DiagnoseParams::from_json(raw).unwrap();
        let written = serde_json::to_value(&read).unwrap();
        assert_eq!(DiagnoseParams::from_json(written).unwrap(), read);
    }

    #[test]
    fn errors_name_the_parameter() {
        let message = |value| match DiagnoseParams::from_json(value) {
            Err(invalid) => invalid.to_string(),
            Ok(read) => read.settings(NOW).unwrap_err().to_string(),
        };
        for (value, expected) in [
            (json!({"sinse": 1}), "there is no setting \"sinse\""),
            (json!({"top": 0}), "top: write a whole number from 1"),
            (json!({"sampling-probability": 1.5}), "sampling-probability: write a number above 0"),
            (json!({"method": "guess"}), "there is no method \"guess\""),
            (json!({"since": 2, "until": 1}), "--since is later than --until"),
            (json!({"cv-min": -1.0}), "cv-min is -1"),
            (json!({"mode": "fast"}), "mode is fast; allowed: robust, paper"),
            (json!({"set": {"cv-mni": 1}}), "did you mean cv-min? (laggard settings diagnose lists"),
            (json!({"since": "tomorrow"}), "since: \"tomorrow\" is not a time"),
            (json!({"baseline-rest": true, "baseline-since": 1}), "baseline-rest cannot"),
            (json!({"baseline-rest": true, "baseline": "none"}), "baseline none cannot"),
            (json!({"baseline": "some"}), "baseline: unknown variant `some`, expected `auto` or `none`"),
            (json!({"attribute": "tenant"}), "\"tenant\" is not KEY=VALUE"),
        ] {
            let text = message(value.clone());
            assert!(text.contains(expected), "{value}: {text}");
        }
    }

    #[test]
    fn a_baseline_needs_a_window_of_its_own() {
        let rest = DiagnoseParams::from_json(json!({"baseline-rest": true})).unwrap();
        let settings = rest.settings(NOW).unwrap();
        assert!(rest.check_baseline(&settings, BaselineData::Same).is_err());
        assert!(rest.check_baseline(&settings, BaselineData::Own).is_ok());
        let pca =
            DiagnoseParams::from_json(json!({"baseline-rest": true, "since": 1, "method": "pca"})).unwrap();
        let message = pca.check_baseline(&pca.settings(NOW).unwrap(), BaselineData::Same).unwrap_err();
        assert_eq!(message.to_string(), "--method pca does not compare with a baseline");
    }
}
