//! Sets of cases and the groups in them.

use serde::{Deserialize, Serialize};

/// A kind of data, recognized by layout and file names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum SetKind {
    /// Files `slowdn-…` and `slowhdfs-…`.
    Tracebench,
    /// `faults.json` beside `spans.…`.
    OnlineBoutique,
    /// Tables with the header `Latency,…,anomaly`.
    Delag,
    /// No data: simulated in the process.
    Simulator,
    /// No data: days of ten kinds of systems simulated in the process, without faults and with them.
    Days,
    /// No data: the simulated incidents, judged by the requests that were hit.
    RequestsHit,
    /// No data: a shop simulated in the process, window by window.
    Tpcw,
    /// No data: simulated executions.
    Executions,
    /// `demands.csv` beside folders `…-exp…`.
    CpuDemands,
}

impl SetKind {
    /// All of them, in the order of the scorecard.
    pub const ALL: [SetKind; 9] = [
        SetKind::Tracebench,
        SetKind::OnlineBoutique,
        SetKind::Delag,
        SetKind::Simulator,
        SetKind::Days,
        SetKind::RequestsHit,
        SetKind::Tpcw,
        SetKind::CpuDemands,
        SetKind::Executions,
    ];

    /// Whether its cases are drawn from seeds.
    pub const fn is_simulated(self) -> bool {
        matches!(
            self,
            SetKind::Simulator | SetKind::Days | SetKind::RequestsHit | SetKind::Tpcw | SetKind::Executions
        )
    }

    /// The word for `--only`.
    pub const fn name(self) -> &'static str {
        match self {
            SetKind::Tracebench => "tracebench",
            SetKind::OnlineBoutique => "online-boutique",
            SetKind::Delag => "delag",
            SetKind::Simulator => "simulator",
            SetKind::Days => "days",
            SetKind::RequestsHit => "requests-hit",
            SetKind::Tpcw => "tpcw",
            SetKind::CpuDemands => "cpu-demands",
            SetKind::Executions => "executions",
        }
    }
}

/// Cases that are scored together.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Group {
    /// The set.
    pub set: SetKind,
    /// Description: what its cases have in common.
    pub name: String,
}

impl Group {
    pub(crate) fn new(set: SetKind, name: &str) -> Group {
        Group { set, name: name.to_owned() }
    }

    /// `set/name`, in which `--only` is searched.
    pub fn path(&self) -> String {
        format!("{}/{}", self.set.name(), self.name)
    }
}
