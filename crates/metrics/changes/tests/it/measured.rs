//! Runs of the folder `cpu-demands`: `utilLL-expE/` with CSV files of utilization, throughput and response time each
//! second, and `demands.csv` with the true demands of each experiment.

use laggard_changes::Observations;
use laggard_numeric::Matrix;
use std::path::{Path, PathBuf};

/// A run and its true demands.
pub(crate) struct SimulatedRun {
    /// `util50-exp3`.
    pub(crate) name: String,
    /// Load in percent, from the name.
    pub(crate) load: u32,
    /// Experiment, from the name.
    pub(crate) experiment: u32,
    /// The measurements, in windows.
    pub(crate) observations: Observations,
    /// True demands in seconds.
    pub(crate) demand_s: Vec<f64>,
}

/// All runs of a folder, by name, in windows of `seconds` samples of one second.
pub(crate) fn runs(folder: &Path, seconds: usize) -> Vec<SimulatedRun> {
    let truth = std::fs::read_to_string(folder.join("demands.csv")).expect("demands.csv");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir())
        .collect();
    paths.sort();
    paths.iter().map(|path| read(path, &truth, seconds)).collect()
}

fn read(path: &Path, truth: &str, seconds: usize) -> SimulatedRun {
    let name = path.file_name().expect("a name").to_string_lossy().into_owned();
    let (load, experiment) =
        name.strip_prefix("util").and_then(|rest| rest.split_once("-exp")).expect("utilLL-expE");
    let (utilization, rates, responses) =
        (table(path, "UTILIZATION"), table(path, "THROUGHPUT"), table(path, "RESPONSE"));
    let prefix = format!("{experiment},");
    let row = truth.lines().find(|line| line.starts_with(&prefix)).expect("a row of demands.csv");
    let types = rates[0].len();
    SimulatedRun {
        load: load.parse().expect("a load"),
        experiment: experiment.parse().expect("an experiment"),
        observations: windows(&utilization, &rates, &responses, seconds),
        demand_s: row.split(',').skip(1).take(types).map(|cell| cell.parse().expect("a demand")).collect(),
        name,
    }
}

/// The rows of the file whose name contains `kind`, without the time column.
fn table(folder: &Path, kind: &str) -> Vec<Vec<f64>> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let path = entries
        .filter(|path| path.to_string_lossy().contains(kind))
        .min()
        .unwrap_or_else(|| panic!("{} has no {kind}", folder.display()));
    let text = std::fs::read_to_string(path).expect("text");
    let row =
        |line: &str| line.split(';').skip(1).map(|cell| cell.trim().parse().unwrap_or(f64::NAN)).collect();
    text.lines().skip(1).filter(|line| !line.trim().is_empty()).map(row).collect()
}

fn windows(
    utilization: &[Vec<f64>],
    rates: &[Vec<f64>],
    responses: &[Vec<f64>],
    seconds: usize,
) -> Observations {
    let (rows, types) = (rates.len() / seconds, rates[0].len());
    let (mut counts, mut response_s) = (Matrix::zeros(rows, types), Matrix::zeros(rows, types));
    let mut busy = vec![0.0; rows];
    for (t, busy) in busy.iter_mut().enumerate() {
        let samples = t * seconds..(t + 1) * seconds;
        *busy = samples.clone().map(|s| utilization[s][0]).sum::<f64>() / seconds as f64;
        for j in 0..types {
            let count: f64 = samples.clone().map(|s| rates[s][j]).sum();
            let time_s: f64 =
                samples.clone().filter(|&s| rates[s][j] > 0.0).map(|s| rates[s][j] * responses[s][j]).sum();
            counts.set(t, j, count);
            response_s.set(t, j, if count > 0.0 { time_s / count } else { f64::NAN });
        }
    }
    Observations {
        window_s: seconds as f64,
        windows: (0..rows).collect(),
        counts,
        utilization: busy,
        response_s,
        cores: 1.0,
    }
}

/// The runs of each experiment one after the other, in order of load: only the load changes, not the application.
pub(crate) fn joined(mut runs: Vec<SimulatedRun>) -> Vec<SimulatedRun> {
    runs.sort_by_key(|run| (run.experiment, run.load));
    let mut joined: Vec<SimulatedRun> = Vec::new();
    for run in runs {
        match joined.last_mut().filter(|last| last.experiment == run.experiment) {
            Some(last) => append(&mut last.observations, &run.observations),
            None => joined.push(SimulatedRun { name: format!("exp{}", run.experiment), ..run }),
        }
    }
    joined
}

fn append(to: &mut Observations, more: &Observations) {
    let next = to.windows.last().map_or(0, |last| last + 1);
    to.windows.extend(more.windows.iter().map(|window| next + window));
    to.utilization.extend(&more.utilization);
    to.counts = stacked(&to.counts, &more.counts);
    to.response_s = stacked(&to.response_s, &more.response_s);
}

fn stacked(above: &Matrix, below: &Matrix) -> Matrix {
    let data = above.data().iter().chain(below.data()).copied().collect();
    Matrix::from_row_major(above.rows() + below.rows(), above.cols(), data)
}
