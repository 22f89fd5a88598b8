//! Multiple sequence alignment with the algorithm of MUSCLE (R. C. Edgar, *BMC Bioinformatics* 5:113, 2004), for
//! states.
//!
//! ```text
//! word distances ─► tree ─► alignment ─► identity distances ─► tree ─► alignment ─► the better one ─► refinement
//! ```

mod alignment;
mod anchors;
mod band;
mod group;
mod pairs;
mod profile;
mod progressive;
mod refine;
mod scores;
mod sequence;
mod settings;
mod table;
mod tree;
mod word_distances;

pub use alignment::{MultipleAlignment, align};
pub use band::Move;
pub use pairs::sum_of_pairs;
pub use profile::{Background, Profile, ProfileRow};
pub use refine::{Refinement, RefinementEnd};
pub use sequence::align_to_profile;
pub(crate) use sequence::{TimeFit, UsualTimes, align_timed};
pub use settings::MsaSettings;
pub use tree::{Merge, Tree, upgma};
pub use word_distances::{Distances, word_distance};
