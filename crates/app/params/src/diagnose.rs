//! What `laggard diagnose` is params.

use crate::{
    AtLeastOne, FromParams, Moment, ParamsError, PcaThresholds, Probability, RawParams, SiteThresholds, Text,
    Thresholds,
};
use laggard_diagnose::{BaselineChoice, DiagnoseMethod, DiagnoseSettings, METHODS};
use laggard_model::Timestamp;
use serde::{Deserialize, Serialize};

/// A question: why are requests of this window slow?
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[cfg_attr(feature = "flags", derive(clap::Args))]
#[cfg_attr(feature = "flags", group(skip))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DiagnoseQuery {
    /// What is asked of whom.
    #[serde(flatten)]
    #[cfg_attr(feature = "flags", command(flatten))]
    pub params: DiagnoseParams,
    /// Thresholds of CloudDiag.
    #[serde(flatten)]
    #[cfg_attr(feature = "flags", command(flatten))]
    pub thresholds: Thresholds,
    /// Those of the default method.
    #[serde(flatten)]
    #[cfg_attr(feature = "flags", command(flatten))]
    pub site_thresholds: SiteThresholds,
    /// Those of principal components.
    #[serde(flatten)]
    #[cfg_attr(feature = "flags", command(flatten))]
    pub pca_thresholds: PcaThresholds,
}

/// The window, what it is compared with, and how.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "flags", derive(clap::Args))]
#[cfg_attr(feature = "flags", group(skip))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case", default)]
pub struct DiagnoseParams {
    /// Leave out requests that start before this: RFC 3339, `2026-01-12 09:10` (UTC), a Unix time in s, ms, µs or ns, or so
    /// long before now: -15m
    #[cfg_attr(feature = "flags", arg(long, value_name = "T", allow_hyphen_values = true))]
    pub since: Option<Moment>,
    /// Leave out requests that start after this
    #[cfg_attr(feature = "flags", arg(long, value_name = "T", allow_hyphen_values = true))]
    pub until: Option<Moment>,
    /// Compare with requests that start at this time or later: of the baseline's files, else of the same files
    #[cfg_attr(feature = "flags", arg(long, value_name = "T", allow_hyphen_values = true))]
    pub baseline_since: Option<Moment>,
    /// … and not after this
    #[cfg_attr(feature = "flags", arg(long, value_name = "T", allow_hyphen_values = true))]
    pub baseline_until: Option<Moment>,
    /// Compare with everything in the same files outside --since and --until
    #[cfg_attr(feature = "flags", arg(long, conflicts_with_all = ["baseline_since", "baseline_until"]))]
    pub baseline_rest: bool,
    /// Only requests that enter at this service
    #[cfg_attr(feature = "flags", arg(long, value_name = "NAME"))]
    pub service: Option<String>,
    /// Probability with which requests were kept that do not say themselves, 0 to 1
    #[cfg_attr(feature = "flags", arg(long, value_name = "P"))]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<f64>))]
    pub sampling_probability: Option<Text<Probability>>,
    /// Method (see `laggard methods`)
    #[cfg_attr(feature = "flags", arg(long, value_name = "NAME", default_value = "combined"))]
    pub method: String,
    /// Most suspects to report
    #[cfg_attr(feature = "flags", arg(long, value_name = "N", default_value = "10"))]
    #[cfg_attr(feature = "openapi", schema(value_type = u32, minimum = 1))]
    pub top: Text<AtLeastOne>,
}

impl Default for DiagnoseParams {
    fn default() -> DiagnoseParams {
        DiagnoseParams {
            since: None,
            until: None,
            baseline_since: None,
            baseline_until: None,
            baseline_rest: false,
            service: None,
            sampling_probability: None,
            method: DiagnoseMethod::default().name().to_owned(),
            top: "10".parse().expect("10 is a number from 1"),
        }
    }
}

impl FromParams for DiagnoseQuery {
    fn from_raw(raw: &mut RawParams) -> Result<DiagnoseQuery, ParamsError> {
        let taken = DiagnoseQuery {
            params: raw.group()?,
            thresholds: raw.group()?,
            site_thresholds: raw.group()?,
            pca_thresholds: raw.group()?,
        };
        if taken.params.baseline_rest && taken.params.names_baseline() {
            return Err(ParamsError::new(
                "baseline-rest cannot be used with baseline-since or baseline-until",
            ));
        }
        Ok(taken)
    }
}

impl DiagnoseParams {
    fn names_baseline(&self) -> bool {
        self.baseline_since.is_some() || self.baseline_until.is_some()
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

/// Where the requests of the baseline come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BaselineData {
    /// Files of its own.
    Own,
    /// The data of the window, at other times.
    Same,
}

impl DiagnoseQuery {
    /// The settings, every range checked.
    ///
    /// # Errors
    /// What is out of range, or does not fit together.
    pub fn settings(&self, now: Timestamp) -> Result<DiagnoseSettings, ParamsError> {
        let params = &self.params;
        let settings = DiagnoseSettings {
            method: params.method()?,
            clouddiag: self.thresholds.settings(),
            patterns: self.site_thresholds.patterns(),
            sites: self.site_thresholds.settings(),
            baseline: params.baseline(now)?,
            pca: self.pca_thresholds.settings(),
            since: params.since.map_or(Timestamp::MIN, |moment| moment.at(now)),
            until: params.until.map_or(Timestamp::MAX, |moment| moment.at(now)),
            service: params.service.clone(),
            sampling_probability: params.sampling_probability.as_deref().map(|probability| probability.0),
            suspects_max: params.top.0,
        };
        if settings.since > settings.until {
            return Err(ParamsError::new("--since is later than --until"));
        }
        settings.clouddiag.check().map_err(ParamsError::new)?;
        settings.pca.check().map_err(ParamsError::new)?;
        settings.sites.check().map_err(ParamsError::new)?;
        settings.patterns.check().map_err(ParamsError::new)?;
        Ok(settings)
    }

    /// Without a window of its own, a baseline in the same data would be compared with itself.
    ///
    /// # Errors
    /// A baseline that cannot be compared with.
    pub fn check_baseline(&self, settings: &DiagnoseSettings, data: BaselineData) -> Result<(), ParamsError> {
        let compares = settings.baseline != BaselineChoice::None;
        if data == BaselineData::Same
            && compares
            && self.params.since.is_none()
            && self.params.until.is_none()
        {
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
        let read = DiagnoseQuery::from_json(json!({
            "since": "-1h", "until": "2026-01-12T09:00:00Z", "service": "cart", "top": 3, "method": "clouddiag",
            "sampling-probability": 0.5, "mode": "paper", "time": "inclusive", "cv-min": 0.7, "pca-row-level": 0.1,
            "site-fdr": 0.2, "pattern-level": 0.01, "period-bin": 30
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
    fn nothing_given_is_what_the_flags_have_by_default() {
        let settings = DiagnoseQuery::from_json(json!({})).unwrap().settings(NOW).unwrap();
        assert_eq!(format!("{settings:?}"), format!("{:?}", DiagnoseSettings::default()));
    }

    #[test]
    fn what_was_written_is_read_again() {
        let given = json!({"since": 17, "top": 4, "mode": "paper", "cv-min": 0.5, "baseline-rest": true});
        let read = DiagnoseQuery::from_json(given).unwrap();
        let written = serde_json::to_value(&read).unwrap();
        assert_eq!(DiagnoseQuery::from_json(written).unwrap(), read);
    }

    #[test]
    fn what_cannot_be_asked_is_told() {
        let message = |value| match DiagnoseQuery::from_json(value) {
            Err(invalid) => invalid.to_string(),
            Ok(read) => read.settings(NOW).unwrap_err().to_string(),
        };
        for (value, wanted) in [
            (json!({"sinse": 1}), "there is no setting \"sinse\""),
            (json!({"top": 0}), "top: write a whole number from 1"),
            (json!({"sampling-probability": 1.5}), "sampling-probability: write a number above 0"),
            (json!({"method": "guess"}), "there is no method \"guess\""),
            (json!({"since": 2, "until": 1}), "--since is later than --until"),
            (json!({"cv-min": -1.0}), "--cv-min"),
            (json!({"mode": "fast"}), "mode: unknown variant"),
            (json!({"since": "tomorrow"}), "since: \"tomorrow\" is not a time"),
            (json!({"baseline-rest": true, "baseline-since": 1}), "baseline-rest cannot"),
        ] {
            let text = message(value.clone());
            assert!(text.contains(wanted), "{value}: {text}");
        }
    }

    #[test]
    fn a_baseline_needs_a_window_of_its_own() {
        let rest = DiagnoseQuery::from_json(json!({"baseline-rest": true})).unwrap();
        let settings = rest.settings(NOW).unwrap();
        assert!(rest.check_baseline(&settings, BaselineData::Same).is_err());
        assert!(rest.check_baseline(&settings, BaselineData::Own).is_ok());
        let pca =
            DiagnoseQuery::from_json(json!({"baseline-rest": true, "since": 1, "method": "pca"})).unwrap();
        let message = pca.check_baseline(&pca.settings(NOW).unwrap(), BaselineData::Same).unwrap_err();
        assert_eq!(message.to_string(), "--method pca does not compare with a baseline");
    }
}
