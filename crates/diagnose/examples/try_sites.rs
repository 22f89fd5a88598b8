//! scratch
use laggard_diagnose::*;
use laggard_engine::*;
use laggard_formats::*;
use laggard_localize::*;
use laggard_model::*;
struct NoProgress;
impl Progress for NoProgress {
    fn bytes(&self, _: u64) {}
}
fn load(path: &str) -> Traces {
    let sources = expand(&[path.into()]).unwrap();
    let mut ingest = Ingest::new(IngestSettings::default());
    read_all(&sources, &InputSettings::default(), &mut ingest, &NoProgress).unwrap();
    ingest.finish(std::num::NonZeroUsize::new(2).unwrap())
}
fn name(u: &UnionNames, s: Site) -> String {
    let o = |id| {
        let k = u.names().operation_key(id);
        format!("{} {}", k.service, k.operation)
    };
    match s {
        Site::Operation(a) => format!("self {}", o(a)),
        Site::Chain(a) => format!("chain {}", o(a)),
        Site::Link { caller, callee } => format!("link {} -> {}", o(caller), o(callee)),
    }
}
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let engine = LocalEngine::new(std::num::NonZeroUsize::new(2).unwrap());
    let a = load(&args[1]);
    let base = args.get(2).filter(|x| x.contains('/')).map(|p| load(p));
    let pops: Vec<Population> =
        std::iter::once(Population::all(&a)).chain(base.as_ref().map(Population::all)).collect();
    let union = UnionNames::of_populations(&pops);
    let t0 = std::time::Instant::now();
    let tables: Vec<SiteTable> = pops
        .iter()
        .enumerate()
        .map(|(i, p)| engine.fold(p.traces, &SiteFold { selected: union.select(p, i) }))
        .collect();
    println!(
        "fold {:?} sites {} sets {} requests {} obs {}",
        t0.elapsed(),
        tables[0].sites.len(),
        tables[0].sets.len(),
        tables[0].requests.len(),
        tables[0].observations.len()
    );
    let t0 = std::time::Instant::now();
    for u in find_uneven_sites(&tables[0], &CulpritSettings::default()) {
        println!(
            "UNEVEN {} of {} excess {:.1} ms: {}",
            name(&union, u.site),
            u.replicas,
            u.excess_ns / 1e6,
            u.culprits
                .iter()
                .map(|c| format!(
                    "{}({:.2} p{:.0e})",
                    union.names().replica_name(c.replica),
                    c.factor,
                    c.p_adjusted
                ))
                .collect::<Vec<_>>()
                .join(" ")
        );
    }
    println!("uneven {:?}", t0.elapsed());
    let t0 = std::time::Instant::now();
    let inc = find_incidents(&tables[0], &ScanSettings::default());
    println!("scan {:?}", t0.elapsed());
    let show = |b: &SiteTable, w: &SiteTable| {
        let mut ch: Vec<_> =
            compare_sites(b, w, &ChangeSettings::default()).into_iter().filter(|c| c.slower).collect();
        ch.sort_by(|a, b| b.path_excess_ns.total_cmp(&a.path_excess_ns));
        let total: f64 = w.latency_total_ns();
        for c in ch.iter().take(12) {
            println!(
                "   {} x{:.3} [{:.3},{:.3}] +{:.2}ms path share of latency {:.4} p {:.1e}",
                name(&union, c.site),
                c.factor,
                c.factor_low,
                c.factor_high,
                c.excess_ns / 1e6,
                c.path_excess_ns / total,
                c.p_adjusted
            );
        }
        println!("   {} slower", ch.len());
    };
    let m0 = tables[0].requests[0].start.unix_ns() / 60_000_000_000 * 60_000_000_000;
    for i in &inc {
        println!(
            "INCIDENT min {:.0}..{:.0} bins {} excess {:.2}",
            (i.since.unix_ns() - m0) as f64 / 6e10,
            (i.until.unix_ns() - m0) as f64 / 6e10,
            i.bins,
            i.excess_share
        );
        let within = |r: &SiteRequest| r.start >= i.since && r.start < i.until;
        let outside = |r: &SiteRequest| !inc.iter().any(|i| r.start >= i.since && r.start < i.until);
        show(&tables[0].only(outside), &tables[0].only(within));
    }
    if let Some(b) = tables.get(1) {
        show(b, &tables[0]);
    }
}
