//! Memory and network of each tier as limits beside the CPU.

use super::CapacitySettings;
use super::loads::{Load, ServerGroup};
use super::model::Model;
use super::what_if::plain;
use crate::sample_summary::seconds;
use laggard_capacity::{LinearUse, ResourceUse};
use laggard_report::{CapacityAnswer, LoadUnit, ResourceGrowth, ResourceKind, ResourceLimit};
use laggard_samples::{ServerWindows, WindowTable};

/// Minimum number of intervals with a known use.
const INTERVALS_MIN: usize = 10;

/// Windows at the end whose use is that of now.
const NOW_WINDOWS: usize = 10;

/// A leak is named if the memory would be full within so many hours.
const LEAK_HOURS_MAX: f64 = 7.0 * 24.0;

/// The limits of all tiers, by tier and resource.
pub(super) struct Limits<'a> {
    pub(super) table: &'a WindowTable,
    pub(super) groups: &'a [ServerGroup],
    pub(super) windows: &'a [usize],
    pub(super) loads: &'a [Load],
    pub(super) model: &'a Model,
    pub(super) answer: &'a CapacityAnswer,
    pub(super) settings: &'a CapacitySettings,
}

fn use_of(server: &ServerWindows, resource: ResourceKind) -> &[f64] {
    match resource {
        ResourceKind::Memory => &server.memory,
        ResourceKind::Network => &server.network,
    }
}

/// Mean of known values; NaN without any.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values
        .filter(|value| value.is_finite())
        .fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

impl Limits<'_> {
    pub(super) fn all(&self) -> Vec<ResourceLimit> {
        let resources = [ResourceKind::Memory, ResourceKind::Network];
        let tiers = self.groups.iter();
        tiers.flat_map(|group| resources.iter().filter_map(|resource| self.limit(group, *resource))).collect()
    }

    /// `None` if the use is not known in enough intervals.
    fn limit(&self, group: &ServerGroup, resource: ResourceKind) -> Option<ResourceLimit> {
        let of_server = |server: usize, window: usize| {
            use_of(&self.table.servers[server], resource).get(window).copied().unwrap_or(f64::NAN)
        };
        let of_tier = |window: &usize| mean(group.servers.iter().map(|server| of_server(*server, *window)));
        let unit = match (resource, self.model.is_closed()) {
            (ResourceKind::Memory, true) => LoadUnit::Clients,
            _ => LoadUnit::Throughput,
        };
        let observation = |load: &Load| {
            let inside = self.windows.iter().filter(|window| (load.first..=load.last).contains(window));
            let middle = (load.first + load.last + 1) as f64 / 2.0;
            let seen = ResourceUse {
                time: middle * seconds(self.table.length) / 3_600.0,
                load: if unit == LoadUnit::Clients { load.clients } else { load.throughput() },
                used: mean(inside.map(of_tier)),
            };
            (seen.used.is_finite() && seen.load.is_finite()).then_some(seen)
        };
        let observations: Vec<ResourceUse> = self.loads.iter().filter_map(observation).collect();
        if observations.len() < INTERVALS_MIN {
            return None;
        }
        let last = &self.windows[self.windows.len().saturating_sub(NOW_WINDOWS)..];
        let known = |value: f64| {
            if value.is_finite() { value } else { observations.last().map_or(0.0, |seen| seen.used) }
        };
        let peaks = group
            .servers
            .iter()
            .flat_map(|server| self.windows.iter().map(|window| of_server(*server, *window)));
        let full = match resource {
            ResourceKind::Memory => self.settings.memory_max,
            ResourceKind::Network => self.settings.network_max,
        };
        Some(ResourceLimit {
            tier: group.name.clone(),
            resource,
            used: known(mean(last.iter().map(of_tier))),
            used_peak: peaks.filter(|used| used.is_finite()).fold(0.0, f64::max),
            full,
            unit,
            growth: self.growth(&observations, resource, unit, full),
        })
    }

    fn growth(
        &self,
        observations: &[ResourceUse],
        resource: ResourceKind,
        unit: LoadUnit,
        full: f64,
    ) -> Option<ResourceGrowth> {
        // Memory fills with time, too; what a link carries does not.
        let line = LinearUse::fit(observations, resource == ResourceKind::Memory)?;
        let full_at = line.full_at(full)?;
        let capacity = match unit {
            LoadUnit::Clients => self.answer.clients? as f64,
            LoadUnit::Throughput => self.answer.throughput,
        };
        Some(ResourceGrowth {
            base: line.base,
            per_load: line.per_load,
            an_hour: line.trend,
            load: full_at.load,
            low: full_at.low,
            high: full_at.high,
            at_capacity: line.at(capacity),
        })
    }
}

/// What the limits do not say: what is nearly full without following the load, and what fills with time alone; as sentences.
pub(super) fn cautions(limits: &[ResourceLimit]) -> Vec<String> {
    let caution = |limit: &ResourceLimit| {
        let what = match limit.resource {
            ResourceKind::Memory => "The memory",
            ResourceKind::Network => "The network link",
        };
        let tier = plain(&limit.tier);
        let Some(growth) = &limit.growth else {
            return (limit.used >= limit.full).then(|| {
                format!(
                    "{what} of `{tier}` is {:.0} % used, and that does not follow the load: how many clients it is enough for \
                     is not known.",
                    100.0 * limit.used
                )
            });
        };
        let hours = (limit.full - limit.used) / growth.an_hour;
        (growth.an_hour > 0.0 && hours > 0.0 && hours < LEAK_HOURS_MAX).then(|| {
            format!(
                "{what} of `{tier}` also fills by {:.1} % an hour whatever the load (a leak, or a cache), and would be \
                 {:.0} % full in {hours:.0} h.",
                100.0 * growth.an_hour,
                100.0 * limit.full
            )
        })
    };
    limits.iter().filter_map(caution).collect()
}
