//! Deployments and other changes of the observed system, and those near the onset of a suspect.

use crate::instants::instants;
use laggard_model::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

instants! {
    /// When the system was changed.
    pub struct SystemEventTime {
        /// As declared; of a version that spans report, the start of the first request with it.
        pub time,
    }
}

/// A kind of change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SystemEventKind {
    /// Another version of a service.
    #[default]
    Deployment,
    /// Another number of replicas.
    Scaling,
    /// Other settings.
    Configuration,
    /// Anything else.
    Other,
}

/// How an event is known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SystemEventSource {
    /// Somebody declared it, on the command line or through the API.
    #[default]
    Declared,
    /// Spans report a version that earlier spans of the service do not.
    Spans,
}

/// A deployment or another change of the system.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct SystemEvent {
    /// When.
    #[serde(flatten)]
    pub time: SystemEventTime,
    /// The kind of change.
    pub kind: SystemEventKind,
    /// The service; empty when it is about the whole system.
    pub service: String,
    /// The version deployed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The text of the person or program that declared it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Replicas afterwards, if declared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u64>,
    /// The zone, if it is about one zone only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// How it is known.
    pub source: SystemEventSource,
    /// Replicas of the service whose spans report the version, of those with any version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<ReplicasRunning>,
}

/// Replicas that run a version.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReplicasRunning {
    /// Replicas that run it.
    pub replicas: u64,
    /// Replicas whose version is known.
    pub of: u64,
}

/// An event of the suspect's service, or of one that it calls, whose time fits the suspect's onset. This is context: timing
/// alone does not prove a cause.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct SuspectEvent {
    /// The event.
    #[serde(flatten)]
    pub event: SystemEvent,
    /// From the event to the most likely time of the onset, in seconds; negative when the event lies inside the onset's
    /// interval, after that time.
    pub before_s: f64,
    /// Whether the event lies inside the onset's interval; else it precedes the interval.
    pub is_within_onset: bool,
    /// How many of the suspect's replicas run the version, of those whose version is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspected_running: Option<ReplicasRunning>,
}

impl SystemEvent {
    /// A declared change of a service at a time; without a version, a text, or anything else that is optional.
    pub const fn declared(kind: SystemEventKind, service: String, time: Timestamp) -> SystemEvent {
        SystemEvent {
            time: SystemEventTime { time },
            kind,
            service,
            version: None,
            text: String::new(),
            replicas: None,
            zone: None,
            source: SystemEventSource::Declared,
            running: None,
        }
    }

    /// When.
    pub const fn at(&self) -> Timestamp {
        self.time.time
    }
}
