//! Other programs read the files: the examples of the manual, run by DuckDB and Polars.

use super::contents::answered;
use super::open;
use super::random_spans::{much_later, samples};
use crate::segments::DurableFolder;
use crate::{FlushBatch, StoreSettings};
use laggard_model::{Nanos, SpanId, SpanRow, TraceId};
use laggard_testkit::python_with;
use object_store::ObjectStore;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

const MANUAL: &str = include_str!("../../../../../../docs/manual/store.md");

/// Expected output of the programs for the store of this test.
const CHECKS: &str = r#"
statements = [text for text in SQL.split(";") if text.strip()]
slowest, self_time, one_trace = [duckdb.sql(text).fetchall() for text in statements]
assert slowest == [("front", "get", 30, 0.1)], slowest
assert sorted(self_time) == [("front", "get", "a", 0.09), ("front", "get", "b", 0.01)], self_time
assert [row[2] for row in one_trace] == [1, 2], one_trace
counts = {kind: duckdb.sql(f"select count(*) from '{kind}/*/*.parquet'").fetchall()[0][0]
          for kind in ["spans", "requests", "calls", "structures", "samples"]}
assert counts == {"spans": 60, "requests": 30, "calls": 60, "structures": 10, "samples": 3}, counts
assert spans.select(pl.len()).collect().item() == 60
assert pl.scan_parquet("samples/*/*.parquet").collect()["value"].sum() == 3.0
checksums = duckdb.sql("select decode(value) from parquet_kv_metadata('spans/*/*.parquet') where key = 'laggard.format'")
assert set(checksums.fetchall()) == {("3",)}
"#;

/// The manual's example in a language.
fn example(language: &str) -> &'static str {
    let (_, after) = MANUAL.split_once(&format!("```{language}\n")).expect("the manual has an example");
    after.split_once("```").expect("the example ends").0
}

/// Thirty traces of two spans each: 0.1 ms, of which 0.01 ms are a callee's on another replica.
fn batch() -> FlushBatch {
    let mut batch = much_later();
    let root = SpanRow { inclusive: Nanos::from_us(100), ..batch.spans[0] };
    let replica = batch.names.replica("b");
    let callee = SpanRow {
        span: SpanId::new(2).unwrap(),
        parent: SpanId::new(1),
        start: root.start.plus(Nanos::from_us(10)),
        inclusive: Nanos::from_us(10),
        replica,
        ..root
    };
    let of_trace = |trace| [root, callee].map(|row| SpanRow { trace: TraceId::from_value(trace), ..row });
    batch.spans = (1..=30).flat_map(of_trace).collect();
    batch.samples = samples(&[1, 2, 3]);
    batch
}

async fn write(folder: &Path) {
    let objects: Arc<dyn ObjectStore> = Arc::new(DurableFolder::open(folder).unwrap());
    let segments = open(&objects, &StoreSettings::default()).await;
    segments.commit(Arc::new(batch())).await.unwrap();
    assert_eq!(answered(&segments.view()).await.requests.len(), 30);
}

/// The folder of build artifacts: test programs are in its `PROFILE/deps`.
fn target_folder() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    program.ancestors().nth(3).unwrap().to_owned()
}

#[tokio::test]
async fn the_examples_of_the_manual_run_in_duckdb_and_polars() {
    let requirements = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/segments/tests/requirements.txt");
    let Some(python) = python_with(&target_folder().join("tmp/store-python"), &requirements) else { return };
    let folder = tempfile::tempdir().unwrap();
    write(folder.path()).await;
    let trace = format!("{:032x}", 17);
    let sql = example("sql").replace("4bf92f3577b34da6a3ce929d0e0e4736", &trace);
    let script = format!("import duckdb\n{}\nSQL = \"\"\"{sql}\"\"\"\n{CHECKS}", example("python"));
    let ran = Command::new(python).arg("-c").arg(script).current_dir(folder.path()).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}
