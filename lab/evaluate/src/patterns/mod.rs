//! Requests × calls matrices: which requests were hit, by which of several causes?

mod delays;
mod laggard;
mod load;
mod score;
mod simple;

use crate::arm::Arms;

pub(crate) use delays::NaturalModes;
pub(crate) use load::load;
pub use score::{PatternScore, score_patterns};

/// One request type: a row a request.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RequestMatrix {
    /// Name of the file without its endings.
    pub name: String,
    /// By request: the latency, in milliseconds.
    pub latency_ms: Vec<f64>,
    /// Names of the columns: the remote calls.
    pub columns: Vec<String>,
    /// By column, by request: cumulative milliseconds of the call.
    pub times_ms: Vec<Vec<f64>>,
    /// By request: 0 when nothing hit it, else the number of the cause.
    pub cause: Vec<u32>,
}

impl RequestMatrix {
    /// Whether any request was hit.
    pub fn is_hit(&self) -> bool {
        self.cause.iter().any(|&cause| cause > 0)
    }

    /// The unaffected requests, as a separate matrix.
    pub(crate) fn only_normal(&self) -> RequestMatrix {
        let rows: Vec<usize> = (0..self.cause.len()).filter(|&row| self.cause[row] == 0).collect();
        let only = |values: &Vec<f64>| rows.iter().map(|&row| values[row]).collect();
        RequestMatrix {
            name: self.name.clone(),
            latency_ms: only(&self.latency_ms),
            columns: self.columns.clone(),
            times_ms: self.times_ms.iter().map(only).collect(),
            cause: vec![0; rows.len()],
        }
    }
}

/// Every method that finds groups of slow requests with one cause each, Laggard's first. They see latencies and times,
/// never [`RequestMatrix::cause`]; their answers are rows of `times_ms` and `latency_ms`, each group ascending.
pub fn pattern_finders() -> Arms<RequestMatrix, Vec<Vec<usize>>> {
    vec![Box::new(laggard::LatencyPatterns), Box::new(simple::SlowestFifth), Box::new(simple::BestColumn)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_requests_keep_their_columns() {
        let matrix = RequestMatrix {
            latency_ms: vec![1.0, 2.0, 3.0],
            columns: vec!["a".to_owned()],
            times_ms: vec![vec![4.0, 5.0, 6.0]],
            cause: vec![0, 2, 0],
            ..RequestMatrix::default()
        };
        let normal = matrix.only_normal();
        assert!(matrix.is_hit() && !normal.is_hit());
        assert_eq!((normal.latency_ms, normal.times_ms), (vec![1.0, 3.0], vec![vec![4.0, 6.0]]));
    }
}
