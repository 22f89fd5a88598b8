//! `laggard capacity`.

use crate::exit::{CommandError, Status, Verdicts};
use crate::output::RunOptions;
use crate::samples::{LoadedSamples, SampleInput, load_samples};
use clap::Args;
use laggard_metrics_questions::{CapacitySettings, capacity};
use laggard_params::CapacityParams;
use laggard_report::DeclaredReport;

const EXAMPLES: &str = "Examples:
  laggard capacity samples.csv --latency-max 500ms
  laggard capacity samples/ --latency-max 500ms --what-if 'cart.demand=-30%' --servers app=4
  laggard capacity samples/ --latency-max 300ms --mix cart=20%,home=80% --load 2
  laggard capacity access.log cpu.csv --latency-max 1s --think 7s --output html -o capacity.html

Exit status: 0 success, 1 the load is beyond the capacity (with --exit-code), 2 invalid usage, 3 unreadable input, 4 not enough data.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Capacity {
    #[command(flatten)]
    input: SampleInput,
    #[command(flatten)]
    question: CapacityParams,
    /// Exit with status 1 when the load is beyond the capacity
    #[arg(long)]
    exit_code: bool,
    #[command(flatten)]
    run: RunOptions,
}

pub(crate) fn run(arguments: &Capacity) -> Result<Status, CommandError> {
    let threads = arguments.run.threads();
    let settings = CapacitySettings { threads, ..settings(arguments)? };
    let LoadedSamples { table, facts, deployments: _, cautions } = load_samples(&arguments.input, threads)?;
    let mut report = capacity(&table, &facts, &settings).map_err(CommandError::usage)?;
    report.cautions.extend(cautions);
    arguments.run.write(&report)?;
    let verdicts = Verdicts { alarming: &["exceeded"], exit_code: arguments.exit_code, ..Verdicts::NONE };
    Ok(verdicts.status(&report.verdict()))
}

fn settings(arguments: &Capacity) -> Result<CapacitySettings, CommandError> {
    let mut question = arguments.question.clone();
    if let Some(path) = question.mix.as_deref().and_then(|mix| mix.strip_prefix('@')) {
        question.mix = Some(mix_of(path)?);
    }
    question.settings(&arguments.input.windows).map_err(CommandError::usage)
}

/// Bytes of a file with a mix.
const MIX_FILE_MAX: u64 = 1 << 20;

/// A mix in the lines of a file.
fn mix_of(path: &str) -> Result<String, CommandError> {
    let unreadable = |error: std::io::Error| CommandError::unreadable(format!("cannot read {path}: {error}"));
    if std::fs::metadata(path).map_err(unreadable)?.len() > MIX_FILE_MAX {
        return Err(CommandError::usage(format!("{path} is larger than a mix can be")));
    }
    Ok(std::fs::read_to_string(path).map_err(unreadable)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_can_be_read_from_a_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "cart=1\n\nhome = 3").unwrap();
        assert_eq!(mix_of(&file.path().display().to_string()).unwrap(), "cart=1\n\nhome = 3\n");
        assert!(mix_of("/no/such/file").is_err());
    }
}
