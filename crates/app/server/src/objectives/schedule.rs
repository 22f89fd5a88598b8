//! BlockCounts and evaluates the objectives of every tenant, one after the other, as long as the server runs.

use super::Objectives;
use super::block::{Block, blocks_of};
use super::burn::HOUR;
use super::cause::{cause, suspects};
use super::count::empty_counts;
use super::tenant_objectives::{PendingBlock, TenantObjectives};
use crate::tenants::Tenant;
use laggard_engine::RequestSlice;
use laggard_model::Timestamp;
use laggard_store::{StoreError, View};
use laggard_system::now;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

/// How long an evaluation waits for its turn among the queries.
const QUEUE_MAX: Duration = Duration::from_secs(5);

/// Part of the time between evaluations that counting may take; the rest is counted next time.
const COUNT_PART: u32 = 5;

// Limit: spans of five minutes that are counted for objectives | these five minutes are left out
/// Most spans of a block: 28 bytes each.
const SPANS_MAX: u64 = 32_000_000;

/// Most spans of an hour that are searched for what explains its bad requests; of more, the last five minutes are.
const CAUSE_SPANS_MAX: u64 = 8_000_000;

/// Runs until the server stops. Evaluations never overlap.
pub(super) async fn run(objectives: Arc<Objectives>) {
    loop {
        tokio::select! {
            () = objectives.stopping.cancelled() => return,
            () = tokio::time::sleep(objectives.every) => {}
        }
        if objectives.tenants.evaluated_elsewhere().is_some() {
            continue;
        }
        for tenant in objectives.tenants.all() {
            evaluate_tenant(&objectives, &tenant, now()).await;
        }
    }
}

/// One evaluation of one tenant, at a time of the server's clock.
pub(crate) async fn evaluate_tenant(objectives: &Arc<Objectives>, tenant: &Arc<Tenant>, at: Timestamp) {
    let Ok(permit) = tokio::time::timeout(QUEUE_MAX, objectives.queries.clone().acquire_owned()).await else {
        return;
    };
    let (objectives, tenant, handle) = (objectives.clone(), tenant.clone(), Handle::current());
    let done = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        let of_tenant = objectives.of_tenant(&tenant.name);
        let run = EvaluationRun { objectives: &objectives, tenant: &tenant, of_tenant: &of_tenant, at };
        // A bug in one evaluation must not end all of them.
        if catch_unwind(AssertUnwindSafe(|| run.evaluate(&Reader { view: tenant.store.view(), handle })))
            .is_err()
        {
            tracing::error!(tenant = %tenant.name, "an evaluation of objectives failed");
        }
        of_tenant.save_sometimes();
    });
    if let Err(error) = done.await {
        tracing::error!(%error, "an evaluation of objectives failed");
    }
}

/// A view of a store, read from a blocking thread.
struct Reader {
    view: View,
    handle: Handle,
}

impl Reader {
    fn slices(&self, since: Timestamp, until: Timestamp) -> Result<Vec<Arc<RequestSlice>>, StoreError> {
        self.handle.block_on(self.view.requests(since, until))
    }
}

struct EvaluationRun<'a> {
    objectives: &'a Objectives,
    tenant: &'a Tenant,
    of_tenant: &'a TenantObjectives,
    at: Timestamp,
}

impl EvaluationRun<'_> {
    fn evaluate(&self, reader: &Reader) {
        self.of_tenant.note_written(&reader.view, self.at);
        let counted = self.count_pending(reader).and_then(|()| self.find_causes(reader));
        if let Err(error) = counted {
            tracing::warn!(tenant = %self.tenant.name, %error, "requests cannot be read for objectives; this is tried again");
        }
        let evaluation = self.of_tenant.evaluate(self.at);
        self.objectives.alerts.apply_objectives(&self.tenant.name, &evaluation, self.at);
    }

    /// BlockCounts blocks, the latest first, as long as there is time.
    fn count_pending(&self, reader: &Reader) -> Result<(), StoreError> {
        let started = Instant::now();
        while let Some(PendingBlock { block, objectives }) = self.of_tenant.next_pending() {
            let (since, until) = (block.since(), block.until());
            let spans = reader.view.spans_within(since, until);
            let slices = match spans <= SPANS_MAX {
                true => Some(reader.slices(since, until)?),
                false => {
                    tracing::warn!(tenant = %self.tenant.name, spans, "five minutes have too many spans to count requests for objectives");
                    None
                }
            };
            for (index, definition) in objectives {
                let count = slices.as_ref().map(|slices| {
                    let mut counts = empty_counts([block].into_iter());
                    slices.iter().for_each(|slice| definition.count(slice, &mut counts));
                    counts[&block]
                });
                self.of_tenant.replace(index, block, count, self.at);
            }
            if started.elapsed() >= self.objectives.every / COUNT_PART {
                break;
            }
        }
        Ok(())
    }

    /// Finds out what explains the bad requests of the last hour.
    fn find_causes(&self, reader: &Reader) -> Result<(), StoreError> {
        let active = {
            let tenant_alerts = self.objectives.alerts.tenant_alerts.tenant(&self.tenant.name);
            tenant_alerts.state().alerts.active.clone()
        };
        let suspects = suspects(&active);
        let last = Block::at(self.at);
        let mut blocks = last.plus(-blocks_of(HOUR))..=last;
        if reader.view.spans_within(blocks.start().since(), last.until()) > CAUSE_SPANS_MAX {
            blocks = last.plus(-1)..=last;
        }
        let since = blocks.start().since();
        let mut slices = None;
        for (index, bad) in self.of_tenant.bad_since(since).into_iter().enumerate() {
            if bad == 0 || suspects.is_empty() {
                self.of_tenant.set_cause(index, None);
                continue;
            }
            let slices = match &slices {
                Some(slices) => slices,
                None => slices.insert(reader.slices(since, last.until())?),
            };
            let definition = self.of_tenant.definition(index);
            self.of_tenant.set_cause(index, cause(&definition, &suspects, slices, &blocks));
        }
        Ok(())
    }
}
