//! Input facts of reports about stored requests.

use laggard_engine::Requests;
use laggard_report::{InputFacts, NamedCount};

/// The store counts as one input file, if it has any requests.
pub(crate) fn stored_facts(requests: &Requests) -> InputFacts {
    let formats = vec![NamedCount { name: "store".to_owned(), count: 1 }];
    InputFacts { files: u64::from(!requests.is_empty()), formats, ..InputFacts::default() }
}
