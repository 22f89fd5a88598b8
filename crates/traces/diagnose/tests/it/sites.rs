//! Assignment of calls to sites.

use crate::simulated::{THREADS, incident};
use laggard_diagnose::{Population, SiteFold, UnionNames};
use laggard_engine::{Ingest, IngestSettings, LocalEngine, Requests, contract};
use laggard_localize::{Site, SiteTable};
use laggard_model::{
    AdjustedCount, Nanos, ReplicaSource, Sampling, Sink, SpanAttributes, SpanId, SpanKind, SpanRecord,
    Status, Timestamp, TraceId,
};
use laggard_simulate::{Scenario, Settings};
use std::num::NonZeroUsize;

/// Lines of `TRACE ID PARENT SERVICE/OPERATION@REPLICA FROM..TO [KIND] [error] [xWEIGHT]`, in nanoseconds; `-` for no parent.
pub(crate) fn traces_of<'a>(lines: impl Iterator<Item = &'a str>) -> Requests {
    let mut ingest = Ingest::new(IngestSettings::default());
    for line in lines.map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [trace, id, parent, place, times, rest @ ..] = &words[..] else { panic!("not a span: {line}") };
        let (name, replica) = place.split_once('@').expect("NAME@REPLICA");
        let (service, operation) = name.split_once('/').expect("SERVICE/OPERATION");
        let (from, to) = times.split_once("..").expect("FROM..TO");
        let (from, to): (i64, i64) =
            (from.parse().expect("FROM is a number"), to.parse().expect("TO is a number"));
        let weight = rest.iter().find_map(|word| word.strip_prefix('x')?.parse().ok());
        ingest.span(&SpanRecord {
            trace_id: TraceId::from_value(trace.parse().expect("TRACE is a number")),
            trace_text: None,
            span_id: SpanId::parse_text(id).expect("an id is not empty"),
            parent: (*parent != "-").then(|| SpanId::parse_text(parent).expect("an id is not empty")),
            service,
            replica,
            replica_source: ReplicaSource::Column,
            operation,
            kind: rest.iter().find_map(|word| SpanKind::parse(word)).unwrap_or(SpanKind::Unspecified),
            status: if rest.contains(&"error") { Status::Error } else { Status::Unset },
            start: Timestamp::from_unix_ns(from),
            inclusive: Nanos::from_ns((to - from) as u64),
            sampling: Sampling { adjusted_count: weight.and_then(AdjustedCount::new), ..Sampling::default() },
            attributes: SpanAttributes::default(),
        });
    }
    Requests::from_traces(ingest.finish(THREADS), THREADS)
}

/// A site table with its names.
struct NamedTable {
    union: UnionNames,
    table: SiteTable,
}

impl NamedTable {
    fn of(traces: &Requests, assumed_count: Option<AdjustedCount>) -> NamedTable {
        let population = Population::all(traces);
        let union = UnionNames::from_populations(&[population]);
        let engine = LocalEngine::new(THREADS);
        let table =
            engine.fold(traces.all(), &SiteFold::new(union.select(&population, 0), assumed_count, engine));
        NamedTable { table, union }
    }

    fn site(&self, site: Site) -> String {
        let name = |operation| self.union.names().operation_key(operation).operation;
        match site {
            Site::Operation(operation) => name(operation).to_owned(),
            Site::Link { caller, callee } => format!("{}->{}", name(caller), name(callee)),
            Site::Chain(operation) => format!("chain {}", name(operation)),
        }
    }

    /// `SITE@REPLICAS calls×time/path` of every observation, sorted.
    fn lines(&self) -> Vec<String> {
        let line = |(site, row): (Site, &laggard_localize::Observation)| {
            let set = &self.table.sets[row.set as usize];
            let mut set: Vec<&str> =
                set.iter().map(|&replica| self.union.names().replica_name(replica)).collect();
            set.sort_unstable();
            let site = self.site(site);
            format!("{site}@{} {}x{}/{}", set.join("+"), row.calls, row.time_ns, row.path_ns)
        };
        let mut lines: Vec<String> = (self.table.by_site())
            .flat_map(|(site, rows)| rows.iter().map(move |row| (site, row)))
            .map(line)
            .collect();
        lines.sort();
        lines
    }
}

fn lines(text: &str) -> Vec<String> {
    NamedTable::of(&traces_of(text.lines()), None).lines()
}

#[test]
fn a_client_call_to_another_replica_is_a_link() {
    let found = lines(
        "1 a - front/buy@f1 0..100 server
         1 b a front/call-pay@f1 10..90 client
         1 c b pay/pay@p1 5020..5070 server",
    );
    assert_eq!(found, ["buy@f1 1x20/20", "call-pay->pay@f1+p1 1x30/30", "pay@p1 1x50/50"]);
}

#[test]
fn calls_of_unknown_kind_may_be_links_and_server_calls_may_not() {
    let text = |kind: &str| {
        format!(
            "1 a - front/buy@f1 0..100 {kind}
             1 b a pay/pay@p1 10..90"
        )
    };
    assert_eq!(lines(&text("")), ["buy->pay@f1+p1 1x20/20", "pay@p1 1x80/80"]);
    for kind in ["server", "internal", "consumer"] {
        assert_eq!(lines(&text(kind)), ["buy@f1 1x20/20", "pay@p1 1x80/80"], "{kind}");
    }
}

#[test]
fn a_call_with_two_callees_or_a_callee_on_its_own_replica_is_no_link() {
    let two = lines(
        "1 a - front/call@f1 0..100 client
         1 b a pay/pay@p1 10..40
         1 c a pay/log@p2 50..60",
    );
    assert_eq!(two, ["call@f1 1x60/60", "log@p2 1x10/10", "pay@p1 1x30/30"]);
    let own = lines("1 a - front/call@f1 0..100 client\n1 b a front/work@f1 10..40");
    assert_eq!(own, ["call@f1 1x70/70", "work@f1 1x30/30"]);
}

#[test]
fn a_callee_that_returns_after_its_call_is_no_link() {
    let found = lines("1 a - front/send@f1 0..10 client\n1 b a mail/work@m1 0..50");
    assert_eq!(found, ["send@f1 1x0/0", "work@m1 1x50/10"]);
}

#[test]
fn a_pipeline_over_replicas_is_a_chain_of_all_participants() {
    let found = lines(
        "1 a - client/write@c1 0..1000 client
         1 b a data/receive@d1 100..900
         1 c b data/receive@d2 200..800
         1 d c data/receive@d3 300..700
         1 e d data/flush@d3 400..500
         1 f d other/note@o1 510..520",
    );
    assert!(found.contains(&"chain receive@d1+d2+d3 1x800/0".to_owned()), "{found:?}");
    assert_eq!(
        found.iter().filter(|line| line.starts_with("chain")).count(),
        1,
        "only the outermost: {found:?}"
    );
    assert!(found.contains(&"write->receive@c1+d1 1x200/200".to_owned()), "{found:?}");
    assert!(found.contains(&"receive->receive@d1+d2 1x200/200".to_owned()), "{found:?}");
}

#[test]
fn two_pipelines_of_one_request_are_two_chains() {
    let found = lines(
        "1 a - client/write@c1 0..1000 client
         1 b a data/receive@d1 100..400
         1 c b data/receive@d2 150..300
         1 d a data/receive@d3 500..900
         1 e d data/receive@d4 600..800",
    );
    let chains: Vec<&String> = found.iter().filter(|line| line.starts_with("chain")).collect();
    assert_eq!(chains, ["chain receive@d1+d2 1x300/0", "chain receive@d3+d4 1x400/0"]);
}

#[test]
fn recursion_on_one_replica_is_no_chain() {
    let found = lines(
        "1 a - tree/walk@t1 0..100
         1 b a tree/walk@t1 10..90
         1 c b tree/walk@t1 20..80",
    );
    assert_eq!(found, ["walk@t1 3x100/100"]);
}

#[test]
fn operations_are_attributed_to_replicas_and_calls_of_a_request_summed() {
    let traces = traces_of(
        "1 a - front/buy@f1 0..100 server
         1 b a pay/pay@p1 10..20
         1 c a pay/pay@p1 30..50
         1 d a pay/pay@p2 60..65
         2 a - front/buy@f2 0..100 server"
            .lines(),
    );
    let named = NamedTable::of(&traces, None);
    assert_eq!(named.lines(), ["buy@f1 1x65/65", "buy@f2 1x100/100", "pay@p1 2x30/30", "pay@p2 1x5/5"]);
    let mut homes: Vec<(&str, &str)> = (named.table.homes.iter())
        .map(|&(operation, replica)| {
            let names = named.union.names();
            (names.operation_key(operation).operation, names.replica_name(replica))
        })
        .collect();
    homes.sort_unstable();
    assert_eq!(homes, [("buy", "f1"), ("buy", "f2"), ("pay", "p1"), ("pay", "p2")]);
}

#[test]
fn requests_carry_their_weight_or_the_assumed_one() {
    let traces = traces_of("1 a - s/x@h 20..50 x4\n2 a - s/x@h 10..20\n3 a - s/x@h 30..70 x1".lines());
    let observations = |assumed: Option<f64>| -> Vec<(i64, f64, f32)> {
        let named = NamedTable::of(&traces, assumed.and_then(AdjustedCount::from_probability));
        let requests = named.table.requests.iter();
        requests.map(|request| (request.start.unix_ns(), request.latency_ns, request.weight)).collect()
    };
    assert_eq!(observations(None), [(10, 10.0, 1.0), (20, 30.0, 4.0), (30, 40.0, 1.0)]);
    assert_eq!(observations(Some(0.1)), [(10, 10.0, 10.0), (20, 30.0, 4.0), (30, 40.0, 1.0)]);
}

#[test]
fn incomplete_requests_are_excluded() {
    let found = lines(
        "1 a - s/x@h 0..50
         1 b a s/y@h 10..20
         1 c nobody s/lost@h 30..40
         2 a - s/x@h 100..150",
    );
    assert_eq!(found, ["x@h 1x50/50"]);
}

#[test]
fn the_fold_obeys_the_laws_and_no_number_of_threads_matters() {
    let settings = Settings {
        requests_per_service: 60,
        categories_per_service: 3,
        ..Settings::new(Scenario::Bursts, 5)
    };
    let traces = incident(&settings).traces;
    let population = Population::all(&traces);
    let union = UnionNames::from_populations(&[population]);
    let fold = SiteFold::new(union.select(&population, 0), None, LocalEngine::new(THREADS));
    contract::check(&fold, traces.all());
    let run = |threads| LocalEngine::new(NonZeroUsize::new(threads).unwrap()).fold(traces.all(), &fold);
    let whole = run(1);
    assert_eq!((whole.requests.len(), whole == run(3), whole == run(64)), (180, true, true));
    let calls: u64 = whole.rows.iter().flatten().map(|row| u64::from(row.calls)).sum();
    let chains = whole.by_site().filter(|(site, _)| matches!(site, Site::Chain(_)));
    let chains: u64 = chains.flat_map(|(_, rows)| rows).map(|row| u64::from(row.calls)).sum();
    assert_eq!(calls - chains, traces.spans(), "every call is filed once");
}

#[test]
fn the_order_of_arrival_does_not_matter() {
    let mut lines = Vec::new();
    for trace in 1..40 {
        let start = trace / 3;
        lines.push(format!("{trace} a - front/buy@f{} {start}..{} server", trace % 3, start + 100 + trace));
        lines.push(format!("{trace} b a front/call@f{} {}..{} client", trace % 3, start + 5, start + 60));
        lines.push(format!("{trace} c b pay/pay@p{} {}..{} server", trace % 4, start + 9, start + 50));
        lines.push(format!("{trace} d c pay/pay@p{} {}..{}", (trace + 1) % 4, start + 10, start + 40));
    }
    let table_of = |lines: &mut dyn Iterator<Item = &String>| {
        NamedTable::of(&traces_of(lines.map(String::as_str)), None)
    };
    let (forward, backward) = (table_of(&mut lines.iter()), table_of(&mut lines.iter().rev()));
    assert_eq!(forward.lines(), backward.lines(), "names are numbered anew, so handles differ");
    let requests = |named: &NamedTable| -> Vec<_> {
        let table = &named.table;
        let shape = |category: u32| table.categories[category as usize];
        table
            .requests
            .iter()
            .map(|row| (row.start, row.trace, row.latency_ns.to_bits(), shape(row.category)))
            .collect()
    };
    assert_eq!(requests(&forward), requests(&backward));
}
