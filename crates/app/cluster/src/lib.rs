//! Rounds over the units of a store, computed by workers on an existing distributed engine.
//!
//! ```text
//! root: Cluster                     engine                 worker
//! units, a round ──► attempt ──► plan with one leaf ──► UnitsExec ── RoundSource ──► store
//!                      ▲         (a task per worker)        │
//! parts ◄── Assembler ─┘◄─── numbered chunks of parts ◄─────┘
//! ```
//!
//! The engine moves bytes: it never looks into a part. Only the module `engine` names it. What the engine lacks is in `attempts`: units
//! that did not arrive are computed again at other workers, and each arrives once.
#![cfg(feature = "engine")]

mod attempts;
mod chunks;
mod encrypted;
mod engine;

pub use attempts::{Cluster, ClusterSettings};
pub use encrypted::{ClusterTls, TlsOfConnections};
pub use engine::{WorkerSettings, serve};
pub use laggard_store::{UnitWorkers, WorkerRound};

use async_trait::async_trait;
use laggard_engine::UnitId;
use laggard_store::FoldRound;
use std::sync::Arc;

/// Where a worker gets the units of rounds.
#[async_trait]
pub trait RoundSource: Send + Sync {
    /// Prepares a round that the root sent.
    ///
    /// # Errors
    /// When the round cannot be computed here.
    async fn round(&self, sent: &[u8]) -> Result<Arc<dyn RoundUnits>, String>;

    /// A counter that grows while this process computes, whatever it is for. A worker at which it does not grow for 8 s counts as
    /// stuck.
    fn steps(&self) -> u64;
}

/// A round at a worker.
#[async_trait]
pub trait RoundUnits: Send + Sync {
    /// The encoded partial result of a unit.
    ///
    /// # Errors
    /// When the unit cannot be read.
    async fn part(&self, unit: UnitId) -> Result<Vec<u8>, String>;
}

#[async_trait]
impl RoundUnits for FoldRound {
    async fn part(&self, unit: UnitId) -> Result<Vec<u8>, String> {
        FoldRound::part(self, unit).await.map_err(|error| error.to_string())
    }
}
