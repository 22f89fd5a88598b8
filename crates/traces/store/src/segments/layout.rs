//! All paths of the store.

use super::error::SegmentError;
use super::manifest::FileKind;
use futures::TryStreamExt;
use laggard_model::{Nanos, Timestamp};
use object_store::ObjectStore;
use object_store::path::Path;
use std::collections::BTreeSet;

/// Folders of segment files; the last one is of format 1.
pub(crate) const FOLDERS: [(&str, FileKind); 7] = [
    ("spans", FileKind::Spans),
    ("requests", FileKind::Requests),
    ("calls", FileKind::Calls),
    ("structures", FileKind::Structures),
    ("samples", FileKind::Samples),
    ("events", FileKind::Events),
    ("forms", FileKind::Structures),
];

impl FileKind {
    /// The folder that files of this kind are in, in the current format.
    pub(crate) const fn folder(self) -> &'static str {
        FOLDERS[self as usize].0
    }
}

/// The path of a segment's file: `spans/1732200000/000000000017.parquet`. The folder is the start of its slice in
/// seconds since the epoch.
pub(crate) fn file(kind: FileKind, format: u32, slice_ns: i64, segment: u64) -> Path {
    let folder = match (kind, format) {
        (FileKind::Structures, 1) => "forms",
        _ => kind.folder(),
    };
    let seconds = slice_ns.div_euclid(1_000_000_000);
    Path::from(format!("{folder}/{seconds}/{segment:012}.parquet"))
}

/// The quarantine path of a file that could not be read.
pub(crate) fn quarantined(kind: FileKind, segment: u64) -> Path {
    Path::from(format!("quarantine/{segment:012}.{}.parquet", kind.folder()))
}

/// The path of a manifest.
pub(crate) fn manifest(number: u64) -> Path {
    Path::from(format!("manifest/{number:012}.json"))
}

/// The path of its copy.
pub(crate) fn manifest_copy(number: u64) -> Path {
    Path::from(format!("manifest/{number:012}.copy"))
}

/// Numbers of the manifests or copies there are, in order.
pub(crate) async fn manifest_numbers(objects: &dyn ObjectStore) -> Result<Vec<u64>, SegmentError> {
    let found: Vec<_> = objects.list(Some(&Path::from("manifest"))).try_collect().await?;
    let number = |path: &Path| {
        let name = path.filename()?;
        name.strip_suffix(".json").or(name.strip_suffix(".copy"))?.parse().ok()
    };
    let numbers: BTreeSet<u64> = found.iter().filter_map(|object| number(&object.location)).collect();
    Ok(numbers.into_iter().collect())
}

/// Start of the slice that a time is in.
pub(crate) fn slice_of(time: Timestamp, slice: Nanos) -> i64 {
    let length = i64::try_from(slice.ns()).unwrap_or(i64::MAX).max(1);
    let into = time.unix_ns().rem_euclid(length);
    time.unix_ns().saturating_sub(into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_start_at_multiples_of_their_length_also_before_the_epoch() {
        let slice = Nanos::from_secs(300);
        for (time, start) in
            [(0, 0), (299_999_999_999, 0), (300_000_000_000, 300_000_000_000), (-1, -300_000_000_000)]
        {
            assert_eq!(slice_of(Timestamp::from_unix_ns(time), slice), start, "{time}");
        }
        assert_eq!(slice_of(Timestamp::MIN, slice), i64::MIN);
    }

    #[test]
    fn files_are_in_the_folder_of_their_kind_and_format() {
        assert_eq!(file(FileKind::Spans, 2, -1, 17).as_ref(), "spans/-1/000000000017.parquet");
        assert_eq!(file(FileKind::Structures, 2, 0, 1).as_ref(), "structures/0/000000000001.parquet");
        assert_eq!(file(FileKind::Structures, 1, 0, 1).as_ref(), "forms/0/000000000001.parquet");
        assert!(FOLDERS[..6].iter().all(|&(folder, kind)| kind.folder() == folder));
    }
}
