//! The tools about local files: one for each question.

use super::calls::{
    CompareCall, DiagnoseCall, KernelCall, SampleCall, compare_tool, diagnose_tool, kernel_tool, sample_tool,
};
use super::readable::ReadablePaths;
use crate::compare::{Compare, comparison};
use crate::diagnose::{Diagnose, report_on_input};
use crate::exit::CommandError;
use crate::kernel_input::failure;
use crate::load::{BeyondMemory, SpanMemory};
use crate::output::{RunOptions, TestCaseFiles};
use crate::progress::Meter;
use crate::prometheus::PrometheusInput;
use crate::samples::{SampleInput, load_samples};
use crate::server::Server;
use crate::stored::StoredFolder;
use crate::trace_source::TraceSource;
use laggard_mcp::{Tool, ToolAnswer};
use laggard_params::{
    FromParams, KernelFiles, KernelQuestion, KernelReadSettings, QuestionVisitor, SampleQuery,
    SampleQuestion, TraceFile, each_question, settings_answer, settings_tool,
};
use laggard_report::{ColorChoice, DeclaredReport, Output, TextStyle, render};
use serde_json::{Map, Value};
use std::num::NonZeroUsize;

/// What the tools may use.
struct FileAccess {
    readable: ReadablePaths,
    threads: NonZeroUsize,
    memory_bytes: usize,
}

/// Answers a call with these arguments.
type AnswerCall = fn(&FileAccess, Value) -> Result<ToolAnswer, CommandError>;

struct FileTool {
    tool: Tool,
    answer: AnswerCall,
}

/// All tools.
pub(super) struct FileTools {
    access: FileAccess,
    tools: Vec<FileTool>,
}

struct FileToolList(Vec<FileTool>);

impl FileToolList {
    fn add(&mut self, tool: Tool, answer: AnswerCall) {
        self.0.push(FileTool { tool, answer });
    }
}

impl QuestionVisitor for FileToolList {
    fn about_samples<Q: SampleQuestion>(&mut self) {
        self.add(sample_tool::<Q>(), sample_answer::<Q>);
    }

    fn about_kernel_traces<Q: KernelQuestion>(&mut self) {
        self.add(kernel_tool::<Q>(), kernel_answer::<Q>);
    }
}

/// The tools, as they are listed.
pub(super) fn tools() -> Vec<Tool> {
    all().into_iter().map(|row| row.tool).collect()
}

fn all() -> Vec<FileTool> {
    let mut rows = FileToolList(Vec::new());
    rows.add(diagnose_tool(), diagnose_answer);
    rows.add(compare_tool(), compare_answer);
    each_question(&mut rows);
    rows.add(settings_tool(), |_, arguments| Ok(settings_answer(&arguments)));
    rows.0
}

impl FileTools {
    pub(super) fn new(readable: ReadablePaths, threads: NonZeroUsize, memory_bytes: usize) -> FileTools {
        FileTools { access: FileAccess { readable, threads, memory_bytes }, tools: all() }
    }

    /// The answer, or why there is none.
    pub(super) fn answer(&self, name: &str, arguments: Map<String, Value>) -> ToolAnswer {
        let Some(row) = self.tools.iter().find(|row| row.tool.name == name) else {
            return ToolAnswer::failed(format_args!("there is no tool {name:?}"));
        };
        let answer = (row.answer)(&self.access, Value::Object(arguments));
        answer.unwrap_or_else(|error| ToolAnswer::failed(error.message()))
    }
}

fn read<C: FromParams>(arguments: Value) -> Result<C, CommandError> {
    C::from_json(arguments).map_err(CommandError::usage)
}

/// A report as Markdown and as data.
fn report_answer(report: &impl DeclaredReport) -> Result<ToolAnswer, CommandError> {
    let style = TextStyle { color: ColorChoice::Off, width: 100 };
    let mut text = Vec::new();
    let unwritable = |error: &dyn std::fmt::Display| CommandError::unreadable(error);
    render(Output::Markdown, report, &style, &mut text).map_err(|error| unwritable(&error))?;
    let data = serde_json::to_value(report).map_err(|error| unwritable(&error))?;
    Ok(ToolAnswer::from_report(Some(&report.verdict()), &String::from_utf8_lossy(&text), data))
}

fn diagnose_answer(access: &FileAccess, arguments: Value) -> Result<ToolAnswer, CommandError> {
    let DiagnoseCall { files, question, inputs, weights } = read(arguments)?;
    let report = report_on_input(&Diagnose {
        paths: access.readable.checked("paths", &files.paths)?,
        baseline: access.readable.checked("baseline", &files.baseline)?,
        samples: access.readable.checked("samples", &files.samples)?,
        kernel: Vec::new(),
        question,
        inputs,
        weights,
        exit_code: false,
        run: RunOptions::unwritten(access.threads),
        memory: SpanMemory { bytes: access.memory_bytes, beyond: BeyondMemory::default() },
        source: TraceSource::default(),
        server: Server::default(),
        stored: StoredFolder::default(),
    })?;
    report_answer(&report)
}

fn compare_answer(access: &FileAccess, arguments: Value) -> Result<ToolAnswer, CommandError> {
    let CompareCall { files, question, inputs } = read(arguments)?;
    let comparison = comparison(&Compare {
        paths: access.readable.checked("paths", &files.paths)?,
        before: access.readable.checked("before", &files.before)?,
        after: access.readable.checked("after", &files.after)?,
        question,
        inputs,
        exit_code: false,
        test_cases: TestCaseFiles::default(),
        run: RunOptions::unwritten(access.threads),
        memory: SpanMemory { bytes: access.memory_bytes, beyond: BeyondMemory::default() },
        source: TraceSource::default(),
        server: Server::default(),
        stored: StoredFolder::default(),
    })?;
    report_answer(&comparison)
}

fn sample_answer<Q: SampleQuestion>(
    access: &FileAccess,
    arguments: Value,
) -> Result<ToolAnswer, CommandError> {
    let SampleCall { paths, query: SampleQuery { windows, params, reading } } =
        read::<SampleCall<Q>>(arguments)?;
    let settings = params.settings(&windows).map_err(CommandError::usage)?;
    let input = SampleInput {
        paths: access.readable.checked("paths", &paths)?,
        windows,
        inputs: reading.inputs,
        formats: reading.formats,
        weights: reading.weights,
        prometheus: PrometheusInput::default(),
        memory: access.memory_bytes,
        beyond: BeyondMemory::default(),
    };
    let samples = load_samples(&input, Q::NEEDS_RESOURCES, access.threads)?;
    report_answer(&Q::answer(settings, samples).map_err(CommandError::usage)?)
}

fn kernel_answer<Q: KernelQuestion>(
    access: &FileAccess,
    arguments: Value,
) -> Result<ToolAnswer, CommandError> {
    let KernelCall { files, question } = read::<KernelCall<Q>>(arguments)?;
    let traces = |argument: &str, texts: &[String]| {
        let paths = access.readable.checked(argument, texts)?;
        let named = paths.into_iter().zip(texts);
        Ok(named.map(|(path, text)| TraceFile { path, name: text.clone() }).collect())
    };
    let files = KernelFiles {
        both: traces("paths", &files.paths)?,
        normal: traces("normal", &files.normal)?,
        sample: traces("sample", &files.sample)?,
    };
    let settings = question.settings(&files.sources(), access.threads).map_err(CommandError::usage)?;
    let reading = KernelReadSettings {
        delimiter: question.delimiter().map_err(CommandError::usage)?,
        compat: question.compat(),
        memory: access.memory_bytes,
        threads: access.threads,
    };
    let meter = Meter::without_total();
    let hosts = Q::read(&files.in_order(), &reading, &meter);
    meter.done();
    report_answer(&Q::answer(settings, hosts.map_err(failure)?).map_err(CommandError::usage)?)
}
