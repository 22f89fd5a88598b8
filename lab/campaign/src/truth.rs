//! Ground truth of a fault, as written by the bookstore.

use serde::Deserialize;

/// `truth.json`, or one of its `more`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
pub(crate) struct FaultTruth {
    pub(crate) service: Option<String>,
    pub(crate) operation: Option<String>,
    /// Services of caller and callee.
    pub(crate) edge: Option<(String, String)>,
    #[serde(default)]
    pub(crate) replicas: Vec<String>,
    pub(crate) tenant: Option<String>,
    /// The class of cause.
    pub(crate) cause: Option<String>,
    /// Classes that are right as well.
    #[serde(default)]
    pub(crate) also: Vec<String>,
    #[serde(default)]
    pub(crate) is_everywhere: bool,
    /// The truths of several faults at once.
    #[serde(default)]
    pub(crate) more: Vec<FaultTruth>,
    /// When a process of the shop first met it; nanoseconds since the Unix epoch.
    #[serde(default)]
    pub(crate) onset_unix_ns: i64,
    #[serde(default)]
    pub(crate) summary: String,
}

impl FaultTruth {
    /// Whether nothing is wrong.
    pub(crate) fn is_harmless(&self) -> bool {
        self.service.is_none() && self.edge.is_none() && !self.is_everywhere
    }

    /// Whether a class of cause is right.
    pub(crate) fn has_cause(&self, class: &str) -> bool {
        self.all().iter().any(|truth| truth.causes().contains(&class))
    }

    /// Classes of cause that are right, the best first.
    pub(crate) fn causes(&self) -> Vec<&str> {
        self.cause.iter().chain(&self.also).map(String::as_str).collect()
    }

    /// Its parts; itself, if it is one fault.
    pub(crate) fn all(&self) -> Vec<&FaultTruth> {
        if self.more.is_empty() { vec![self] } else { self.more.iter().collect() }
    }

    /// The target in words.
    pub(crate) fn target(&self) -> String {
        if self.is_harmless() {
            return "nothing".to_owned();
        }
        let parts: Vec<String> = self.all().into_iter().map(FaultTruth::own_target).collect();
        parts.join(" and ")
    }

    fn own_target(&self) -> String {
        let mut out = match (&self.edge, &self.service, &self.operation) {
            (Some((caller, callee)), _, _) => format!("`{caller}` → `{callee}`"),
            (None, Some(service), Some(operation)) => format!("`{service}` `{operation}`"),
            (None, Some(service), None) => format!("`{service}`"),
            (None, None, _) => "the machine".to_owned(),
        };
        if !self.replicas.is_empty() {
            out += &format!(" on {}", self.replicas.join(", "));
        }
        if let Some(tenant) = &self.tenant {
            out += &format!(", tenant {tenant}");
        }
        out
    }
}
