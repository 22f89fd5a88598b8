//! The span table and the fold engine.

mod folds;
mod limits;
