//! Helpers of the tests: traces in a line of text, the reference results beside the repository, and programs beside Rust.

mod drawn;
mod reference;
mod tools;

pub use drawn::{Drawn, drawn};
pub use reference::{data_folder, golden};
pub use tools::{browser_lacks, is_installed, npm_install};
