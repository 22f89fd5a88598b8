//! Notes from importing rows (losses, origins), as stored in the manifest.

use laggard_engine::Origins;
use laggard_model::{Loss, LossCount, Losses};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Losses: count and first example by name.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct StoredLosses(BTreeMap<String, (u64, String)>);

impl StoredLosses {
    pub(crate) fn new(losses: &Losses) -> StoredLosses {
        let stored = |(loss, count): (Loss, &LossCount)| {
            (loss.name().to_owned(), (count.count, count.example.clone()))
        };
        StoredLosses(losses.iter().map(stored).collect())
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The losses; names of a later version are left out.
    pub(crate) fn read(&self) -> Losses {
        let mut losses = Losses::none();
        for loss in Loss::ALL {
            if let Some((count, example)) = self.0.get(loss.name()) {
                losses.add_many(loss, *count, || example.clone());
            }
        }
        losses
    }
}

/// Notes from importing rows: losses and counts of origins.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ImportNotes {
    #[serde(default, skip_serializing_if = "StoredLosses::is_empty")]
    losses: StoredLosses,
    /// Spans by what identified their replica.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    identities: BTreeMap<usize, u64>,
    /// Spans by the source of their weight.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    weight_sources: BTreeMap<usize, u64>,
    /// Spans by their tail sampler.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    tail_samplers: BTreeMap<usize, u64>,
    /// Call-log records.
    #[serde(default, skip_serializing_if = "is_zero")]
    call_records: u64,
}

impl ImportNotes {
    pub(crate) fn new(losses: &Losses, origins: &Origins) -> ImportNotes {
        let sparse = |counts: &[u64]| counts.iter().copied().enumerate().filter(|&(_, n)| n > 0).collect();
        ImportNotes {
            losses: StoredLosses::new(losses),
            identities: sparse(&origins.identities),
            weight_sources: sparse(&origins.weight_sources),
            tail_samplers: sparse(&origins.tail_samplers),
            call_records: origins.call_records,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == ImportNotes::default()
    }

    /// Adds the notes of later rows: examples of the earlier ones win.
    pub(crate) fn merge(&mut self, later: &ImportNotes) {
        let mut losses = self.losses();
        losses.merge(&later.losses());
        let mut origins = self.origins();
        origins.merge(&later.origins());
        *self = ImportNotes::new(&losses, &origins);
    }

    pub(crate) fn losses(&self) -> Losses {
        self.losses.read()
    }

    pub(crate) fn origins(&self) -> Origins {
        let mut origins = Origins { call_records: self.call_records, ..Origins::default() };
        let fill = |into: &mut [u64], from: &BTreeMap<usize, u64>| {
            into.iter_mut().enumerate().for_each(|(index, n)| *n = from.get(&index).copied().unwrap_or(0));
        };
        fill(&mut origins.identities, &self.identities);
        fill(&mut origins.weight_sources, &self.weight_sources);
        fill(&mut origins.tail_samplers, &self.tail_samplers);
        origins
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}
