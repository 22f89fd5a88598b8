//! Questions about stored requests: diagnose and compare.

use super::two_rounds::{LastSelection, LeftOut};
use super::{Body, Query, Question, Work};
use crate::api::cache::RequestCache;
use crate::api::data::{REST_SPANS_MAX, merge_slices, slices, threads};
use crate::api::jobs::Progress;
use crate::api::parameters::now;
use crate::api::problem::{ApiError, ProblemKind};
use crate::api::running::JobSize;
use crate::api::state::AppState;
use crate::events::TenantEvents;
use crate::operations::{ProcessMemory, QUESTION_BYTES, ReservedMemory, ServerIssues};
use crate::stored_facts::stored_facts;
use crate::tenants::Tenant;
use laggard_diagnose::{BaselineChoice, ComparedPopulation, DiagnoseSettings, Population};
use laggard_engine::{LocalEngine, Requests};
use laggard_params::{BaselineData, CompareParams, ComparedData, DIAGNOSE_QUESTION, DiagnoseParams, Window};
use laggard_report::{Comparison, InputFacts, Report, SystemEvent};
use laggard_store::{StoreWorkers, UnitWorkers, Views, WhenWorkersFail};
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use tokio::runtime::Handle;

/// A question about at most so many spans takes some tenths of a second, if the slices that they are in have at most so many.
const SHORT_SPANS_MAX: u64 = 300_000;
const SHORT_READ_SPANS_MAX: u64 = 5_000_000;

pub(super) fn questions() -> [Question; 2] {
    [
        Question::new("diagnose", DIAGNOSE_QUESTION, Body::Settings, diagnose),
        Question::new("compare", "What differs between two windows?", Body::Settings, compare),
    ]
}

fn diagnose(query: Query<'_, DiagnoseParams>) -> Result<Work<Report>, ApiError> {
    no_files(&query)?;
    let settings = query.params.settings(now())?;
    query.params.check_baseline(&settings, BaselineData::Same)?;
    let mut tenant_queries = TenantQueries::of(query.state, query.tenant);
    tenant_queries.declared = query.params.events(now());
    if query.params.baseline_is_automatic(&settings) {
        let window = Window { since: settings.since, until: settings.until };
        let windows = tenant_queries.baseline_candidates(window).chain([window]);
        let size = tenant_queries.size_of(windows);
        return Ok(Work::from_size(size, move |progress| {
            tenant_queries.diagnose_with_earlier(settings, progress)
        }));
    }
    let size = tenant_queries.size_of(tenant_queries.windows(&settings));
    Ok(Work::from_size(size, move |progress| tenant_queries.diagnose(&settings, progress)))
}

fn compare(query: Query<'_, CompareParams>) -> Result<Work<Comparison>, ApiError> {
    no_files(&query)?;
    let windows = query.params.windows(ComparedData::One, now())?;
    query.params.settings()?;
    let tenant_queries = TenantQueries::of(query.state, query.tenant);
    let params = query.params;
    let size = tenant_queries.size_of(windows);
    Ok(Work::from_size(size, move |progress| tenant_queries.compare(&params, windows, progress)))
}

fn no_files<Q>(query: &Query<'_, Q>) -> Result<(), ApiError> {
    match &query.uploads {
        Some(uploads) if !uploads.files().is_empty() => Err(ApiError::new(
            ProblemKind::WrongType,
            "this question is about stored requests; POST /api/v1/import accepts files",
        )),
        _ => Ok(()),
    }
}

/// A tenant's data, from a thread that may wait.
pub(crate) struct TenantQueries {
    pub(crate) views: Views,
    pub(crate) cache: Arc<RequestCache>,
    pub(crate) memory: Arc<ProcessMemory>,
    /// Most calls that one question compares.
    pub(super) calls_max: u64,
    /// What is reserved of the memory for the requests that were read last, until the question is answered.
    pub(super) reserved: Mutex<Option<ReservedMemory>>,
    /// Threads that compute.
    pub(super) threads: NonZeroUsize,
    /// Who reads requests; this process if there are none.
    pub(super) workers: Option<StoreWorkers>,
    /// Windows stored in slices of fewer spans are read by this process.
    pub(super) workers_spans_min: u64,
    /// Whether workers have failed, so that this process reads the rest of what the question is about.
    pub(super) workers_failed: AtomicBool,
    pub(super) issues: Arc<ServerIssues>,
    /// Requests that were taken last.
    pub(super) last_selection: Mutex<Option<LastSelection>>,
    pub(crate) handle: Handle,
    pub(crate) events: Arc<TenantEvents>,
    /// Events that came with the question.
    pub(crate) declared: Vec<SystemEvent>,
}

impl TenantQueries {
    /// To be called where a runtime is.
    pub(crate) fn of(state: &AppState, tenant: &Tenant) -> TenantQueries {
        let (views, folders) = tenant.store.views_of_folders(&tenant.name);
        let store_workers = |workers: &Arc<dyn UnitWorkers>| StoreWorkers {
            workers: Arc::clone(workers),
            folders: folders.into(),
            when_they_fail: WhenWorkersFail::ComputeHere,
        };
        TenantQueries {
            views,
            cache: state.api.cache.clone(),
            memory: state.memory.clone(),
            calls_max: state.api.calls_max,
            reserved: Mutex::default(),
            threads: threads(),
            workers: state.api.workers.as_ref().map(store_workers),
            workers_spans_min: state.api.workers_spans_min,
            workers_failed: AtomicBool::new(false),
            issues: Arc::clone(&state.issues),
            last_selection: Mutex::default(),
            handle: Handle::current(),
            events: tenant.events.clone(),
            declared: Vec::new(),
        }
    }

    /// How much work a question about some windows is.
    fn size_of(&self, windows: impl IntoIterator<Item = Window>) -> JobSize {
        let view = self.views.newest();
        let (mut spans, mut read) = (0, 0);
        for Window { since, until } in windows {
            spans += view.spans_estimated(since, until);
            read += view.spans_within(since, until);
        }
        let is_short = spans <= SHORT_SPANS_MAX && read <= SHORT_READ_SPANS_MAX;
        if is_short { JobSize::Short } else { JobSize::Long }
    }

    /// The requests of some windows, and of others that lie in the same slices; each slice once.
    pub(crate) fn requests(
        &self,
        windows: &[Window],
        progress: &Progress,
    ) -> Result<Arc<Requests>, ApiError> {
        progress.stage("reading requests", windows.len() as u64)?;
        let read = slices(self.views.newest(), windows, self.memory.calls_max());
        let all = progress.wait_for(&self.handle, read)?;
        progress.done(windows.len() as u64);
        self.reserve(QUESTION_BYTES.of(&all), progress)?;
        progress.stage("assembling", 0)?;
        Ok(merge_slices(&self.cache, all, self.threads))
    }

    /// Reserves memory for the requests of a question, instead of what is reserved for those before.
    pub(super) fn reserve(&self, bytes: u64, progress: &Progress) -> Result<(), ApiError> {
        self.set_reserved(None);
        let memory = self.memory.reserve_for_question(bytes);
        self.set_reserved(Some(progress.wait_for(&self.handle, async { Ok(memory.await?) })?));
        Ok(())
    }

    fn set_reserved(&self, reserved: Option<ReservedMemory>) {
        *self.reserved.lock().expect("no thread panics while it holds the lock") = reserved;
    }

    /// The windows that a diagnosis reads.
    fn windows(&self, settings: &DiagnoseSettings) -> Vec<Window> {
        let window = Window { since: settings.since, until: settings.until };
        match settings.baseline {
            BaselineChoice::None => vec![window],
            BaselineChoice::Within { since, until } => vec![window, Window { since, until }],
            BaselineChoice::Rest => {
                let view = self.views.newest();
                let (since, until) = view.around(window.since, window.until, REST_SPANS_MAX);
                vec![Window { since, until }]
            }
        }
    }

    pub(crate) fn diagnose(
        &self,
        settings: &DiagnoseSettings,
        progress: &Progress,
    ) -> Result<Report, ApiError> {
        let window = Window { since: settings.since, until: settings.until };
        let requests = self.requests_or_sample(
            &self.windows(settings),
            (&[window], LeftOut::OfFrequentKinds),
            progress,
        )?;
        progress.stage("diagnosing", 0)?;
        let engine = LocalEngine::new(self.threads);
        let events = self.events.around(window).into_iter().chain(self.declared.iter().cloned());
        let facts = InputFacts { events: events.collect(), ..stored_facts(&requests) };
        let report = laggard_diagnose::diagnose(&requests, None, &facts, settings, engine);
        let mut report = report.map_err(ApiError::invalid)?;
        report.cautions.extend(self.cautions());
        Ok(report)
    }

    pub(super) fn compare(
        &self,
        question: &CompareParams,
        windows: [Window; 2],
        progress: &Progress,
    ) -> Result<Comparison, ApiError> {
        let requests = self.requests_or_sample(&windows, (&windows, LeftOut::OfAllKinds), progress)?;
        progress.stage("comparing", 0)?;
        let attributes = question.attribute_filters()?;
        let selection = question.selection();
        let populations = [0, 1].map(|side| ComparedPopulation {
            population: Population {
                requests: &requests,
                since: windows[side].since,
                until: windows[side].until,
                attributes: &attributes,
                selection: &selection,
            },
            facts: stored_facts(&requests),
            label: ["the window before", "the window after"][side].to_owned(),
        });
        let engine = LocalEngine::new(self.threads);
        let settings = question.settings()?;
        let comparison = laggard_diagnose::compare([&populations[0], &populations[1]], &settings, engine);
        let mut comparison = comparison.map_err(ApiError::invalid)?;
        comparison.cautions.extend(self.cautions());
        Ok(comparison)
    }

    /// What a reader should know about where the data are, and who read them.
    fn cautions(&self) -> impl Iterator<Item = String> {
        let servers = self.views.newest().writers();
        let of_several = (servers > 1).then(|| {
            format!(
                "Stored by {servers} servers: events that were declared to other servers are not considered."
            )
        });
        // Not why: that names machines, and reports are sent to receivers of alerts.
        let read_here = "Read by the server itself, since its workers failed; its log has the reason.";
        of_several.into_iter().chain(self.workers_failed().then(|| read_here.to_owned()))
    }
}
