//! Tests of the numeric crate against independent references.

mod distances;
mod golden;
mod latency_matrix;
mod nnls;
mod principal_components;
mod properties;
mod rank_tests;
mod robust_pca;
mod textbook;
mod weighted;
