//! `laggard record`: records a kernel trace while a command runs, or until something ends.

use crate::exit::{CommandError, Status};
use clap::Args;
use laggard_record::{
    BufferLocation, DatForm, EventGroup, EventName, GuardianProgram, MarkerMode, RecordError, RecordMode,
    RecordSettings, RecordTarget, Uprobe, equivalent_commands,
};
use std::ffi::OsString;
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// The word by which this program starts itself as the process that restores tracing; not for people.
pub(crate) const GUARDIAN: &str = "record-guardian";

/// Exit status when the command cannot be executed, as a shell has it.
const NOT_EXECUTABLE: u8 = 126;
/// Exit status when the command does not exist, as a shell has it.
const NOT_FOUND: u8 = 127;

const EXAMPLES: &str = "Examples:
  laggard record -- ./service --once                   until the command ends; writes trace.dat
  laggard record -o slow.dat --pid 4711 --duration 30s
  laggard record --all                                  until Ctrl-C
  laggard record --marker -- ./replay                   with what it writes to trace_marker
  laggard record --overwrite --all                      only the last moments before Ctrl-C
  laggard record --uprobe ./shop:handle -- ./shop       with the calls of a function, for `laggard diagnose`
  laggard record --print-commands                       the same by trace-cmd, perf and LTTng

All threads of the machine are recorded: a thread may wait for any other.
Exit status: the command's; 128 + N if signal N ended it; 126, 127 if it cannot be executed or found; 2 usage,
3 nothing could be recorded or written.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Record {
    /// File to write (trace.dat, as trace-cmd has it)
    #[arg(short = 'o', value_name = "FILE", default_value = "trace.dat")]
    file: PathBuf,
    /// Record until this process ends
    #[arg(long, value_name = "PID", conflicts_with_all = ["all", "command"])]
    pid: Option<u32>,
    /// Record until Ctrl-C, or for --duration
    #[arg(long, conflicts_with = "command")]
    all: bool,
    /// Record at most this long: 500ms, 30s, 2m (alone: as with --all)
    #[arg(long, value_name = "T", value_parser = duration)]
    duration: Option<Duration>,
    /// Record what programs write to trace_marker even if that needs tracefs mounted where they expect it and the
    /// machine's own buffer (without this, markers are recorded if the kernel can copy them)
    #[arg(long)]
    marker: bool,
    /// Also record system calls (about 10 % overhead)
    #[arg(long)]
    syscalls: bool,
    /// Also record packets, so that a wait for a local server becomes that server's work
    #[arg(long)]
    network: bool,
    /// Also record this event; repeat for more
    #[arg(long = "event", value_name = "SYSTEM:NAME")]
    events: Vec<EventName>,
    /// Also record calls of this function, as spans for `laggard diagnose`; repeat for more
    #[arg(long = "uprobe", value_name = "PROGRAM:FUNCTION", value_parser = uprobe)]
    uprobes: Vec<Uprobe>,
    /// Also record the call stacks with which threads wait and are woken
    #[arg(long)]
    stacks: bool,
    /// Keep the latest events only, in memory, and read them at the end
    #[arg(long)]
    overwrite: bool,
    /// Buffer of each CPU [default: 16 MiB, less where memory is short]
    #[arg(long, value_name = "SIZE", value_parser = crate::load::parse_buffer_size)]
    buffer: Option<usize>,
    /// Record in the machine's own buffer; its settings are put back
    #[arg(long)]
    top_level: bool,
    /// Version of trace.dat: v7 (compressed) or v6 (any trace-cmd reads it)
    #[arg(long, value_name = "VERSION", default_value = "v7", value_parser = form)]
    format: DatForm,
    /// Print how trace-cmd, perf and LTTng record the same, and record nothing
    #[arg(long)]
    print_commands: bool,
    /// Command to run, after --
    #[arg(value_name = "COMMAND", last = true)]
    command: Vec<OsString>,
}

/// Records; gives back the command's exit status.
pub(crate) fn run(arguments: &Record) -> Result<ExitCode, CommandError> {
    let settings = settings(arguments)?;
    if arguments.print_commands {
        crate::output::print(&equivalent_commands(&settings))?;
        return Ok(Status::Done.into());
    }
    match laggard_record::record(&settings) {
        Ok(recording) => {
            // A closed standard error does not affect the recording.
            let _ = writeln!(io::stderr(), "laggard: {}", recording.summary);
            Ok(ExitCode::from(recording.end.status()))
        }
        Err(RecordError::Command { program, source }) if settings.target.runs(&program) => {
            let _ = writeln!(io::stderr(), "laggard: {}: {source}", program.display());
            let missing = source.kind() == ErrorKind::NotFound;
            Ok(ExitCode::from(if missing { NOT_FOUND } else { NOT_EXECUTABLE }))
        }
        Err(error @ RecordError::Impossible { .. }) => Err(CommandError::usage(error)),
        Err(error) => Err(CommandError::unreadable(error)),
    }
}

fn settings(arguments: &Record) -> Result<RecordSettings, CommandError> {
    let program = std::env::current_exe().map_err(|error| {
        CommandError::unreadable(format!("this program's own file is not known: {error}"))
    })?;
    let mut groups = Vec::new();
    groups.extend(arguments.syscalls.then_some(EventGroup::Syscalls));
    groups.extend(arguments.network.then_some(EventGroup::Network));
    Ok(RecordSettings {
        output: arguments.file.clone(),
        form: arguments.format,
        target: target(arguments)?,
        duration: arguments.duration,
        groups,
        events: arguments.events.clone(),
        uprobes: arguments.uprobes.clone(),
        stacks: arguments.stacks,
        buffer_bytes: arguments.buffer.map(|bytes| bytes as u64),
        mode: if arguments.overwrite { RecordMode::FlightRecorder } else { RecordMode::Stream },
        markers: if arguments.marker { MarkerMode::Required } else { MarkerMode::IfPossible },
        location: if arguments.top_level { BufferLocation::TopLevel } else { BufferLocation::Auto },
        guardian: GuardianProgram { program, arguments: vec![GUARDIAN.into()] },
    })
}

fn target(arguments: &Record) -> Result<RecordTarget, CommandError> {
    match arguments.pid {
        Some(pid) => Ok(RecordTarget::Process(pid)),
        None if !arguments.command.is_empty() => Ok(RecordTarget::Command(arguments.command.clone())),
        None if arguments.all || arguments.duration.is_some() || arguments.print_commands => {
            Ok(RecordTarget::Everything)
        }
        None => Err(CommandError::usage(
            "how long is to be recorded? Give a command (`laggard record -- COMMAND`), --pid, --duration, or --all \
             (until Ctrl-C)",
        )),
    }
}

fn form(text: &str) -> Result<DatForm, String> {
    match text {
        "v6" => Ok(DatForm::V6),
        "v7" => Ok(DatForm::V7),
        _ => Err("give v6 or v7".to_owned()),
    }
}

fn uprobe(text: &str) -> Result<Uprobe, String> {
    // Names of functions may hold colons (`ns::f`), those of files hardly: the first one parts them.
    match text.split_once(':') {
        Some((binary, function)) if !binary.is_empty() && !function.is_empty() => {
            Ok(Uprobe { binary: binary.into(), function: function.to_owned() })
        }
        _ => Err("give PROGRAM:FUNCTION, for example ./server:handle_request".to_owned()),
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let explain = || format!("{text:?} is not a length of time; write 500ms, 30s or 2m");
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(explain)?;
    let (number, unit) = text.split_at(digits);
    let seconds = match unit {
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(explain()),
    };
    let number: f64 = number.parse().map_err(|_| explain())?;
    let duration = Duration::try_from_secs_f64(number * seconds).map_err(|_| explain())?;
    if duration.is_zero() { Err(explain()) } else { Ok(duration) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        for bad in ["", "3", "s", "0s", "-1s", "1d", "1.2.3s", "99999999999999999999h"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_function_is_named_with_its_program() {
        let read = uprobe("./server:ns::handle").unwrap();
        assert_eq!((read.binary, read.function.as_str()), ("./server".into(), "ns::handle"));
        assert!(uprobe("server").is_err() && uprobe(":f").is_err() && uprobe("x:").is_err());
    }
}
