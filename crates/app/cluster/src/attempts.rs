//! Units that did not arrive are computed again at other workers.

use crate::chunks::{Assembler, UnitAnswer};
use crate::engine::{Assigned, EngineRoot};
use async_trait::async_trait;
use futures::StreamExt;
use laggard_engine::UnitId;
use laggard_store::UnitWorkers;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How often a unit is asked for.
const ATTEMPTS_MAX: usize = 3;

/// A worker that failed is asked last for so long.
const AVOIDED_FOR: Duration = Duration::from_secs(30);

/// An attempt ends when no worker has answered for so long. Workers that are gone are noticed earlier, by their connections.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// How the workers are reached.
#[derive(Clone, Debug)]
pub struct ClusterSettings {
    /// Addresses of the workers: `host:port`.
    pub workers: Vec<String>,
    /// The token that they require.
    pub token: String,
    /// Which build this program is; workers refuse another one.
    pub build: String,
}

/// Workers that compute units for this process.
pub struct Cluster {
    names: Vec<String>,
    engine: EngineRoot,
    /// When workers failed, by index.
    failed: Mutex<BTreeMap<usize, Instant>>,
}

impl Cluster {
    /// Workers at some addresses. They are connected to when there is something to compute.
    ///
    /// # Errors
    /// When there is none, one is named twice, or an address or the token cannot be sent.
    pub fn new(settings: &ClusterSettings) -> Result<Cluster, String> {
        let names = settings.workers.clone();
        if names.is_empty() {
            return Err("no worker is named".to_owned());
        }
        if let Some(twice) = names.iter().enumerate().find(|(index, name)| names[..*index].contains(name)) {
            return Err(format!("worker {} is named twice", twice.1));
        }
        Ok(Cluster { names, engine: EngineRoot::new(settings)?, failed: Mutex::default() })
    }

    /// Workers that may be asked: those that have not failed recently, or all if all have.
    fn usable(&self) -> Vec<usize> {
        let mut failed = self.failed.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        failed.retain(|_, since| since.elapsed() < AVOIDED_FOR);
        let all = 0..self.names.len();
        let usable: Vec<usize> = all.clone().filter(|worker| !failed.contains_key(worker)).collect();
        if usable.is_empty() { all.collect() } else { usable }
    }

    fn note_failed(&self, worker: usize) {
        let mut failed = self.failed.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        failed.insert(worker, Instant::now());
    }

    /// Asks for the missing units once.
    async fn attempt(
        &self,
        round: &Arc<[u8]>,
        units: &[UnitId],
        work: &mut UnfinishedUnits,
        deliver: &mut (dyn FnMut(Vec<u8>) -> Result<(), String> + Send),
    ) -> Result<(), String> {
        let assigned = work.assign(&self.usable());
        let with_ids = |(&worker, indices): (&usize, &Vec<u32>)| Assigned {
            worker,
            units: indices.iter().map(|&index| (index, units[index as usize])).collect(),
        };
        let mut running = self.engine.start(round, assigned.iter().map(with_ids).collect()).await?;
        let mut assembler = Assembler::new(work.missing.iter().copied());
        let mut silent = false;
        loop {
            let chunks = match tokio::time::timeout(SILENCE_MAX, running.chunks.next()).await {
                Ok(Some(chunks)) => chunks?,
                Ok(None) => break,
                Err(_) => {
                    silent = true;
                    break;
                }
            };
            for chunk in chunks {
                let unit = chunk.unit;
                match assembler.add(chunk).map_err(|error| format!("workers: {error}"))? {
                    None => {}
                    Some(UnitAnswer::Part(part)) => {
                        deliver(part)?;
                        work.missing.remove(&unit);
                    }
                    Some(UnitAnswer::Unreadable(reason)) => {
                        work.unreadable.insert(unit, reason);
                    }
                }
            }
        }
        drop(running.chunks);
        for (worker, reason) in running.failures.all() {
            self.note_failed(worker);
            work.reasons.insert(format!("{}: {reason}", self.names[worker]));
        }
        let unanswered: BTreeSet<u32> = assembler.missing().collect();
        for (worker, indices) in assigned {
            if silent && indices.iter().any(|index| unanswered.contains(index)) {
                self.note_failed(worker);
                work.reasons.insert(format!(
                    "{}: no answer for {} s",
                    self.names[worker],
                    SILENCE_MAX.as_secs()
                ));
            }
            for index in indices.into_iter().filter(|index| work.missing.contains(index)) {
                work.tried.entry(index).or_default().insert(worker);
            }
        }
        Ok(())
    }
}

#[async_trait]
impl UnitWorkers for Cluster {
    async fn compute(
        &self,
        round: Arc<[u8]>,
        units: &[UnitId],
        deliver: &mut (dyn FnMut(Vec<u8>) -> Result<(), String> + Send),
    ) -> Result<Vec<(UnitId, String)>, String> {
        let mut work =
            UnfinishedUnits { missing: (0..units.len() as u32).collect(), ..UnfinishedUnits::default() };
        for _ in 0..ATTEMPTS_MAX {
            if work.missing.is_empty() {
                break;
            }
            self.attempt(&round, units, &mut work, deliver).await?;
        }
        let lost: Vec<u32> =
            work.missing.iter().copied().filter(|unit| !work.unreadable.contains_key(unit)).collect();
        if let Some(&first) = lost.first() {
            let reasons = Vec::from_iter(work.reasons).join("; ");
            return Err(format!(
                "workers: {} of {} units did not arrive in {ATTEMPTS_MAX} attempts, the first is {}: {reasons}",
                lost.len(),
                units.len(),
                units[first as usize]
            ));
        }
        let unreadable = work
            .missing
            .iter()
            .filter_map(|unit| Some((units[*unit as usize], work.unreadable.get(unit)?.clone())));
        Ok(unreadable.collect())
    }
}

/// What is left of a round.
#[derive(Default)]
struct UnfinishedUnits {
    /// Indices of units that are not delivered.
    missing: BTreeSet<u32>,
    /// Why the last worker that was asked for a unit could not read it.
    unreadable: BTreeMap<u32, String>,
    /// Workers that were asked for a unit and did not deliver it.
    tried: BTreeMap<u32, BTreeSet<usize>>,
    /// What went wrong with workers.
    reasons: BTreeSet<String>,
}

impl UnfinishedUnits {
    /// The missing units by worker: in turn, at workers that have not been asked for them if there are some.
    fn assign(&self, workers: &[usize]) -> BTreeMap<usize, Vec<u32>> {
        let mut assigned: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for (turn, &unit) in self.missing.iter().enumerate() {
            let in_turn = || (0..workers.len()).map(|next| workers[(turn + next) % workers.len()]);
            let is_new = |worker: &usize| !self.tried.get(&unit).is_some_and(|tried| tried.contains(worker));
            if let Some(worker) = in_turn().find(is_new).or_else(|| in_turn().next()) {
                assigned.entry(worker).or_default().push(unit);
            }
        }
        assigned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_go_to_workers_in_turn_and_again_to_others() {
        let mut work = UnfinishedUnits { missing: (0..5).collect(), ..UnfinishedUnits::default() };
        assert_eq!(work.assign(&[0, 1]), BTreeMap::from([(0, vec![0, 2, 4]), (1, vec![1, 3])]));
        work.missing = BTreeSet::from([1, 3, 4]);
        work.tried = BTreeMap::from([(1, BTreeSet::from([0])), (3, BTreeSet::from([0, 1]))]);
        assert_eq!(work.assign(&[0, 1]), BTreeMap::from([(0, vec![4]), (1, vec![1, 3])]));
        assert_eq!(work.assign(&[2]), BTreeMap::from([(2, vec![1, 3, 4])]));
    }

    #[test]
    fn a_worker_that_failed_gets_units_last() {
        let workers = ["127.0.0.1:1", "127.0.0.1:2"].map(str::to_owned).to_vec();
        let settings = ClusterSettings { workers, token: "t".to_owned(), build: "b".to_owned() };
        let cluster = Cluster::new(&settings).unwrap();
        assert_eq!(cluster.usable(), [0, 1]);
        cluster.note_failed(0);
        assert_eq!(cluster.usable(), [1]);
        cluster.note_failed(1);
        assert_eq!(cluster.usable(), [0, 1]);
    }
}
