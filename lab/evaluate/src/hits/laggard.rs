//! The product's own answer.

use super::{HitCase, HitSuspect};
use crate::arm::Arm;
use crate::case::OperationName;
use laggard_diagnose::{DiagnoseMethod, DiagnoseSettings, diagnose_with_hits};
use laggard_engine::{LocalEngine, Requests, Traces};
use laggard_report::InputFacts;
use std::num::NonZeroUsize;

/// More than anybody reads, so that all requests hit by any suspect are seen.
const SUSPECTS_MAX: usize = 1_000;

/// The default method.
pub(super) struct Hits;

impl Arm<HitCase, Vec<HitSuspect>> for Hits {
    fn name(&self) -> &str {
        DiagnoseMethod::default().name()
    }

    fn is_laggard(&self) -> bool {
        true
    }

    fn answer(&self, case: &HitCase) -> Result<Vec<HitSuspect>, String> {
        let settings = DiagnoseSettings { suspects_max: SUSPECTS_MAX, ..DiagnoseSettings::default() };
        let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let requests = |traces: &Traces| Requests::from_trace_table(traces, threads);
        let baseline = case.baseline.as_deref().map(requests);
        let engine = LocalEngine::new(threads);
        let (target, facts) = (requests(&case.target), InputFacts::default());
        let (report, hits) = diagnose_with_hits(&target, baseline.as_ref(), &facts, &settings, engine)
            .map_err(|error| error.to_string())?;
        let suspects = report.suspects.iter().zip(hits);
        let suspects = suspects.map(|(suspect, requests)| HitSuspect {
            name: OperationName::new(&suspect.service, &suspect.operation),
            requests: requests.into_iter().collect(),
            call_effect_ns: suspect.effect_ns as f64,
            request_effect_ns: suspect.request_effect_ns as f64,
        });
        Ok(suspects.collect())
    }
}
