//! Tests of alignment and localisation as their users see them.

mod msa_golden;
