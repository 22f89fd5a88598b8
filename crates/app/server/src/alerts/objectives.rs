//! Applies evaluations of objectives to the alerts of a tenant.

use super::objective_finding::ObjectiveEvaluation;
use super::schedule::log_changes;
use super::state::Alerts;
use laggard_model::Timestamp;

impl Alerts {
    /// Applies an evaluation of a tenant's objectives, saves what changed, and wakes the receivers. Blocks. Without continuous
    /// detection there are no alerts.
    pub(crate) fn apply_objectives(&self, tenant: &str, evaluation: &ObjectiveEvaluation, at: Timestamp) {
        if !self.settings.enabled {
            return;
        }
        let tenant_alerts = self.tenant_alerts.tenant(tenant);
        let changes = {
            let mut state = tenant_alerts.state();
            state.objectives_evaluated = true;
            state.alerts.apply_objectives(evaluation, self.detection.rules, at)
        };
        log_changes(tenant, &tenant_alerts, &changes);
        if !changes.is_empty() {
            tenant_alerts.save();
        }
        self.wake();
    }
}
