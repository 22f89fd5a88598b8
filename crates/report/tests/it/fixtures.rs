//! Reports to render: every kind of verdict, and the shapes that strain a renderer.

#[path = "fixtures/capacity.rs"]
pub(crate) mod capacity;
#[path = "fixtures/changes.rs"]
pub(crate) mod changes;
#[path = "fixtures/deep.rs"]
mod deep;
#[path = "fixtures/evidence.rs"]
mod evidence;
#[path = "fixtures/kernel.rs"]
pub(crate) mod kernel;
#[path = "fixtures/kernel_diagnosis.rs"]
pub(crate) mod kernel_diagnosis;

use deep::deep_tree;
pub(crate) use evidence::{against_baseline, slow_periods};
use laggard_model::{Loss, Losses};
use laggard_report::*;

/// A fixture's name and report.
pub(crate) struct Fixture {
    pub(crate) name: &'static str,
    pub(crate) report: Report,
}

pub(crate) fn all() -> Vec<Fixture> {
    let fixture = |name, report| Fixture { name, report };
    vec![
        fixture("healthy", healthy()),
        fixture("three-replicas", three_replicas()),
        fixture("all-replicas", all_replicas()),
        fixture("against-baseline", against_baseline()),
        fixture("slow-periods", slow_periods()),
        fixture("insufficient", insufficient()),
        fixture("hostile", hostile()),
        fixture("thousand", thousand()),
    ]
}

/// Numerical Recipes' 64-bit generator: fixtures must never change by themselves.
struct Draw(u64);

impl Draw {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / (1_u64 << 31) as f64
    }
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| text.to_string()).collect()
}

fn count(name: &str, count: u64) -> NamedCount {
    NamedCount { name: name.to_owned(), count }
}

fn setting(name: &str, value: &str) -> Setting {
    Setting { name: name.to_owned(), value: value.to_owned() }
}

fn ms(value: f64) -> u64 {
    (value * 1e6).round() as u64
}

pub(crate) fn with_headline(mut report: Report) -> Report {
    report.headline = headline(&report);
    report
}

/// An object store with 100 chunk servers, in the morning of 2 June 2026.
fn object_store(verdict: Verdict) -> Report {
    Report {
        schema_version: SCHEMA_VERSION,
        verdict,
        headline: String::new(),
        method: "robust-pca".to_owned(),
        mode: "robust".to_owned(),
        window: Some(Window {
            since_ns: 1_780_380_000_000_000_000,
            until_ns: 1_780_383_599_000_000_000,
            since: "2026-06-02T06:00:00Z".to_owned(),
            until: "2026-06-02T06:59:59Z".to_owned(),
        }),
        input: Input {
            files: 3,
            bytes: 104_857_600,
            spans: 241_310,
            call_records: 0,
            traces: 24_112,
            requests: 24_000,
            services: 6,
            operations: 34,
            replicas: 118,
            formats: vec![count("otlp-json", 3)],
            replica_identity: vec![count("service.instance.id", 241_310)],
            clocks: Clocks {
                pairs: 412,
                agreeing_pairs: 412,
                max_proven_skew_ns: 0,
                worst_pair: None,
                max_possible_skew_ns: 1_900_000,
            },
            sampling: unsampled(24_000),
            losses: Losses::none(),
        },
        categories: categories(),
        suspects: Vec::new(),
        replicas: Vec::new(),
        ruled_out: Vec::new(),
        cautions: Vec::new(),
        baseline: None,
        incidents: Vec::new(),
        missing: Vec::new(),
        heat_map: None,
        latency: None,
        settings: vec![
            setting("method", "robust-pca"),
            setting("mode", "robust"),
            setting("requests-min", "10"),
            setting("cv-limit", "1"),
            setting("memory", "4 GB"),
        ],
    }
}

/// Requests that tell nothing of sampling.
fn unsampled(requests: u64) -> Sampling {
    Sampling {
        requests,
        weight_min: 1.0,
        weight_max: 1.0,
        requests_estimated: requests as f64,
        requests_effective: requests as f64,
        ..Sampling::default()
    }
}

fn category(id: &str, operation: &str, requests: u64, p50: f64, p99: f64, cv: f64) -> Category {
    Category {
        id: id.to_owned(),
        service: "gateway".to_owned(),
        operation: operation.to_owned(),
        requests,
        requests_estimated: requests as f64,
        cv,
        anomalous: false,
        analysed: requests >= 10,
        latency_p50_ns: ms(p50),
        latency_p99_ns: ms(p99),
        tail_requests: 0,
        tail_excess_share: 0.0,
        tree: Vec::new(),
    }
}

fn categories() -> Vec<Category> {
    vec![
        category("4b1f0c9a77d2", "GET /objects/{id}", 14_210, 4.31, 9.87, 0.31),
        category("9e30bd5512fa", "PUT /objects/{id}", 8_120, 11.8, 27.4, 0.38),
        category("03c7a1e4b860", "GET /objects", 1_402, 22.6, 41.0, 0.24),
        category("d7715f00e2c1", "DELETE /objects/{id}", 261, 7.05, 15.2, 0.41),
        category("61aa20f9cc37", "POST /compact", 7, 812.0, 1_040.0, 0.12),
    ]
}

fn node(parent: Option<u32>, service: &str, operation: &str, p50: f64, p99: f64) -> TreeNode {
    TreeNode {
        parent,
        service: service.to_owned(),
        operation: operation.to_owned(),
        self_p50_ns: ms(p50),
        self_p99_ns: ms(p99),
        calls_mean: 1.0,
        suspect: None,
        slow_requests: 0,
        cosine: Some(0.98),
        share: None,
    }
}

fn put_tree() -> Vec<TreeNode> {
    let mut tree = vec![
        node(None, "gateway", "PUT /objects/{id}", 0.91, 1.62),
        node(Some(0), "auth", "verify", 0.44, 0.93),
        node(Some(0), "placement", "choose", 0.72, 1.40),
        node(Some(2), "placement", "read map", 0.31, 0.66),
        node(Some(0), "chunk-store", "write", 3.21, 54.1),
        node(Some(4), "chunk-store", "checksum", 1.12, 1.51),
        node(Some(4), "chunk-store", "fsync", 2.64, 4.02),
        node(Some(0), "metadata", "commit", 1.87, 3.66),
        node(Some(7), "metadata-db", "INSERT objects", 0.83, 2.11),
    ];
    tree[4] = TreeNode {
        suspect: Some(1),
        slow_requests: 1_234,
        cosine: Some(0.41),
        share: Some(0.91),
        calls_mean: 3.0,
        ..tree[4].clone()
    };
    tree[8].slow_requests = 12;
    tree[8].share = Some(0.04);
    tree
}

fn write_suspect() -> Suspect {
    Suspect {
        rank: 1,
        service: "chunk-store".to_owned(),
        operation: "write".to_owned(),
        kind: "server".to_owned(),
        scope: Scope::Replicas,
        replicas: strings(&["node007", "node031", "node090"]),
        replicas_seen: 100,
        scope_undecided: false,
        score: 1.0,
        effect_ns: ms(48.2),
        factor: 16.02,
        share: 0.83,
        requests_hit: 1_234,
        requests_hit_estimated: 12_340.0,
        requests_seen: 8_120,
        categories: strings(&["9e30bd5512fa"]),
        positions: vec![Position {
            category: "9e30bd5512fa".to_owned(),
            position: 4,
            path: strings(&["gateway PUT /objects/{id}", "chunk-store write"]),
        }],
        trace_ids: strings(&[
            "5b8efff798038103d269b633813fc60c",
            "0af7651916cd43dd8448eb211c80319c",
            "4bf92f3577b34da6a3ce929d0e0e4736",
        ]),
        between: None,
        evidence: Vec::new(),
        culprits: vec![CulpritReplica {
            replica: "node007".to_owned(),
            factor: 4.9,
            factor_low: 4.1,
            factor_high: 5.8,
            p_value: 1e-9,
            observations: 52,
        }],
        shift: None,
        onset: None,
    }
}

fn replica(rank: u32, name: &str, effect: f64, slow_calls: u64, p_value: f64) -> ReplicaSuspect {
    ReplicaSuspect {
        rank,
        replica: name.to_owned(),
        service: "chunk-store".to_owned(),
        score: 1.0,
        effect_ns: ms(effect),
        p_value,
        slow_calls,
        calls: 451,
        operations: strings(&["chunk-store write"]),
    }
}

/// A map whose first rows are slow on the given columns.
fn heat_map(rows: &[&str], columns: usize, slow: &[usize], seed: u64) -> HeatMap {
    let mut draw = Draw(seed);
    let mut cells = Vec::new();
    for row in 0..rows.len() {
        for column in 0..columns {
            let culprit = row == 0 && slow.contains(&column);
            let usual = 0.88 + 0.3 * draw.unit() * draw.unit();
            let factor = if culprit { 9.0 + 9.0 * draw.unit() } else { usual };
            let calls = 180 + (90.0 * draw.unit()) as u64;
            let share = if culprit { 0.9 } else { 0.01 * draw.unit() };
            let cell = HeatCell { calls, slow: (calls as f64 * share) as u64, factor, flagged: culprit };
            cells.push((row < 3 || column % 4 != 3).then_some(cell));
        }
    }
    HeatMap {
        operations: strings(rows),
        replicas: (0..columns).map(|at| format!("node{:03}", at + 1)).collect(),
        replicas_omitted: 0,
        cells,
    }
}

/// Log-normal bodies: most requests around `unhit_ms`, the hit ones around `hit_ms`.
fn latency(unhit: (u64, f64), hit: (u64, f64)) -> LatencySplit {
    let bins = 60;
    let edges_ns: Vec<f64> = (0..=bins).map(|at| 1e6 * 10_f64.powf(f64::from(at) * 3.0 / 60.0)).collect();
    let fill = |(count, middle_ms): (u64, f64)| -> Vec<u64> {
        let weight = |bin: usize| {
            let middle = (edges_ns[bin] * edges_ns[bin + 1]).sqrt() / 1e6;
            (-((middle / middle_ms).ln() / 0.35).powi(2) / 2.0).exp()
        };
        let sum: f64 = (0..bins as usize).map(weight).sum();
        (0..bins as usize).map(|bin| (count as f64 * weight(bin) / sum).round() as u64).collect()
    };
    LatencySplit { hit: fill(hit), unhit: fill(unhit), edges_ns }
}

/// Nothing stands out.
pub(crate) fn healthy() -> Report {
    let mut report = object_store(Verdict::Healthy);
    report.categories.truncate(4);
    report.ruled_out = strings(&[
        "No category's latency is dispersed beyond a coefficient of variation of 1; the widest is 0.41 (`gateway` `DELETE /objects/{id}`).",
        "No replica of any operation differs from its peers (34 operations, 118 replicas, false discovery rate 5 %).",
    ]);
    with_headline(report)
}

/// One operation is slow on three of a hundred replicas.
pub(crate) fn three_replicas() -> Report {
    let mut report = object_store(Verdict::Suspects);
    report.suspects = vec![write_suspect()];
    report.replicas = vec![
        replica(1, "node031", 51.0, 418, 0.0),
        replica(2, "node090", 48.2, 409, 3.2e-211),
        replica(3, "node007", 44.9, 407, 8.8e-190),
    ];
    let put = &mut report.categories[1];
    *put = Category {
        anomalous: true,
        tail_requests: 1_234,
        tail_excess_share: 0.31,
        tree: put_tree(),
        ..put.clone()
    };
    (put.cv, put.latency_p99_ns) = (1.34, ms(66.9));
    report.heat_map = Some(heat_map(
        &[
            "chunk-store write",
            "chunk-store read",
            "chunk-store fsync",
            "chunk-store checksum",
            "metadata commit",
        ],
        100,
        &[6, 30, 89],
        7,
    ));
    report.latency = Some(latency((22_766, 6.4), (1_234, 61.0)));
    report.ruled_out = strings(&[
        "Category `gateway` `GET /objects/{id}` (14,210 requests) is neither dispersed (CV 0.31) nor heavy in its tail.",
        "`metadata-db` `INSERT objects` is slow in 12 requests, on no particular replica: below the share limit of 10 %.",
    ]);
    report.cautions = strings(&["1 category (7 requests) had too few requests to be judged."]);
    report.input.sampling = Sampling {
        known_share: 0.97,
        weight_max: 10.0,
        requests_estimated: 233_520.0,
        requests_effective: 23_893.0,
        sources: vec![count("tracestate ot=th", 234_071)],
        tail_samplers: vec![count("Collector tail_sampling (tailsampling.*)", 12)],
        ..unsampled(24_000)
    };
    report.input.losses.add_many(Loss::OrphanSpan, 214, || {
        "trace 2f1c4e3ab0d55e7a9c1b6d7e8f901234 in morning-2.json.gz".to_owned()
    });
    report.input.losses.add_many(Loss::PartialRequest, 112, || {
        "trace 2f1c4e3ab0d55e7a9c1b6d7e8f901234 in morning-2.json.gz".to_owned()
    });
    report.input.losses.add(Loss::TruncatedInput, || "morning-3.json.gz, byte 33,554,432".to_owned());
    let clocks = &mut report.input.clocks;
    (clocks.agreeing_pairs, clocks.max_proven_skew_ns) = (398, ms(12.4));
    clocks.worst_pair = Some(["node014".to_owned(), "node077".to_owned()]);
    with_headline(report)
}

/// One operation is slow wherever it runs, a second one a little.
pub(crate) fn all_replicas() -> Report {
    let mut report = three_replicas();
    let lead = &mut report.suspects[0];
    (lead.scope, lead.replicas, lead.replicas_seen) = (Scope::All, Vec::new(), 4);
    (lead.service, lead.operation) =
        ("metadata-db".to_owned(), "SELECT placement WHERE bucket = ?".to_owned());
    (lead.kind, lead.factor, lead.effect_ns) = ("client".to_owned(), 3.42, ms(9.6));
    let second = Suspect {
        rank: 2,
        service: "auth".to_owned(),
        operation: "verify".to_owned(),
        kind: "server".to_owned(),
        share: 0.07,
        factor: 1.34,
        effect_ns: 151_000,
        requests_hit: 310,
        trace_ids: Vec::new(),
        replicas_seen: 1,
        scope_undecided: false,
        ..lead.clone()
    };
    report.suspects.push(second);
    report.replicas.clear();
    report.heat_map =
        Some(heat_map(&["metadata-db SELECT placement WHERE bucket = ?", "auth verify"], 4, &[], 3));
    with_headline(report)
}

/// Twelve requests.
pub(crate) fn insufficient() -> Report {
    let mut report = object_store(Verdict::InsufficientData);
    let shrink = |category: &mut Category| (category.requests, category.analysed) = (6, false);
    report.categories.truncate(2);
    report.categories.iter_mut().for_each(shrink);
    (report.input.requests, report.input.traces, report.input.spans, report.input.files) = (12, 14, 133, 1);
    (report.input.bytes, report.window) = (51_200, None);
    report.input.clocks = Clocks::default();
    report.input.sampling = unsampled(12);
    report.missing = strings(&[
        "The largest category has 6 requests; 10 are needed (--requests-min).",
        "No replica identity: the spans name at most one replica. Set `service.instance.id`.",
    ]);
    report.cautions = strings(&[
        "No category has enough requests to be judged. Read a longer time, or lower --requests-min.",
    ]);
    with_headline(report)
}

/// Names that want to be something else: escape sequences, markup, table cells, very long, turned around.
pub(crate) fn hostile() -> Report {
    let mut report = three_replicas();
    let long = "very-long-name-".repeat(400);
    let lead = &mut report.suspects[0];
    lead.service = "\u{1b}]0;owned\u{7}\u{1b}[2Jsvc\r\n|cell|`tick` <script>alert(1)</script>".to_owned();
    lead.operation =
        "</title></style><img src=x onerror=alert(2)>\u{202e}gnp.exe & \"quotes\" 'single'".to_owned();
    lead.kind = "<b>\u{9b}31m".to_owned();
    lead.replicas =
        vec![long.clone(), "数据存储节点-".repeat(30), "a|b`c``d\n# heading".to_owned(), String::new()];
    lead.trace_ids = vec!["\" onmouseover=\"alert(3)".to_owned(), "]]>--><!--".to_owned()];
    lead.categories = vec!["javascript:alert(4)".to_owned()];
    (lead.factor, lead.share) = (f64::INFINITY, f64::NAN);
    evidence::add_hostile(&mut report, &long);
    let put = &mut report.categories[1];
    (put.id, put.operation, put.cv) = ("javascript:alert(4)".to_owned(), long.clone(), f64::NAN);
    put.tree[4].operation = "\u{1b}[31m<script>alert(5)</script>".to_owned();
    put.tree[4].share = Some(f64::NEG_INFINITY);
    put.tree[1].parent = Some(u32::MAX);
    report.replicas[0].replica = format!("e{}", "\u{301}".repeat(5_000));
    report.replicas[0].p_value = f64::NAN;
    report.ruled_out =
        vec!["unpaired ` backtick | **bold** <script>alert(6)</script> @everyone \u{1b}[0m".to_owned()];
    report.cautions =
        vec![format!("`{long}` and `<i>` and [link](javascript:alert(7))"), "line\nbreak".to_owned()];
    report
        .input
        .losses
        .add(Loss::MalformedRecord, || "\u{1b}]8;;http://evil.example\u{7}click\n<a>".to_owned());
    report.settings.push(setting("<input>", "\u{9b}2J--><script>"));
    let map = report.heat_map.as_mut().expect("the fixture has a map");
    (map.operations[0], map.replicas[6]) = ("<script>alert(8)</script>".to_owned(), long);
    map.cells[0] = Some(HeatCell { calls: u64::MAX, slow: u64::MAX, factor: f64::NAN, flagged: true });
    let worst = Some(["<script>".to_owned(), "\u{1b}c".to_owned()]);
    report.input.clocks.worst_pair = worst;
    with_headline(report)
}

/// A thousand suspects, a map of 200 columns, trees of 150 nodes.
pub(crate) fn thousand() -> Report {
    let mut report = three_replicas();
    let mut draw = Draw(11);
    let tree = deep_tree();
    report.categories = (0..400_u64)
        .map(|at| {
            let id = format!("{:012x}", at * 7_919 + 1);
            let mut one = category(&id, &format!("POST /v2/{at}"), 20_000 - at * 49, 10.0, 90.0, 1.2);
            one.anomalous = at < 120;
            one.tree = if at < 60 { tree.clone() } else { Vec::new() };
            one
        })
        .collect();
    let suspect = |at: u32| Suspect {
        rank: at + 1,
        service: format!("service-{}", at % 40),
        operation: format!("operation {at}"),
        replicas: (0..at % 60).map(|n| format!("pod-{n:05}-7c9d8bb5f4-x{at:04}")).collect(),
        share: 0.2 * 0.8_f64.powi(at as i32),
        effect_ns: ms(90.0 * draw.unit() + 0.1),
        factor: 1.2 + 20.0 * draw.unit(),
        categories: (0..at % 9).map(|n| format!("{:012x}", u64::from(n) * 7_919 + 1)).collect(),
        ..write_suspect()
    };
    report.suspects = (0..1_000).map(suspect).collect();
    report.replicas = (0..80).map(|at| replica(at + 1, &format!("node{at:03}"), 30.0, 99, 1e-5)).collect();
    let rows: Vec<String> = (0..30).map(|at| format!("service-{at} operation {at}")).collect();
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    let mut map = heat_map(&rows, 200, &[3, 4, 5, 77, 140, 199], 5);
    map.replicas_omitted = 1_800;
    report.heat_map = Some(map);
    report.cautions = (0..30).map(|at| format!("Caution number {at} about `service-{at}`.")).collect();
    report.ruled_out = (0..30).map(|at| format!("Category {at} was found fine.")).collect();
    for loss in Loss::ALL {
        report.input.losses.add_many(loss, 17, || format!("an example of {}", loss.name()));
    }
    with_headline(report)
}
