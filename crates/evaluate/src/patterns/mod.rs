//! Requests × calls matrices: which requests were hit, by which of several causes?

mod load;
mod score;
mod simple;

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

/// A method that finds groups of slow requests with one cause each. It sees latencies and times, never
/// [`RequestMatrix::cause`].
pub trait PatternFinder: Sync {
    /// Its name in the table.
    fn name(&self) -> &str;

    /// Whether it is one of Laggard's own.
    fn is_ours(&self) -> bool {
        false
    }

    /// The groups: rows of `times_ms` and `latency_ms`, each group ascending.
    fn find(&self, matrix: &RequestMatrix) -> Vec<Vec<usize>>;
}

/// Every pattern finder. Laggard's own is one more row.
pub fn pattern_finders() -> Vec<Box<dyn PatternFinder>> {
    vec![Box::new(simple::SlowestFifth), Box::new(simple::BestColumn)]
}
