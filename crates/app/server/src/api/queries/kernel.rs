//! Questions about uploaded kernel traces, which declare themselves.

use super::{Body, Query, Question, Work};
use crate::api::data::threads;
use crate::api::jobs::Progress;
use crate::api::problem::ApiError;
use crate::api::uploads::{Part, Uploads};
use laggard_params::{
    Declaration, KernelFiles, KernelQuestion, KernelReadSettings, KernelTraces, QuestionVisitor, ReadError,
    TraceFile, each_question,
};

pub(super) fn questions() -> Vec<Question> {
    struct Questions(Vec<Question>);

    impl QuestionVisitor for Questions {
        fn about_kernel_traces<Q: KernelQuestion>(&mut self) {
            let Declaration { name, question, .. } = Q::DECLARATION;
            let body = Body::Files { two_sets: Q::Input::TWO_SETS };
            self.0.push(Question::new(name, question, body, answer::<Q>));
        }
    }

    let mut questions = Questions(Vec::new());
    each_question(&mut questions);
    questions.0
}

fn answer<Q: KernelQuestion>(query: Query<'_, Q>) -> Result<Work<Q::Output>, ApiError> {
    let traces = match Q::Input::TWO_SETS {
        true => Traces::some(query.uploads)?,
        false => Traces::only_files(query.uploads)?,
    };
    let files = traces.files()?;
    let settings = query.params.settings(&files.sources(), threads())?;
    let reading = KernelReadSettings {
        delimiter: query.params.delimiter()?,
        compat: query.params.compat(),
        memory: query.state.memory.graph_bytes(),
        threads: threads(),
    };
    Ok(Work::long(move |progress| {
        progress.stage("reading events", 0)?;
        let hosts = traces.checked(Q::read(&files.in_order(), &reading, progress), progress)?;
        progress.stage(Q::DECLARATION.stage, 0)?;
        Q::answer(settings, hosts).map_err(ApiError::from)
    }))
}

/// Kernel traces that came with a question.
struct Traces {
    uploads: Uploads,
}

impl Traces {
    fn some(uploads: Option<Uploads>) -> Result<Traces, ApiError> {
        let none = || {
            ApiError::invalid(
                "kernel traces are needed: multipart/form-data with a part file, or normal and sample",
            )
        };
        uploads
            .filter(|uploads| !uploads.files().is_empty())
            .map(|uploads| Traces { uploads })
            .ok_or_else(none)
    }

    fn only_files(uploads: Option<Uploads>) -> Result<Traces, ApiError> {
        let traces = Traces::some(uploads)?;
        match traces.uploads.files().iter().all(|file| file.part == Part::File) {
            true => Ok(traces),
            false => Err(ApiError::invalid("traces of this question are parts called file")),
        }
    }

    fn of(&self, part: Part) -> Vec<TraceFile> {
        let own = self.uploads.files().iter().filter(|file| file.part == part);
        own.map(|file| TraceFile { path: file.path.clone(), name: file.name.clone() }).collect()
    }

    fn files(&self) -> Result<KernelFiles, ApiError> {
        let files = KernelFiles {
            both: self.of(Part::File),
            normal: self.of(Part::Normal),
            sample: self.of(Part::Sample),
        };
        let in_two = !files.normal.is_empty() || !files.sample.is_empty();
        match !files.both.is_empty() && in_two {
            true => {
                Err(ApiError::invalid("send parts file, or parts normal and sample, but not all of them"))
            }
            false => Ok(files),
        }
    }

    /// What was read, without the paths of this machine.
    fn checked<T>(&self, read: Result<T, ReadError>, progress: &Progress) -> Result<T, ApiError> {
        progress.check()?;
        read.map_err(|error| match error {
            ReadError::Unreadable(reason) => {
                ApiError::from(ReadError::Unreadable(self.uploads.hide_paths(&reason)))
            }
            other => ApiError::from(other),
        })
    }
}
