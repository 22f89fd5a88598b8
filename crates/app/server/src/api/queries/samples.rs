//! Questions about samples, stored or uploaded: changes, signature, and capacity.

use super::spans::TenantQueries;
use super::{Body, Query, Question, Work};
use crate::api::data::threads;
use crate::api::jobs::Progress;
use crate::api::parameters::now;
use crate::api::problem::ApiError;
use crate::api::sampled::{Sampled, of_files, of_store};
use crate::api::uploads::Uploads;
use laggard_metrics_questions::{CapacitySettings, ChangesQuestion, SignatureQuestion, build_signature};
use laggard_params::{CapacityParams, ChangesParams, SampleQuery, SampleReading, SignatureParams, Windows};
use laggard_report::{CapacityReport, ChangeReport, Signature};

pub(super) fn questions() -> [Question; 3] {
    [
        Question::new(
            "changes",
            "Did code, workload, or another process on the host change CPU use?",
            Body::SettingsOrFiles,
            changes,
        ),
        Question::new(
            "signature",
            "What do transactions take without queueing?",
            Body::SettingsOrFiles,
            signature,
        ),
        Question::new(
            "capacity",
            "How many clients can the system take within a latency target?",
            Body::SettingsOrFiles,
            capacity,
        ),
    ]
}

fn changes(query: Query<'_, SampleQuery<ChangesParams>>) -> Result<Work<ChangeReport>, ApiError> {
    let settings = query.params.params.settings()?;
    let (source, _) = SampleSource::from_query(query)?;
    Ok(Box::new(move |progress| {
        let sampled = source.read(progress)?;
        progress.stage("looking for changes", 0)?;
        let changes = laggard_metrics_questions::changes(&ChangesQuestion {
            table: &sampled.table,
            facts: &sampled.facts,
            deployments: &source.windows.deployments(),
            settings: &settings,
            threads: threads(),
        });
        let mut report = changes.map_err(ApiError::invalid)?;
        report.cautions.extend(sampled.cautions);
        Ok(report)
    }))
}

fn signature(query: Query<'_, SampleQuery<SignatureParams>>) -> Result<Work<Signature>, ApiError> {
    let (source, params) = SampleSource::from_query(query)?;
    Ok(Box::new(move |progress| {
        let sampled = source.read(progress)?;
        progress.stage("fitting", 0)?;
        let mut signature = build_signature(&SignatureQuestion {
            table: &sampled.table,
            facts: &sampled.facts,
            label: &params.label,
            types_max: params.types_max.into(),
        });
        signature.cautions.extend(sampled.cautions);
        Ok(signature)
    }))
}

fn capacity(query: Query<'_, SampleQuery<CapacityParams>>) -> Result<Work<CapacityReport>, ApiError> {
    let settings = query.params.params.settings(&query.params.windows)?;
    let settings = CapacitySettings { threads: threads(), ..settings };
    let (source, _) = SampleSource::from_query(query)?;
    Ok(Box::new(move |progress| {
        let sampled = source.read(progress)?;
        progress.stage("modeling", 0)?;
        let answered = laggard_metrics_questions::capacity(&sampled.table, &sampled.facts, &settings);
        let mut report = answered.map_err(ApiError::invalid)?;
        report.cautions.extend(sampled.cautions);
        Ok(report)
    }))
}

/// Where samples come from.
struct SampleSource {
    windows: Windows,
    reading: SampleReading,
    uploads: Option<Uploads>,
    tenant_queries: TenantQueries,
}

impl SampleSource {
    /// Checks what can be checked before anything is read; returns the question's own parameters, too.
    fn from_query<P>(query: Query<'_, SampleQuery<P>>) -> Result<(SampleSource, P), ApiError> {
        let SampleQuery { windows, params, reading } = query.params;
        windows.settings(now())?;
        reading.settings()?;
        let tenant_queries = TenantQueries::of(query.state, query.tenant);
        let uploads = query.uploads.filter(|uploads| !uploads.files().is_empty());
        Ok((SampleSource { windows, reading, uploads, tenant_queries }, params))
    }

    fn read(&self, progress: &Progress) -> Result<Sampled, ApiError> {
        match &self.uploads {
            Some(uploads) => of_files(uploads, &self.reading, &self.windows, progress),
            None => of_store(&self.tenant_queries, &self.windows, progress),
        }
    }
}
