//! Units that did not arrive are computed again at other workers.

#[cfg(test)]
mod tests;

use crate::chunks::{Assembler, Chunk, UnitAnswer, WorkerRow};
use crate::encrypted::ClusterTls;
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

/// A worker that has sent nothing for so long is stuck: while it computes, it says each second whether it advances. Workers that are gone are
/// noticed earlier, by their connections. All attempts together end within 30 s where no worker answers.
const SILENCE_MAX: Duration = Duration::from_secs(8);

/// How often it is checked whether workers are silent.
const CHECKED_EVERY: Duration = Duration::from_millis(500);

/// How the workers are reached.
#[derive(Clone)]
pub struct ClusterSettings {
    /// Addresses of the workers: `host:port`.
    pub workers: Vec<String>,
    /// The token that they require.
    pub token: String,
    /// Which build this program is; workers refuse another one.
    pub build: String,
    /// How connections are encrypted; `None` for plain ones.
    pub tls: Option<ClusterTls>,
}

/// Workers that compute units for this process.
pub struct Cluster {
    names: Vec<String>,
    engine: EngineRoot,
    /// When workers failed, by index.
    failed: Mutex<BTreeMap<usize, Instant>>,
    silence_max: Duration,
}

impl Cluster {
    /// Workers at some addresses. They are connected to when there is something to compute.
    ///
    /// # Errors
    /// When there is none, one is named twice, an address or the token cannot be sent, or a certificate or a key is none.
    pub fn new(settings: &ClusterSettings) -> Result<Cluster, String> {
        let names = settings.workers.clone();
        if names.is_empty() {
            return Err("no worker is named".to_owned());
        }
        if let Some(twice) = names.iter().enumerate().find(|(index, name)| names[..*index].contains(name)) {
            return Err(format!("worker {} is named twice", twice.1));
        }
        let engine = EngineRoot::new(settings)?;
        Ok(Cluster { names, engine, failed: Mutex::default(), silence_max: SILENCE_MAX })
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
        let mut silence = Silence::new(&assigned, self.silence_max);
        let mut checked = Instant::now();
        loop {
            let waited = Instant::now();
            let next = tokio::time::timeout(CHECKED_EVERY, running.rows.next()).await;
            // What this process did meanwhile, or whether it was stopped, says nothing about workers.
            silence.waited += waited.elapsed().min(2 * CHECKED_EVERY);
            match next {
                Ok(None) => break,
                Ok(Some(rows)) => {
                    for row in rows? {
                        silence.note(&row);
                        if let WorkerRow::Chunk(chunk) = row {
                            work.add(&mut assembler, chunk, deliver)?;
                        }
                    }
                }
                Err(_) => {}
            }
            if checked.elapsed() >= CHECKED_EVERY {
                checked = Instant::now();
                let mut pending = waited_for(&assembler, &assigned).into_iter();
                if pending.all(|worker| running.failures.has(worker) || silence.is_over(worker)) {
                    break;
                }
            }
        }
        drop(running.rows);
        for (worker, reason) in running.failures.all() {
            self.note_failed(worker);
            work.reasons.insert(format!("{}: {reason}", self.names[worker]));
        }
        for worker in waited_for(&assembler, &assigned) {
            if !running.failures.has(worker) && silence.is_over(worker) {
                self.note_failed(worker);
                let name = &self.names[worker];
                work.reasons.insert(format!("{name}: did not advance for {} s", self.silence_max.as_secs()));
            }
        }
        for (worker, indices) in assigned {
            for index in indices.into_iter().filter(|index| work.missing.contains(index)) {
                work.tried.entry(index).or_default().insert(worker);
            }
        }
        Ok(())
    }
}

/// Workers with units that are not answered, of the units by worker.
fn waited_for(assembler: &Assembler, assigned: &BTreeMap<usize, Vec<u32>>) -> Vec<usize> {
    let missing: BTreeSet<u32> = assembler.missing().collect();
    let with_missing = assigned.iter().filter(|(_, units)| units.iter().any(|unit| missing.contains(unit)));
    with_missing.map(|(&worker, _)| worker).collect()
}

/// How long workers have sent nothing while this process waited for them.
struct Silence {
    /// Which worker a unit is assigned to.
    workers: BTreeMap<u32, usize>,
    max: Duration,
    /// How long this process has waited.
    waited: Duration,
    /// The same when a worker sent something, by worker.
    heard: BTreeMap<usize, Duration>,
}

impl Silence {
    fn new(assigned: &BTreeMap<usize, Vec<u32>>, max: Duration) -> Silence {
        let of_worker = |(&worker, units): (&usize, &Vec<u32>)| {
            units.iter().map(|&unit| (unit, worker)).collect::<Vec<_>>()
        };
        let workers = assigned.iter().flat_map(of_worker).collect();
        Silence { workers, max, waited: Duration::ZERO, heard: BTreeMap::new() }
    }

    fn note(&mut self, row: &WorkerRow) {
        let (WorkerRow::Chunk(Chunk { unit, .. }) | WorkerRow::Advanced(unit)) = row;
        if let Some(&worker) = self.workers.get(unit) {
            self.heard.insert(worker, self.waited);
        }
    }

    fn is_over(&self, worker: usize) -> bool {
        self.waited - self.heard.get(&worker).copied().unwrap_or_default() >= self.max
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
    /// Adds a chunk; delivers the part that it completes.
    fn add(
        &mut self,
        assembler: &mut Assembler,
        chunk: Chunk,
        deliver: &mut (dyn FnMut(Vec<u8>) -> Result<(), String> + Send),
    ) -> Result<(), String> {
        let unit = chunk.unit;
        match assembler.add(chunk).map_err(|error| format!("workers: {error}"))? {
            None => {}
            Some(UnitAnswer::Part(part)) => {
                deliver(part)?;
                self.missing.remove(&unit);
            }
            Some(UnitAnswer::Unreadable(reason)) => {
                self.unreadable.insert(unit, reason);
            }
        }
        Ok(())
    }

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
