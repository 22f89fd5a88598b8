//! Latencies of the categories of a window, and whether they are anomalous by the first test of `diagnose`.

use super::data::threads;
use super::latencies::quantile;
use laggard_assembly::ShapeRule;
use laggard_engine::{Requests, ShapeCategory, StructureShapes};
use laggard_localize::{CloudDiagSettings, DispersionGate, gate_weighted};
use laggard_model::Status;
use laggard_numeric::Weights;
use laggard_params::Window;

/// Complete requests of one shape.
#[derive(Clone, Default)]
pub(crate) struct Category {
    /// Latencies in nanoseconds, by start.
    pub(crate) latencies_ns: Vec<f64>,
    /// Adjusted count of each request.
    pub(crate) weights: Vec<f64>,
    /// Requests whose entry failed.
    pub(crate) errors: u64,
}

/// All categories of a window.
pub(crate) struct Categories<'a> {
    shapes: &'a StructureShapes,
    by_shape: Vec<Category>,
}

impl Category {
    pub(crate) fn requests(&self) -> u64 {
        self.latencies_ns.len() as u64
    }

    /// Dispersion and tail of the latencies, by the default thresholds of `diagnose`.
    pub(crate) fn gate(&self) -> DispersionGate {
        gate_weighted(&self.latencies_ns, Weights::from_slice(&self.weights), &CloudDiagSettings::default())
    }

    pub(crate) fn quantile(&self, percent: usize) -> Option<u64> {
        let mut ns: Vec<u64> = self.latencies_ns.iter().map(|&latency| latency as u64).collect();
        quantile(&mut ns, percent)
    }
}

/// Why a category is anomalous; `None` when it is not.
pub(crate) fn reason(gate: &DispersionGate) -> Option<String> {
    if !gate.anomalous {
        return None;
    }
    let cv_min = CloudDiagSettings::default().cv_min;
    Some(match gate.cv > cv_min {
        true => format!("latency varies by {:.2} times its mean", gate.cv),
        false => format!(
            "{} slow requests spend {:.0} % of all time beyond the median",
            gate.tail_requests,
            100.0 * gate.tail_excess_share
        ),
    })
}

impl<'a> Categories<'a> {
    /// The categories of a window; `wants` selects shapes.
    pub(crate) fn of(
        requests: &'a Requests,
        window: Window,
        wants: impl Fn(&ShapeCategory) -> bool,
    ) -> Categories<'a> {
        let shapes = requests.shapes(ShapeRule::Canonical, threads());
        let is_requested: Vec<bool> = shapes.categories().iter().map(wants).collect();
        let mut by_shape = vec![Category::default(); is_requested.len()];
        for request in requests.within(window.since, window.until).iter() {
            let index = shapes.category_of(request.structure());
            if !is_requested[index] || !request.is_complete() {
                continue;
            }
            let category = &mut by_shape[index];
            category.latencies_ns.push(request.latency().ns() as f64);
            category.weights.push(f64::from(request.weight(None)));
            category.errors += u64::from(request.status() == Status::Error);
        }
        Categories { shapes, by_shape }
    }

    /// Categories with requests.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'a ShapeCategory, &Category)> {
        let all = self.shapes.categories().iter().zip(&self.by_shape);
        all.filter(|(_, category)| !category.latencies_ns.is_empty())
    }
}
