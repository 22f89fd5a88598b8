//! Second pass: the calls of the analyzed categories, of at most `rows_max` requests each.

use crate::survey::SurveyedCategory;
use laggard_engine::{RequestView, Requests, StructureShapes};
use laggard_localize::{Call, CategoryCalls, CategoryPosition, TimeKind};
use laggard_model::Fingerprint;
use laggard_numeric::spread_evenly;

/// Collects the calls of a category.
#[derive(Clone, Copy, Debug)]
pub struct CallCollector<'a> {
    /// The requests that were surveyed.
    pub requests: &'a Requests,
    /// Their shapes, as in the survey.
    pub shapes: &'a StructureShapes,
    /// Most requests: more are thinned evenly; 0 for all.
    pub rows_max: usize,
    /// Which time of a call is used.
    pub time: TimeKind,
}

impl CallCollector<'_> {
    /// The calls of a category's requests.
    pub fn category(&self, id: Fingerprint, surveyed: &SurveyedCategory) -> CategoryCalls {
        let positions = surveyed.positions.iter();
        let indices = spread_evenly(surveyed.requests.len(), self.rows_max);
        let rows = indices.len();
        let mut out = CategoryCalls {
            id,
            positions: positions
                .map(|position| CategoryPosition { operation: position.operation, parent: position.parent })
                .collect(),
            requests: Vec::with_capacity(rows),
            calls: Vec::with_capacity(rows * surveyed.positions.len()),
            left_out: 0,
        };
        for (row, index) in indices.enumerate() {
            out.requests.push(surveyed.requests[index]);
            self.add_calls(
                &mut out.calls,
                row as u32,
                &self.requests.request(surveyed.numbers[index] as usize),
            );
        }
        out.left_out = (surveyed.requests.len() - out.requests.len()) as u64;
        out
    }

    fn add_calls(&self, calls: &mut Vec<Call>, row: u32, request: &RequestView<'_>) {
        let first = calls.len();
        let positions = self.shapes.positions_of(request.structure());
        let time = |node| match self.time {
            TimeKind::SelfTime => request.self_time(node),
            TimeKind::Inclusive => request.inclusive_time(node),
        };
        calls.extend((0..request.calls()).map(|node| Call {
            request: row,
            position: positions[node],
            replica: request.replica(node),
            time_ns: time(node).ns(),
        }));
        if !positions.is_sorted() {
            calls[first..].sort_by_key(|call| call.position);
        }
    }
}
