//! From flagged positions to suspect operations with their replicas (Mi 2012 §4.3 and §5).

use super::Study;
use super::replicas::{Observation, ReplicaHistograms, judge};
use crate::category::{Call, CategoryCalls};
use crate::cloud_diag::replicas::{ReplicaTest, Spread};
use crate::cloud_diag::settings::{CloudDiagSettings, Mode};
use crate::cloud_diag::{Excess, ReplicaCell, SuspectOperation};
use laggard_model::{OperationId, ReplicaId};
use laggard_numeric::{mean, median};
use std::collections::{BTreeMap, BTreeSet};

/// The input of judging operations.
pub(crate) struct ClusterEvidence<'a> {
    pub(crate) categories: &'a [CategoryCalls],
    pub(crate) studies: &'a [Study],
    pub(crate) shared: &'a CloudDiagSettings,
}

/// A suspect operation with the histograms of its replicas.
pub(crate) struct Suspect {
    pub(crate) operation: SuspectOperation,
    pub(crate) histograms: ReplicaHistograms,
    /// Mean excess of the anomalous requests times their number, over all flagged positions.
    excess_ns: f64,
}

/// A flagged column: cluster and column.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FlaggedColumn {
    study: usize,
    column: usize,
}

/// One value of a flagged column: all calls of a request there on one replica.
#[derive(Clone, Copy)]
struct Value {
    category: usize,
    request: u32,
    replica: ReplicaId,
    /// The first category of the cluster, which the value is reported for.
    filed: usize,
    anomalous: bool,
    time_ns: f64,
    usual_ns: f64,
    slow_ns: f64,
}

impl Value {
    fn excess_ns(&self) -> f64 {
        self.time_ns - self.usual_ns
    }

    fn ratio(&self) -> f64 {
        if self.usual_ns > 0.0 { self.time_ns / self.usual_ns } else { 1.0 }
    }

    fn is_slow(&self) -> bool {
        self.anomalous && self.time_ns > self.slow_ns
    }
}

impl ClusterEvidence<'_> {
    /// Operations by score (clusters they are flagged in), then summed excess, then handle.
    pub(crate) fn suspects(&self) -> Vec<Suspect> {
        let mut flagged: BTreeMap<OperationId, Vec<FlaggedColumn>> = BTreeMap::new();
        for (index, study) in self.studies.iter().enumerate() {
            let positions = &self.categories[study.members[0].category].positions;
            for (column, _) in study.columns.iter().enumerate().filter(|(_, finding)| finding.flagged) {
                let operation = positions[study.table.columns[column] as usize].operation;
                flagged.entry(operation).or_default().push(FlaggedColumn { study: index, column });
            }
        }
        let mut out: Vec<Suspect> = flagged
            .into_iter()
            .map(|(operation, columns_flagged)| self.suspect(operation, &columns_flagged))
            .collect();
        out.sort_by(|a, b| {
            let score = |suspect: &Suspect| suspect.operation.categories.len();
            score(b)
                .cmp(&score(a))
                .then(b.excess_ns.total_cmp(&a.excess_ns))
                .then(a.operation.operation.cmp(&b.operation.operation))
        });
        out
    }

    fn suspect(&self, operation: OperationId, columns_flagged: &[FlaggedColumn]) -> Suspect {
        let values = self.values(columns_flagged);
        // In paper mode only the anomalous requests' times are compared. Robust mode compares all of them: a
        // replica is slow relative to the usual time, and more times are better evidence.
        let compared = values.iter().filter(|value| value.anomalous || self.shared.mode == Mode::Robust);
        let observed: Vec<Observation> = compared
            .map(|value| Observation { replica: value.replica, time_ns: value.time_ns, ratio: value.ratio() })
            .collect();
        let judgment = judge(&observed, self.shared);
        let mut culprits: BTreeSet<ReplicaId> =
            judgment.tests.iter().filter(|test| test.flagged).map(|test| test.replica).collect();
        let mut slow: Vec<Value> = values.iter().copied().filter(Value::is_slow).collect();
        let spread = weigh(judgment.spread, &mut culprits, &slow);
        if spread == Spread::Localized {
            slow.retain(|value| culprits.contains(&value.replica));
        }
        let cells = cells(&judgment.tests, &culprits, &observed, &slow);
        let filed = |flagged: &FlaggedColumn| self.studies[flagged.study].members[0].category;
        let positions: BTreeSet<(usize, u32)> = columns_flagged
            .iter()
            .map(|flagged| (filed(flagged), self.studies[flagged.study].table.columns[flagged.column]))
            .collect();
        let categories: BTreeSet<usize> = columns_flagged.iter().map(filed).collect();
        let hit: BTreeSet<(usize, u32)> = slow.iter().map(|value| (value.category, value.request)).collect();
        let operation = SuspectOperation {
            operation,
            spread,
            replicas: worst_first(&cells),
            positions: positions.into_iter().collect(),
            categories: categories.into_iter().collect(),
            excess: excess(&slow),
            hit: hit.into_iter().collect(),
            cells,
        };
        let total = |flagged: &FlaggedColumn| {
            let study = &self.studies[flagged.study];
            let anomalous = study.split.anomalous.iter().filter(|&&is| is).count();
            study.columns[flagged.column].excess_ns * anomalous as f64
        };
        Suspect {
            operation,
            histograms: judgment.histograms,
            excess_ns: columns_flagged.iter().map(total).sum(),
        }
    }

    /// The genuine values of flagged columns, by column, then row.
    fn values(&self, columns_flagged: &[FlaggedColumn]) -> Vec<Value> {
        let mut out = Vec::new();
        for columns_flagged in columns_flagged.chunk_by(|a, b| a.study == b.study) {
            let study = &self.studies[columns_flagged[0].study];
            for (member, categories_member) in study.members.iter().enumerate() {
                self.add_values(study, columns_flagged, member, categories_member.category, &mut out);
            }
        }
        out
    }

    fn add_values(
        &self,
        study: &Study,
        columns_flagged: &[FlaggedColumn],
        member: usize,
        category: usize,
        out: &mut Vec<Value>,
    ) {
        let categories_member = &study.members[member];
        let mut column_at: BTreeMap<u32, usize> = BTreeMap::new();
        for flagged in columns_flagged {
            let position = study.table.columns[flagged.column];
            if let Some(own_position) = categories_member.position_at[position as usize] {
                column_at.insert(own_position, flagged.column);
            }
        }
        let mut anomalous: BTreeMap<u32, bool> = BTreeMap::new();
        for (row, is) in study.table.rows.iter().zip(&study.split.anomalous) {
            if row.member as usize == member {
                anomalous.insert(row.request, *is);
            }
        }
        let calls = &self.categories[category].calls;
        for calls in calls.chunk_by(|a, b| (a.request, a.position) == (b.request, b.position)) {
            let Some(&column) = column_at.get(&calls[0].position) else { continue };
            let Some(&anomalous) = anomalous.get(&calls[0].request) else { continue };
            let column = &study.columns[column];
            out.extend(by_replica(calls).into_iter().map(|(replica, time_ns, share)| Value {
                category,
                request: calls[0].request,
                replica,
                filed: study.members[0].category,
                anomalous,
                time_ns,
                usual_ns: column.usual_ns * share,
                slow_ns: column.slow_ns * share,
            }));
        }
    }
}

/// The calls of a request at one position, which are several in a loop, by replica: summed time, and share of
/// the calls.
fn by_replica(calls: &[Call]) -> Vec<(ReplicaId, f64, f64)> {
    let mut out: BTreeMap<ReplicaId, (f64, usize)> = BTreeMap::new();
    for call in calls {
        let sum = out.entry(call.replica).or_default();
        sum.0 += call.time_ns as f64;
        sum.1 += 1;
    }
    out.into_iter()
        .map(|(replica, (time_ns, count))| (replica, time_ns, count as f64 / calls.len() as f64))
        .collect()
}

/// Particular replicas are culprits only if at least this share of the excess arises on them.
const CULPRIT_SHARE: f64 = 0.5;

/// A fault on every replica remains one when a few replicas exceed the others a little.
fn weigh(spread: Spread, culprits: &mut BTreeSet<ReplicaId>, slow: &[Value]) -> Spread {
    let sum = |wanted: &dyn Fn(&Value) -> bool| -> f64 {
        slow.iter().filter(|value| wanted(value)).map(Value::excess_ns).sum()
    };
    let theirs = sum(&|value| culprits.contains(&value.replica));
    if spread != Spread::Localized || theirs >= CULPRIT_SHARE * sum(&|_| true) {
        return spread;
    }
    culprits.clear();
    Spread::Everywhere
}

fn worst_first(cells: &[ReplicaCell]) -> Vec<ReplicaId> {
    let mut culprits: Vec<&ReplicaCell> = cells.iter().filter(|cell| cell.culprit).collect();
    culprits.sort_by(|a, b| {
        b.excess_total_ns.total_cmp(&a.excess_total_ns).then(a.test.replica.cmp(&b.test.replica))
    });
    culprits.iter().map(|cell| cell.test.replica).collect()
}

fn excess(slow: &[Value]) -> Excess {
    let mut excesses: Vec<f64> = slow.iter().map(Value::excess_ns).collect();
    let mut factors: Vec<f64> = slow.iter().map(Value::ratio).collect();
    Excess {
        calls: slow.len() as u64,
        total_ns: excesses.iter().sum(),
        median_ns: median(&mut excesses),
        median_factor: if factors.is_empty() { 1.0 } else { median(&mut factors) },
    }
}

fn cells(
    tests: &[ReplicaTest],
    culprits: &BTreeSet<ReplicaId>,
    observed: &[Observation],
    slow: &[Value],
) -> Vec<ReplicaCell> {
    let mut ratios: BTreeMap<ReplicaId, Vec<f64>> = BTreeMap::new();
    for observation in observed {
        ratios.entry(observation.replica).or_default().push(observation.ratio);
    }
    let mut slow_on: BTreeMap<ReplicaId, Vec<&Value>> = BTreeMap::new();
    for value in slow {
        slow_on.entry(value.replica).or_default().push(value);
    }
    let cell = |&test: &ReplicaTest| {
        let values = slow_on.get(&test.replica).map_or(&[][..], Vec::as_slice);
        let mut excesses: Vec<f64> = values.iter().map(|value| value.excess_ns()).collect();
        let categories: BTreeSet<usize> = values.iter().map(|value| value.filed).collect();
        ReplicaCell {
            test,
            culprit: culprits.contains(&test.replica),
            categories: categories.len() as u64,
            excess_total_ns: excesses.iter().sum(),
            excess_median_ns: median(&mut excesses),
            factor_mean: ratios.get(&test.replica).map_or(1.0, |ratios| mean(ratios)),
        }
    };
    tests.iter().map(cell).collect()
}
