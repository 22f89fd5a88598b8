//! CloudDiag: categories by dispersion, operations and replicas by robust PCA.

use crate::diagnose::answer::{CategoryAnalysis, MethodAnswer, PositionAnalysis, SurveyResult, Suspect};
use crate::diagnose::plural::counted;
use crate::diagnose::question::{DiagnoseMethod, DiagnoseQuestion};
use laggard_localize::{CategoryFinding, CloudDiag, PositionFinding, cloud_diag_with_ranks};
use laggard_model::MethodRow;
use laggard_report::MatrixRanks;

pub(crate) const ROW: MethodRow<DiagnoseMethod> = MethodRow {
    method: DiagnoseMethod::new("clouddiag", false, diagnose),
    name: "clouddiag",
    question: "Which operations on which replicas make requests slow?",
    reads: "spans or call logs",
    source: "Mi et al., IEEE TPDS 24(6), 2013",
    manual: "docs/manual/methods/clouddiag.md",
};

fn diagnose(question: &DiagnoseQuestion<'_>) -> MethodAnswer {
    let settings = &question.settings.clouddiag;
    let surveyed = question.survey(settings.requests_min);
    let answer = cloud_diag_with_ranks(&surveyed.categories, settings, question.engine.threads());
    MethodAnswer {
        ruled_out: ruled_out(&answer).into_iter().chain(summarized(question, &surveyed)).collect(),
        cautions: cautions(&answer),
        categories: answer.categories.iter().map(category_analysis).collect(),
        suspects: (answer.suspects.into_iter())
            .map(|suspect| Suspect::from_operation(suspect, Vec::new()))
            .collect(),
        excess_ns: answer.excess_ns,
        ..MethodAnswer::new(surveyed)
    }
}

/// The analysis of a category, for the report.
pub(crate) fn category_analysis(finding: &CategoryFinding) -> CategoryAnalysis {
    let position = |position: &PositionFinding| PositionAnalysis {
        slow_requests: position.support,
        cosine: Some(position.cosine),
        share: position.share.min(1.0),
    };
    let positions = finding.positions.as_ref().map(|positions| positions.iter().map(position).collect());
    let ranks = finding.ranks.map(|ranks| MatrixRanks {
        matrix: ranks.matrix as u64,
        low_rank: ranks.low_rank as u64,
        sparse: ranks.sparse as u64,
    });
    CategoryAnalysis { gate: finding.gate, positions, ranks }
}

/// Categories that were analyzed and are normal.
pub(crate) fn ruled_out(answer: &CloudDiag) -> Option<String> {
    let gates = || answer.categories.iter().map(|category| category.gate);
    let analyzed = gates().filter(|gate| gate.judged).count();
    let anomalous = gates().filter(|gate| gate.anomalous).count();
    (analyzed > anomalous).then(|| {
        format!(
            "No unusual dispersion of latency and no heavy tail: {} of {} analyzed.",
            analyzed - anomalous,
            counted(analyzed, "category", "categories")
        )
    })
}

/// Categories with too few requests.
fn summarized(question: &DiagnoseQuestion<'_>, surveyed: &SurveyResult) -> Option<String> {
    let requests_min = question.settings.clouddiag.requests_min;
    let sizes = surveyed.survey.categories.values().map(|category| category.requests.len());
    let few: Vec<usize> = sizes.filter(|&requests| (requests as u64) < requests_min).collect();
    (!few.is_empty()).then(|| {
        format!(
            "Only summarized, with fewer than {requests_min} requests each: {} ({} in total).",
            counted(few.len(), "category", "categories"),
            counted(few.iter().sum(), "request", "requests")
        )
    })
}

/// Cautions of this method: conditions under which its answer is less certain.
pub(crate) fn cautions(answer: &CloudDiag) -> Vec<String> {
    let mut out = vec![];
    let left_out: usize = answer.categories.iter().map(|category| category.columns_left_out).sum();
    if left_out > 0 {
        out.push(format!(
            "{left_out} call-tree positions did not fit into the matrix and were not analyzed."
        ));
    }
    let unconverged = answer.categories.iter().filter(|category| !category.converged).count();
    if unconverged > 0 {
        out.push(format!("The decomposition of {unconverged} categories stopped before it converged."));
    }
    out
}
