//! `changes`: did code, workload, or another process change CPU use?

use crate::listing::entries;
use crate::set::{self, SetArgument};
use crate::{
    Alarm, Declaration, DeclaredQuestion, FromParams, ParamsError, QuestionPage, RawParams, SampleQuestion,
    WindowedSamples, Windows,
};
use clap::Args;
use laggard_metrics_questions::{CHANGE_METHODS, ChangeMethod, ChangesQuestion, ChangesSettings, changes};
use laggard_report::ChangeReport;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

const EXAMPLES: &str = "Examples:
  laggard changes samples.csv                               transactions and CPU utilization by window
  laggard changes traces/ cpu.csv --window 5m               counts and times from spans, one CPU series
  laggard changes samples.csv --deployment 2026-01-12T22:29:48Z=v2.4
  laggard changes samples.csv --method cherkasova --set error-max=3
  laggard changes samples.csv --exit-code || page-somebody

Exit status: 0 success, 1 application change, host change, longer waits, unexplained change, or anomaly (with --exit-code), 2 invalid usage, 3 unreadable input, 4 not enough data.";

/// How changes are detected.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, Args, ToSchema)]
#[group(skip)]
#[serde(rename_all = "kebab-case", default)]
pub struct ChangesParams {
    /// Method: adaptive, or cherkasova as published (see `laggard methods`)
    #[arg(long, value_name = "NAME", default_value = "adaptive")]
    pub method: String,
    /// Set a threshold, like score-min=6; repeat for more (`laggard settings changes` lists them)
    #[arg(long, value_name = "NAME=VALUE")]
    #[schema(schema_with = crate::openapi::settings::<ChangesSettings>)]
    #[serde(with = "crate::set")]
    pub set: Vec<SetArgument>,
}

impl Default for ChangesParams {
    fn default() -> ChangesParams {
        ChangesParams { method: "adaptive".to_owned(), set: Vec::new() }
    }
}

impl FromParams for ChangesParams {
    fn from_raw(raw: &mut RawParams) -> Result<ChangesParams, ParamsError> {
        raw.gather_settings::<ChangesSettings>()?;
        raw.group()
    }
}

impl DeclaredQuestion for ChangesParams {
    type Settings = ChangesSettings;
    type Output = ChangeReport;
    const DECLARATION: Declaration = Declaration {
        name: "changes",
        own_command: false,
        question: "Did code, workload, or another process on the host change CPU use?",
        about: "Find out whether code, workload, or another process changed CPU use, and since when",
        examples: EXAMPLES,
        alarm: Some(Alarm {
            verdicts: &["application-change", "host-change", "wait-change", "unexplained-change", "anomaly"],
            unsure: &["cpu-not-explained"],
            help: "Exit with status 1 on a change of the application or the host, longer waits, an unexplained change, or an anomaly, and \
                   with 4 where transactions do not explain the CPU",
        }),
        stage: "looking for changes",
        thresholds: Some(entries::<ChangesSettings>),
        page: QuestionPage {
            title: "Changes",
            key: "h",
            introduction: "Whether the application, the workload, or something else on the host changed the CPU utilization, \
                           and since when: from counts of transactions and CPU utilization, stored or in a file.",
            command: "",
            button: "Find changes",
            fields: &[],
        },
    };
}

impl SampleQuestion for ChangesParams {
    fn settings(&self, _windows: &Windows) -> Result<ChangesSettings, ParamsError> {
        let mut settings = ChangesSettings { method: self.method()?, ..ChangesSettings::default() };
        set::apply(&self.set, &mut settings, "changes")?;
        Ok(settings)
    }

    fn answer(settings: ChangesSettings, samples: WindowedSamples) -> Result<ChangeReport, ParamsError> {
        let question = ChangesQuestion {
            table: &samples.table,
            facts: &samples.facts,
            deployments: &samples.deployments,
            settings: &settings,
            threads: samples.threads,
        };
        let mut report = changes(&question).map_err(ParamsError::new)?;
        report.cautions.extend(samples.cautions);
        Ok(report)
    }
}

impl ChangesParams {
    fn method(&self) -> Result<ChangeMethod, ParamsError> {
        // `tuned` is the former name of `adaptive`.
        let name = if self.method.eq_ignore_ascii_case("tuned") { "adaptive" } else { &self.method };
        let known = CHANGE_METHODS.iter().find(|row| row.name.eq_ignore_ascii_case(name));
        known.map(|row| row.method).ok_or_else(|| {
            let names: Vec<&str> = CHANGE_METHODS.iter().map(|row| row.name).collect();
            ParamsError::new(format_args!(
                "there is no method {:?}; there is {}",
                self.method,
                names.join(", ")
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SampleQuery;
    use laggard_model::{Nanos, Timestamp};
    use serde_json::json;

    #[test]
    fn settings_have_the_names_of_the_flags() {
        let read = SampleQuery::<ChangesParams>::from_json(json!({
            "window": "5m", "server": "app-1", "tier": ["app", "db"], "cores": ["app=4", 2], "utilization": "percent",
            "deployment": "2026-01-12T09:00:00Z=v1", "method": "Cherkasova", "error-max": 4, "mode": "paper",
            "set": {"types-max": 7}
        }));
        let read = read.unwrap();
        let windows = read.windows.settings(Timestamp::from_unix_ns(0)).unwrap();
        assert_eq!(
            (windows.length, windows.servers.len(), windows.tiers.len()),
            (Nanos::from_secs(300), 1, 2)
        );
        assert_eq!(windows.cores.iter().map(|cores| cores.cores).collect::<Vec<_>>(), [4.0, 2.0]);
        assert_eq!(read.windows.deployments()[0].name, "v1");
        let settings = read.params.settings(&Windows::default()).unwrap();
        assert_eq!((settings.method, settings.types_max), (ChangeMethod::Cherkasova, 7));
        assert_eq!(settings.cherkasova.error_max_percent, 4.0);
        let again = SampleQuery::<ChangesParams>::from_json(serde_json::to_value(&read).unwrap()).unwrap();
        assert_eq!(again, read);
    }

    #[test]
    fn errors_name_the_parameter() {
        for (value, expected) in [
            (json!({"window": "0s"}), "window: a window of 0s"),
            (json!({"cores": "x"}), "cores"),
            (json!({"windows": "1m"}), "there is no setting \"windows\""),
        ] {
            let message = SampleQuery::<ChangesParams>::from_json(value.clone()).unwrap_err().to_string();
            assert!(message.contains(expected), "{value}: {message}");
        }
        assert!(
            SampleQuery::<ChangesParams>::from_json(json!({"method": "x"}))
                .unwrap()
                .params
                .settings(&Windows::default())
                .is_err()
        );
        let empty = SampleQuery::<ChangesParams>::from_json(json!({"since": 5, "until": 5})).unwrap();
        assert!(empty.windows.settings(Timestamp::from_unix_ns(0)).is_err());
    }
}
