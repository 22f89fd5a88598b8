//! Uneven load as the cause of slow replicas.

use super::failures::{OutcomeStudy, Outcomes};
use crate::diagnose::answer::Suspect;
use laggard_localize::{ReplicaCalls, SiteTable, UnevenLoad, uneven_load};
use laggard_model::{Names, OperationId, ReplicaId};
use laggard_report::ReplicaLoad;

/// Sets the load of suspects whose culprits receive an uneven share of the calls.
pub(super) fn set_loads(suspects: &mut [Suspect], outcomes: &OutcomeStudy<'_>) {
    let localized = suspects.iter_mut().filter(|suspect| !suspect.culprits.is_empty());
    let mut localized: Vec<&mut Suspect> = localized.collect();
    let level = outcomes.question.settings.sites.culprits.level / localized.len().max(1) as f64;
    for suspect in &mut localized {
        let count = |of: &Outcomes<'_>, table: &SiteTable, compared_with: &Outcomes<'_>| {
            let replica_of = |number, node| of.replica_of(number, node);
            let replicas = replicas_of(table, suspect.operation, outcomes.study.union.names());
            ReplicaCalls::count(&of.table, suspect.operation, replicas, &compared_with.table, replica_of)
        };
        let window = |compared_with| count(&outcomes.window, &outcomes.study.window, compared_with);
        let load = match outcomes.baseline.as_ref().zip(outcomes.study.baseline.as_ref()) {
            Some((baseline, table)) => {
                let earlier = count(baseline, table, &outcomes.window);
                uneven_load(Some(&earlier), &window(baseline), &suspect.culprits, level)
            }
            None => uneven_load(None, &window(&outcomes.window), &suspect.culprits, level),
        };
        suspect.load = load.map(reported);
    }
}

/// The replicas of the operation's service.
fn replicas_of<'a>(
    table: &'a SiteTable,
    operation: OperationId,
    names: &'a Names,
) -> impl Iterator<Item = ReplicaId> + 'a {
    let service = names.service_of(operation);
    table.homes.iter().filter(move |(ran, _)| names.service_of(*ran) == service).map(|&(_, replica)| replica)
}

fn reported(load: UnevenLoad) -> ReplicaLoad {
    ReplicaLoad {
        calls: load.calls,
        replica_calls: load.own_calls,
        share: load.own_calls as f64 / load.calls.max(1) as f64,
        usual_share: load.usual_share,
        is_against_baseline: load.is_against_baseline,
        p_value: load.p_value,
    }
}
