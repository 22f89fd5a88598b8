//! The simulated shop: where do its transactions' costs change?

use super::{Group, SetKind};
use crate::changes::{ChangeCase, ChangeTruth, Difference, TrueAlarm};
use crate::run::Runner;
use laggard_changes::Observations;
use laggard_numeric::Matrix;
use laggard_simulate::{ExpectedChange, ExpectedKind, TpcwRun, TpcwScenario, TpcwSettings, TpcwTruth, tpcw};
use std::ops::Range;

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

/// Monitoring of the first front server: outbound calls are subtracted from the response times.
fn observations(run: &TpcwRun) -> Observations {
    let server = &run.servers[0];
    let own = server.own.as_ref().unwrap_or(&run.system);
    let types = run.transactions.len();
    let front_s = own.counts.iter().enumerate().map(|(index, &count)| {
        let outbound = own.outbound.iter().filter(|calls| calls.counts[index] > 0.0);
        let calls_s: f64 = outbound.map(|calls| calls.counts[index] * calls.time_s[index]).sum();
        if count > 0.0 { own.response_s[index] - calls_s / count } else { f64::NAN }
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
            .filter_map(|change| {
                let transaction = names.iter().position(|name| *name == change.name)?;
                Some(Difference { transaction, difference_ms: change.difference_ms })
            })
            .collect(),
    };
    ChangeTruth {
        alarms: truth.expected.iter().filter(is_alarm).map(alarm).collect(),
        tolerated: foreign_runs(&truth.foreign_share),
        regions: truth
            .segments
            .iter()
            .filter(|segment| segment.is_anomalous)
            .map(|segment| segment.start..segment.end)
            .collect(),
    }
}

/// Runs of windows with foreign load.
fn foreign_runs(share: &[f64]) -> Vec<Range<usize>> {
    let mut start = 0;
    let runs = share.chunk_by(|a, b| (*a > 0.0) == (*b > 0.0)).map(|run| {
        let begin = start;
        start += run.len();
        (run[0] > 0.0, begin..start)
    });
    runs.filter(|(is_foreign, _)| *is_foreign).map(|(_, run)| run).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_simulate::{Foreign, Phase, Workload};

    #[test]
    fn a_run_becomes_a_case_with_its_truth() {
        let phase = || Phase::new(10, Workload::Steps { mix: 1, clients: vec![200] });
        let foreign = Phase { foreign: Foreign::Constant { share: 0.2 }, ..phase() };
        let phases = vec![phase(), foreign, phase().with_change("Home", 0.005)];
        let run = tpcw(&TpcwSettings::new(1, phases)).unwrap();
        let case = case("one", &run);
        assert_eq!(case.truth.regions, std::iter::once(10..20).collect::<Vec<Range<usize>>>());
        assert_eq!(case.truth.regions, case.truth.tolerated);
        let [alarm] = &case.truth.alarms[..] else { panic!("{:?}", case.truth.alarms) };
        let [home] = alarm.transactions[..] else { panic!("{alarm:?}") };
        assert_eq!((alarm.window, case.transactions[home.transaction].as_str()), (20, "Home"));
        assert!((home.difference_ms - 5.0).abs() < 1e-9);
        let observations = &case.observations;
        assert_eq!((observations.counts.rows(), observations.counts.cols()), (30, 14));
        // Home spends about 2.6 ms / (1 − U) at the front, and 5 ms more in the end.
        let front_s = |row: usize| observations.response_s.row(row)[home.transaction];
        assert!((0.002..0.005).contains(&front_s(5)) && (0.007..0.012).contains(&front_s(25)));
    }
}
