//! How a set of requests was thinned, and what each of them stands for.

use super::levels::CallCount;

/// How the requests of a set were selected from more than fit in memory.
#[derive(Clone, PartialEq, Debug)]
pub struct Thinning {
    /// All requests in the times that were read.
    pub all: CallCount,
    /// Those of them in the set.
    pub selected: CallCount,
    /// Of the most frequent kind of request, one in this number was taken: a power of 2.
    pub one_in_most: u64,
    /// By tree structure: the level from which complete requests were taken, and incomplete ones.
    pub(super) levels: Vec<[u32; 2]>,
}

impl Thinning {
    /// How many requests one that was taken stands for, by its structure: a power of 2.
    pub(crate) fn one_in(&self, structure: u32, complete: bool) -> f32 {
        (self.levels[structure as usize][usize::from(!complete)] as f32).exp2()
    }
}
