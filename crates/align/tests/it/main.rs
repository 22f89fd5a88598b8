//! Tests of alignment and localisation as their users see them.

mod generated;
mod injected;
mod localise_golden;
mod msa_golden;
mod msa_properties;
mod situations;
