//! Other parts of a capacity report: cost of a change, groups of clients, and memory and network as limits.

use crate::instants::unix_ns;
use laggard_model::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// The capacity cost of the last change of the application, with the mix of all data since then.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct ChangeCost {
    /// Start of the first window since the change.
    #[serde(rename = "since_ns", serialize_with = "unix_ns")]
    #[schema(value_type = i64)]
    pub since: Timestamp,
    /// The tier whose CPU it changed.
    pub tier: String,
    /// CPU seconds of a mean transaction at the tier before.
    pub demand_before_s: f64,
    /// … and since.
    pub demand_after_s: f64,
    /// Additional cores in use at the current load; negative where it saves some.
    pub cores: f64,
    /// Cores of all servers of the tier.
    pub cores_of_tier: f64,
    /// Cores with which its CPU could serve as many transactions a second as before.
    pub cores_to_restore: f64,
    /// Most clients within the target before; `None` where the answer is a rate only.
    pub clients_before: Option<u64>,
    /// … and since.
    pub clients_after: Option<u64>,
    /// Throughput within the target before.
    pub throughput_before: f64,
    /// … and since.
    pub throughput_after: f64,
}

/// Throughput and response times of groups of clients with mixes of their own.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct ClientGroupsAnswer {
    /// With the stated numbers of clients.
    pub stated: GroupsLoad,
    /// Whether every group is within the target then.
    pub within_target: bool,
    /// With the most clients of the same proportions that leave every group within the target.
    pub most: GroupsLoad,
    /// Whether the search for these ended at its limit: more are possible.
    pub at_limit: bool,
    /// How it was computed.
    pub algorithm: String,
}

/// Groups of clients at some load.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct GroupsLoad {
    /// The groups, in the order given.
    pub groups: Vec<GroupLoad>,
    /// Utilization by tier, in the model's order; `None` for a delay.
    pub utilization: Vec<Option<f64>>,
}

/// A group of clients at some load.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct GroupLoad {
    /// Its name.
    pub name: String,
    /// Clients.
    pub clients: u64,
    /// Their think time in seconds.
    pub think_s: f64,
    /// Transactions a second.
    pub throughput: f64,
    /// Mean response time in seconds.
    pub response_s: f64,
}

/// A resource beside the CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ResourceKind {
    /// Memory of the servers.
    Memory,
    /// Their network links.
    Network,
}

/// The unit of a load.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadUnit {
    /// Clients.
    Clients,
    /// Transactions a second.
    Throughput,
}

/// Memory or network of a tier: a straight line over the load, and where it is full (a back-of-the-envelope calculation, Cherkasova
/// et al. 2009, section 7). Shares are 0..1.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct ResourceLimit {
    /// The tier.
    pub tier: String,
    /// What.
    pub resource: ResourceKind,
    /// Share in use at the end of the data, mean of its servers.
    pub used: f64,
    /// Highest share of a server in a window.
    pub used_peak: f64,
    /// Share from which it counts as full.
    pub full: f64,
    /// The unit of the loads below.
    pub unit: LoadUnit,
    /// How it grows with the load; `None` where the data do not show that it does.
    pub growth: Option<ResourceGrowth>,
}

/// How the use of a resource grows with the load.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct ResourceGrowth {
    /// Share in use without load, at the end of the data.
    pub base: f64,
    /// Share that one client, or one transaction a second, adds.
    pub per_load: f64,
    /// Share by which it grows in an hour whatever the load, such as a leak or a cache that fills; 0 for a network.
    pub an_hour: f64,
    /// The load at which it is full.
    pub load: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Share in use at the capacity of the CPU.
    pub at_capacity: f64,
}

impl ResourceLimit {
    /// The load at which it is full, if that is before the capacity of the CPU.
    pub fn load_before_cpu(&self) -> Option<f64> {
        let growth = self.growth.as_ref()?;
        (growth.at_capacity > self.full).then_some(growth.load)
    }
}
