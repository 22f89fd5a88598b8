//! `laggard signature` and `laggard signature diff`.

use crate::exit::{CommandError, Status, Verdicts};
use crate::output::{OutputTarget, TestCaseFiles, diff_output};
use crate::question_commands::{QuestionArguments, Run};
use crate::samples::SampleInput;
use clap::{Args, Subcommand};
use laggard_metrics_questions::{DiffThresholds, NamedSignature, SignatureTest, diff_signatures};
use laggard_params::SignatureParams;
use laggard_report::{DeclaredReport, DiffOutput, Signature, SignatureDiff, read_signature};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

// No doc comment: the summary is the question's.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct SignatureArguments {
    #[command(subcommand)]
    command: Option<SignatureCommand>,
    #[command(flatten)]
    build: QuestionArguments<SampleInput, SignatureParams>,
}

#[derive(Subcommand, Debug)]
enum SignatureCommand {
    /// Find transactions that take longer than in an earlier signature: a gate for continuous integration
    Diff(Box<Diff>),
}

const DIFF_EXAMPLES: &str = "Examples:
  laggard signature diff old.json new.json
  laggard signature diff old.json new.json --exit-code --junit junit.xml --sarif laggard.sarif

Exit status: 0 success, 1 a transaction got slower (with --exit-code), 2 invalid usage, 3 unreadable input, 4 not enough data.";

#[derive(Args, Debug)]
#[command(after_help = DIFF_EXAMPLES)]
struct Diff {
    /// The signature before: a file of `laggard signature -o FILE.json`
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
    #[arg(long, value_name = "SHARE", default_value_t = DiffThresholds::default().test.change_min, value_parser = share)]
    change_min: f64,
    /// … and above this many standard errors; with several transactions, as many more as keep the probability of a false difference
    #[arg(long, value_name = "X", default_value_t = DiffThresholds::default().test.standard_errors_min, value_parser = factor)]
    standard_errors: f64,
    /// … with at least this many windows in both signatures
    #[arg(long, value_name = "N", default_value_t = DiffThresholds::default().test.windows_min)]
    windows_min: usize,
    /// … and, where only times are known and the load differs, above this share of how much the correction for queueing differs
    #[arg(long, value_name = "SHARE", default_value_t = DiffThresholds::default().correction_share, value_parser = share)]
    correction_share: f64,
    /// Format of the report
    #[arg(long, default_value = "text", value_parser = diff_output())]
    output: DiffOutput,
    #[command(flatten)]
    target: OutputTarget,
    #[command(flatten)]
    test_cases: TestCaseFiles,
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
        None => arguments.build.run(),
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
    let named = |index: usize, signature| NamedSignature { file: &files[index], signature };
    let diff = diff_signatures(named(0, &old), named(1, &new), &test);
    arguments.target.write_diff(arguments.output, &diff)?;
    arguments.test_cases.write(&diff)?;
    Ok(status(&diff, arguments))
}

fn status(diff: &SignatureDiff, arguments: &Diff) -> Status {
    let counts = &diff.counts;
    let differs = counts.slower > 0 || (arguments.any && counts.faster + counts.new + counts.removed > 0);
    match arguments.exit_code && differs {
        true => Status::Suspects,
        false => Verdicts::NONE.status(&diff.verdict()),
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
