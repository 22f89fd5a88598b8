//! Questions about samples, stored or uploaded, which declare themselves.

use super::spans::TenantQueries;
use super::{Body, Query, Question, Work};
use crate::api::jobs::Progress;
use crate::api::parameters::now;
use crate::api::problem::ApiError;
use crate::api::sampled::{of_files, of_store};
use crate::api::uploads::Uploads;
use laggard_params::{
    Declaration, QuestionVisitor, SampleQuery, SampleQuestion, SampleReading, WindowedSamples, Windows,
    each_question,
};

pub(super) fn questions() -> Vec<Question> {
    struct Questions(Vec<Question>);

    impl QuestionVisitor for Questions {
        fn about_samples<Q: SampleQuestion>(&mut self) {
            let Declaration { name, question, .. } = Q::DECLARATION;
            self.0.push(Question::new(name, question, Body::SettingsOrFiles, answer::<Q>));
        }
    }

    let mut questions = Questions(Vec::new());
    each_question(&mut questions);
    questions.0
}

fn answer<Q: SampleQuestion>(query: Query<'_, SampleQuery<Q>>) -> Result<Work<Q::Output>, ApiError> {
    let settings = query.params.params.settings(&query.params.windows)?;
    let source = SampleSource::from_query(query)?;
    Ok(Work::long(move |progress| {
        let samples = source.read(progress)?;
        progress.stage(Q::DECLARATION.stage, 0)?;
        Q::answer(settings, samples).map_err(ApiError::from)
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
    /// Checks what can be checked before anything is read.
    fn from_query<P>(query: Query<'_, SampleQuery<P>>) -> Result<SampleSource, ApiError> {
        let SampleQuery { windows, params: _, reading } = query.params;
        windows.settings(now())?;
        reading.settings()?;
        let tenant_queries = TenantQueries::of(query.state, query.tenant);
        let uploads = query.uploads.filter(|uploads| !uploads.files().is_empty());
        Ok(SampleSource { windows, reading, uploads, tenant_queries })
    }

    fn read(&self, progress: &Progress) -> Result<WindowedSamples, ApiError> {
        match &self.uploads {
            Some(uploads) => {
                of_files((uploads, &self.tenant_queries.memory), &self.reading, &self.windows, progress)
            }
            None => of_store(&self.tenant_queries, &self.windows, progress),
        }
    }
}
