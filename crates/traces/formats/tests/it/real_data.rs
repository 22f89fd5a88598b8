//! Real span tables of the measurement archive. Counts were determined with an independent CSV reader.

use laggard_formats::{InputSettings, NoProgress, expand, read};
use laggard_model::{CallRecord, Loss, Losses, Sink, SpanId, SpanRecord};
use laggard_testkit::data_folder;
use std::collections::HashSet;
use std::path::PathBuf;

/// Counts of a table.
#[derive(PartialEq, Eq, Debug, Default)]
struct Counts {
    spans: u64,
    traces: usize,
    roots: u64,
    zero_ids: u64,
    replicas: usize,
    total_inclusive_ns: u128,
    first_start_ns: i64,
    last_start_ns: i64,
}

#[derive(Default)]
struct Counting {
    counts: Counts,
    traces: HashSet<u128>,
    replicas: HashSet<String>,
    losses: Losses,
}

impl Sink for Counting {
    fn span(&mut self, span: &SpanRecord<'_>) {
        let start = span.start.unix_ns();
        let is_first = self.counts.spans == 0;
        self.counts.spans += 1;
        self.counts.roots += u64::from(span.parent.is_none());
        self.counts.zero_ids += u64::from(span.span_id == SpanId::ZERO_TEXT);
        self.counts.total_inclusive_ns += u128::from(span.inclusive.ns());
        self.counts.first_start_ns = if is_first { start } else { self.counts.first_start_ns.min(start) };
        self.counts.last_start_ns = if is_first { start } else { self.counts.last_start_ns.max(start) };
        self.traces.insert(span.trace_id.value());
        let replica = format!("{}\n{}", span.service, span.replica);
        if !self.replicas.contains(&replica) {
            self.replicas.insert(replica);
        }
    }

    fn call(&mut self, _call: &CallRecord<'_>) {
        panic!("a span table has no calls");
    }

    fn lose(&mut self, loss: Loss, example: &dyn Fn() -> String) {
        self.losses.add(loss, example);
    }
}

fn count(path: PathBuf) -> Counts {
    let mut sink = Counting::default();
    for source in expand(&[path]).unwrap() {
        let outcome = read(&source, &InputSettings::default(), &mut sink, &NoProgress).unwrap();
        assert_eq!(outcome.format(), Some("span-csv"));
        assert_eq!(Some(outcome.bytes), source.size());
    }
    assert!(sink.losses.is_empty(), "{:?}", sink.losses);
    Counts { traces: sink.traces.len(), replicas: sink.replicas.len(), ..sink.counts }
}

#[test]
fn hdfs_traces_are_read_completely() {
    let Some(folder) = data_folder("tracebench") else { return };
    let rows: [(&str, u64, usize, usize, u128, i64, i64); 6] = [
        (
            "slowdn-w-20ms-05fdn-raw-clocks",
            12_418,
            78,
            141,
            34_353_929_825_367,
            339_596_408_405_305,
            4_541_966_625_013_468,
        ),
        ("slowdn-w-20ms-05fdn", 12_418, 78, 141, 34_353_929_825_367, 0, 69_335_349_680),
        ("slowdn-w-20ms-20fdn", 11_774, 66, 141, 78_372_292_468_414, 0, 180_457_760_913),
        ("slowhdfs-rpc-0600ms", 12_700, 2_120, 61, 6_591_351_231_722, 0, 1_219_515_134),
        ("slowhdfs-w-00ms", 11_272, 72, 141, 20_676_603_909_288, 0, 63_514_615_878),
        ("slowhdfs-w-10ms", 8_858, 54, 141, 59_604_917_677_552, 0, 186_669_886_221),
    ];
    for (name, spans, traces, replicas, total_inclusive_ns, first_start_ns, last_start_ns) in rows {
        let expected = Counts {
            spans,
            traces,
            roots: traces as u64,
            zero_ids: 1,
            replicas,
            total_inclusive_ns,
            first_start_ns,
            last_start_ns,
        };
        assert_eq!(count(folder.join(format!("{name}.csv.zst"))), expected, "{name}");
    }
}

#[test]
fn online_boutique_is_read_completely() {
    let Some(folder) = data_folder("online-boutique") else { return };
    let expected = Counts {
        spans: 1_105_099,
        traces: 24_890,
        roots: 25_071,
        zero_ids: 0,
        replicas: 10,
        total_inclusive_ns: 38_552_283_494_620,
        first_start_ns: 1_661_140_339_209_875_609,
        last_start_ns: 1_661_147_839_890_463_488,
    };
    assert_eq!(count(folder.join("spans.csv.zst")), expected);
}
