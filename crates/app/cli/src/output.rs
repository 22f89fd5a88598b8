//! How reports are written: format, file, colors; and the threads that compute them.

use crate::exit::CommandError;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use laggard_report::{
    ColorChoice, DiffOutput, HasTestCases, Output, Present, TextStyle, render, render_difference,
};
use laggard_server::client::WantedForm;
use laggard_system::available_threads;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Width of text that goes to no terminal.
const WIDTH: u16 = 100;

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ColorWhen {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    Always,
    Never,
}

/// Format and destination of a report, and the threads that compute it.
#[derive(Args, Debug)]
pub(crate) struct RunOptions {
    /// Format of the report [default: by the ending of the file's name, else text]
    #[arg(long, value_parser = output())]
    output: Option<Output>,
    #[command(flatten)]
    target: OutputTarget,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

/// Where a report is written.
#[derive(Args, Debug)]
pub(crate) struct OutputTarget {
    /// Write the report to a file instead of standard output
    #[arg(short = 'o', value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// When to use colors
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = ColorWhen::Auto)]
    pub(crate) color: ColorWhen,
}

/// Files for continuous integration, written beside the report.
#[derive(Args, Debug, Default)]
pub(crate) struct TestCaseFiles {
    /// Write JUnit XML to this file, too
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write SARIF to this file, too
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
}

impl TestCaseFiles {
    pub(crate) const fn is_empty(&self) -> bool {
        self.junit.is_none() && self.sarif.is_none()
    }

    pub(crate) fn write<R: Present + HasTestCases>(&self, difference: &R) -> Result<(), CommandError> {
        for (file, output) in [(&self.junit, DiffOutput::Junit), (&self.sarif, DiffOutput::Sarif)] {
            if file.is_some() {
                OutputTarget { file: file.clone(), color: ColorWhen::Never }
                    .write_diff(output, difference)?;
            }
        }
        Ok(())
    }
}

/// Reads the name of an [`Output`].
fn output() -> impl TypedValueParser<Value = Output> {
    named(Output::ALL.to_vec(), Output::name, Output::description)
}

/// Reads the name of a [`DiffOutput`].
pub(crate) fn diff_output() -> impl TypedValueParser<Value = DiffOutput> {
    named(DiffOutput::all().collect(), DiffOutput::name, DiffOutput::description)
}

fn named<T: Copy + Send + Sync + 'static>(
    values: Vec<T>,
    name: fn(T) -> &'static str,
    description: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let names = values.iter().map(|&value| PossibleValue::new(name(value)).help(description(value)));
    PossibleValuesParser::new(names).try_map(move |text| {
        values.iter().copied().find(|&value| name(value) == text).ok_or("an unknown format")
    })
}

impl RunOptions {
    /// For a report that is not written, computed by so many threads.
    pub(crate) fn unwritten(threads: NonZeroUsize) -> RunOptions {
        let target = OutputTarget { file: None, color: ColorWhen::Never };
        RunOptions { output: None, target, threads: Some(threads) }
    }

    pub(crate) fn threads(&self) -> NonZeroUsize {
        self.threads.unwrap_or_else(available_threads)
    }

    fn output(&self) -> Output {
        self.output.unwrap_or_else(|| output_by_name(self.target.file.as_deref()))
    }

    pub(crate) fn write(&self, report: &impl Present) -> Result<(), CommandError> {
        self.target.write(self.output(), report)
    }

    /// The output format in a request to a server.
    pub(crate) fn wanted(&self) -> WantedForm {
        let style = self.target.style();
        let color = style.color == ColorChoice::On;
        WantedForm { output: self.output().name(), width: style.width, color }
    }

    /// Writes a report that a server has rendered.
    pub(crate) fn write_bytes(&self, report: &[u8]) -> Result<(), CommandError> {
        self.target.write_with(|_, out| out.write_all(report))
    }
}

/// The format that the ending of a file's name selects.
fn output_by_name(file: Option<&Path>) -> Output {
    match file.and_then(Path::extension).and_then(|ending| ending.to_str()) {
        Some("json") => Output::Json,
        Some("md") => Output::Markdown,
        Some("html" | "htm") => Output::Html,
        _ => Output::Text,
    }
}

impl OutputTarget {
    pub(crate) fn write(&self, output: Output, report: &impl Present) -> Result<(), CommandError> {
        self.write_with(|style, out| render(output, report, style, out))
    }

    pub(crate) fn write_diff<R: Present + HasTestCases>(
        &self,
        output: DiffOutput,
        difference: &R,
    ) -> Result<(), CommandError> {
        self.write_with(|style, out| render_difference(output, difference, style, out))
    }

    fn write_with(
        &self,
        render: impl Fn(&TextStyle, &mut dyn Write) -> io::Result<()>,
    ) -> Result<(), CommandError> {
        let style = self.style();
        let Some(path) = &self.file else {
            let mut out = BufWriter::new(io::stdout().lock());
            return finish(render(&style, &mut out).and_then(|()| out.flush()));
        };
        let written = File::create(path).and_then(|file| {
            let mut out = BufWriter::new(file);
            render(&style, &mut out)?;
            out.flush()
        });
        written.map_err(|error| CommandError::unreadable(format!("cannot write {}: {error}", path.display())))
    }

    fn style(&self) -> TextStyle {
        if self.file.is_some() {
            return TextStyle { color: color(self.color, false), width: WIDTH };
        }
        let width = terminal_size::terminal_size_of(io::stdout()).map_or(WIDTH, |(width, _)| width.0);
        TextStyle { color: color(self.color, io::stdout().is_terminal()), width }
    }
}

/// Prints text on standard output.
pub(crate) fn print(text: &str) -> Result<(), CommandError> {
    let mut out = io::stdout().lock();
    finish(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// A reader that has seen enough (`| head`) is no failure.
fn finish(written: io::Result<()>) -> Result<(), CommandError> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(CommandError::unreadable(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

fn color(when: ColorWhen, terminal: bool) -> ColorChoice {
    let colors = match when {
        ColorWhen::Always => true,
        ColorWhen::Never => false,
        // https://no-color.org: any value but the empty one.
        ColorWhen::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    };
    if colors { ColorChoice::On } else { ColorChoice::Off }
}
