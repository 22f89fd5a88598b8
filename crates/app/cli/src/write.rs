//! Writes a report to standard output or a file.

use crate::exit::CommandError;
use crate::output_form::{ColorWhen, OutputForm};
use laggard_report::{
    CapacityReport, ChangeReport, ColorChoice, Comparison, DiffOutput, KernelDiagnosis, KernelPathReport,
    KernelStatsReport, Output, Report, Signature, SignatureDiff, TextStyle, render, render_signature_diff,
};
use laggard_server::client::WantedForm;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

/// Width of text that goes to no terminal.
const WIDTH: u16 = 100;

/// Form and place of a report.
pub(crate) struct Destination<'a> {
    pub(crate) form: OutputForm,
    pub(crate) file: Option<&'a Path>,
    pub(crate) color: ColorWhen,
}

pub(crate) fn write_report(report: &Report, destination: &Destination<'_>) -> Result<(), CommandError> {
    write_with(destination, |form, style, out| render(form, report, style, out))
}

pub(crate) fn write_comparison(
    comparison: &Comparison,
    destination: &Destination<'_>,
) -> Result<(), CommandError> {
    write_with(destination, |form, style, out| render(form, comparison, style, out))
}

pub(crate) fn write_capacity(
    report: &CapacityReport,
    destination: &Destination<'_>,
) -> Result<(), CommandError> {
    write_with(destination, |form, style, out| render(form, report, style, out))
}

pub(crate) fn write_changes(
    report: &ChangeReport,
    destination: &Destination<'_>,
) -> Result<(), CommandError> {
    write_with(destination, |form, style, out| render(form, report, style, out))
}

pub(crate) fn write_kernel_path(
    report: &KernelPathReport,
    destination: &Destination<'_>,
) -> Result<(), CommandError> {
    write_with(destination, |form, style, out| render(form, report, style, out))
}

pub(crate) fn write_kernel_diagnosis(
    report: &KernelDiagnosis,
    destination: &Destination<'_>,
) -> Result<(), CommandError> {
    write_with(destination, |form, style, out| render(form, report, style, out))
}

pub(crate) fn write_kernel_stats(
    report: &KernelStatsReport,
    destination: &Destination<'_>,
) -> Result<(), CommandError> {
    write_with(destination, |form, style, out| render(form, report, style, out))
}

/// A signature as its JSON file, or as a report.
pub(crate) fn write_signature(
    signature: &Signature,
    form: OutputForm,
    place: &OutputTarget<'_>,
) -> Result<(), CommandError> {
    place.write(|style, out| render(output(form), signature, style, out))
}

pub(crate) fn write_signature_diff(
    diff: &SignatureDiff,
    form: DiffOutput,
    place: &OutputTarget<'_>,
) -> Result<(), CommandError> {
    place.write(|style, out| render_signature_diff(form, diff, style, out))
}

impl Destination<'_> {
    /// The output format in a request to a server.
    pub(crate) fn wanted(&self) -> WantedForm {
        let style = if self.file.is_none() { terminal_style(self.color) } else { file_style(self.color) };
        let color = style.color == ColorChoice::On;
        WantedForm { output: output(self.form).name(), width: style.width, color }
    }

    /// Writes a report that somebody else has put into its form.
    pub(crate) fn write_bytes(&self, report: &[u8]) -> Result<(), CommandError> {
        let place = OutputTarget { file: self.file, color: self.color };
        place.write(|_, out| out.write_all(report))
    }
}

fn terminal_style(when: ColorWhen) -> TextStyle {
    let width = terminal_size::terminal_size_of(io::stdout()).map_or(WIDTH, |(width, _)| width.0);
    TextStyle { color: color(when, io::stdout().is_terminal()), width }
}

fn file_style(when: ColorWhen) -> TextStyle {
    TextStyle { color: color(when, false), width: WIDTH }
}

fn write_with(
    destination: &Destination<'_>,
    render: impl Fn(Output, &TextStyle, &mut dyn Write) -> io::Result<()>,
) -> Result<(), CommandError> {
    let form = output(destination.form);
    let place = OutputTarget { file: destination.file, color: destination.color };
    place.write(|style, out| render(form, style, out))
}

const fn output(form: OutputForm) -> Output {
    match form {
        OutputForm::Text => Output::Text,
        OutputForm::Json => Output::Json,
        OutputForm::Markdown => Output::Markdown,
        OutputForm::Html => Output::Html,
        OutputForm::Document => Output::Document,
    }
}

/// Where something is written: a file, or standard output.
pub(crate) struct OutputTarget<'a> {
    pub(crate) file: Option<&'a Path>,
    pub(crate) color: ColorWhen,
}

impl OutputTarget<'_> {
    fn write(
        &self,
        render: impl Fn(&TextStyle, &mut dyn Write) -> io::Result<()>,
    ) -> Result<(), CommandError> {
        let Some(path) = self.file else {
            let style = terminal_style(self.color);
            let mut out = BufWriter::new(io::stdout().lock());
            return finish(render(&style, &mut out).and_then(|()| out.flush()));
        };
        let style = file_style(self.color);
        let written = File::create(path).and_then(|file| {
            let mut out = BufWriter::new(file);
            render(&style, &mut out)?;
            out.flush()
        });
        written.map_err(|error| CommandError::unreadable(format!("cannot write {}: {error}", path.display())))
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
    let wanted = match when {
        ColorWhen::Always => true,
        ColorWhen::Never => false,
        // https://no-color.org: any value but the empty one.
        ColorWhen::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    };
    if wanted { ColorChoice::On } else { ColorChoice::Off }
}
