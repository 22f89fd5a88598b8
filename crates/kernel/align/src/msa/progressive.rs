//! Progressive alignment along a tree, from the leaves to the root.

use super::anchors::guide_between;
use super::band::Guide;
use super::group::{Distinct, Group};
use super::profile::{Background, Profile};
use super::scores::ProfileScores;
use super::settings::{ColumnScore, MsaSettings};
use super::table::{BestPath, best_path};
use super::tree::Tree;
use laggard_parallel::parallel_map;
use std::collections::HashMap;
use std::sync::Arc;

/// Half the width of the band between sequences of these lengths.
pub(super) fn half_band(n: usize, m: usize, settings: &MsaSettings) -> usize {
    let half = (n.max(m) as f64 * settings.band_share / 2.0).ceil() as usize;
    half.max(settings.band_min).max(n.abs_diff(m))
}

/// Shared inputs of the alignments of two groups.
pub(super) struct AlignmentContext<'a> {
    pub(super) distinct: &'a Distinct<'a>,
    pub(super) background: &'a Background,
    pub(super) settings: &'a MsaSettings,
}

impl AlignmentContext<'_> {
    pub(super) fn best_path(
        &self,
        sides: (&Profile, &Profile),
        score: ColumnScore,
        guide: &Guide,
        half: usize,
    ) -> BestPath {
        let scores = ProfileScores::new(sides.0, sides.1, self.background, score, self.settings);
        best_path(&scores, guide, half)
    }

    fn align(&self, first: &Group, second: &Group) -> Group {
        let profiles = (first.profile(self.distinct), second.profile(self.distinct));
        let near = guide_between(&profiles.0, &profiles.1);
        let half = half_band(near.span.0, near.span.1, self.settings);
        let path = self.best_path((&profiles.0, &profiles.1), ColumnScore::LogExpectation, &near.guide, half);
        first.join(second, &path.moves)
    }
}

/// Groups by the subtree that produced them, so that a second tree reuses the subtrees it shares with the first.
#[derive(Default)]
pub(super) struct SubtreeCache {
    ids: HashMap<(usize, usize), usize>,
    groups: HashMap<usize, Arc<Group>>,
}

/// Aligns bottom-up. Merges whose inputs are ready run in parallel.
pub(super) fn progressive(tree: &Tree, known: &mut SubtreeCache, context: &AlignmentContext<'_>) -> Group {
    let leaves = tree.leaves();
    let mut nodes: Vec<Option<Arc<Group>>> = (0..leaves)
        .map(|leaf| Some(Arc::new(Group::single(leaf, context.distinct.sequences[leaf].len()))))
        .collect();
    nodes.resize(leaves + tree.merges().len(), None);
    let ids = shape_ids(tree, known);
    let mut waiting: Vec<usize> = (0..tree.merges().len()).collect();
    while !waiting.is_empty() {
        let is_ready = |&index: &usize| {
            let merge = &tree.merges()[index];
            nodes[merge.left].is_some() && nodes[merge.right].is_some()
        };
        let (ready, later): (Vec<usize>, Vec<usize>) = waiting.into_iter().partition(is_ready);
        let groups = parallel_map(&ready, context.settings.threads, |&index| {
            let merge = &tree.merges()[index];
            let part = |node: usize| nodes[node].as_deref().expect("the merge is ready");
            let known = known.groups.get(&ids[index]).cloned();
            known.unwrap_or_else(|| Arc::new(context.align(part(merge.left), part(merge.right))))
        });
        for (&index, group) in ready.iter().zip(groups) {
            known.groups.insert(ids[index], Arc::clone(&group));
            nodes[leaves + index] = Some(group);
        }
        waiting = later;
    }
    let root = nodes.pop().flatten().expect("there is a sequence");
    Group::clone(&root)
}

/// An id for each merge, equal for equal subtrees over equal leaves, also across trees.
fn shape_ids(tree: &Tree, known: &mut SubtreeCache) -> Vec<usize> {
    let leaves = tree.leaves();
    let mut ids: Vec<usize> = Vec::with_capacity(tree.merges().len());
    for merge in tree.merges() {
        let part = |node: usize| if node < leaves { node } else { ids[node - leaves] };
        let (left, right) = (part(merge.left), part(merge.right));
        let next = leaves + known.ids.len();
        ids.push(*known.ids.entry((left, right)).or_insert(next));
    }
    ids
}
