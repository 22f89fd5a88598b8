//! The surveyed categories without calls that are not measured.

use super::site_study::SiteStudy;
use crate::diagnose::answer::SurveyResult;
use crate::diagnose::question::DiagnoseQuestion;
use crate::population::Selected;
use laggard_localize::CategoryCalls;
use laggard_model::OperationId;
use laggard_numeric::spread_evenly;
use std::borrow::Cow;

/// The categories for a comparison of calls. The time of an operation in a request is the sum over its calls, so that it is
/// measured with all of them or not.
pub(super) fn measured_categories<'a>(
    surveyed: &'a SurveyResult,
    study: &SiteStudy,
    question: &DiagnoseQuestion<'_>,
) -> Cow<'a, [CategoryCalls]> {
    let selected = study.selected(&question.window(), 0);
    if !selected.has_gaps() {
        return Cow::Borrowed(&surveyed.categories);
    }
    let measured = |category: &CategoryCalls| measured_calls(category, surveyed, &selected);
    Cow::Owned(question.engine.map(&surveyed.categories, measured))
}

fn measured_calls(
    category: &CategoryCalls,
    surveyed: &SurveyResult,
    selected: &Selected<'_>,
) -> CategoryCalls {
    let numbers = &surveyed.survey.categories[&category.id].numbers;
    // The rows are spread evenly over the category's requests.
    let rows = spread_evenly(numbers.len(), category.requests.len()).map(|index| numbers[index]);
    let unmeasured = |number: u32| -> Vec<OperationId> {
        let request = selected.range().requests().request(number as usize);
        let nodes = (0..request.calls()).filter(|&node| !selected.is_measured(&request, node));
        nodes.map(|node| request.tree().operation[node]).collect()
    };
    let unmeasured: Vec<Vec<OperationId>> = rows.map(unmeasured).collect();
    let mut out = category.clone();
    out.calls.retain(|call| {
        let operation = category.positions[call.position as usize].operation;
        !unmeasured[call.request as usize].contains(&operation)
    });
    out
}
