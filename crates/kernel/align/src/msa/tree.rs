//! The guide tree: unweighted pair groups by arithmetic mean.

use super::word_distances::Distances;

/// Two subtrees become one. Nodes below the number of leaves are leaves; the `i`-th merge makes node `leaves + i`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Merge {
    /// The smaller node.
    pub left: usize,
    /// The larger node.
    pub right: usize,
    /// Half the distance at which they meet.
    pub height: f64,
}

/// A binary tree over sequences.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Tree {
    leaves: usize,
    merges: Vec<Merge>,
}

impl Tree {
    /// Number of sequences.
    pub fn leaves(&self) -> usize {
        self.leaves
    }

    /// The merges, in order; one fewer than leaves.
    pub fn merges(&self) -> &[Merge] {
        &self.merges
    }

    /// The leaves below each node, ascending; by node.
    pub(crate) fn members(&self) -> Vec<Vec<usize>> {
        let mut members: Vec<Vec<usize>> = (0..self.leaves).map(|leaf| vec![leaf]).collect();
        for merge in &self.merges {
            let mut joined = [members[merge.left].as_slice(), &members[merge.right]].concat();
            joined.sort_unstable();
            members.push(joined);
        }
        members
    }

    /// The nodes whose edge to their parent is cut in refinement: deepest first, ties by node. Both edges at the root
    /// are one cut.
    pub(crate) fn cuts(&self) -> Vec<usize> {
        let nodes = self.leaves + self.merges.len();
        let mut depth = vec![0_usize; nodes];
        for (index, merge) in self.merges.iter().enumerate().rev() {
            depth[merge.left] = depth[self.leaves + index] + 1;
            depth[merge.right] = depth[self.leaves + index] + 1;
        }
        let Some(root) = self.merges.last() else { return Vec::new() };
        let mut cuts: Vec<usize> = (0..nodes - 1).filter(|&node| node != root.right).collect();
        cuts.sort_by_key(|&node| (std::cmp::Reverse(depth[node]), node));
        cuts
    }
}

/// Joins the two nearest groups until one is left. Distance of groups: mean over their pairs. Ties: the pair with the
/// smallest first node, then the smallest second. Each group remembers its nearest later one, so `O(n^2)` time unless
/// many groups share a neighbor; `8 n^2` bytes.
pub fn upgma(distances: &Distances) -> Tree {
    let leaves = distances.len();
    let mut groups = TreeGroups::from_distances(distances);
    let mut merges = Vec::with_capacity(leaves.saturating_sub(1));
    for step in 1..leaves {
        let (a, b) = groups.nearest_pair();
        let (left, right) = (groups.node[a].min(groups.node[b]), groups.node[a].max(groups.node[b]));
        merges.push(Merge { left, right, height: groups.get(a, b) / 2.0 });
        groups.join(a, b, leaves + step - 1);
    }
    Tree { leaves, merges }
}

/// Groups in slots; a merged group uses the slot of its first part, and the other slot becomes unused.
struct TreeGroups {
    len: usize,
    distance: Vec<f64>,
    node: Vec<usize>,
    size: Vec<f64>,
    live: Vec<usize>,
    /// For each slot the live slot nearest to it, whatever its number.
    nearest: Vec<usize>,
}

impl TreeGroups {
    fn from_distances(distances: &Distances) -> TreeGroups {
        let len = distances.len();
        let distance = (0..len * len).map(|cell| distances.get(cell / len, cell % len)).collect();
        let mut groups = TreeGroups {
            len,
            distance,
            node: (0..len).collect(),
            size: vec![1.0; len],
            live: (0..len).collect(),
            nearest: vec![usize::MAX; len],
        };
        for slot in 0..len {
            groups.find_nearest(slot);
        }
        groups
    }

    fn get(&self, a: usize, b: usize) -> f64 {
        self.distance[a * self.len + b]
    }

    /// A pair in the order in which ties are broken.
    fn pair_order(&self, a: usize, b: usize) -> (f64, usize, usize) {
        (self.get(a, b), self.node[a].min(self.node[b]), self.node[a].max(self.node[b]))
    }

    fn find_nearest(&mut self, slot: usize) {
        let others = self.live.iter().copied().filter(|&other| other != slot);
        let nearest = others.min_by(|&a, &b| before(self.pair_order(slot, a), self.pair_order(slot, b)));
        self.nearest[slot] = nearest.unwrap_or(usize::MAX);
    }

    fn nearest_pair(&self) -> (usize, usize) {
        let pair = |slot: usize| self.pair_order(slot, self.nearest[slot]);
        let nearest = self.live.iter().copied().min_by(|&a, &b| before(pair(a), pair(b)));
        let slot = nearest.expect("two groups are left");
        (slot, self.nearest[slot])
    }

    fn join(&mut self, a: usize, b: usize, node: usize) {
        let (weight_a, weight_b) = (self.size[a], self.size[b]);
        self.live.retain(|&slot| slot != b);
        for index in 0..self.live.len() {
            let other = self.live[index];
            let mean =
                (weight_a * self.get(a, other) + weight_b * self.get(b, other)) / (weight_a + weight_b);
            self.distance[a * self.len + other] = mean;
            self.distance[other * self.len + a] = mean;
        }
        self.size[a] += weight_b;
        self.node[a] = node;
        for index in 0..self.live.len() {
            let other = self.live[index];
            // A mean is never below both parts, so only slots whose nearest was a part must be updated.
            if other == a || self.nearest[other] == a || self.nearest[other] == b {
                self.find_nearest(other);
            }
        }
    }
}

fn before(a: (f64, usize, usize), b: (f64, usize, usize)) -> std::cmp::Ordering {
    a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2)))
}
