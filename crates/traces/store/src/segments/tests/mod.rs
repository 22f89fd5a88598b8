//! Queries return everything stored, regardless of the order of arrival and of compaction.

mod claims;
mod contents;
mod damage;
mod equivalence;
mod events;
mod golden;
mod late;
mod other_tools;
mod random_spans;
mod read_only;
mod retention;
mod span_columns;
mod units;

use super::plan::SegmentLimits;
use super::{Segments, SegmentsInner};
use crate::StoreSettings;
use object_store::ObjectStore;
use std::sync::Arc;

/// Small limits, so that a few spans reach all of them.
const SMALL: SegmentLimits =
    SegmentLimits { spans_max: 12, group_spans: 4, samples_max: 6, event_bytes_max: 1_500, rows_shared: 3 };

/// Opens segments with small sizes.
async fn open(objects: &Arc<dyn ObjectStore>, settings: &StoreSettings) -> Segments {
    let shared = SegmentsInner::open(Arc::clone(objects), settings, SMALL).await.unwrap();
    Segments { shared: Arc::new(shared) }
}

async fn compact_all(segments: &Segments) -> usize {
    for ranges in 0..1000 {
        if !segments.compact_once().await.unwrap() {
            return ranges;
        }
    }
    panic!("compaction finds no end");
}
