//! Second pass: the calls of the categories that are judged, of no more requests than are looked at.

use crate::survey::SurveyedCategory;
use laggard_engine::{FormShapes, RequestView, Requests};
use laggard_localize::{Call, CategoryCalls, CategoryPosition, TimeKind};
use laggard_model::Fingerprint;

/// What is collected of a category.
#[derive(Clone, Copy, Debug)]
pub struct Gather<'a> {
    /// The requests that were surveyed.
    pub requests: &'a Requests,
    /// Their shapes, as in the survey.
    pub shapes: &'a FormShapes,
    /// Most requests: beyond, every second, third, … is taken.
    pub rows_max: usize,
    /// Which time of a call is kept.
    pub time: TimeKind,
}

impl Gather<'_> {
    /// The calls of a category's requests.
    pub fn category(&self, id: Fingerprint, surveyed: &SurveyedCategory) -> CategoryCalls {
        let step = self.step(surveyed.requests.len());
        let positions = surveyed.positions.iter();
        let mut out = CategoryCalls {
            id,
            positions: positions
                .map(|at| CategoryPosition { operation: at.operation, parent: at.parent })
                .collect(),
            requests: surveyed.requests.iter().copied().step_by(step).collect(),
            calls: Vec::with_capacity(surveyed.requests.len().div_ceil(step) * surveyed.positions.len()),
        };
        for (row, &number) in surveyed.numbers.iter().step_by(step).enumerate() {
            self.add_calls(&mut out.calls, row as u32, &self.requests.request(number as usize));
        }
        out
    }

    fn step(&self, requests: usize) -> usize {
        if requests <= self.rows_max || self.rows_max == 0 { 1 } else { requests.div_ceil(self.rows_max) }
    }

    fn add_calls(&self, calls: &mut Vec<Call>, row: u32, request: &RequestView<'_>) {
        let first = calls.len();
        let positions = self.shapes.positions_of(request.form());
        let times = match self.time {
            TimeKind::SelfTime => request.self_time(),
            TimeKind::Inclusive => request.inclusive_time(),
        };
        calls.extend((0..request.calls()).map(|node| Call {
            request: row,
            position: positions[node],
            replica: request.replica(node),
            time_ns: times[node].ns(),
        }));
        if !positions.is_sorted() {
            calls[first..].sort_by_key(|call| call.position);
        }
    }
}
