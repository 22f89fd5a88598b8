//! Whether more executions stand out than chance explains.

use crate::{Diagnosis, ExecutionVerdict, Verdict};
use std::collections::BTreeSet;

/// The probability that all executions that stand out are of the sample, and none of the normal set, if both sets are alike: `count`
/// of `sample` executions besides `normal` ones (Fisher's exact test, one-sided).
pub(crate) fn chance_of_outliers(count: usize, sample: usize, normal: usize) -> f64 {
    let all = sample + normal;
    (0..count)
        .map(|drawn_before| {
            sample.saturating_sub(drawn_before) as f64 / all.saturating_sub(drawn_before).max(1) as f64
        })
        .product()
}

/// The probability that at most `normal_of` of the executions of a kind are normal ones, if both sets are alike: `sample_of` of
/// `sample` executions are of the kind besides (Fisher's exact test, one-sided).
pub(crate) fn chance_of_share(
    (normal_of, sample_of): (usize, usize),
    (normal, sample): (usize, usize),
) -> f64 {
    let of_kind = normal_of + sample_of;
    let ln_choose = |from: usize, count: usize| -> f64 {
        (0..count).map(|drawn| ((from - drawn) as f64 / (drawn + 1) as f64).ln()).sum()
    };
    let possible = (0..=normal_of).filter(|&drawn| drawn <= normal && of_kind - drawn <= sample);
    let probability = |drawn: usize| {
        (ln_choose(normal, drawn) + ln_choose(sample, of_kind - drawn) - ln_choose(normal + sample, of_kind))
            .exp()
    };
    possible.map(probability).sum()
}

impl Diagnosis {
    /// Counts executions of the sample as normal: something outside of the program explains their excess. Their findings are
    /// removed, and the verdict follows from those that are left.
    pub fn excuse(&mut self, executions: &BTreeSet<usize>, outlier_chance: f64) {
        for &execution in executions {
            if let Some(row) = self.sample.get_mut(execution) {
                row.verdict = ExecutionVerdict::Normal;
                row.states.clear();
            }
        }
        for group in &mut self.findings {
            group.occurrences.retain(|occurrence| !executions.contains(&occurrence.execution));
            crate::findings::summarize(group);
        }
        self.findings.retain(|group| !group.occurrences.is_empty());
        crate::findings::sort(&mut self.findings);
        for alignment in &mut self.alignments {
            alignment.executions.retain(|aligned| !executions.contains(&aligned.execution));
        }
        self.alignments.retain(|alignment| !alignment.executions.is_empty());
        if !matches!(self.verdict, Verdict::ExecutionsStandOut | Verdict::FewStandOut) {
            return;
        }
        let unusual = self.sample.iter().filter(|row| row.stands_out()).count();
        let chance = chance_of_outliers(unusual, self.sample.len(), self.normal.len());
        let is_raised = self.total.is_raised || self.states.iter().any(|row| row.time.is_raised);
        self.verdict = match unusual {
            0 if is_raised => Verdict::SlowerOverall,
            0 => Verdict::NothingFound,
            _ if chance <= outlier_chance => Verdict::ExecutionsStandOut,
            _ => Verdict::FewStandOut,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::{chance_of_outliers, chance_of_share};

    #[test]
    fn a_kind_that_is_rare_among_normal_executions_is_not_that_of_all_others() {
        // All of 15 besides one of 15, by hand: 15 of C(30, 16).
        assert!((chance_of_share((1, 15), (15, 15)) / (15.0 / 145_422_675.0) - 1.0).abs() < 1e-9);
        assert!((chance_of_share((0, 3), (15, 10)) - 120.0 / 2300.0).abs() < 1e-12);
        assert!(chance_of_share((1, 1), (15, 15)) > 0.5);
        assert_eq!(chance_of_share((1, 0), (1, 0)), 1.0);
    }

    #[test]
    fn one_outlier_in_a_hundred_is_no_evidence_but_many_are() {
        assert_eq!(chance_of_outliers(1, 100, 100), 0.5);
        assert!((chance_of_outliers(3, 10, 15) - 120.0 / 2300.0).abs() < 1e-12);
        assert!(chance_of_outliers(1, 10, 1000) < 0.01, "normal executions are many, and none is like it");
        assert_eq!(chance_of_outliers(0, 10, 10), 1.0);
        assert_eq!(chance_of_outliers(3, 2, 0), 0.0);
    }
}
