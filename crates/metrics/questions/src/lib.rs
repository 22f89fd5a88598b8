//! Questions about samples: what changed the CPU use (`changes`), how many clients a system can serve
//! (`capacity`), and how long transactions take without queueing (`signature`).
//!
//! ```text
//! samples ──────────────────────┐
//! requests ─ span_samples fold ─┴─► SampleTable ─► WindowTable ─► changes, capacity, signature ─► reports
//! ```

mod capacity;
mod changes;
mod demands;
mod excess;
mod methods;
mod sample_summary;
mod signature;
mod span_samples;

pub use capacity::{
    Amount, CapacitySettings, CountedWindows, Property, RequestedClients, WINDOWS_MIN, WhatIfChange, capacity,
};
pub use changes::{ChangesQuestion, ChangesSettings, DeclaredDeployment, changes};
pub use excess::{ExcessQuestion, ServerExcess, server_excess};
pub use laggard_changes::{CpuCause, CpuExcess, ExcessSettings, FillTrend, UsePoint, fill_trend};
pub use methods::{CHANGE_METHODS, ChangeMethod};
pub use sample_summary::{SampleFacts, sample_summary};
pub use signature::{
    DiffThresholds, NamedSignature, SignatureQuestion, SignatureTest, build_signature, diff_signatures,
};
pub use span_samples::{
    Callee, CountedRequests, CountingPoint, ExactSums, OutboundCall, SampleKey, SpanSampleFold, SpanSampling,
    Visit, add_span_samples, visits,
};
