//! Measured runs of a server with known demands.

use super::{Group, SetKind, entries, file_name};
use crate::changes::{ChangeCase, ChangeTruth, DemandCase};
use crate::run::Runner;
use laggard_changes::Observations;
use laggard_numeric::Matrix;
use std::collections::BTreeMap;
use std::path::Path;

/// Samples of one second are aggregated to windows of this length.
const WINDOW_S: usize = 10;
/// The truth, beside the folders of the runs.
const TRUTH: &str = "demands.csv";

pub(super) fn visit(folder: &Path, runner: &mut Runner<'_>) -> Result<(), String> {
    if !runner.wants_set(SetKind::CpuDemands) || !folder.join(TRUTH).is_file() {
        return Ok(());
    }
    let demands = demands(&folder.join(TRUTH))?;
    for path in entries(folder)?.into_iter().filter(|path| path.is_dir()) {
        let name = file_name(&path);
        let Some((load, experiment)) = name.split_once("-exp") else { continue };
        let Some(demand_s) = demands.get(experiment) else { continue };
        let observations = observations(&path)?;
        let types = observations.counts.cols();
        if types != demand_s.len() {
            return Err(format!("{}: {types} types, but {} demands", path.display(), demand_s.len()));
        }
        let case = DemandCase { name: name.to_owned(), observations, demand_s: demand_s.clone() };
        runner.estimate_demands(&Group::new(SetKind::CpuDemands, load), &case);
        let quiet = ChangeCase {
            name: name.to_owned(),
            observations: case.observations,
            transactions: (0..types).map(|kind| format!("WC{kind}")).collect(),
            truth: ChangeTruth::default(),
        };
        runner.find_changes(&Group::new(SetKind::CpuDemands, &format!("{load}, no change")), &quiet);
    }
    Ok(())
}

/// Demands by experiment: a row an experiment, a column `wc…` a type, empty where there is none.
fn demands(path: &Path) -> Result<BTreeMap<String, Vec<f64>>, String> {
    let text = read(path)?;
    let mut lines = text.lines();
    let titles: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let mut out = BTreeMap::new();
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let named = titles.iter().zip(&fields).filter(|(title, _)| title.starts_with("wc"));
        let known: Result<Vec<f64>, String> =
            named.filter(|(_, field)| !field.is_empty()).map(|(_, field)| number(path, field)).collect();
        out.insert(fields[0].to_owned(), known?);
    }
    Ok(out)
}

/// A file of numbers by time: a column a type.
struct Series {
    columns: usize,
    /// Milliseconds since the Unix epoch and a number a column.
    rows: Vec<(i64, Vec<f64>)>,
}

fn series(folder: &Path, ending: &str) -> Result<Series, String> {
    let files = entries(folder)?;
    let path = files.iter().find(|path| file_name(path).ends_with(ending));
    let path = path.ok_or_else(|| format!("{}: there is no file …{ending}", folder.display()))?;
    let text = read(path)?;
    let mut rows = Vec::new();
    for line in text.lines().skip(1).filter(|line| !line.is_empty()) {
        let mut fields = line.split(';');
        let time_ms = number(path, fields.next().unwrap_or_default())? as i64;
        let values: Result<Vec<f64>, String> = fields.map(|field| number(path, field)).collect();
        rows.push((time_ms, values?));
    }
    let columns = rows.first().map_or(0, |(_, values)| values.len());
    if rows.iter().any(|(_, values)| values.len() != columns) {
        return Err(format!("{}: rows of different length", path.display()));
    }
    Ok(Series { columns, rows })
}

/// Complete windows of one run.
fn observations(folder: &Path) -> Result<Observations, String> {
    let utilization = series(folder, "CPU_UTILIZATION.csv")?;
    let throughput = series(folder, "THROUGHPUT.csv")?;
    let response = series(folder, "RESPONSE_TIME.csv")?;
    let times = |series: &Series| series.rows.iter().map(|(time_ms, _)| *time_ms).collect::<Vec<i64>>();
    if times(&utilization) != times(&throughput) || times(&utilization) != times(&response) {
        return Err(format!("{}: the files are of different times", folder.display()));
    }
    let types = throughput.columns;
    let windows = utilization.rows.len() / WINDOW_S;
    let (mut busy, mut counts, mut response_s) = (Vec::new(), Vec::new(), Vec::new());
    for window in 0..windows {
        let rows = window * WINDOW_S..(window + 1) * WINDOW_S;
        let shares = utilization.rows[rows.clone()].iter().map(|(_, values)| values[0]);
        busy.push(shares.sum::<f64>() / WINDOW_S as f64);
        for kind in 0..types {
            let count: f64 = throughput.rows[rows.clone()].iter().map(|(_, values)| values[kind]).sum();
            let total_s: f64 =
                rows.clone().map(|row| throughput.rows[row].1[kind] * response.rows[row].1[kind]).sum();
            counts.push(count);
            response_s.push(if count > 0.0 { total_s / count } else { f64::NAN });
        }
    }
    Ok(Observations {
        window_s: WINDOW_S as f64,
        windows: (0..windows).collect(),
        counts: Matrix::from_row_major(windows, types, counts),
        utilization: busy,
        response_s: Matrix::from_row_major(windows, types, response_s),
        cores: 1.0,
    })
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn number(path: &Path, text: &str) -> Result<f64, String> {
    text.trim().parse().map_err(|_| format!("{}: {text:?} is no number", path.display()))
}
