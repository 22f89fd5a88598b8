//! Multiple sequence alignment in the manner of MUSCLE (R. C. Edgar, *BMC Bioinformatics* 5:113, 2004), for states.

mod settings;

pub use settings::{ColumnScore, MsaSettings};
