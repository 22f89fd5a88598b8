//! The simulated shop: where do its transactions' costs change?

use super::{Group, SetKind};
use crate::changes::{ChangeCase, ChangeTruth, Difference, TrueAlarm};
use crate::run::Runner;
use laggard_changes::Observations;
use laggard_numeric::Matrix;
use laggard_simulate::{ExpectedChange, ExpectedKind, TpcwRun, TpcwScenario, TpcwSettings, TpcwTruth, tpcw};

pub(super) fn visit(runner: &mut Runner<'_>) -> Result<(), String> {
    if !runner.wants_set(SetKind::Tpcw) || !runner.has_change_finders() {
        return Ok(());
    }
    for scenario in TpcwScenario::ALL {
        let group = Group::new(SetKind::Tpcw, scenario.name());
        if !runner.wants(&group) {
            continue;
        }
        for seed in runner.seeds() {
            let run = tpcw(&TpcwSettings::scenario(scenario, seed)).map_err(|error| error.to_string())?;
            runner.find_changes(&group, &case(&format!("seed {seed}"), &run));
        }
    }
    Ok(())
}

/// The first front server as a case.
fn case(name: &str, run: &TpcwRun) -> ChangeCase {
    ChangeCase {
        name: name.to_owned(),
        observations: observations(run),
        transactions: run.transactions.clone(),
        truth: truth(&run.truth, &run.transactions),
    }
}

/// What monitoring of the first front server tells: outbound calls are taken out of the response times.
fn observations(run: &TpcwRun) -> Observations {
    let server = &run.servers[0];
    let own = server.own.as_ref().unwrap_or(&run.system);
    let types = run.transactions.len();
    let front_s = own.counts.iter().enumerate().map(|(at, &count)| {
        let outbound = own.outbound.iter().filter(|one| one.counts[at] > 0.0);
        let calls_s: f64 = outbound.map(|one| one.counts[at] * one.time_s[at]).sum();
        if count > 0.0 { own.response_s[at] - calls_s / count } else { f64::NAN }
    });
    Observations {
        window_s: f64::from(run.window_s),
        windows: (0..run.windows).collect(),
        counts: Matrix::from_row_major(run.windows, types, own.counts.clone()),
        utilization: server.utilization.clone(),
        response_s: Matrix::from_row_major(run.windows, types, front_s.collect()),
        cores: server.cores,
    }
}

fn truth(truth: &TpcwTruth, names: &[String]) -> ChangeTruth {
    let is_alarm = |change: &&ExpectedChange| {
        matches!(change.kind, ExpectedKind::ApplicationChange | ExpectedKind::Rollback)
    };
    let alarm = |change: &ExpectedChange| TrueAlarm {
        window: change.window,
        transactions: change
            .transactions
            .iter()
            .filter_map(|one| {
                let transaction = names.iter().position(|name| *name == one.name)?;
                Some(Difference { transaction, difference_ms: one.difference_ms })
            })
            .collect(),
    };
    ChangeTruth {
        alarms: truth.expected.iter().filter(is_alarm).map(alarm).collect(),
        regions: truth.segments.iter().filter(|one| one.is_anomalous).map(|one| one.start..one.end).collect(),
    }
}
