//! CloudDiag: categories by dispersion, operations and replicas by robust PCA.

use crate::findings::{Findings, JudgedCategory, JudgedPosition};
use crate::report::{Context, counted, report};
use crate::scan::{Question, Scanned};
use laggard_localize::{CategoryFinding, CloudDiag, PositionFinding, cloud_diag};
use laggard_report::Report;

/// Answers a question with CloudDiag.
pub(crate) fn diagnose(question: &Question<'_>) -> Report {
    let settings = &question.settings.clouddiag;
    let scanned = question.scan(settings.requests_min);
    let answer = cloud_diag(&scanned.categories, settings, question.engine.threads());
    let found = Findings {
        ruled_out: ruled_out(question, &scanned, &answer),
        cautions: cautions(&answer),
        categories: answer.categories.iter().map(judged).collect(),
        suspects: answer.suspects,
        excess_ns: answer.excess_ns,
        ..Findings::default()
    };
    report(&Context { question, survey: &scanned.survey, categories: &scanned.categories, found: &found })
}

pub(crate) fn judged(finding: &CategoryFinding) -> JudgedCategory {
    let position = |found: &PositionFinding| JudgedPosition {
        slow_requests: found.support,
        cosine: Some(found.cosine),
        share: found.share.min(1.0),
    };
    let positions = finding.positions.as_ref().map(|positions| positions.iter().map(position).collect());
    JudgedCategory { gate: finding.gate, positions }
}

pub(crate) fn ruled_out(question: &Question<'_>, scanned: &Scanned, answer: &CloudDiag) -> Vec<String> {
    let gates = || answer.categories.iter().map(|category| category.gate);
    let judged = gates().filter(|gate| gate.judged).count();
    let anomalous = gates().filter(|gate| gate.anomalous).count();
    let mut out = vec![];
    if judged > anomalous {
        out.push(format!(
            "No unusual dispersion of latency and no heavy tail: {} of {} judged.",
            judged - anomalous,
            counted(judged, "category", "categories")
        ));
    }
    let requests_min = question.settings.clouddiag.requests_min;
    let small = scanned.survey.categories.len() - judged;
    if small > 0 {
        let requests: usize = (scanned.survey.categories.values())
            .map(|category| category.requests.len())
            .filter(|&requests| (requests as u64) < requests_min)
            .sum();
        out.push(format!(
            "Only summarized, for fewer than {requests_min} requests each: {} ({} in all).",
            counted(small, "category", "categories"),
            counted(requests, "request", "requests")
        ));
    }
    out
}

pub(crate) fn cautions(answer: &CloudDiag) -> Vec<String> {
    let mut out = vec![];
    let left_out: usize = answer.categories.iter().map(|category| category.columns_left_out).sum();
    if left_out > 0 {
        out.push(format!("{left_out} call-tree positions had no room in their matrix and were not judged."));
    }
    let unconverged = answer.categories.iter().filter(|category| !category.converged).count();
    if unconverged > 0 {
        out.push(format!("The decomposition of {unconverged} categories stopped before it converged."));
    }
    out
}
