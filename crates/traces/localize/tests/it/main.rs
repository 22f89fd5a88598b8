//! Localization against the reference results and on small synthetic incidents.

mod delag;
mod incidents;
mod patterns;
mod pca_rank;
mod pipeline;
mod sites;
mod small_categories;
