//! The manifest: which segments exist, and up to which record they contain the log.
//!
//! `manifest/N.json` is written once and never changed; the one of the highest number is valid. A writer of
//! `N + 1` creates it only if it is absent, so two writers cannot both commit. Its copy, `manifest/N.copy`, is for the case
//! that the one file on which all others depend is damaged.

use super::error::SegmentError;
use super::import_notes::ImportNotes;
use super::layout;
use crate::{LogPosition, StoreIssue};
use laggard_engine::StartRange;
use laggard_model::{Timestamp, TraceId};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The version of everything stored that this program writes.
pub(crate) const FORMAT: u32 = 3;

/// The contents of a store.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// Version of the layout, of this file and of the segments it names.
    pub(crate) format: u32,
    pub(crate) number: u64,
    /// The claim under which it was written; absent in a folder that only one process can write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) claim: Option<u64>,
    /// Number that the next segment gets.
    pub(crate) next_segment: u64,
    /// The same of each writer, where this stands for the manifests of several.
    #[serde(skip)]
    pub(crate) next_by_writer: Option<Vec<u64>>,
    /// Where replay of the log starts.
    pub(crate) position: LogPosition,
    /// Losses in reading of spans of which none is stored yet.
    #[serde(default, skip_serializing_if = "ImportNotes::is_empty")]
    pub(crate) unplaced: ImportNotes,
    /// Segments, by number.
    #[serde(with = "shared_segments")]
    pub(crate) segments: Vec<Arc<Segment>>,
    /// Segments that could not be read, set aside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) quarantined: Vec<Quarantined>,
}

/// One segment: files that hold the same rows in different forms.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Segment {
    /// Its number; files are named by it.
    pub(crate) number: u64,
    /// Version of its files.
    #[serde(default = "first_format")]
    pub(crate) format: u32,
    pub(crate) kind: SegmentKind,
    /// Start of its slice.
    pub(crate) slice_ns: i64,
    /// When its oldest rows arrived, as the number of the segment they were first in.
    pub(crate) order: u64,
    /// Start of the earliest span, or time of the earliest sample.
    pub(crate) first_ns: i64,
    /// Start of the latest span, or time of the latest sample.
    pub(crate) last_ns: i64,
    /// When its latest rows arrived; absent in segments of earlier programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) arrived_ns: Option<i64>,
    /// The latest `last_ns` of all segments when this one was written, excluding times in the future.
    pub(crate) newest_ns: i64,
    /// Lowest trace id.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "optional_trace")]
    pub(crate) trace_min: Option<TraceId>,
    /// Highest trace id.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "optional_trace")]
    pub(crate) trace_max: Option<TraceId>,
    /// Spans, copies included.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) spans: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) requests: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) samples: u64,
    /// Events of spans.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) events: u64,
    /// Memory that its events take.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) event_bytes: u64,
    /// Notes from importing its rows; `told` in format 1.
    #[serde(alias = "told", default, skip_serializing_if = "ImportNotes::is_empty")]
    pub(crate) notes: ImportNotes,
    /// Its files by the folder they are in.
    pub(crate) files: BTreeMap<FileKind, FileEntry>,
}

/// Content of a segment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SegmentKind {
    /// Traces of which no other segment of this kind has a span, and their requests.
    Traces,
    /// Spans of traces that other segments have spans of, too; not assembled.
    Late,
    Samples,
    /// Events of any spans.
    Events,
}

/// Which of a segment's files.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FileKind {
    /// A row a span.
    Spans,
    /// A row a request.
    Requests,
    /// A row a call of a request.
    Calls,
    /// A row a node of a call tree; `forms` in format 1.
    #[serde(alias = "forms")]
    Structures,
    /// A row a sample.
    Samples,
    /// A row an event of a span.
    Events,
}

/// Metadata of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct FileEntry {
    pub(crate) bytes: u64,
    /// CRC-32C of all of it.
    pub(crate) crc32c: u32,
    /// Where the part behind the rows begins: filters and footer.
    pub(crate) tail: u64,
    /// CRC-32C of that part.
    pub(crate) tail_crc32c: u32,
}

/// A segment that could not be read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Quarantined {
    pub(crate) segment: u64,
    /// As in [`Segment`]; so are the next two.
    pub(crate) first_ns: i64,
    /// Latest start.
    pub(crate) last_ns: i64,
    /// Spans it held.
    pub(crate) spans: u64,
    /// Samples it held.
    pub(crate) samples: u64,
    /// Events it held.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) events: u64,
    pub(crate) reason: String,
    /// When it was set aside.
    pub(crate) since_ns: i64,
}

/// Segments of format 1 do not state their format.
fn first_format() -> u32 {
    1
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

mod shared_segments {
    use super::Segment;
    use serde::de::{Deserialize, Deserializer};
    use serde::ser::Serializer;
    use std::sync::Arc;

    pub(super) fn serialize<S: Serializer>(segments: &[Arc<Segment>], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(segments.iter().map(|segment| &**segment))
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Vec<Arc<Segment>>, D::Error> {
        Ok(Vec::<Segment>::deserialize(from)?.into_iter().map(Arc::new).collect())
    }
}

mod optional_trace {
    use laggard_model::TraceId;
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    pub(super) fn serialize<S: Serializer>(id: &Option<TraceId>, to: S) -> Result<S::Ok, S::Error> {
        let id = id.expect("an absent id is left out");
        to.collect_str(&format_args!("{:032x}", id.value()))
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Option<TraceId>, D::Error> {
        let text = String::deserialize(from)?;
        u128::from_str_radix(&text, 16).map(|id| Some(TraceId::from_value(id))).map_err(D::Error::custom)
    }
}

impl Segment {
    pub(crate) fn first(&self) -> Timestamp {
        Timestamp::from_unix_ns(self.first_ns)
    }

    pub(crate) fn last(&self) -> Timestamp {
        Timestamp::from_unix_ns(self.last_ns)
    }

    /// The time from which its age counts: its arrival, so that imported data is kept for as long as live data. An arrival in
    /// the future was recorded with a wrong clock; then its latest span counts.
    pub(crate) fn ages_from(&self, now: Timestamp) -> Timestamp {
        let arrived = self.arrived_ns.map(Timestamp::from_unix_ns);
        arrived.filter(|arrived| *arrived <= now).unwrap_or_else(|| self.known_since())
    }

    /// The earlier of its latest span and its arrival: neither a sender nor a server whose clock is ahead moves it into the future.
    pub(crate) fn known_since(&self) -> Timestamp {
        self.last().min(Timestamp::from_unix_ns(self.arrived_ns.unwrap_or(i64::MAX)))
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.files.values().map(|file| file.bytes).sum()
    }

    /// Whether it may hold rows of a time range, ends included.
    pub(crate) fn meets(&self, since: Timestamp, until: Timestamp) -> bool {
        self.first() <= until && self.last() >= since
    }

    /// Whether it is a segment of spans.
    pub(crate) fn has_spans(&self) -> bool {
        matches!(self.kind, SegmentKind::Traces | SegmentKind::Late)
    }

    pub(crate) fn may_hold(&self, trace: TraceId) -> bool {
        self.trace_min.is_some_and(|min| min <= trace) && self.trace_max.is_some_and(|max| max >= trace)
    }

    pub(crate) fn path(&self, file: FileKind) -> Path {
        layout::file(file, self.format, self.slice_ns, self.number)
    }
}

impl Quarantined {
    pub(crate) fn problem(&self) -> StoreIssue {
        let rows = match (self.spans, self.samples) {
            (0, 0) => format!("{} events", self.events),
            (0, samples) => format!("{samples} samples"),
            (spans, _) => format!("{spans} spans"),
        };
        let text = format!(
            "segment {} {}: its files are set aside under quarantine/, and {rows} from {} to {} (ns) are not answered",
            self.segment, self.reason, self.first_ns, self.last_ns
        );
        let since = Timestamp::from_unix_ns(self.since_ns);
        StoreIssue { name: "corrupt_segment", text, since, blocks: false }
    }
}

impl Manifest {
    /// Segments of a kind that may hold rows of any of some times, by number.
    pub(crate) fn meeting(&self, kind: SegmentKind, times: &[StartRange]) -> Vec<Arc<Segment>> {
        let meets = |segment: &&Arc<Segment>| {
            segment.kind == kind && times.iter().any(|time| segment.meets(*time.start(), *time.end()))
        };
        self.segments.iter().filter(meets).cloned().collect()
    }

    /// Without segments that have no rows of some times. Late spans may belong to traces of any time.
    pub(crate) fn near(&self, times: &StartRange) -> Manifest {
        let is_near = |segment: &&Arc<Segment>| {
            segment.kind == SegmentKind::Late || segment.meets(*times.start(), *times.end())
        };
        Manifest { segments: self.segments.iter().filter(is_near).cloned().collect(), ..Manifest::empty() }
    }

    /// Numbers that the next segments get, by writer.
    pub(crate) fn next_segments(&self) -> Vec<u64> {
        self.next_by_writer.clone().unwrap_or_else(|| vec![self.next_segment])
    }

    /// Whether this program writes that format.
    pub(crate) fn is_of_this_format(&self) -> bool {
        self.format == FORMAT
    }

    /// The position of an empty store.
    pub(crate) fn empty() -> Manifest {
        Manifest {
            format: FORMAT,
            number: 0,
            claim: None,
            next_segment: 1,
            next_by_writer: None,
            position: LogPosition::default(),
            unplaced: ImportNotes::default(),
            segments: Vec::new(),
            quarantined: Vec::new(),
        }
    }

    /// Writes it, durably, unless there is one of its number already.
    pub(crate) async fn put(&self, objects: &dyn ObjectStore) -> Result<(), object_store::Error> {
        let text = self.text();
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        objects.put_opts(&layout::manifest(self.number), text.clone().into(), options).await?;
        if let Err(error) = objects.put(&layout::manifest_copy(self.number), text.into()).await {
            tracing::warn!(%error, "the manifest has no copy");
        }
        Ok(())
    }

    /// Its JSON, and in a last line the checksum of all before.
    fn text(&self) -> Vec<u8> {
        let mut text = serde_json::to_vec(self).expect("a manifest has no map whose keys are not texts");
        text.push(b'\n');
        let checksum = crc32c::crc32c(&text);
        text.extend_from_slice(format!("{{\"crc32c\":{checksum}}}\n").as_bytes());
        text
    }

    /// Reads what [`Manifest::put`] wrote.
    pub(crate) fn parse(text: &[u8]) -> Result<Manifest, SegmentError> {
        let end = text.iter().position(|&byte| byte == b'\n').map(|position| position + 1);
        let (body, last) = text.split_at(end.ok_or_else(|| SegmentError::damaged("is cut short"))?);
        let filter = format!("{{\"crc32c\":{}}}\n", crc32c::crc32c(body));
        if last != filter.as_bytes() {
            return Err(SegmentError::damaged("has another checksum than was written"));
        }
        let version: ManifestVersion =
            serde_json::from_slice(body).map_err(|error| SegmentError::damaged(error.to_string()))?;
        if version.format == 0 || version.format > FORMAT {
            return Err(SegmentError::ManifestVersion(version.format));
        }
        serde_json::from_slice(body).map_err(|error| SegmentError::damaged(error.to_string()))
    }
}

/// The part of a manifest that every version has.
#[derive(Deserialize)]
struct ManifestVersion {
    format: u32,
}

/// The manifests of a store.
pub(crate) struct ManifestSearch {
    /// The newest that can be read, or whose copy can.
    pub(crate) manifest: Manifest,
    /// All numbers there are, in order.
    pub(crate) numbers: Vec<u64>,
    /// It or newer ones that cannot be read, and why; the newest first.
    pub(crate) unreadable: Vec<(u64, SegmentError)>,
}

/// What helps where manifests cannot be read.
pub(super) const REPAIR: &str = "`laggard store repair` lists the segments again";

/// Reads the newest manifest that can be read; an empty one when there is none at all.
///
/// # Errors
/// When none of several can be read, or the newest is of a version this program does not know.
pub(crate) async fn newest(objects: &dyn ObjectStore) -> Result<ManifestSearch, SegmentError> {
    let numbers = layout::manifest_numbers(objects).await?;
    let mut unreadable = Vec::new();
    for &number in numbers.iter().rev() {
        match read(objects, &layout::manifest(number)).await {
            Ok(manifest) => return Ok(ManifestSearch { manifest, numbers, unreadable }),
            Err(SegmentError::Damaged(reason)) => unreadable.push((number, SegmentError::Damaged(reason))),
            Err(error) => return Err(error),
        }
        match read(objects, &layout::manifest_copy(number)).await {
            Ok(manifest) => return Ok(ManifestSearch { manifest, numbers, unreadable }),
            Err(SegmentError::Damaged(_)) => {}
            Err(error) => return Err(error),
        }
    }
    match unreadable.first() {
        None => Ok(ManifestSearch { manifest: Manifest::empty(), numbers, unreadable }),
        Some((number, error)) => {
            let path = layout::manifest(*number);
            Err(SegmentError::Storage(format!(
                "{path} {error}; no earlier manifest can be read either; {REPAIR}"
            )))
        }
    }
}

/// The newest manifest of a store, for a copy of it.
pub(crate) struct NewestManifest {
    pub(crate) number: u64,
    /// The manifest itself and its copy, where they are there.
    pub(crate) own_files: Vec<String>,
    /// All files of its segments.
    pub(crate) files: Vec<String>,
}

/// Reads which files a copy of a store needs. They may be replaced meanwhile.
///
/// # Errors
/// As of [`newest`].
pub(crate) async fn newest_manifest(objects: &dyn ObjectStore) -> Result<NewestManifest, SegmentError> {
    let found = newest(objects).await?;
    let number = found.manifest.number;
    let mut own_files = Vec::new();
    for path in [layout::manifest(number), layout::manifest_copy(number)] {
        if objects.head(&path).await.is_ok() {
            own_files.push(path.to_string());
        }
    }
    let paths = |segment: &Arc<Segment>| -> Vec<String> {
        segment.files.keys().map(|&kind| segment.path(kind).to_string()).collect()
    };
    Ok(NewestManifest { number, own_files, files: found.manifest.segments.iter().flat_map(paths).collect() })
}

pub(super) async fn read(objects: &dyn ObjectStore, path: &Path) -> Result<Manifest, SegmentError> {
    Manifest::parse(&objects.get(path).await?.bytes().await?)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use laggard_engine::Origins;
    use laggard_model::{Loss, Losses};

    /// A segment without notes and files.
    pub(in crate::segments) fn segment() -> Segment {
        Segment {
            number: 1,
            format: FORMAT,
            kind: SegmentKind::Late,
            slice_ns: -300,
            order: 1,
            first_ns: i64::MIN,
            last_ns: i64::MAX,
            arrived_ns: Some(5),
            newest_ns: 3,
            trace_min: Some(TraceId::from_value(0)),
            trace_max: Some(TraceId::from_value(u128::MAX)),
            spans: 5,
            requests: 0,
            samples: 0,
            events: 0,
            event_bytes: 0,
            notes: ImportNotes::default(),
            files: BTreeMap::new(),
        }
    }

    #[test]
    fn a_manifest_survives_serialization_and_damage_is_detected() {
        let mut losses = Losses::none();
        losses.add_many(Loss::InvalidId, 3, || "line 7".to_owned());
        let notes = ImportNotes::new(&losses, &Origins { call_records: 2, ..Origins::default() });
        let entry = FileEntry { bytes: 9, crc32c: 1, tail: 4, tail_crc32c: 2 };
        let files = BTreeMap::from([(FileKind::Spans, entry)]);
        let segment = Segment { notes: notes.clone(), files, ..segment() };
        let manifest = Manifest { number: 7, segments: vec![Arc::new(segment)], ..Manifest::empty() };
        let text = manifest.text();
        assert_eq!(Manifest::parse(&text).unwrap(), manifest);
        assert_eq!(notes.losses().count(Loss::InvalidId), 3);
        for index in 0..text.len() {
            let mut damaged = text.clone();
            damaged[index] ^= 1;
            assert!(Manifest::parse(&damaged).is_err(), "byte {index}");
            assert!(Manifest::parse(&text[..index]).is_err(), "cut at {index}");
        }
    }

    #[test]
    fn a_later_version_is_not_treated_as_damage() {
        let manifest = Manifest { format: FORMAT + 1, ..Manifest::empty() };
        assert_eq!(Manifest::parse(&manifest.text()), Err(SegmentError::ManifestVersion(FORMAT + 1)));
    }
}
