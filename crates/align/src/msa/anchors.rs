//! Where two long profiles surely belong together.

use super::band::Guide;
use super::profile::Profile;

/// A first guess of the path, and the lengths of the longest stretch it leaves open.
pub(super) struct Near {
    pub(super) guide: Guide,
    pub(super) span: (usize, usize),
}

/// The guess between two profiles: straight.
pub(super) fn guide_between(first: &Profile, second: &Profile) -> Near {
    let (n, m) = (first.len(), second.len());
    Near { guide: Guide::straight(n, m), span: (n, m) }
}
