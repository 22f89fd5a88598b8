//! Capacity cost of a change: by how much the highest throughput falls because transactions use more CPU.

use super::costs::FittedCosts;
use super::server::ServerResult;
use laggard_report::{CapacityCost, ChangeEventKind, CpuSplit, ShiftQuantity, TransactionShift};
use std::ops::Range;

/// Minimum relative change of the CPU of all transactions, where its interval is not known: two fits agree within 1 %.
const CHANGE_MIN: f64 = 0.02;

/// Results of comparing both sides of a change, from which its capacity cost is computed.
pub(super) struct ComparedSides<'a> {
    pub(super) kind: ChangeEventKind,
    /// The first row since the change.
    pub(super) row: usize,
    pub(super) cpu: Option<CpuSplit>,
    pub(super) transactions: &'a [TransactionShift],
    /// The models of all groups.
    pub(super) costs: &'a [FittedCosts],
}

/// A segment next to a change: its group and rows.
type Side = (usize, Range<usize>);

impl ServerResult<'_> {
    /// `None` where the CPU of transactions did not change, or it is not known by how much. By the utilization law the CPU is full at
    /// `1 / ratio` of the transactions it could serve before.
    pub(super) fn capacity_cost(
        &self,
        compared: &ComparedSides<'_>,
        before: Option<&Side>,
        after: Option<&Side>,
    ) -> Option<CapacityCost> {
        let has_cost = match compared.kind {
            ChangeEventKind::ApplicationChange => {
                let shifts = compared.transactions;
                shifts.is_empty() || shifts.iter().any(|shift| shift.quantity != ShiftQuantity::Time)
            }
            ChangeEventKind::HostChange | ChangeEventKind::Rollback | ChangeEventKind::Unexplained => true,
            _ => false,
        };
        let (Some((group_before, _)), Some((group_after, _))) = (before, after) else { return None };
        if !has_cost {
            return None;
        }
        let after = compared.costs.get(*group_after)?;
        let since = self.side(*group_after, compared.row, false);
        let rows: Vec<usize> = since.into_iter().flatten().collect();
        let ratio = match &compared.cpu {
            Some(cpu) => (cpu.ratio_low > 1.0 || cpu.ratio_high < 1.0).then_some(cpu.ratio)?,
            None => self.ratio_by_models(compared.costs.get(*group_before)?, after, &rows)?,
        };
        let observations = &self.observed.observations;
        let used = mean(rows.iter().map(|row| observations.utilization[*row]))?;
        let by_transactions = (used - after.model.constant_percent / 100.0).max(0.0);
        let clients = rows.iter().filter_map(|row| self.table.clients.get(observations.windows[*row]));
        let clients = mean(clients.copied().filter(|clients| clients.is_finite()));
        let peers = self.table.servers.iter().filter(|server| server.tier == self.server.tier).count();
        Some(CapacityCost {
            cores: by_transactions * (1.0 - 1.0 / ratio) * observations.cores,
            requests: 1.0 / ratio - 1.0,
            clients: clients.map(|clients| clients * (ratio - 1.0) / peers as f64),
        })
    }

    /// The CPU of the transactions of `rows` by one model over that by the other. The constant is included: two fits may divide
    /// the CPU between it and the transactions in different ways.
    fn ratio_by_models(&self, before: &FittedCosts, after: &FittedCosts, rows: &[usize]) -> Option<f64> {
        let observations = &self.observed.observations;
        let seconds = rows.len() as f64 * observations.window_s;
        let work = |costs: &FittedCosts| -> f64 {
            let types = costs.model.transactions.iter().enumerate();
            let count =
                |column: usize| rows.iter().map(|row| observations.counts.get(*row, column)).sum::<f64>();
            types.map(|(column, cost)| count(column) / seconds * cost.demand_s).sum()
        };
        let constants = (after.model.constant_percent - before.model.constant_percent) / 100.0;
        let ratio = (work(after) + constants * observations.cores) / work(before);
        (ratio > 0.0 && ratio.is_finite() && (ratio - 1.0).abs() >= CHANGE_MIN).then_some(ratio)
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    (count > 0.0).then(|| sum / count)
}
