//! Groups of clients with mixes of their own.

use super::CapacitySettings;
use super::model::Model;
use laggard_capacity::{ClientGroup, GroupsSolution};
use laggard_report::{ClientGroupsAnswer, GroupLoad, GroupsLoad};

// Limit: groups of clients of a capacity question | error
/// Maximum number of groups.
pub(super) const GROUPS_MAX: usize = 8;

/// A group of clients of a question.
#[derive(Clone, PartialEq, Debug)]
pub struct RequestedClients {
    /// Its name.
    pub name: String,
    /// Number of clients.
    pub clients: u64,
    /// Their think time in seconds; `None`: that of all clients.
    pub think_s: Option<f64>,
    /// Their transaction types and shares, which need not sum to 1; empty: the mix of all data.
    pub mix: Vec<(String, f64)>,
}

/// Throughput and response time of the requested client groups; `None` if there are none.
///
/// # Errors
/// An unknown transaction, too many groups, no clients at all, or a system whose think time is not known.
pub(super) fn client_groups(
    model: &Model,
    settings: &CapacitySettings,
) -> Result<Option<ClientGroupsAnswer>, String> {
    let requested = &settings.client_groups;
    if requested.is_empty() {
        return Ok(None);
    }
    if requested.len() > GROUPS_MAX {
        return Err(format!("{} groups of clients; there are at most {GROUPS_MAX}", requested.len()));
    }
    if requested.iter().all(|group| group.clients == 0) {
        return Err("the groups have no clients".to_owned());
    }
    let mut groups = Vec::new();
    for group in requested {
        let think_s = match (group.think_s, model.is_closed()) {
            (Some(think_s), _) => think_s,
            (None, true) => model.system.think_s,
            (None, false) => {
                return Err(format!(
                    "the think time of {:?} is not known, because the data have no clients: write {0}=N@7s, or give --think",
                    group.name
                ));
            }
        };
        let shares =
            if group.mix.is_empty() { model.mix.clone() } else { model.requested_mix(&group.mix)? };
        groups.push(ClientGroup { clients: group.clients, think_s, shares });
    }
    let failed = |error| format!("the groups of clients cannot be computed: {error}");
    let stated = model.system.solve_groups(&groups).map_err(failed)?;
    let most =
        model.system.most_groups(&groups, settings.latency_max_s, settings.clients_max).map_err(failed)?;
    Ok(Some(ClientGroupsAnswer {
        within_target: stated.is_within(settings.latency_max_s),
        algorithm: stated.algorithm.name().to_owned(),
        stated: load(model, requested, &groups, &stated),
        most: load(model, requested, &groups, &most.solution),
        at_limit: most.at_limit,
    }))
}

fn load(
    model: &Model,
    requested: &[RequestedClients],
    groups: &[ClientGroup],
    solution: &GroupsSolution,
) -> GroupsLoad {
    let all = requested.iter().zip(groups).zip(&solution.groups);
    let utilization = solution.utilization.iter().zip(&model.tiers);
    GroupsLoad {
        groups: all
            .map(|((requested, group), load)| GroupLoad {
                name: requested.name.clone(),
                clients: load.clients,
                think_s: group.think_s,
                throughput: load.throughput,
                response_s: load.response_s,
            })
            .collect(),
        utilization: utilization.map(|(used, tier)| tier.cores.map(|_| *used)).collect(),
    }
}
