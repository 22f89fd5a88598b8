//! Mi et al. 2012: clusters of call trees, anomalous requests by PCA, operations by rank tests, replicas.

use super::pca_details::details;
use crate::diagnose::answer::{CategoryAnalysis, MethodAnswer, PositionAnalysis, SurveyResult, Suspect};
use crate::diagnose::plural::counted;
use crate::diagnose::question::{DiagnoseMethod, DiagnoseQuestion};
use laggard_localize::{ClusterFinding, ColumnFinding, Mi, Mode, SplitDoubt, gate, mi};
use laggard_model::{Loss, MethodRow};

pub(crate) const ROW: MethodRow<DiagnoseMethod> = MethodRow {
    method: DiagnoseMethod::new("pca", false, diagnose),
    name: "pca",
    question: "Which operations distinguish anomalous requests, and on which replicas?",
    reads: "spans or call logs",
    source: "Mi et al., Sci. China Inf. Sci. 55(12), 2012",
    manual: "docs/manual/methods/pca.md",
};

fn diagnose(question: &DiagnoseQuestion<'_>) -> MethodAnswer {
    // The smallest categories count as well: they may join a larger one.
    let mut surveyed = question.survey(1);
    let settings = question.settings;
    let answer = mi(&surveyed.categories, &settings.pca, &settings.clouddiag, question.engine.threads());
    let thinned: usize = answer.clusters.iter().map(|cluster| cluster.rows_left_out).sum();
    surveyed.survey.losses.add_many(Loss::RowLimit, thinned as u64, String::new);
    MethodAnswer {
        ruled_out: ruled_out(&answer),
        cautions: cautions(question, &answer),
        categories: category_analyses(question, &surveyed, &answer),
        excess_ns: answer.excess_ns,
        pca: Some(details(question, &surveyed, &answer)),
        suspects: (answer.suspects.into_iter())
            .map(|suspect| Suspect::from_operation(suspect, Vec::new()))
            .collect(),
        ..MethodAnswer::new(surveyed)
    }
}

fn is_analyzed(cluster: &ClusterFinding) -> bool {
    cluster.split.doubt != SplitDoubt::TooFewRequests
}

/// A category is analyzed when its cluster was, and anomalous when the cluster has normal and anomalous requests.
/// Results at positions belong to the cluster's first category.
fn category_analyses(
    question: &DiagnoseQuestion<'_>,
    surveyed: &SurveyResult,
    answer: &Mi,
) -> Vec<CategoryAnalysis> {
    let unjudged = |latencies: &[f64]| laggard_localize::DispersionGate {
        judged: false,
        anomalous: false,
        ..gate(latencies, &question.settings.clouddiag)
    };
    let mut out: Vec<CategoryAnalysis> = (surveyed.categories.iter())
        .map(|category| CategoryAnalysis {
            gate: unjudged(&category.latencies()),
            positions: None,
            ranks: None,
        })
        .collect();
    for cluster in answer.clusters.iter().filter(|cluster| is_analyzed(cluster)) {
        for &category in &cluster.categories {
            out[category].gate.judged = true;
            out[category].gate.anomalous = cluster.split.doubt == SplitDoubt::None;
        }
        let position = |finding: &Option<ColumnFinding>| {
            finding.map_or_else(PositionAnalysis::default, |finding| PositionAnalysis {
                slow_requests: finding.slow_requests,
                cosine: None,
                share: finding.excess_share,
            })
        };
        out[cluster.categories[0]].positions = Some(cluster.positions.iter().map(position).collect());
    }
    out
}

fn ruled_out(answer: &Mi) -> Vec<String> {
    let with = |doubt| answer.clusters.iter().filter(|cluster| cluster.split.doubt == doubt).count();
    let analyzed = answer.clusters.iter().filter(|cluster| is_analyzed(cluster)).count();
    let clusters = |count| counted(count, "cluster", "clusters");
    let mut out = vec![];
    let undecided = with(SplitDoubt::NoEvidence) + with(SplitDoubt::NoResidualSpace);
    if undecided > 0 {
        out.push(format!("No two kinds of requests: {undecided} of {} analyzed.", clusters(analyzed)));
    }
    let flagged =
        |cluster: &&ClusterFinding| cluster.positions.iter().flatten().any(|position| position.flagged);
    let split = answer.clusters.iter().filter(|cluster| cluster.split.doubt == SplitDoubt::None);
    let unexplained = split.filter(|cluster| !flagged(cluster)).count();
    if unexplained > 0 {
        out.push(format!(
            "Requests of two kinds, but no operation that makes the difference: {unexplained} of {} analyzed.",
            clusters(analyzed)
        ));
    }
    out
}

fn cautions(question: &DiagnoseQuestion<'_>, answer: &Mi) -> Vec<String> {
    let mut out = vec![];
    let few = answer.clusters.iter().filter(|cluster| !is_analyzed(cluster));
    let (mut clusters, mut requests) = (0, 0);
    for cluster in few {
        clusters += 1;
        requests += cluster.requests;
    }
    if clusters > 0 {
        let needed = match question.settings.clouddiag.mode {
            Mode::Robust => format!("{} requests", question.settings.clouddiag.requests_min),
            Mode::Paper => "as many requests as positions".to_owned(),
        };
        out.push(format!(
            "Not analyzed, with less than {needed}: {} ({requests} requests in total).",
            counted(clusters, "major cluster", "major clusters")
        ));
    }
    if answer.uncovered_requests > 0 {
        out.push(format!(
            "{} requests are not similar to those of any major cluster and were not analyzed.",
            answer.uncovered_requests
        ));
    }
    if answer.uncompared_requests > 0 {
        out.push(format!(
            "{} requests were not compared with the major clusters, because there are too many call trees.",
            answer.uncompared_requests
        ));
    }
    let left_out: usize = answer.clusters.iter().map(|cluster| cluster.columns_left_out).sum();
    if left_out > 0 {
        out.push(format!(
            "{left_out} call-tree positions did not fit into the matrix and were not analyzed."
        ));
    }
    out
}
