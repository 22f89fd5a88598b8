//! Two rules of a dashboard, on the answers as users saw them: a 95th percentile and a share of errors, by page.
//!
//! Both look at the last five minutes, once a minute, and fire when they hold twice in a row. Limits of a percentile are what
//! people set by looking at normal operation: here, by page, from all of it.

use crate::CampaignError;
use crate::recording::Recording;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How much longer than usual the 95th percentile of a page may be.
const P95_FACTOR: f64 = 1.5;
/// Largest share of failed answers of a page.
const ERROR_SHARE: f64 = 0.05;
/// Failed answers below which a share says nothing.
const ERRORS_MIN: usize = 5;
/// Answers of a page below which nothing is evaluated.
const ANSWERS_MIN: usize = 20;
const WINDOW_S: f64 = 300.0;
const STEP_S: f64 = 60.0;
/// Evaluations in a row.
const IN_A_ROW: usize = 2;
/// First status that counts as failed; 0 stands for no answer.
const FAILED_FROM: u16 = 500;

/// An answer of the shop.
#[derive(Clone, PartialEq, Debug)]
struct PageAnswer {
    time_s: f64,
    page: String,
    ms: f64,
    status: u16,
}

impl PageAnswer {
    fn parse(line: &str) -> Option<PageAnswer> {
        let mut cells = line.split(',');
        let [time_s, page, ms, status] = [cells.next()?, cells.next()?, cells.next()?, cells.next()?];
        Some(PageAnswer {
            time_s: time_s.parse().ok()?,
            page: page.to_owned(),
            ms: ms.parse().ok()?,
            status: status.parse().ok()?,
        })
    }

    fn has_failed(&self) -> bool {
        self.status == 0 || self.status >= FAILED_FROM
    }
}

/// The alarm of a rule.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct RuleAlarm {
    /// Minutes after the fault began; `None` if it did not fire.
    pub(crate) minutes: Option<f64>,
    /// The pages it names at that time.
    pub(crate) pages: Vec<String>,
}

/// The answers of both rules.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct RuleAlarms {
    pub(crate) p95: RuleAlarm,
    pub(crate) errors: RuleAlarm,
}

/// Evaluates both rules during a fault. `normal` are the intervals of normal operation, in seconds since the epoch.
///
/// # Errors
/// When there is no record of the answers.
pub(crate) fn alarms(recording: &Recording, normal: &[(f64, f64)]) -> Result<RuleAlarms, CampaignError> {
    let conditions = &recording.conditions;
    let seconds = |ns: i64| (ns - conditions.moved_ns) as f64 / 1e9;
    let (began_s, ended_s) = (seconds(conditions.began_ns), seconds(conditions.ended_ns));
    let answers: Vec<PageAnswer> =
        recording.lines("answers.csv")?.iter().filter_map(|line| PageAnswer::parse(line)).collect();
    let is_normal =
        |answer: &&PageAnswer| normal.iter().any(|(since, until)| (*since..*until).contains(&answer.time_s));
    let usual = by_page(answers.iter().filter(is_normal));
    let limits: BTreeMap<&str, f64> =
        usual.iter().filter_map(|(page, answers)| Some((*page, P95_FACTOR * p95(answers)?))).collect();
    let is_slow = |page: &str, answers: &[&PageAnswer]| {
        limits.get(page).zip(p95(answers)).is_some_and(|(limit, p95)| p95 > *limit)
    };
    let fails = |_: &str, answers: &[&PageAnswer]| {
        let failed = answers.iter().filter(|answer| answer.has_failed()).count();
        failed >= ERRORS_MIN && failed as f64 > ERROR_SHARE * answers.len() as f64
    };
    // What came just before the fault and between faults is normal operation, or left out: a window has nothing else.
    let counts = |answer: &&PageAnswer| answer.time_s >= began_s || is_normal(answer);
    let answers: Vec<&PageAnswer> = answers.iter().filter(counts).collect();
    Ok(RuleAlarms {
        p95: first_alarm(&answers, (began_s, ended_s), is_slow),
        errors: first_alarm(&answers, (began_s, ended_s), fails),
    })
}

fn first_alarm(
    answers: &[&PageAnswer],
    (began_s, ended_s): (f64, f64),
    holds: impl Fn(&str, &[&PageAnswer]) -> bool,
) -> RuleAlarm {
    let mut in_a_row: BTreeMap<&str, usize> = BTreeMap::new();
    let mut at_s = began_s + STEP_S;
    while at_s <= ended_s {
        let inside = |answer: &&&PageAnswer| (at_s - WINDOW_S..at_s).contains(&answer.time_s);
        let now = by_page(answers.iter().filter(inside).copied());
        in_a_row = (now.iter())
            .filter(|(page, answers)| answers.len() >= ANSWERS_MIN && holds(page, answers))
            .map(|(page, _)| (*page, in_a_row.get(page).copied().unwrap_or(0) + 1))
            .collect();
        let fired: Vec<String> = in_a_row
            .iter()
            .filter(|(_, count)| **count >= IN_A_ROW)
            .map(|(page, _)| (*page).to_owned())
            .collect();
        if !fired.is_empty() {
            return RuleAlarm { minutes: Some((at_s - began_s) / 60.0), pages: fired };
        }
        at_s += STEP_S;
    }
    RuleAlarm::default()
}

fn by_page<'a>(answers: impl Iterator<Item = &'a PageAnswer>) -> BTreeMap<&'a str, Vec<&'a PageAnswer>> {
    let mut out: BTreeMap<&str, Vec<&PageAnswer>> = BTreeMap::new();
    for answer in answers {
        out.entry(&answer.page).or_default().push(answer);
    }
    out
}

/// The 95th percentile (nearest rank); `None` with too few answers.
fn p95(answers: &[&PageAnswer]) -> Option<f64> {
    let mut times: Vec<f64> = answers.iter().map(|answer| answer.ms).collect();
    times.sort_by(f64::total_cmp);
    let rank = (0.95 * times.len() as f64).ceil() as usize;
    if times.len() < ANSWERS_MIN { None } else { times.get(rank.max(1) - 1).copied() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer every half second, of two pages in turn.
    fn answers(seconds: std::ops::Range<u32>, answer: impl Fn(usize) -> (f64, u16)) -> Vec<PageAnswer> {
        let time = |index: usize| f64::from(seconds.start) + index as f64 / 2.0;
        let count = 2 * (seconds.end - seconds.start) as usize;
        let page = |index: usize| ["Home", "Search"][index % 2].to_owned();
        let sample = |index| {
            let (ms, status) = answer(index);
            PageAnswer { time_s: time(index), page: page(index), ms, status }
        };
        (0..count).map(sample).collect()
    }

    #[test]
    fn a_rule_fires_when_it_holds_twice() {
        let answers =
            answers(0..600, |index| if index % 2 == 1 && index >= 600 { (20.0, 200) } else { (10.0, 200) });
        let answers: Vec<&PageAnswer> = answers.iter().collect();
        let slow = |_: &str, answers: &[&PageAnswer]| p95(answers).is_some_and(|p95| p95 > 15.0);
        let alarm = first_alarm(&answers, (300.0, 600.0), slow);
        assert_eq!(alarm, RuleAlarm { minutes: Some(2.0), pages: vec!["Search".to_owned()] });
        assert_eq!(first_alarm(&answers, (0.0, 290.0), slow), RuleAlarm::default());
    }

    #[test]
    fn lines_are_read() {
        let answer = PageAnswer::parse("1795469503.416,Search Results,37.7,200").unwrap();
        assert_eq!((answer.page.as_str(), answer.ms, answer.has_failed()), ("Search Results", 37.7, false));
        assert!(PageAnswer::parse("time_s,interaction,ms,status").is_none());
    }

    #[test]
    fn few_responses_have_no_percentile() {
        let answers = answers(0..20, |index| (index as f64, 200));
        let answers: Vec<&PageAnswer> = answers.iter().collect();
        assert_eq!((p95(&answers), p95(&answers[..19])), (Some(37.0), None));
    }
}
