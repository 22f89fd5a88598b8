//! The commands of questions, which declare themselves.

use crate::exit::{CommandError, Status, Verdicts};
use crate::kernel_input::KernelInput;
use crate::output::RunOptions;
use crate::samples::{SampleInput, load_samples};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches, Subcommand};
use laggard_params::{
    Declaration, DeclaredQuestion, KernelQuestion, KernelTraces, QuestionVisitor, SampleQuestion,
    each_question,
};
use laggard_report::DeclaredReport;
use std::fmt::Debug;

/// The arguments of a question's command: what it is about, and its parameters.
#[derive(Debug)]
pub(crate) struct QuestionArguments<I, Q> {
    input: I,
    question: Q,
    exit_code: bool,
    run: RunOptions,
}

const EXIT_CODE: &str = "exit_code";

impl<I: Args, Q: DeclaredQuestion> Args for QuestionArguments<I, Q> {
    fn augment_args(command: Command) -> Command {
        let Declaration { about, examples, alarm, .. } = Q::DECLARATION;
        let exit_code = alarm
            .map(|alarm| Arg::new(EXIT_CODE).long("exit-code").help(alarm.help).action(ArgAction::SetTrue));
        let command = Q::augment_args(I::augment_args(command)).args(exit_code);
        RunOptions::augment_args(command).about(about).after_help(examples)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<I: FromArgMatches, Q: DeclaredQuestion> FromArgMatches for QuestionArguments<I, Q> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<QuestionArguments<I, Q>, Error> {
        Ok(QuestionArguments {
            input: I::from_arg_matches(matches)?,
            question: Q::from_arg_matches(matches)?,
            exit_code: Q::DECLARATION.alarm.is_some() && matches.get_flag(EXIT_CODE),
            run: RunOptions::from_arg_matches(matches)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = QuestionArguments::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<I, Q: DeclaredQuestion> QuestionArguments<I, Q> {
    fn write(&self, report: &Q::Output) -> Result<Status, CommandError> {
        self.run.write(report)?;
        let alarm = Q::DECLARATION.alarm;
        let verdicts = Verdicts {
            alarming: alarm.map_or(&[], |alarm| alarm.verdicts),
            unsure: alarm.map_or(&[], |alarm| alarm.unsure),
            exit_code: self.exit_code,
        };
        Ok(verdicts.status(&report.verdict()))
    }
}

/// Arguments that were read.
pub(crate) trait Run: Debug {
    /// Answers the question, and writes the report.
    fn run(&self) -> Result<Status, CommandError>;
}

impl<Q: SampleQuestion> Run for QuestionArguments<SampleInput, Q> {
    fn run(&self) -> Result<Status, CommandError> {
        let mut question = self.question.clone();
        if let Some(value) = question.value_or_file()
            && let Some(path) = value.strip_prefix('@')
        {
            *value = value_in(path)?;
        }
        let settings = question.settings(&self.input.windows).map_err(CommandError::usage)?;
        let samples = load_samples(&self.input, Q::NEEDS_RESOURCES, self.run.threads())?;
        self.write(&Q::answer(settings, samples).map_err(CommandError::usage)?)
    }
}

impl<Q: KernelQuestion> Run for QuestionArguments<KernelInput<Q::Input>, Q> {
    fn run(&self) -> Result<Status, CommandError> {
        let delimiter = self.question.delimiter().map_err(CommandError::usage)?;
        let sources = self.input.traces.files().sources();
        let threads = self.run.threads();
        let settings = self.question.settings(&sources, threads).map_err(CommandError::usage)?;
        let hosts = self.input.read(&self.question, delimiter, threads)?;
        self.write(&Q::answer(settings, hosts).map_err(CommandError::usage)?)
    }
}

/// Bytes of a file with the value of a parameter.
const VALUE_FILE_MAX: u64 = 1 << 20;

/// A value in the lines of a file.
fn value_in(path: &str) -> Result<String, CommandError> {
    let unreadable = |error: std::io::Error| CommandError::unreadable(format!("cannot read {path}: {error}"));
    if std::fs::metadata(path).map_err(unreadable)?.len() > VALUE_FILE_MAX {
        return Err(CommandError::usage(format!("{path} is larger than a value can be")));
    }
    Ok(std::fs::read_to_string(path).map_err(unreadable)? + "\n")
}

/// Kinds of questions, by what they are about.
pub(crate) const ABOUT_SAMPLES: bool = false;
pub(crate) const ABOUT_KERNEL_TRACES: bool = true;

/// The command of a question of one kind, unless it has one of its own.
#[derive(Debug)]
pub(crate) struct QuestionCommand<const KIND: bool>(Box<dyn Run>);

impl<const KIND: bool> QuestionCommand<KIND> {
    pub(crate) fn run(&self) -> Result<Status, CommandError> {
        self.0.run()
    }
}

/// A command of `laggard`, or one below `laggard kernel`.
struct Row {
    kind: bool,
    name: &'static str,
    augment: fn(Command) -> Command,
    read: fn(&ArgMatches) -> Result<Box<dyn Run>, Error>,
}

struct Rows(Vec<Row>);

impl Rows {
    fn of(kind: bool) -> impl Iterator<Item = Row> {
        let mut rows = Rows(Vec::new());
        each_question(&mut rows);
        rows.0.into_iter().filter(move |row| row.kind == kind)
    }

    fn add<Q: DeclaredQuestion, A: Args + Run + 'static>(&mut self, kind: bool) {
        let Declaration { name, own_command, .. } = Q::DECLARATION;
        if own_command {
            return;
        }
        self.0.push(Row {
            kind,
            name: name.trim_start_matches("kernel/"),
            augment: A::augment_args,
            read: |matches| Ok(Box::new(A::from_arg_matches(matches)?)),
        });
    }
}

impl QuestionVisitor for Rows {
    fn about_samples<Q: SampleQuestion>(&mut self) {
        self.add::<Q, QuestionArguments<SampleInput, Q>>(ABOUT_SAMPLES);
    }

    fn about_kernel_traces<Q: KernelQuestion>(&mut self) {
        self.add::<Q, QuestionArguments<KernelInput<Q::Input>, Q>>(ABOUT_KERNEL_TRACES);
    }
}

impl<const KIND: bool> Subcommand for QuestionCommand<KIND> {
    fn augment_subcommands(command: Command) -> Command {
        Rows::of(KIND).fold(command, |command, row| command.subcommand((row.augment)(Command::new(row.name))))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        Rows::of(KIND).any(|row| row.name == name)
    }
}

impl<const KIND: bool> FromArgMatches for QuestionCommand<KIND> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<QuestionCommand<KIND>, Error> {
        let (name, matches) = matches.subcommand().ok_or_else(|| Error::new(ErrorKind::MissingSubcommand))?;
        let row = Rows::of(KIND).find(|row| row.name == name);
        let row = row.ok_or_else(|| Error::new(ErrorKind::InvalidSubcommand))?;
        (row.read)(matches).map(QuestionCommand)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = QuestionCommand::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_can_be_read_from_a_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "cart=1\n\nhome = 3").unwrap();
        assert_eq!(value_in(&file.path().display().to_string()).unwrap(), "cart=1\n\nhome = 3\n");
        assert!(value_in("/no/such/file").is_err());
    }
}
