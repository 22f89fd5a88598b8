//! How samples become windows: what `changes`, `signature` and `capacity` have in common.

use crate::text::one_or_more;
use crate::{Field, FieldChoice, FromText, Moment, ParamsError, Probability, Text, WindowLength, times};
use clap::{Args, ValueEnum};
use laggard_metrics_questions::DeclaredDeployment;
use laggard_model::{AdjustedCount, Timestamp};
use laggard_samples::{CoresOf, UtilizationUnit, WindowSettings};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Which samples count, and how they become windows.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, Args, ToSchema)]
#[group(skip)]
#[serde(rename_all = "kebab-case", default)]
pub struct Windows {
    /// Length of a window: 60s, 5m, 500ms
    #[arg(long, value_name = "LENGTH", default_value = "60s")]
    #[schema(value_type = String)]
    pub window: Text<WindowLength>,
    /// Leave out windows that start before this: RFC 3339, `2026-01-12 09:10` (UTC), a Unix time in s, ms, µs or ns, or
    /// relative to now: -1d
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub since: Option<Moment>,
    /// Leave out windows that end after this
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub until: Option<Moment>,
    /// Only this server (replica, pod, host); repeat for more
    #[arg(long = "server", value_name = "NAME")]
    #[serde(rename = "server", deserialize_with = "one_or_more")]
    pub servers: Vec<String>,
    /// Only servers of this tier (service); repeat for more
    #[arg(long = "tier", value_name = "NAME")]
    #[serde(rename = "tier", deserialize_with = "one_or_more")]
    pub tiers: Vec<String>,
    /// The tier that clients call, when samples count transactions of several tiers
    #[arg(long, value_name = "TIER")]
    pub front: Option<String>,
    /// CPU capacity in cores, of a server or tier (NAME=N) or of all (N); a quota counts as what it allows, like 1.5
    #[arg(long, value_name = "[NAME=]N")]
    #[schema(value_type = Vec<String>)]
    #[serde(deserialize_with = "one_or_more")]
    pub cores: Vec<Text<CoresOf>>,
    /// What utilization values are
    #[arg(long, value_enum, default_value_t = UtilizationForm::Auto)]
    pub utilization: UtilizationForm,
    /// Mark a deployment, to compare with the changes that are detected; repeat for more
    #[arg(long = "deployment", value_name = "T=NAME", allow_hyphen_values = true)]
    #[schema(value_type = Vec<String>)]
    #[serde(rename = "deployment", deserialize_with = "one_or_more")]
    pub deployments: Vec<Text<Deployment>>,
    /// Sampling probability of traces whose spans do not state it, 0 to 1
    #[arg(long, value_name = "P")]
    #[schema(value_type = Option<f64>)]
    pub sampling_probability: Option<Text<Probability>>,
}

/// The fields of every page about samples.
pub(crate) const FIELDS: &[Field] = &[
    Field { placeholder: "60s", hint: "60s, 5m, 500ms", ..Field::new("window", "Window length") },
    Field { placeholder: "all", hint: "commas between several", many: true, ..Field::new("tier", "Tiers") },
    Field {
        placeholder: "all",
        hint: "replicas, pods or hosts",
        many: true,
        ..Field::new("server", "Servers")
    },
    Field { hint: "the tier that clients call", rare: true, ..Field::new("front", "Front tier") },
    Field { hint: "4, app=4, db-1=1.5", many: true, rare: true, ..Field::new("cores", "Cores") },
    Field {
        choices: &[
            FieldChoice { value: "", label: "recognized" },
            FieldChoice { value: "fraction", label: "0 to 1" },
            FieldChoice { value: "percent", label: "0 to 100" },
            FieldChoice { value: "cores", label: "cores in use" },
        ],
        rare: true,
        ..Field::new("utilization", "Utilization values are")
    },
    Field {
        hint: "2026-01-12T09:10:00Z=v1.4",
        many: true,
        rare: true,
        ..Field::new("deployment", "Deployments")
    },
];

/// What utilization values are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ValueEnum, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UtilizationForm {
    /// Percent when values say so, else a fraction
    #[default]
    Auto,
    /// 0..1 of all cores
    Fraction,
    /// 0..100 of all cores
    Percent,
    /// Cores in use
    Cores,
}

/// A declared deployment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Deployment {
    /// When it was.
    pub time: Timestamp,
    /// Its name.
    pub name: String,
}

impl Default for Windows {
    fn default() -> Windows {
        Windows {
            window: "60s".parse().expect("a minute is a window"),
            since: None,
            until: None,
            servers: Vec::new(),
            tiers: Vec::new(),
            front: None,
            cores: Vec::new(),
            utilization: UtilizationForm::Auto,
            deployments: Vec::new(),
            sampling_probability: None,
        }
    }
}

impl Windows {
    /// How windows are made.
    ///
    /// # Errors
    /// A time that ends before it begins, or an address instead of a server's name.
    pub fn settings(&self, now: Timestamp) -> Result<WindowSettings, ParamsError> {
        let settings = WindowSettings {
            length: self.window.0,
            since: self.since.map_or(Timestamp::MIN, |moment| moment.at(now)),
            until: self.until.map_or(Timestamp::MAX, |moment| moment.at(now)),
            cores: self.cores.iter().map(|cores| (**cores).clone()).collect(),
            utilization: match self.utilization {
                UtilizationForm::Auto => UtilizationUnit::Auto,
                UtilizationForm::Fraction => UtilizationUnit::Fraction,
                UtilizationForm::Percent => UtilizationUnit::Percent,
                UtilizationForm::Cores => UtilizationUnit::Cores,
            },
            servers: self.servers.clone(),
            tiers: self.tiers.clone(),
            front: self.front.clone(),
            ..WindowSettings::default()
        };
        if settings.since >= settings.until {
            return Err(ParamsError::new("--since is not before --until"));
        }
        // `diagnose` has an option of the same name for a server of Laggard's.
        if let Some(address) = self.servers.iter().find(|name| name.contains("://")) {
            return Err(ParamsError::new(format!(
                "--server is the name of a server in the samples, like app-1, not an address; to ask a running Laggard, open {address} or \
                 read its API"
            )));
        }
        Ok(settings)
    }

    /// The declared deployments, in order of time.
    pub fn deployments(&self) -> Vec<DeclaredDeployment> {
        let declared = self
            .deployments
            .iter()
            .map(|deployment| DeclaredDeployment { time: deployment.time, name: deployment.name.clone() });
        let mut declared: Vec<DeclaredDeployment> = declared.collect();
        declared.sort_by_key(|deployment| deployment.time);
        declared
    }

    /// How many requests a span without a weight represents.
    pub fn assumed_count(&self) -> Option<AdjustedCount> {
        self.sampling_probability
            .as_deref()
            .and_then(|probability| AdjustedCount::from_probability(probability.0))
    }
}

impl FromText for CoresOf {
    fn from_text(text: &str) -> Result<CoresOf, String> {
        let (name, number) = text.rsplit_once('=').unwrap_or(("", text));
        match number.trim().parse::<f64>() {
            Ok(cores) if cores > 0.0 && cores <= 1e6 => Ok(CoresOf { name: name.to_owned(), cores }),
            _ => Err(format!("{text:?} is not a number of cores; write 4, app-1=4 or db=1.5")),
        }
    }
}

impl FromText for Deployment {
    fn from_text(text: &str) -> Result<Deployment, String> {
        let Some((time, name)) = text.split_once('=') else {
            return Err(format!("{text:?} is not a deployment; write 2026-01-12T09:10:00Z=v1.4.2"));
        };
        Ok(Deployment { time: times::parse(time)?, name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_belong_to_a_name_or_to_all_servers() {
        assert_eq!(CoresOf::from_text("app=1=1.5"), Ok(CoresOf { name: "app=1".to_owned(), cores: 1.5 }));
        assert_eq!(CoresOf::from_text("4"), Ok(CoresOf { name: String::new(), cores: 4.0 }));
        for text in ["", "app=", "app=0", "app=-1", "app=inf", "app=nan"] {
            assert!(CoresOf::from_text(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_address_of_a_laggard_is_not_a_server_in_the_samples() {
        let windows = |name: &str| Windows { servers: vec![name.to_owned()], ..Windows::default() };
        let now = Timestamp::from_unix_ns(0);
        let error = windows("http://127.0.0.1:4316").settings(now).unwrap_err();
        assert!(error.to_string().contains("open http://127.0.0.1:4316"), "{error}");
        assert!(
            windows("127.0.0.1:9100").settings(now).is_ok(),
            "instances of Prometheus have names like this"
        );
    }

    #[test]
    fn a_deployment_has_a_time_and_a_name() {
        let known = Deployment::from_text("2026-01-12T09:00:00Z=v1=2").unwrap();
        assert_eq!((known.time.unix_ns(), known.name.as_str()), (1_768_208_400_000_000_000, "v1=2"));
        assert!(Deployment::from_text("v1").is_err());
        assert!(Deployment::from_text("noon=v1").is_err());
    }
}
