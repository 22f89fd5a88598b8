//! When a burn rate is an alert: the multiwindow rules of chapter 5 of Google's SRE workbook, and how much evidence they need.

use super::block::{Block, BlockCounts, Count};
use super::burn::{FIVE_MINUTES, HALF_HOUR, HOUR, SIX_HOURS, THREE_DAYS, burn_rate, chance, window_count};
use super::figures::budget_left;
use crate::alerts::{
    BurningObjective, Interval, ObjectiveCause, ObjectiveEvaluation, ObjectiveFinding, ObjectiveSeverity,
    ObjectiveSubject,
};
use crate::settings::ObjectiveSettings;
use laggard_model::{Nanos, Timestamp};

/// Both windows reach the burn rate: the longer one shows that it matters, the shorter one that it goes on.
struct Rule {
    severity: ObjectiveSeverity,
    threshold: f64,
    long: Nanos,
    short: Nanos,
}

/// 14.4 for an hour uses up 2 % of a budget of 30 days, 6 for six hours 5 %, and 1 for three days 10 %.
const RULES: [Rule; 3] = [
    Rule { severity: ObjectiveSeverity::Page, threshold: 14.4, long: HOUR, short: FIVE_MINUTES },
    Rule { severity: ObjectiveSeverity::Page, threshold: 6.0, long: SIX_HOURS, short: HALF_HOUR },
    Rule { severity: ObjectiveSeverity::Ticket, threshold: 1.0, long: THREE_DAYS, short: SIX_HOURS },
];

/// Bad requests that the longer window has at least: fewer are single events, whatever their share.
const BAD_MIN: u64 = 5;

/// Maximum probability of as many bad requests in the longer window if the objective is just met.
const CHANCE_MAX: f64 = 0.001;

/// Burn rates are compared with this relative tolerance: a share of 14.4 times 0.05 % is not exact in binary.
const TOLERANCE: f64 = 1e-9;

/// Result of a rule for an objective.
enum RuleOutcome {
    Met,
    NotMet,
    /// A window without requests leaves it open.
    NoData,
}

impl Rule {
    fn outcome(&self, long: &Count, short: &Count, allowed: f64) -> RuleOutcome {
        let reaches =
            |count: &Count| burn_rate(count, allowed).map(|rate| rate >= self.threshold * (1.0 - TOLERANCE));
        let is_evident = || long.bad >= BAD_MIN && chance(long, allowed) <= CHANCE_MAX;
        match (reaches(long), reaches(short)) {
            (Some(false), _) | (_, Some(false)) => RuleOutcome::NotMet,
            (Some(true), _) if !is_evident() => RuleOutcome::NotMet,
            (Some(true), Some(true)) => RuleOutcome::Met,
            _ => RuleOutcome::NoData,
        }
    }
}

/// Evaluates one objective. `cause` explains its bad requests.
pub(super) fn evaluate(
    objective: &ObjectiveSettings,
    counts: &BlockCounts,
    cause: Option<&ObjectiveCause>,
    now: Timestamp,
) -> ObjectiveEvaluation {
    let mut evaluation = ObjectiveEvaluation::default();
    for severity in [ObjectiveSeverity::Page, ObjectiveSeverity::Ticket] {
        let (mut met, mut is_open) = (None, false);
        for rule in RULES.iter().filter(|rule| rule.severity == severity) {
            let (long, short) = (window_count(counts, rule.long, now), window_count(counts, rule.short, now));
            match rule.outcome(&long, &short, objective.allowed_share()) {
                RuleOutcome::Met => met = met.or(Some((rule, long, short))),
                RuleOutcome::NotMet => {}
                RuleOutcome::NoData => is_open = true,
            }
        }
        match met {
            Some((rule, long, short)) => {
                let mut burning = burning(objective, counts, rule, [&long, &short], now);
                burning.finding.cause = cause.cloned();
                evaluation.burning.push(burning);
            }
            None if is_open => {}
            None => {
                let objective = objective.name.clone();
                evaluation.healthy.push(ObjectiveSubject { objective, severity });
            }
        }
    }
    evaluation
}

fn burning(
    objective: &ObjectiveSettings,
    counts: &BlockCounts,
    rule: &Rule,
    [long, short]: [&Count; 2],
    now: Timestamp,
) -> BurningObjective {
    let allowed = objective.allowed_share();
    let since = now.minus(rule.long);
    let is_onset = |(_, count): &(&Block, &Count)| {
        burn_rate(count, allowed).is_some_and(|rate| rate >= rule.threshold * (1.0 - TOLERANCE))
    };
    let onset = counts.range(Block::at(since)..=Block::at(now)).find(is_onset);
    let whole = window_count(counts, objective.period(), now);
    BurningObjective {
        finding: ObjectiveFinding {
            objective: objective.name.clone(),
            severity: rule.severity,
            service: objective.service.clone(),
            operation: objective.operation.clone(),
            target: objective.target,
            burn_rate: burn_rate(long, allowed).unwrap_or_default(),
            short_burn_rate: burn_rate(short, allowed).unwrap_or_default(),
            threshold: rule.threshold,
            long_ns: rule.long.ns(),
            short_ns: rule.short.ns(),
            requests: long.requests,
            bad: long.bad,
            budget_left: budget_left(&whole, allowed).unwrap_or_default(),
            cause: None,
            onset_ns: onset.map(|(block, _)| block.since().unix_ns()),
        },
        window: interval(since, now),
        baseline: interval(now.minus(objective.period()).min(since), since),
    }
}

fn interval(since: Timestamp, until: Timestamp) -> Interval {
    Interval { since_ns: since.unix_ns(), until_ns: until.unix_ns() }
}
