//! Helpers of the tests: traces in a line of text, and the reference results beside the repository.

mod drawn;
mod reference;

pub use drawn::{Drawn, drawn};
pub use reference::{data_folder, golden};
