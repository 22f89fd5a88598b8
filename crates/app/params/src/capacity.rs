//! `capacity`: how many clients can the system take within a latency target?

use crate::listing::entries;
use crate::set::{self, SetArgument};
use crate::text::one_or_more;
use crate::{
    Alarm, Declaration, DeclaredQuestion, Field, FromParams, FromText, ParamsError, QuestionPage, RawParams,
    SampleQuestion, Text, WindowedSamples, Windows,
};
use clap::Args;
use laggard_metrics_questions::{CapacitySettings, CountedWindows, RequestedClients, WhatIfChange, capacity};
use laggard_report::CapacityReport;
use laggard_settings::parse_length;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

const EXAMPLES: &str = "Examples:
  laggard capacity samples.csv --latency-max 500ms
  laggard capacity samples/ --latency-max 500ms --what-if 'cart.demand=-30%' --servers app=4
  laggard capacity samples/ --latency-max 300ms --mix cart=20%,home=80% --load 2
  laggard capacity access.log cpu.csv --latency-max 1s --think 7s --output html -o capacity.html

Exit status: 0 success, 1 the load is beyond the capacity (with --exit-code), 2 invalid usage, 3 unreadable input, 4 not enough data.";

/// Which target, and what if.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, Args, ToSchema)]
#[group(skip)]
#[serde(rename_all = "kebab-case", default)]
pub struct CapacityParams {
    /// The latency target: largest mean response time, think time not included: 500ms, 1.5s
    #[arg(long, value_name = "LENGTH", required = true)]
    #[schema(value_type = String)]
    pub latency_max: Option<Text<SomeSeconds>>,
    /// Mean think time of clients: needed where clients are not measured, a what-if where they are
    #[arg(long, value_name = "LENGTH")]
    #[schema(value_type = Option<String>)]
    pub think: Option<Text<Seconds>>,
    /// What if: NAME.demand=-30% (or +10%, x2, 2ms), TIER.servers=4, TIER.cores=8; repeat for more. NAME is a
    /// transaction, a tier or callee, or both with a dot between
    #[arg(long = "what-if", value_name = "CHANGE")]
    #[schema(value_type = Vec<String>)]
    #[serde(rename = "what-if", deserialize_with = "one_or_more")]
    pub changes: Vec<Text<WhatIfChange>>,
    /// Number of load-balanced servers of a tier to assume: app=4; repeat for more
    #[arg(long = "servers", value_name = "TIER=N")]
    #[schema(value_type = Vec<String>)]
    #[serde(rename = "servers", deserialize_with = "one_or_more")]
    pub tier_servers: Vec<Text<MoreServers>>,
    /// What if the mix of transactions were this: cart=20%,home=80%; or @FILE with a NAME=SHARE on each line
    #[arg(long, value_name = "MIX")]
    pub mix: Option<String>,
    /// What a group of clients gets that has its own mix: NAME=N@THINK:MIX, like browsing=200@7s:Home=60%,Search=40%;
    /// repeat for more groups. Without THINK or MIX, those of all clients
    #[arg(long = "clients", value_name = "GROUP")]
    #[schema(value_type = Vec<String>)]
    #[serde(rename = "clients", deserialize_with = "one_or_more")]
    pub client_groups: Vec<Text<ClientsOf>>,
    /// Load to assume, as a multiple of the present one
    #[arg(long, value_name = "FACTOR")]
    #[schema(value_type = Option<f64>)]
    pub load: Option<Text<Factor>>,
    /// Use all windows: also those before the last application change and those with CPU used by another process
    #[arg(long)]
    pub all_windows: bool,
    /// Set a threshold, like clients-max=5000; repeat for more (`laggard settings capacity` lists them)
    #[arg(long, value_name = "NAME=VALUE")]
    #[schema(schema_with = crate::openapi::settings::<CapacitySettings>)]
    #[serde(with = "crate::set")]
    pub set: Vec<SetArgument>,
}

/// A time in seconds, 0 or longer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Seconds(pub f64);

/// A time in seconds, longer than 0.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SomeSeconds(pub f64);

/// A factor above 0, at most a million; `x2` and `2` are one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Factor(pub f64);

/// A number of servers of a tier.
#[derive(Clone, PartialEq, Debug)]
pub struct MoreServers(pub WhatIfChange);

/// A group of clients.
#[derive(Clone, PartialEq, Debug)]
pub struct ClientsOf(pub RequestedClients);

impl FromText for ClientsOf {
    fn from_text(text: &str) -> Result<ClientsOf, String> {
        let wrong = || {
            format!(
                "{text:?} is no group of clients; write browsing=200 or browsing=200@7s:Home=60%,Search=40%"
            )
        };
        let (name, rest) =
            text.split_once('=').filter(|(name, _)| !name.trim().is_empty()).ok_or_else(wrong)?;
        let (clients, shares) = rest.split_once(':').unwrap_or((rest, ""));
        let (clients, think) = clients.split_once('@').map_or((clients, None), |(n, think)| (n, Some(think)));
        let clients: u64 = clients.trim().parse().map_err(|_| wrong())?;
        if clients > CLIENTS_MAX {
            return Err(format!("{clients} clients; a group has at most {CLIENTS_MAX}"));
        }
        Ok(ClientsOf(RequestedClients {
            name: name.trim().to_owned(),
            clients,
            think_s: think.map(Seconds::from_text).transpose()?.map(|think| think.0),
            mix: mix(shares).map_err(|error| error.to_string())?,
        }))
    }
}

/// Maximum number of clients of a group.
const CLIENTS_MAX: u64 = 10_000_000;

impl FromText for Seconds {
    fn from_text(text: &str) -> Result<Seconds, String> {
        Ok(Seconds(parse_length(text)?.ns() as f64 / 1e9))
    }
}

impl FromText for SomeSeconds {
    fn from_text(text: &str) -> Result<SomeSeconds, String> {
        match Seconds::from_text(text)?.0 {
            value if value > 0.0 => Ok(SomeSeconds(value)),
            _ => Err(format!("{text:?} leaves no time; write 500ms or 1.5s")),
        }
    }
}

impl FromText for Factor {
    fn from_text(text: &str) -> Result<Factor, String> {
        match text.trim().trim_start_matches(['x', '×']).parse::<f64>() {
            Ok(factor) if factor > 0.0 && factor <= 1e6 => Ok(Factor(factor)),
            _ => Err(format!("{text:?} is not a factor; write 2 or 1.5")),
        }
    }
}

impl FromText for WhatIfChange {
    fn from_text(text: &str) -> Result<WhatIfChange, String> {
        WhatIfChange::parse(text)
    }
}

impl FromText for MoreServers {
    fn from_text(text: &str) -> Result<MoreServers, String> {
        WhatIfChange::servers(text).map(MoreServers)
    }
}

impl FromParams for CapacityParams {
    fn from_raw(raw: &mut RawParams) -> Result<CapacityParams, ParamsError> {
        raw.gather_settings::<CapacitySettings>()?;
        raw.group()
    }
}

impl DeclaredQuestion for CapacityParams {
    type Settings = CapacitySettings;
    type Output = CapacityReport;
    const DECLARATION: Declaration = Declaration {
        name: "capacity",
        own_command: false,
        question: "How many clients can the system take within a latency target?",
        about: "Compute how many clients a system can serve within a latency target, from samples",
        examples: EXAMPLES,
        alarm: Some(Alarm {
            verdicts: &["exceeded"],
            unsure: &[],
            help: "Exit with status 1 when the load is beyond the capacity",
        }),
        stage: "modeling",
        thresholds: Some(entries::<CapacitySettings>),
        page: QuestionPage {
            title: "Capacity",
            key: "p",
            introduction: "How many clients the system can serve before its mean response time exceeds a target, and what \
                           saturates first.",
            command: "",
            button: "Compute the capacity",
            fields: FIELDS,
        },
    };
}

impl SampleQuestion for CapacityParams {
    const NEEDS_RESOURCES: bool = true;

    fn value_or_file(&mut self) -> Option<&mut String> {
        self.mix.as_mut()
    }

    fn settings(&self, windows: &Windows) -> Result<CapacitySettings, ParamsError> {
        let Some(latency_max) = self.latency_max.as_deref() else {
            return Err(ParamsError::new(
                "latency-max is needed: the largest mean response time, like 500ms",
            ));
        };
        let more = self.tier_servers.iter().map(|change| change.0.clone());
        let mut settings = CapacitySettings {
            think_s: self.think.as_deref().map(|think| think.0),
            mix: self.mix.as_deref().map(mix).transpose()?,
            changes: self.changes.iter().map(|change| (**change).clone()).chain(more).collect(),
            client_groups: self.client_groups.iter().map(|group| group.0.clone()).collect(),
            load_factor: self.load.as_deref().map(|load| load.0),
            front: windows.front.clone(),
            windows: if self.all_windows { CountedWindows::All } else { CountedWindows::Current },
            ..CapacitySettings::new(latency_max.0)
        };
        set::apply(&self.set, &mut settings, "capacity")?;
        Ok(settings)
    }

    fn answer(settings: CapacitySettings, samples: WindowedSamples) -> Result<CapacityReport, ParamsError> {
        let settings = CapacitySettings { threads: samples.threads, ..settings };
        let mut report = capacity(&samples.table, &samples.facts, &settings).map_err(ParamsError::new)?;
        report.cautions.extend(samples.cautions);
        Ok(report)
    }
}

const FIELDS: &[Field] = &[
    Field {
        placeholder: "500ms",
        hint: "largest mean response time",
        required: true,
        ..Field::new("latency-max", "Latency target")
    },
    Field { hint: "of clients, where it is not measured", rare: true, ..Field::new("think", "Think time") },
    Field {
        hint: "app.servers=4, cart.demand=-30%",
        many: true,
        rare: true,
        ..Field::new("what-if", "What if")
    },
    Field { hint: "times the current load", rare: true, ..Field::new("load", "Load factor") },
    Field { hint: "cart=20%,home=80%", rare: true, ..Field::new("mix", "Mix") },
];

/// Reads `cart=20%,home=80%`, or the same in lines, whose names may have commas.
fn mix(text: &str) -> Result<Vec<(String, f64)>, ParamsError> {
    let separator = if text.contains('\n') { '\n' } else { ',' };
    let shares = text.split(separator).map(str::trim).filter(|share| !share.is_empty());
    shares.map(share).collect::<Result<_, String>>().map_err(ParamsError::new)
}

fn share(text: &str) -> Result<(String, f64), String> {
    let wrong = || format!("{text:?} is not a share of a mix; write cart=20%");
    let (name, value) = text.rsplit_once('=').ok_or_else(wrong)?;
    match value.trim().trim_end_matches('%').trim().parse::<f64>() {
        Ok(share) if share >= 0.0 && share.is_finite() => Ok((name.trim().to_owned(), share)),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SampleQuery;
    use serde_json::json;

    #[test]
    fn a_mix_is_parsed() {
        let read = mix("cart=20%, GET /a=b=0.8").unwrap();
        assert_eq!(read, [("cart".to_owned(), 20.0), ("GET /a=b".to_owned(), 0.8)]);
        assert_eq!(
            mix("cart=1\n\nhome = 3\n").unwrap(),
            [("cart".to_owned(), 1.0), ("home".to_owned(), 3.0)]
        );
        for text in ["cart", "cart=", "cart=-1", "cart=nan", "@/no/such/file"] {
            assert!(mix(text).is_err(), "{text}");
        }
    }

    #[test]
    fn groups_of_clients_are_parsed() {
        let read = |text| ClientsOf::from_text(text).unwrap().0;
        let browsing = read("browsing=200@7s:Home=60%, GET /a:b=40%");
        assert_eq!(
            (browsing.name.as_str(), browsing.clients, browsing.think_s),
            ("browsing", 200, Some(7.0))
        );
        assert_eq!(browsing.mix, [("Home".to_owned(), 60.0), ("GET /a:b".to_owned(), 40.0)]);
        let all = read("all=5");
        assert_eq!((all.clients, all.think_s, all.mix.len()), (5, None, 0));
        for text in ["", "a", "=5", "a=", "a=-1", "a=1.5", "a=5@", "a=5:Home", "a=99999999999"] {
            assert!(ClientsOf::from_text(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_and_factors_have_ranges() {
        assert_eq!(SomeSeconds::from_text("500ms"), Ok(SomeSeconds(0.5)));
        assert!(SomeSeconds::from_text("0").is_err());
        assert_eq!(Seconds::from_text("0"), Ok(Seconds(0.0)));
        assert_eq!(Factor::from_text("x2"), Ok(Factor(2.0)));
        assert!(
            Factor::from_text("0").is_err()
                && Factor::from_text("nan").is_err()
                && Factor::from_text("-1").is_err()
        );
    }

    #[test]
    fn settings_have_the_names_of_the_flags() {
        let read = SampleQuery::<CapacityParams>::from_json(json!({
            "latency-max": "500ms", "think": "7s", "what-if": ["cart.demand=-30%"], "servers": "app=4", "load": 2,
            "clients-max": 100, "all-windows": true, "front": "web", "window": "5m"
        }));
        let read = read.unwrap();
        let settings = read.params.settings(&read.windows).unwrap();
        assert_eq!(
            (settings.think_s, settings.load_factor, settings.clients_max),
            (Some(7.0), Some(2.0), 100)
        );
        assert_eq!((settings.changes.len(), settings.front.as_deref()), (2, Some("web")));
        assert_eq!(settings.windows, CountedWindows::All);
        assert_eq!(
            SampleQuery::<CapacityParams>::from_json(serde_json::to_value(&read).unwrap()).unwrap(),
            read
        );
        let none = SampleQuery::<CapacityParams>::from_json(json!({})).unwrap();
        assert!(none.params.settings(&none.windows).unwrap_err().to_string().contains("latency-max"));
    }
}
