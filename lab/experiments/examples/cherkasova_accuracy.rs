//! The published method on simulated shops with known truth.
//!
//! `cherkasova_accuracy SCENARIO FIRST_SEED LAST_SEED [MODE [ERROR_PERCENT]]`: a line a seed with what was found (kind,
//! window, onset interval, transactions), after the truth. Scenarios are those of `laggard simulate`, or `all`.

use std::num::NonZeroUsize;

use laggard_changes::{Analysis, Change, CherkasovaMode, CherkasovaSettings, Observations, cherkasova};
use laggard_numeric::Matrix;
use laggard_simulate::{ServerSeries, TpcwRun, TpcwScenario, TpcwSettings, TransactionSeries, tpcw};

#[expect(clippy::print_stdout, reason = "a program that prints its result")]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scenario, first, last, rest @ ..] = &arguments[..] else {
        panic!("SCENARIO FIRST_SEED LAST_SEED [paper|robust [ERROR_PERCENT]]")
    };
    let scenarios: Vec<TpcwScenario> =
        TpcwScenario::ALL.into_iter().filter(|each| scenario == "all" || scenario == each.name()).collect();
    let seed = |text: &str| text.parse::<u64>().expect("a seed is a number");
    for scenario in scenarios {
        for seed in seed(first)..=seed(last) {
            let run =
                tpcw(&TpcwSettings::scenario(scenario, seed)).expect("a scenario's settings are in range");
            let data = observations(&run, &run.servers[0]);
            let found = cherkasova(&data, &settings(rest), NonZeroUsize::MIN.saturating_add(1));
            println!("{} {seed}: expected {}", scenario.name(), expected(&run));
            match found {
                Ok(analysis) => println!("{}", describe(&run, &analysis)),
                Err(reason) => println!("    {reason}"),
            }
        }
    }
}

fn settings(rest: &[String]) -> CherkasovaSettings {
    let paper = rest.first().is_some_and(|mode| mode == "paper");
    let mut settings =
        CherkasovaSettings::new(if paper { CherkasovaMode::Paper } else { CherkasovaMode::Robust });
    if let Some(error) = rest.get(1) {
        settings.error_max_percent = error.parse().expect("an error in percent is a number");
    }
    settings
}

fn expected(run: &TpcwRun) -> String {
    let change = |change: &laggard_simulate::ExpectedChange| format!("{:?}@{}", change.kind, change.window);
    run.truth.expected.iter().map(change).collect::<Vec<_>>().join(" ")
}

fn describe(run: &TpcwRun, analysis: &Analysis) -> String {
    let change = |change: &Change| {
        let named = change.transactions.iter().map(|each| {
            format!(" {} {:+.2} ms", run.transactions[each.transaction], 1e3 * (each.after_s - each.before_s))
        });
        let onset = change.onset;
        format!(
            "    {:?}@{} [{}..{}] ratio {:.2}{}\n",
            change.kind,
            onset.row,
            onset.earliest,
            onset.latest,
            change.error_ratio,
            named.collect::<String>()
        )
    };
    let mut text: String = analysis.changes.iter().map(change).collect();
    analysis.cautions.iter().for_each(|caution| text += &format!("    ! {caution}\n"));
    text + &format!("    {} segments, {} groups", analysis.segments.len(), analysis.groups.len())
}

/// A front server alone.
fn observations(run: &TpcwRun, server: &ServerSeries) -> Observations {
    let types = run.transactions.len();
    let own = server.own.as_ref().unwrap_or(&run.system);
    Observations {
        window_s: f64::from(run.window_s),
        windows: (0..run.windows).collect(),
        counts: Matrix::from_row_major(run.windows, types, own.counts.clone()),
        utilization: server.utilization.clone(),
        response_s: Matrix::from_row_major(run.windows, types, own_time(own)),
        cores: server.cores,
    }
}

/// Response times without outbound calls (equation 6); NaN where overlapping calls leave nothing.
fn own_time(series: &TransactionSeries) -> Vec<f64> {
    let mut own = series.response_s.clone();
    for callee in &series.outbound {
        for (index, own) in own.iter_mut().enumerate() {
            if callee.counts[index] > 0.0 {
                *own -= callee.counts[index] * callee.time_s[index] / series.counts[index];
            }
        }
    }
    own.iter_mut().filter(|own| **own < 0.0).for_each(|own| *own = f64::NAN);
    own
}
