//! Stores written by earlier versions remain readable: `tests/golden/vN` was written once by the first program of
//! version N, and `expected.txt` next to it lists its contents.

use super::contents::{TextSink, answered};
use super::random_spans::{much_later, samples};
use super::{compact_all, open};
use crate::segments::DurableFolder;
use crate::segments::manifest::FORMAT;
use crate::{FlushBatch, StoreSettings, View};
use futures::TryStreamExt;
use laggard_engine::Origins;
use laggard_model::{
    AdjustedCount, Loss, Nanos, Severity, SpanEvent, SpanId, SpanKind, SpanRow, Status, Timestamp, TraceId,
};
use object_store::memory::InMemory;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStore, ObjectStoreExt};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn folder(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/v{version}"))
}

/// A small store of all kinds of data: a trace with calls on two replicas, one whose id is text, late spans, samples, losses.
fn batches() -> Vec<FlushBatch> {
    let mut first = much_later();
    let root = first.spans[0];
    let replica = first.names.replica("b");
    let call = laggard_model::OperationKey { service: "cart", operation: "pay", kind: SpanKind::Client };
    let operation = first.names.operation(call);
    let later = |row: SpanRow, us: u64, number: u64| SpanRow {
        span: SpanId::new(number).unwrap(),
        parent: Some(root.span),
        start: row.start.plus(Nanos::from_us(us)),
        inclusive: Nanos::from_us(1),
        ..row
    };
    let child = SpanRow { operation, replica, kind: SpanKind::Client, ..later(root, 1, 2) };
    let weighted = SpanRow {
        trace: TraceId::from_value(7),
        status: Status::Error,
        adjusted_count: AdjustedCount::new(16.0),
        ..root
    };
    first.spans = vec![weighted, root, child];
    first.texts = vec![(weighted.trace, "order-7".into())];
    first.samples = samples(&[3, 1, 2]);
    first.events = vec![SpanEvent {
        trace: root.trace,
        span: root.span,
        time: root.start.plus(Nanos::from_us(2)),
        severity: Severity::from_number(17),
        name: "exception".into(),
        body: "out of stock".into(),
        attributes: r#"{"item":"red shoe"}"#.into(),
    }];
    first.losses.add_many(Loss::InvalidId, 2, || "line 4".to_owned());
    first.origins = Origins { call_records: 5, ..Origins::default() };
    let mut second = first.clone();
    second.spans = vec![later(root, 3, 3)];
    (second.texts, second.samples, second.events) = (Vec::new(), samples(&[]), Vec::new());
    (second.losses, second.origins) = (laggard_model::Losses::none(), Origins::default());
    vec![first, second]
}

/// All results of a view, one fact per line.
async fn describe(view: &View) -> String {
    let answer = answered(view).await;
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "{text}").expect("a string takes everything");
    answer.requests.into_iter().for_each(|request| line(format!("request {request}")));
    line(format!("counts {:?} {}", answer.counts, answer.call_records));
    line(format!("losses {:?}", answer.losses));
    line(format!("clocks {:?}", answer.clocks));
    line(format!("texts {:?}", answer.texts));
    let mut exported = TextSink::default();
    view.samples(Timestamp::MIN, Timestamp::MAX, &mut exported).await.unwrap();
    exported.samples.into_iter().for_each(|sample| line(format!("sample {sample}")));
    let mut exported = TextSink::default();
    view.spans(Timestamp::MIN, Timestamp::MAX, &mut exported).await.unwrap();
    exported.spans.into_iter().for_each(|span| line(format!("span {span}")));
    let mut logged: Vec<TraceId> =
        view.traces_that_logged(Timestamp::MIN, Timestamp::MAX, "").await.unwrap().into_iter().collect();
    logged.sort_unstable();
    for trace in logged {
        let stored = view.trace(trace).await.unwrap().unwrap();
        stored.events.iter().for_each(|event| writeln!(out, "event {event:?}").unwrap());
    }
    out
}

async fn write(version: u32) {
    let folder = folder(version);
    let objects: Arc<dyn ObjectStore> = Arc::new(DurableFolder::open(&folder).unwrap());
    let segments = open(&objects, &StoreSettings::default()).await;
    for batch in batches() {
        segments.commit(Arc::new(batch)).await.unwrap();
    }
    std::fs::write(folder.join("expected.txt"), describe(&segments.view()).await).unwrap();
    std::fs::remove_dir_all(folder.join("staging")).unwrap();
    // Only the newest manifest defines what is valid.
    for first in ["manifest/000000000001.json", "manifest/000000000001.copy"] {
        std::fs::remove_file(folder.join(first)).unwrap();
    }
}

/// The files of a folder, in memory, so that reading changes none of them.
async fn in_memory(folder: &Path) -> Arc<dyn ObjectStore> {
    let objects = InMemory::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(inside) = folders.pop() {
        for entry in std::fs::read_dir(inside).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap().replace('\\', "/");
            objects.put(&ObjectPath::from(name), std::fs::read(&path).unwrap().into()).await.unwrap();
        }
    }
    Arc::new(objects)
}

#[tokio::test]
async fn golden_stores_of_every_version_are_read() {
    if std::env::var_os("WRITE_GOLDEN").is_some() && !folder(FORMAT).exists() {
        write(FORMAT).await;
    }
    for version in 1..=FORMAT {
        let folder = folder(version);
        let expected = std::fs::read_to_string(folder.join("expected.txt")).unwrap();
        let segments = open(&in_memory(&folder).await, &StoreSettings::default()).await;
        assert_eq!(describe(&segments.view()).await, expected, "version {version}");
        assert_eq!(segments.figures().problems, []);
    }
}

/// Files of version 1 stay where they are until compaction replaces them by files of this version.
#[tokio::test]
async fn a_store_of_version_1_is_continued() {
    let files = async |objects: &Arc<dyn ObjectStore>, folder: &str| {
        objects.list(Some(&ObjectPath::from(folder))).try_collect::<Vec<_>>().await.unwrap().len()
    };
    let objects = in_memory(&folder(1)).await;
    let segments = open(&objects, &StoreSettings::default()).await;
    let mut later = much_later();
    later.spans[0].trace = TraceId::from_value(8);
    later.spans[0].start = later.spans[0].start.plus(Nanos::from_secs(9000));
    segments.commit(Arc::new(later)).await.unwrap();
    let mixed = describe(&segments.view()).await;
    assert_eq!(mixed.lines().filter(|line| line.starts_with("request")).count(), 3, "{mixed}");
    assert_eq!((files(&objects, "forms").await, files(&objects, "structures").await), (1, 1));
    drop(segments);

    let segments = open(&objects, &StoreSettings::default()).await;
    assert_eq!(describe(&segments.view()).await, mixed, "opened again");
    assert!(compact_all(&segments).await > 0);
    // Compaction assembles requests from their spans again, so the outcomes of calls are known from then on.
    let compacted = describe(&segments.view()).await;
    assert!(compacted.contains("5000 Error]"), "{compacted}");
    assert_eq!(compacted.replace("5000 Error]", "5000]"), mixed, "compacted");
    segments.shared.sweep().await;
    assert_eq!((files(&objects, "forms").await, files(&objects, "structures").await), (0, 2));
    assert_eq!(segments.figures().problems, []);
}
