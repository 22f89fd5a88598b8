//! Tests of the numeric crate against independent references.

mod golden;
mod latency_matrix;
mod properties;
mod rank_tests;
mod robust_pca;
mod textbook;
mod weighted;
