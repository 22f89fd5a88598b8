//! Segments of which only derived files are damaged: their spans stay, and compaction assembles their requests anew.

use super::error::SegmentError;
use super::examine;
use super::files::move_to_quarantine;
use super::layout;
use super::manifest::{FileKind, Manifest, Quarantined, Segment, SegmentKind};
use super::rebuild;
use super::shared::SegmentsInner;
use bytes::Bytes;
use laggard_model::{Nanos, Timestamp};
use object_store::ObjectStoreExt;
use std::sync::Arc;

/// A segment whose spans are answered again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SalvagedSegment {
    pub(crate) number: u64,
    pub(crate) spans: u64,
}

impl SegmentsInner {
    /// Sets the derived files of a segment aside and retains its spans, which are intact, as late ones.
    ///
    /// # Errors
    /// When the manifest cannot be written; then the segment is what it was, without these files.
    pub(crate) async fn retain_spans(&self, segment: &Segment) -> Result<SalvagedSegment, SegmentError> {
        let derived = segment.files.keys().filter(|&&kind| kind != FileKind::Spans);
        move_to_quarantine(&*self.objects, derived.map(|&kind| segment.path(kind)).collect()).await;
        let number = segment.number;
        self.swap(|manifest| {
            for known in manifest.segments.iter_mut().filter(|known| known.number == number) {
                let known = Arc::make_mut(known);
                (known.kind, known.requests) = (SegmentKind::Late, 0);
                known.files.retain(|&kind, _| kind == FileKind::Spans);
            }
            Ok(true)
        })
        .await?;
        Ok(SalvagedSegment { number, spans: segment.spans })
    }

    /// Returns the spans of segments that were set aside although their spans are intact. Their files stay in quarantine, too.
    ///
    /// # Errors
    /// When a file or the manifest cannot be written.
    pub(crate) async fn return_from_quarantine(&self) -> Result<Vec<SalvagedSegment>, SegmentError> {
        let mut returned = Vec::new();
        let aside = self.manifest().quarantined.clone();
        for quarantined in aside.iter().filter(|quarantined| quarantined.spans > 0) {
            let Some((segment, read)) = self.intact_spans(quarantined).await? else { continue };
            self.objects.put(&segment.path(FileKind::Spans), read.into()).await?;
            returned.push(SalvagedSegment { number: segment.number, spans: segment.spans });
            self.swap(|manifest: &mut Manifest| {
                manifest.quarantined.retain(|known| known.segment != segment.number);
                manifest.segments.push(Arc::new(segment));
                Ok(true)
            })
            .await?;
        }
        Ok(returned)
    }

    /// A segment of the spans in quarantine, with the bytes of their file, if that is there, and as it was written.
    async fn intact_spans(
        &self,
        quarantined: &Quarantined,
    ) -> Result<Option<(Segment, Bytes)>, SegmentError> {
        let path = layout::quarantined(FileKind::Spans, quarantined.segment);
        let read = match examine::bytes(&*self.objects, &path).await {
            Ok(read) => read,
            Err(SegmentError::Damaged(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let slice = layout::slice_of(Timestamp::from_unix_ns(quarantined.first_ns), SLICE);
        match rebuild::spans_segment(quarantined.segment, slice, quarantined.since_ns, read.clone()).await {
            Ok(segment) if segment.spans == quarantined.spans => Ok(Some((segment, read))),
            Ok(_) | Err(SegmentError::Damaged(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Slices of what returns. Which slice they were in is not recorded; any is right, since each segment states its times.
const SLICE: Nanos = Nanos::from_secs(300);
