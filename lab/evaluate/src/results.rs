//! Results of measurements and merging of partial results.

use crate::arm::{Arms, Family, MethodRow, Outcome};
use crate::changes::{ChangeScore, DemandScore, change_finders, demand_estimators};
use crate::executions::{ExecutionScore, execution_finders};
use crate::hits::{HitScore, hit_finders};
use crate::judge::Judgment;
use crate::methods::localizers;
use crate::patterns::{PatternScore, pattern_finders};
use crate::sets::SetKind;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// How right a localizer's answer is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LocalizerScore {
    /// Length of a quiet window in hours; 0 where false findings are not counted by the hour.
    pub hours: f64,
    /// In a scan: whether the fault raised an alarm in time.
    pub detected: Option<bool>,
    /// Alarms raised where nothing is wrong: at most one for a case, any number for a run over much data.
    pub false_alarms: usize,
    /// Ranks, replicas, and the wrong answer if it is wrong.
    pub judgment: Judgment,
}

/// How right the groups are that a pattern finder named.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct GroupScore {
    /// `None` where nothing was hit, so that every group named is a false finding.
    pub score: Option<PatternScore>,
    /// Groups named.
    pub groups: usize,
}

/// Everything that was measured.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Results {
    /// Of incidents in traces. Run times include assembly.
    pub localizers: Family<LocalizerScore>,
    /// Of matrices of requests.
    pub patterns: Family<GroupScore>,
    /// Of windows with changes, or without.
    pub changes: Family<ChangeScore>,
    /// Of windows with known demands.
    pub demands: Family<DemandScore>,
    /// Of sets of executions.
    pub executions: Family<ExecutionScore>,
    /// Of the requests that the first suspects of simulated incidents hit.
    pub hits: Family<HitScore>,
    /// By simulated set and method: the seeds.
    pub seeds: BTreeMap<SetKind, BTreeMap<String, BTreeSet<u64>>>,
    /// Simulated requests of each of the three services.
    pub requests: BTreeSet<u32>,
    /// Notes for the reader: sets that are absent, faults without data.
    pub notes: Vec<String>,
    /// Processor cores of the machine.
    pub cores: usize,
}

impl Results {
    /// Whether nothing was measured.
    pub(crate) fn is_empty(&self) -> bool {
        self.localizers.outcomes.is_empty()
            && self.patterns.outcomes.is_empty()
            && self.changes.outcomes.is_empty()
            && self.demands.outcomes.is_empty()
            && self.executions.outcomes.is_empty()
            && self.hits.outcomes.is_empty()
    }

    /// Every set with a result.
    pub(crate) fn sets(&self) -> BTreeSet<SetKind> {
        let mut out = self.localizers.sets();
        for sets in [
            self.patterns.sets(),
            self.changes.sets(),
            self.demands.sets(),
            self.executions.sets(),
            self.hits.sets(),
        ] {
            out.extend(sets);
        }
        out
    }

    /// The names of the methods with a result in a set.
    pub(crate) fn methods_in(&self, set: SetKind) -> BTreeSet<String> {
        let mut out = self.localizers.methods_in(set);
        out.extend(self.patterns.methods_in(set));
        out.extend(self.changes.methods_in(set));
        out.extend(self.demands.methods_in(set));
        out.extend(self.executions.methods_in(set));
        out.extend(self.hits.methods_in(set));
        out
    }

    /// Puts the methods into the order of a run of all of them; merged parts have them in any order.
    fn order_methods(&mut self) {
        let names: Vec<String> = localizers(None).iter().map(|method| method.name().to_owned()).collect();
        self.localizers.order(&names);
        self.patterns.order(&names_of(&pattern_finders()));
        self.changes.order(&names_of(&change_finders()));
        self.demands.order(&names_of(&demand_estimators()));
        self.executions.order(&names_of(&execution_finders()));
        self.hits.order(&names_of(&hit_finders()));
    }

    /// Adds the results of another run. Where both have a case, the other's result replaces the own.
    pub fn merge(&mut self, other: Results) {
        self.localizers.merge(other.localizers);
        self.patterns.merge(other.patterns);
        self.changes.merge(other.changes);
        self.demands.merge(other.demands);
        self.executions.merge(other.executions);
        self.hits.merge(other.hits);
        for (set, methods) in other.seeds {
            for (method, seeds) in methods {
                self.seeds.entry(set).or_default().entry(method).or_default().extend(seeds);
            }
        }
        self.requests.extend(other.requests);
        for note in other.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        self.cores = self.cores.max(other.cores);
        self.order_methods();
    }
}

fn names_of<Input: ?Sized, Output>(arms: &Arms<Input, Output>) -> Vec<String> {
    arms.iter().map(|arm| arm.name().to_owned()).collect()
}

impl<Score> Family<Score> {
    fn sets(&self) -> BTreeSet<SetKind> {
        self.outcomes.iter().map(|outcome| outcome.group.set).collect()
    }

    fn merge(&mut self, other: Family<Score>) {
        let numbers: Vec<usize> = other.methods.into_iter().map(|row| self.number(row)).collect();
        let others: Vec<Outcome<Score>> = (other.outcomes.into_iter())
            .map(|outcome| Outcome { method: numbers[outcome.method], ..outcome })
            .collect();
        let replaced: BTreeSet<(usize, String, &str)> = others
            .iter()
            .map(|outcome| (outcome.method, outcome.group.path(), outcome.case.as_str()))
            .collect();
        self.outcomes.retain(|outcome| {
            !replaced.contains(&(outcome.method, outcome.group.path(), outcome.case.as_str()))
        });
        self.outcomes.extend(others);
    }

    /// The names of the methods with a result in a set.
    fn methods_in(&self, set: SetKind) -> BTreeSet<String> {
        let in_set = self.outcomes.iter().filter(|outcome| outcome.group.set == set);
        in_set.map(|outcome| self.methods[outcome.method].name.clone()).collect()
    }

    /// Puts the methods into the order of some names; others follow.
    fn order(&mut self, names: &[String]) {
        let rank = |row: &MethodRow| names.iter().position(|name| *name == row.name).unwrap_or(names.len());
        let mut order: Vec<usize> = (0..self.methods.len()).collect();
        order.sort_by_key(|&method| rank(&self.methods[method]));
        let mut numbers = vec![0; order.len()];
        order.iter().enumerate().for_each(|(number, &method)| numbers[method] = number);
        self.methods.sort_by_key(rank);
        self.outcomes.iter_mut().for_each(|outcome| outcome.method = numbers[outcome.method]);
    }

    /// The number of a method, new or known by its name.
    fn number(&mut self, row: MethodRow) -> usize {
        self.position(&row.name).unwrap_or_else(|| {
            self.methods.push(row);
            self.methods.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Cost;
    use crate::sets::Group;

    fn family(methods: &[&str], outcomes: &[(usize, &str, bool)]) -> Family<bool> {
        let row =
            |name: &&str| MethodRow { name: (*name).to_owned(), is_laggard: false, uses_baseline: false };
        let outcome = |&(method, case, score): &(usize, &str, bool)| Outcome {
            group: Group::new(SetKind::Days, "quiet"),
            case: case.to_owned(),
            method,
            score,
            error: None,
            cost: Cost::default(),
        };
        Family {
            methods: methods.iter().map(row).collect(),
            outcomes: outcomes.iter().map(outcome).collect(),
        }
    }

    #[test]
    fn merged_results_know_methods_by_name_and_replace_equal_cases() {
        let mut all = family(&["ours", "theirs"], &[(0, "a", false), (1, "a", false)]);
        all.merge(family(&["theirs", "new"], &[(0, "a", true), (0, "b", true), (1, "a", true)]));
        let names: Vec<&str> = all.methods.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["ours", "theirs", "new"]);
        let rows: Vec<_> = (all.outcomes.iter())
            .map(|outcome| (outcome.method, outcome.case.as_str(), outcome.score))
            .collect();
        assert_eq!(rows, [(0, "a", false), (1, "a", true), (1, "b", true), (2, "a", true)]);
    }

    #[test]
    fn the_default_method_is_listed_first_in_any_merge_order() {
        let part = |methods: &[&str], seed: u64| {
            let names = methods.iter().map(|&name| (name.to_owned(), BTreeSet::from([seed])));
            let results = family(methods, &[(0, "a", false)]);
            let outcomes = results.outcomes.into_iter().map(|outcome| Outcome {
                group: outcome.group,
                case: outcome.case,
                method: outcome.method,
                score: GroupScore { score: None, groups: methods.len() },
                error: None,
                cost: outcome.cost,
            });
            Results {
                patterns: Family { methods: results.methods, outcomes: outcomes.collect() },
                seeds: BTreeMap::from([(SetKind::Days, names.collect())]),
                ..Results::default()
            }
        };
        let mut all = part(&["slowest fifth", "best column"], 301);
        all.merge(part(&["latency patterns"], 302));
        all.merge(part(&["latency patterns"], 303));
        let names: Vec<&str> = all.patterns.methods.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["latency patterns", "slowest fifth", "best column"]);
        let groups: Vec<(usize, usize)> =
            all.patterns.outcomes.iter().map(|outcome| (outcome.method, outcome.score.groups)).collect();
        assert_eq!(groups, [(1, 2), (0, 1)]);
        let seeds = &all.seeds[&SetKind::Days];
        assert_eq!(seeds["latency patterns"], BTreeSet::from([302, 303]));
        assert_eq!(seeds["best column"], BTreeSet::from([301]));
        assert_eq!(
            all.methods_in(SetKind::Days),
            ["latency patterns", "slowest fifth"].map(str::to_owned).into()
        );
    }
}
