//! Methods as published; selectable by name.

pub(crate) mod clouddiag;
pub(crate) mod pca;
mod pca_details;
