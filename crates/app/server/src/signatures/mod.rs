//! Signatures of releases and days, computed as they pass and stored far longer than samples, so that any two can be compared
//! later (Cherkasova et al. 2009, sections 4.4 and 6.2).
//!
//! ```text
//! deployments, days ── periods ──► of_store (samples of the period) ──► Signature ──► signatures/ID.json ──► GET /api/v1/signatures
//! ```

mod periods;
mod schedule;
mod storage;

pub(crate) use schedule::keep_signatures;
#[cfg(test)]
pub(crate) use schedule::store_due;
pub(crate) use storage::{StoredSignature, TenantSignatures};
