//! Quantities derived from the evidence for a suspect.

use crate::Suspect;

impl Suspect {
    /// Whether nothing but its behavior speaks against it: it fails, or makes other calls than before, and is not slow itself.
    pub fn is_behavior_only(&self) -> bool {
        let is_behavior = |kind: &String| {
            let mut changes = self.behavior.iter();
            changes.any(|change| change.kind == *kind || (kind == "peers" && change.is_against_peers))
        };
        !self.behavior.is_empty() && self.evidence.iter().all(is_behavior)
    }

    /// Whether it fails or returns early, and its requests take no longer.
    pub fn is_failing(&self) -> bool {
        self.is_behavior_only() && self.effect_ns == 0
    }

    /// The p-values of its evidence, adjusted. Which attribute the slow requests have is no evidence that they are slow.
    pub fn p_values(&self) -> impl Iterator<Item = f64> + '_ {
        let slow_calls = self.slow_calls.iter().map(|slow| slow.p_value);
        let compared = self.shift.iter().map(|shift| shift.p_value).chain(slow_calls);
        let replicas = self.culprits.iter().map(|culprit| culprit.p_value);
        let by_time = self.attributes.iter().filter(|attribute| attribute.factor.is_some());
        let attributes = by_time.map(|attribute| attribute.p_value);
        compared.chain(replicas).chain(attributes).chain(self.behavior.iter().map(|change| change.p_value))
    }
}
