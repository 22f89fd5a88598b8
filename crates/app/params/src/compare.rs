//! Parameters of `laggard compare`.

use crate::diagnose::attribute_filters;
use crate::set::{self, SetArgument};
use crate::text::one_or_more;
use crate::{FromParams, Moment, ParamsError, RawParams};
use clap::Args;
use laggard_diagnose::{AttributeFilter, CompareSettings, RequestSelection};
use laggard_model::{Nanos, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What differs between two sets of requests?
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, Args, ToSchema)]
#[group(skip)]
#[serde(rename_all = "kebab-case", default)]
pub struct CompareParams {
    /// Of the set before, leave out requests that start before this
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub before_since: Option<Moment>,
    /// … or after this; of one data set without this, everything before --since is the set before
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub before_until: Option<Moment>,
    /// Of the set after, leave out requests that start before this
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub since: Option<Moment>,
    /// … or after this
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub until: Option<Moment>,
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
    /// Set a threshold, like level=0.001; repeat for more (`laggard settings compare` lists them)
    #[arg(long, value_name = "NAME=VALUE")]
    #[schema(schema_with = crate::openapi::settings::<CompareSettings>)]
    #[serde(with = "crate::set")]
    pub set: Vec<SetArgument>,
}

impl FromParams for CompareParams {
    fn from_raw(raw: &mut RawParams) -> Result<CompareParams, ParamsError> {
        raw.gather_settings::<CompareSettings>()?;
        raw.group()
    }
}

/// The time that a set's requests start in; both ends belong to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// The earliest start.
    pub since: Timestamp,
    /// The latest start.
    pub until: Timestamp,
}

impl Window {
    /// All of time.
    pub const ALL: Window = Window { since: Timestamp::MIN, until: Timestamp::MAX };

    /// The least window that holds both.
    pub fn join(self, other: Window) -> Window {
        Window { since: self.since.min(other.since), until: self.until.max(other.until) }
    }
}

/// Where two sets come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ComparedData {
    /// Data of their own each.
    Two,
    /// The same data, at other times.
    One,
}

/// Said when it is not clear what is to be compared.
pub const WHAT_TO_COMPARE: &str = "give two sets, BEFORE AFTER (more paths with --before and --after), \
     or one data set and two windows (--since T compares what is before T with what is after it)";

impl CompareParams {
    /// The attributes that requests must have.
    ///
    /// # Errors
    /// One that cannot be read.
    pub fn attribute_filters(&self) -> Result<Vec<AttributeFilter>, ParamsError> {
        attribute_filters(&self.attributes)
    }

    /// Which requests are compared.
    pub fn selection(&self) -> RequestSelection {
        RequestSelection {
            service: self.service.clone(),
            operation: self.operation.clone(),
            category: self.category.clone(),
        }
    }

    /// The settings, every range checked.
    ///
    /// # Errors
    /// The first setting out of its range.
    pub fn settings(&self) -> Result<CompareSettings, ParamsError> {
        let mut settings = CompareSettings::default();
        set::apply(&self.set, &mut settings, "compare")?;
        Ok(settings)
    }

    /// The windows before and after. Of one data set, requests outside the window after count as before.
    ///
    /// # Errors
    /// No window where there must be one, and windows that end before they begin.
    pub fn windows(&self, data: ComparedData, now: Timestamp) -> Result<[Window; 2], ParamsError> {
        let one_file = data == ComparedData::One;
        let time_of = |moment: Option<Moment>| moment.map(|moment| moment.at(now));
        let [before_since, before_until, since, until] =
            [self.before_since, self.before_until, self.since, self.until].map(time_of);
        if one_file && [before_since, before_until, since, until].iter().all(Option::is_none) {
            return Err(ParamsError::new(WHAT_TO_COMPARE));
        }
        let ends = match (before_until, since) {
            (None, Some(since)) if one_file => since.minus(Nanos::from_ns(1)),
            (until, _) => until.unwrap_or(Timestamp::MAX),
        };
        let begins = match (since, before_until) {
            (None, Some(until)) if one_file => until.plus(Nanos::from_ns(1)),
            (since, _) => since.unwrap_or(Timestamp::MIN),
        };
        let before = Window { since: before_since.unwrap_or(Timestamp::MIN), until: ends };
        let after = Window { since: begins, until: until.unwrap_or(Timestamp::MAX) };
        for (window, names) in [(before, ["before-since", "before-until"]), (after, ["since", "until"])] {
            if window.since > window.until {
                return Err(ParamsError::new(format_args!("--{} is later than --{}", names[0], names[1])));
            }
        }
        Ok([before, after])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn windows(value: serde_json::Value, data: ComparedData) -> Result<[Window; 2], ParamsError> {
        CompareParams::from_json(value).unwrap().windows(data, Timestamp::from_unix_ns(1_000_000_000_000))
    }

    fn window(since: Option<i64>, until: Option<i64>) -> Window {
        let time = |ns: Option<i64>, none| ns.map_or(none, Timestamp::from_unix_ns);
        Window { since: time(since, Timestamp::MIN), until: time(until, Timestamp::MAX) }
    }

    #[test]
    fn within_one_data_set_before_is_everything_outside_the_after_window() {
        let found = windows(json!({"since": 100}), ComparedData::One).unwrap();
        assert_eq!(found, [window(None, Some(99)), window(Some(100), None)]);
        let found = windows(json!({"before-until": 50, "until": 70}), ComparedData::One).unwrap();
        assert_eq!(found, [window(None, Some(50)), window(Some(51), Some(70))]);
        let found = windows(json!({"since": 100}), ComparedData::Two).unwrap();
        assert_eq!(found, [window(None, None), window(Some(100), None)]);
    }

    #[test]
    fn windows_are_required_and_start_before_they_end() {
        assert!(windows(json!({}), ComparedData::One).is_err());
        assert_eq!(windows(json!({}), ComparedData::Two).unwrap(), [Window::ALL, Window::ALL]);
        let message = windows(json!({"since": 9, "until": 8}), ComparedData::Two).unwrap_err().to_string();
        assert_eq!(message, "--since is later than --until");
    }

    #[test]
    fn defaults_are_those_of_the_method() {
        assert_eq!(CompareParams::from_json(json!({})).unwrap().settings(), Ok(CompareSettings::default()));
        let message = CompareParams::from_json(json!({"level": 2.0})).unwrap().settings().unwrap_err();
        assert!(message.to_string().starts_with("level is 2"));
    }
}
