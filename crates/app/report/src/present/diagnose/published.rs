//! Intermediate results of the published methods, as in their papers: clusters, components, times of replicas, ranks of matrices.

use crate::document::{
    Axis, Block, Cell, CellKind, Chart, Color, Detail, HeatCell, HeatMap, LegendEntry, Panel, Prose, Section,
    Series, SeriesShape, SpanStyle, Table, TableRow, columns,
};
use crate::{Category, ClusterRole, MatrixRanks, PcaDetails, ReplicaTimes, Report, RequestCluster, numbers};

/// Rows of tables shown before the rest unfolds.
const PREVIEW: u32 = 12;
/// Rows of tables.
const ROWS: usize = 200;
/// Clusters whose variance is drawn.
const CURVES: usize = 6;
/// Rows and columns of a drawn histogram of replicas.
const DRAWN: [usize; 2] = [40, 100];
/// Lower ends of the steps of a histogram's colors: share of a replica's times in a bin.
const STEPS: [f64; 8] = [0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7];
const STEP_NAMES: [&str; 8] = ["< 1 %", "≥ 1 %", "≥ 2 %", "≥ 5 %", "≥ 10 %", "≥ 20 %", "≥ 40 %", "≥ 70 %"];

pub(super) fn sections(report: &Report) -> [Option<Section>; 3] {
    let pca = report.pca.as_ref();
    [pca.and_then(clusters), pca.and_then(replica_times), ranks(report)]
}

fn clusters(pca: &PcaDetails) -> Option<Section> {
    if pca.clusters.is_empty() {
        return None;
    }
    let columns = columns![
        Name "entry", Number "calls", Number "requests", Number "cumulative", Text "cluster", Number "components",
        Number "beyond limit"
    ];
    let row = |cluster: &RequestCluster| {
        let analyzed = cluster.components.as_ref();
        let number = |value: Option<u64>| value.map_or_else(Cell::empty, Cell::count);
        let variance = analyzed.and_then(|components| {
            components.cumulative_variance.get((components.normal as usize).checked_sub(1)?).copied()
        });
        let variance = variance.map_or_else(String::new, |share| format!(" ({})", numbers::share(share)));
        TableRow::new([
            Cell::named(Prose::operation(&cluster.service, &cluster.operation)),
            Cell::count(cluster.positions),
            Cell::count(cluster.requests),
            Cell::share(cluster.cumulative_share),
            Cell::text(role(cluster.role)),
            number(analyzed.map(|components| components.normal)).then(Prose::default().faint(variance)),
            number(analyzed.map(|components| components.beyond_limit)),
        ])
    };
    let table = Table::new("Clusters", &columns).preview(PREVIEW).at_most(ROWS, &pca.clusters, row);
    let section = Section::new("clusters", "Clusters of requests")
        .remark("with the same calls, the largest of each entry first")
        .detail(Detail::Full)
        .introduction(
            "The cumulative share is of the requests with the same entry. Smaller clusters join the major one that is \
             most similar, or stay separate. The components are the fewest that hold enough of the variance, with the \
             share they hold; requests beyond the limit are far from what these components describe.",
        );
    let omitted = pca.clusters_omitted;
    let more = Prose::from(format!("{} not listed.", numbers::counted(omitted, "smaller cluster")));
    let more = crate::document::Sentences::paragraphs((omitted > 0).then_some(more));
    Some(section.block(table).block(more).blocks(variance_chart(pca)))
}

const fn role(role: ClusterRole) -> &'static str {
    match role {
        ClusterRole::Major => "major",
        ClusterRole::Joined => "joined",
        ClusterRole::Separate => "separate",
        ClusterRole::NotCompared => "not compared",
    }
}

/// Cumulative variance by the number of components, one line for each of the first analyzed clusters.
fn variance_chart(pca: &PcaDetails) -> Option<Block> {
    let analyzed = pca.clusters.iter().filter_map(|cluster| Some((cluster, cluster.components.as_ref()?)));
    let drawn: Vec<_> =
        analyzed.filter(|(_, found)| found.cumulative_variance.len() > 1).take(CURVES).collect();
    let most = drawn.iter().map(|(_, found)| found.cumulative_variance.len()).max()?;
    let name = |cluster: &RequestCluster| {
        let entry = crate::names::label(&cluster.operation, 40);
        format!("{entry}, {}", numbers::counted(cluster.positions, "call"))
    };
    let mut panel = Panel::new("", 180, Axis::levels(0.0, 1.0, numbers::share));
    let mut legend = Vec::new();
    for (index, (cluster, found)) in drawn.iter().enumerate() {
        let points = found.cumulative_variance.iter().enumerate();
        let points = points.map(|(component, &share)| (component as f64 + 1.0, share));
        panel = panel.series(Series::new("", SeriesShape::Line, Color::series(index)).points(points));
        legend.push(LegendEntry::new(Color::series(index), name(cluster)));
    }
    let chart = Chart {
        caption: "Cumulative share of the variance by number of principal components".to_owned(),
        x: Axis::amounts(most as f64, |count| numbers::count(count as u64)),
        panels: vec![panel],
        marks: Vec::new(),
        legend,
        readout: false,
    };
    Some(Block::from(chart).detail(Detail::Page))
}

fn replica_times(pca: &PcaDetails) -> Option<Section> {
    let times: Vec<&ReplicaTimes> =
        pca.replica_times.iter().filter(|times| times.replicas.len() > 1).collect();
    if times.is_empty() {
        return None;
    }
    let columns =
        columns![Name "operation", Name "replica", Number "times", Number "distance", Number "ratio"];
    let rows: Vec<_> =
        times.iter().flat_map(|times| times.replicas.iter().map(move |replica| (*times, replica))).collect();
    let table =
        Table::new("Dissimilarity", &columns).preview(PREVIEW).at_most(ROWS, &rows, |(times, found)| {
            TableRow::new([
                Cell::named(Prose::operation(&times.service, &times.operation)),
                Cell::name(SpanStyle::Replica, &found.replica),
                Cell::count(found.values),
                ratio(found.distance),
                ratio(found.dissimilarity_ratio),
            ])
        });
    let section = Section::new("replica-times", "Times of replicas").remark("against each other").detail(Detail::Full).introduction(
        "How much the times of a suspect on one replica differ from those on the others: the mean Jensen–Shannon \
         distance to them (0 to 0.83), and its share of all pairwise distances, which is the same for all replicas \
         when none differs.",
    );
    Some(section.block(table).blocks(times.into_iter().filter_map(histogram)))
}

fn ratio(value: f64) -> Cell {
    Cell::worded(CellKind::Number, format!("{value:.3}"), value)
}

/// The times of each replica as a row of shares by bin.
fn histogram(times: &ReplicaTimes) -> Option<Block> {
    let bins = times.edges_ns.len().checked_sub(1).filter(|bins| (1..=DRAWN[1]).contains(bins))?;
    let replicas = &times.replicas[..times.replicas.len().min(DRAWN[0])];
    if replicas.iter().any(|replica| replica.shares.len() != bins) {
        return None;
    }
    let ends = |bin: usize| [times.edges_ns[bin], times.edges_ns[bin + 1]].map(numbers::time_float);
    let cell = |bin: usize, share: f64| {
        let [from, to] = ends(bin);
        HeatCell {
            color: Color::heat(STEPS.iter().rposition(|&least| share >= least).unwrap_or(0)),
            words: format!("{from} to {to}: {}", numbers::share(share)),
            symbol: None,
            framed: false,
            pale: false,
        }
    };
    let cells = replicas.iter().flat_map(|replica| {
        replica.shares.iter().enumerate().map(|(bin, &share)| (share > 0.0).then(|| cell(bin, share)))
    });
    let legend = STEP_NAMES.iter().enumerate();
    let map = HeatMap {
        caption: "Share of each replica's times by bin; rows by dissimilarity ratio".to_owned(),
        rows: replicas.iter().map(|found| Prose::name(SpanStyle::Replica, &found.replica)).collect(),
        columns: (0..bins).map(|bin| Prose::from(ends(bin)[0].clone())).collect(),
        cells: cells.collect(),
        legend: legend.map(|(step, name)| LegendEntry::new(Color::heat(step), *name)).collect(),
        frame_label: String::new(),
        empty_label: "no time in this bin".to_owned(),
    };
    Some(Block::from(map).titled(Prose::operation(&times.service, &times.operation)).detail(Detail::Page))
}

/// The ranks of the decomposed request matrices.
fn ranks(report: &Report) -> Option<Section> {
    let ranked = report.categories.iter().filter_map(|category| Some((category, category.ranks?)));
    let ranked: Vec<(&Category, MatrixRanks)> = ranked.collect();
    if ranked.is_empty() {
        return None;
    }
    let columns = columns![
        Text "category", Name "entry", Number "requests", Number "matrix", Number "low-rank part", Number "sparse part"
    ];
    let sum = |rank: fn(&MatrixRanks) -> u64| ranked.iter().map(|(_, ranks)| rank(ranks)).sum::<u64>();
    let together = format!(
        "in all {}, of low-rank parts {}, of sparse parts {}",
        numbers::count(sum(|ranks| ranks.matrix)),
        numbers::count(sum(|ranks| ranks.low_rank)),
        numbers::count(sum(|ranks| ranks.sparse)),
    );
    let table = Table::new("Ranks", &columns).preview(PREVIEW).at_most(ROWS, &ranked, |(category, ranks)| {
        TableRow::new([
            Cell::named(Prose::name(SpanStyle::Category, &category.id)),
            Cell::named(Prose::operation(&category.service, &category.operation)),
            Cell::count(category.requests),
            Cell::count(ranks.matrix),
            Cell::count(ranks.low_rank),
            Cell::count(ranks.sparse),
        ])
    });
    let section = Section::new("ranks", "Ranks of request matrices").remark(together).detail(Detail::Full);
    Some(section.block(table))
}
