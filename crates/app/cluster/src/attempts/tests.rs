use super::*;
use crate::{RoundSource, RoundUnits, WorkerSettings, serve};
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// What the workers of a test do with a unit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Behavior {
    Answers,
    /// Nothing, forever: neither it nor anything else in the process advances.
    IsStuck,
    /// The same before the first unit.
    IsStuckAtTheRound,
    /// Takes longer than a worker may be silent, and advances.
    IsSlow,
}

/// The silence that is accepted in tests.
const SILENCE: Duration = Duration::from_secs(2);

struct TestRounds {
    behavior: Behavior,
    steps: Arc<AtomicU64>,
}

#[async_trait]
impl RoundSource for TestRounds {
    async fn round(&self, _: &[u8]) -> Result<Arc<dyn RoundUnits>, String> {
        if self.behavior == Behavior::IsStuckAtTheRound {
            std::future::pending::<()>().await;
        }
        Ok(Arc::new(TestRounds { behavior: self.behavior, steps: Arc::clone(&self.steps) }))
    }

    fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl RoundUnits for TestRounds {
    async fn part(&self, unit: UnitId) -> Result<Vec<u8>, String> {
        match self.behavior {
            Behavior::Answers => {}
            Behavior::IsStuck | Behavior::IsStuckAtTheRound => std::future::pending().await,
            Behavior::IsSlow => {
                for _ in 0..10 {
                    tokio::time::sleep(SILENCE / 5).await;
                    self.steps.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        Ok(unit.to_string().into_bytes())
    }
}

/// Asks workers of this process for three units; returns what arrived, or the error, and which workers failed. Each worker lets every
/// request wait as it behaves, while its connections live.
fn compute_at(behaviors: &[Behavior]) -> (Result<Vec<String>, String>, Vec<usize>) {
    let runtime = Runtime::new().unwrap();
    let answered = runtime.block_on(async {
        let mut workers = Vec::new();
        for &behavior in behaviors {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            workers.push(listener.local_addr().unwrap().to_string());
            let settings =
                WorkerSettings { token: "t".to_owned(), build: "b".to_owned(), at_once: 2, tls: None };
            let rounds = Arc::new(TestRounds { behavior, steps: Arc::default() });
            tokio::spawn(serve(listener, settings, rounds, std::future::pending()));
        }
        let settings = ClusterSettings { workers, token: "t".to_owned(), build: "b".to_owned(), tls: None };
        let cluster = Cluster { silence_max: SILENCE, ..Cluster::new(&settings).unwrap() };
        let mut parts = Vec::new();
        let mut deliver = |part: Vec<u8>| {
            parts.push(String::from_utf8(part).unwrap());
            Ok(())
        };
        let computed = cluster.compute(Arc::from([]), &UNITS, &mut deliver).await;
        parts.sort_unstable();
        let failed = cluster.failed.lock().unwrap().keys().copied().collect();
        (computed.map(|unreadable| assert_eq!(unreadable, [])).map(|()| parts), failed)
    });
    runtime.shutdown_background();
    answered
}

const UNITS: [UnitId; 3] = [UnitId::Segment(1), UnitId::Segment(2), UnitId::Segment(3)];

fn all_units() -> Result<Vec<String>, String> {
    Ok(UNITS.iter().map(UnitId::to_string).collect())
}

#[test]
fn a_worker_that_is_stuck_is_replaced_by_the_others() {
    for stuck in [Behavior::IsStuck, Behavior::IsStuckAtTheRound] {
        assert_eq!(compute_at(&[stuck, Behavior::Answers]), (all_units(), vec![0]));
    }
}

#[test]
fn workers_that_are_all_stuck_are_named() {
    let (computed, failed) = compute_at(&[Behavior::IsStuck, Behavior::IsStuckAtTheRound]);
    let error = computed.unwrap_err();
    assert!(error.contains("3 of 3 units did not arrive in 3 attempts"), "{error}");
    assert_eq!(error.matches(": did not advance for 2 s").count(), 2, "{error}");
    assert_eq!(failed, [0, 1]);
}

#[test]
fn a_worker_that_is_slow_is_waited_for() {
    assert_eq!(compute_at(&[Behavior::IsSlow]), (all_units(), vec![]));
}

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
    let settings = ClusterSettings { workers, token: "t".to_owned(), build: "b".to_owned(), tls: None };
    let cluster = Cluster::new(&settings).unwrap();
    assert_eq!(cluster.usable(), [0, 1]);
    cluster.note_failed(0);
    assert_eq!(cluster.usable(), [1]);
    cluster.note_failed(1);
    assert_eq!(cluster.usable(), [0, 1]);
}
