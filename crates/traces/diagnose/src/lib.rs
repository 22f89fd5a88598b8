//! One file per question: scan, fold, pure function, report.
//!
//! ```text
//! Requests ─ survey fold ─► categories with latencies ─ gather ─► request matrices ─ localize ─► Report
//! ```

mod capacity;
mod changes;
mod clouddiag;
mod combined;
mod combined_patterns;
mod combined_sites;
mod compare;
mod diagnose;
mod findings;
mod gather;
mod kernel;
mod methods;
mod missing;
mod operations;
mod pca;
mod population;
mod replicas;
mod report;
mod sample_summary;
mod sampling;
mod scan;
mod settings_table;
mod signature;
mod site_fold;
mod span_samples;
mod span_visits;
mod survey;
mod views;

pub use capacity::{Amount, CapacitySettings, CountedWindows, Property, WINDOWS_MIN, WhatIfChange, capacity};
pub use changes::{ChangesQuestion, ChangesSettings, ChangesSettingsError, ToldDeployment, changes};
pub use compare::{
    CategorySummary, CompareSettings, CompareSettingsError, ComparedPopulation, OperationSummary, PathNode,
    PathTimes, PathTrie, PopulationFold, PopulationSummary, Sample, compare,
};
pub use diagnose::{BaselineChoice, DiagnoseSettings, InputFacts, diagnose};
pub use gather::Gather;
pub use kernel::{
    EndedTrace, Instant, KernelDiagnosisQuestion, KernelPathQuestion, KernelRun, KernelSet, PathChoice,
    ReadingSettings, SequenceSettings, TimeWindow, TraceReading, TraceSource, diagnose_kernel, kernel_path,
    kernel_stats,
};
pub use methods::{CHANGE_METHODS, ChangeMethod, DiagnoseMethod, METHODS, Method};
pub use population::{HandleMap, Population, Selected, UnionNames};
pub use sample_summary::{SampleFacts, sample_summary};
pub use signature::{
    DiffThresholds, NamedSignature, SignatureQuestion, SignatureTest, build_signature, diff_signatures,
};
pub use site_fold::SiteFold;
pub use span_samples::{CountedRequests, Key, Place, SpanSampleFold, SpanSampling, Sums, add_span_samples};
pub use span_visits::{Callee, OutboundCall, Visit, visits};
pub use survey::{Survey, SurveyFold, SurveyedCategory};
