//! `laggard signature` and `laggard signature diff`.

use crate::exit::{CommandError, Status};
use crate::output_form::{ColorWhen, OutputForm};
use crate::samples::{LoadedSamples, SampleInput, load_samples};
use crate::write::{OutputTarget, write_signature, write_signature_diff};
use clap::{Args, Subcommand, ValueEnum};
use laggard_metrics_questions::{
    DiffThresholds, NamedSignature, SignatureQuestion, SignatureTest, build_signature, diff_signatures,
};
use laggard_params::SignatureParams;
use laggard_report::{
    DiffOutput, DiffVerdict, Output, Signature, SignatureDiff, SignatureVerdict, read_signature,
};
use laggard_system::available_threads;
use std::fs::File;
use std::io::Read;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "Examples:
  laggard signature samples.csv                              what transactions take, as text
  laggard signature access.log cpu.csv --cores 4 --label \"$COMMIT\" -o signature.json
  laggard signature diff main.json signature.json --exit-code --junit signature.xml

Exit status: 0 success, 2 invalid usage, 3 unreadable input, 4 not enough data for a signature.";

/// Measure what transactions take at every server without queueing, and compare two such signatures
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct SignatureArguments {
    #[command(subcommand)]
    command: Option<SignatureCommand>,
    #[command(flatten)]
    build: Build,
}

#[derive(Subcommand, Debug)]
enum SignatureCommand {
    /// Find transactions that take longer than in an earlier signature: a gate for continuous integration
    Diff(Box<Diff>),
}

#[derive(Args, Debug)]
struct Build {
    #[command(flatten)]
    input: SampleInput,
    #[command(flatten)]
    question: SignatureParams,
    /// Format of the report; json is the file that `laggard signature diff` reads [default: by the ending of the file's
    /// name, else text]
    #[arg(long, value_enum)]
    output: Option<OutputForm>,
    /// Write it to a file instead of standard output
    #[arg(short = 'o', value_name = "FILE")]
    file: Option<PathBuf>,
    /// When to use colors
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = ColorWhen::Auto)]
    color: ColorWhen,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

const DIFF_EXAMPLES: &str = "Examples:
  laggard signature diff old.json new.json
  laggard signature diff old.json new.json --exit-code --junit junit.xml --sarif laggard.sarif

Exit status: 0 success, 1 a transaction got slower (with --exit-code), 2 invalid usage, 3 unreadable input, 4 not enough data.";

#[derive(Args, Debug)]
#[command(after_help = DIFF_EXAMPLES)]
struct Diff {
    /// The signature before
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The signature after; - for standard input
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// Exit with status 1 when a transaction got slower
    #[arg(long)]
    exit_code: bool,
    /// With --exit-code: also when one got faster, is new or is gone
    #[arg(long, requires = "exit_code")]
    any: bool,
    /// A difference counts above this share of the time before
    #[arg(long, value_name = "SHARE", default_value_t = SignatureTest::default().change_min, value_parser = share)]
    change_min: f64,
    /// … and above so many standard errors
    #[arg(long, value_name = "X", default_value_t = SignatureTest::default().standard_errors_min, value_parser = factor)]
    standard_errors: f64,
    /// … with so many windows in both signatures
    #[arg(long, value_name = "N", default_value_t = SignatureTest::default().windows_min)]
    windows_min: usize,
    /// … and, when the load differs, above this share of how much the correction for queueing differs
    #[arg(long, value_name = "SHARE", default_value_t = DiffThresholds::default().correction_share, value_parser = share)]
    correction_share: f64,
    /// Format of the report
    #[arg(long, value_enum, default_value_t = DiffForm::Text)]
    output: DiffForm,
    /// Write the report to a file instead of standard output
    #[arg(short = 'o', value_name = "FILE")]
    file: Option<PathBuf>,
    /// Write JUnit XML to this file, too
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write SARIF to this file, too
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// When to use colors
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = ColorWhen::Auto)]
    color: ColorWhen,
}

/// Form of a difference.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum DiffForm {
    /// A verdict card for a terminal
    Text,
    /// The data itself
    Json,
    /// For a comment on a change: at most forty lines
    Markdown,
    /// One self-contained page
    Html,
    /// The report as blocks (laggard schema document)
    Document,
    /// JUnit XML: one test case a transaction
    Junit,
    /// SARIF 2.1.0: one result for each transaction that got slower
    Sarif,
}

impl DiffForm {
    const fn output(self) -> DiffOutput {
        match self {
            DiffForm::Text => DiffOutput::Report(Output::Text),
            DiffForm::Json => DiffOutput::Report(Output::Json),
            DiffForm::Markdown => DiffOutput::Report(Output::Markdown),
            DiffForm::Html => DiffOutput::Report(Output::Html),
            DiffForm::Document => DiffOutput::Report(Output::Document),
            DiffForm::Junit => DiffOutput::Junit,
            DiffForm::Sarif => DiffOutput::Sarif,
        }
    }
}

fn share(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| (0.0..=10.0).contains(value));
    value.ok_or_else(|| format!("{text:?} is not a share between 0 and 10; 0.1 is a tenth"))
}

fn factor(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| (0.0..=100.0).contains(value));
    value.ok_or_else(|| format!("{text:?} is not a number between 0 and 100"))
}

pub(crate) fn run(arguments: &SignatureArguments) -> Result<Status, CommandError> {
    match &arguments.command {
        Some(SignatureCommand::Diff(arguments)) => diff(arguments),
        None => build(&arguments.build),
    }
}

fn build(arguments: &Build) -> Result<Status, CommandError> {
    let threads = arguments.threads.unwrap_or_else(available_threads);
    let LoadedSamples { table, facts, cautions, .. } = load_samples(&arguments.input, threads)?;
    let mut signature = build_signature(&SignatureQuestion {
        table: &table,
        facts: &facts,
        label: &arguments.question.label,
        types_max: arguments.question.types_max.into(),
    });
    signature.cautions.extend(cautions);
    let form = arguments.output.unwrap_or_else(|| form_of(arguments.file.as_deref()));
    let place = OutputTarget { file: arguments.file.as_deref(), color: arguments.color };
    write_signature(&signature, form, &place)?;
    Ok(match signature.verdict {
        SignatureVerdict::Usable => Status::Done,
        SignatureVerdict::InsufficientData => Status::TooLittle,
    })
}

/// The format that the ending of a file's name selects.
fn form_of(file: Option<&Path>) -> OutputForm {
    match file.and_then(Path::extension).and_then(|ending| ending.to_str()) {
        Some("json") => OutputForm::Json,
        Some("md") => OutputForm::Markdown,
        Some("html" | "htm") => OutputForm::Html,
        _ => OutputForm::Text,
    }
}

fn diff(arguments: &Diff) -> Result<Status, CommandError> {
    if arguments.old.as_os_str() == "-" && arguments.new.as_os_str() == "-" {
        return Err(CommandError::usage("standard input can be one of the two signatures only"));
    }
    let (old, new) = (read(&arguments.old)?, read(&arguments.new)?);
    let files = [&arguments.old, &arguments.new].map(|path| path.display().to_string());
    let test = DiffThresholds {
        test: SignatureTest {
            change_min: arguments.change_min,
            standard_errors_min: arguments.standard_errors,
            windows_min: arguments.windows_min,
        },
        correction_share: arguments.correction_share,
    };
    let named = |at: usize, signature| NamedSignature { file: &files[at], signature };
    let found = diff_signatures(named(0, &old), named(1, &new), &test);
    let place = |file| OutputTarget { file, color: arguments.color };
    write_signature_diff(&found, arguments.output.output(), &place(arguments.file.as_deref()))?;
    for (file, form) in [(&arguments.junit, DiffOutput::Junit), (&arguments.sarif, DiffOutput::Sarif)] {
        if let Some(file) = file {
            write_signature_diff(&found, form, &place(Some(file)))?;
        }
    }
    Ok(status(&found, arguments))
}

fn status(found: &SignatureDiff, arguments: &Diff) -> Status {
    let counts = &found.counts;
    let differs = counts.slower > 0 || (arguments.any && counts.faster + counts.new + counts.removed > 0);
    match found.verdict {
        _ if arguments.exit_code && differs => Status::Suspects,
        DiffVerdict::InsufficientData => Status::TooLittle,
        _ => Status::Done,
    }
}

// Limit: bytes of a signature that is compared | rejected
/// A signature is far smaller; what is larger is another file.
const FILE_BYTES_MAX: u64 = 64 << 20;

fn read(path: &Path) -> Result<Signature, CommandError> {
    let name = path.display();
    let unreadable = |error: std::io::Error| CommandError::unreadable(format!("cannot read {name}: {error}"));
    let mut bytes = Vec::new();
    let input: Box<dyn Read> = match path.as_os_str() == "-" {
        true => Box::new(std::io::stdin()),
        false => Box::new(File::open(path).map_err(unreadable)?),
    };
    input.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(CommandError::unreadable(format!("{name} is over 64 MiB: no signature is")));
    }
    let text = String::from_utf8_lossy(&bytes);
    read_signature(&text).map_err(|error| CommandError::unreadable(format!("cannot read {name}: {error}.")))
}
