//! `laggard store`: what is done to the data folder of `laggard serve` beside serving it.

use crate::exit::{CommandError, Status};
use crate::output::print;
use clap::{Args, Subcommand};
use laggard_report::{counted, data_size};
use laggard_server::DataFolder;
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
pub(crate) struct StoreArguments {
    #[command(subcommand)]
    command: StoreCommand,
}

const CHECK_EXAMPLES: &str = "Example:
  laggard store check /var/lib/laggard

Exit status: 0 nothing is damaged, 1 something is, 3 it cannot be read.";

const BACKUP_EXAMPLES: &str = "Example:
  laggard store backup /var/lib/laggard /backup/laggard-2026-06-01
  laggard serve --data /backup/laggard-2026-06-01     restore: serve the copy, or copy it back first";

#[derive(Subcommand, Debug)]
enum StoreCommand {
    /// Read every file of a data folder, also while its server runs, and list what is damaged or missing; nothing is changed
    #[command(after_help = CHECK_EXAMPLES)]
    Check {
        /// The data folder of `laggard serve`
        folder: PathBuf,
    },
    /// Set damaged files aside and keep what can be read of segments, log, and manifest; needs a stopped server
    Repair {
        /// The data folder of `laggard serve`
        folder: PathBuf,
    },
    /// Copy a data folder, also while its server runs
    #[command(after_help = BACKUP_EXAMPLES)]
    Backup {
        /// The data folder of `laggard serve`
        folder: PathBuf,
        /// A new folder. On the same file system, most files are links, which take no space until the originals are deleted
        destination: PathBuf,
    },
}

pub(crate) fn run(arguments: &StoreArguments) -> Result<Status, CommandError> {
    match &arguments.command {
        StoreCommand::Check { folder } => check(&open(folder)?),
        StoreCommand::Repair { folder } => repair(&open(folder)?),
        StoreCommand::Backup { folder, destination } => backup(&open(folder)?, destination),
    }
}

fn open(folder: &Path) -> Result<DataFolder, CommandError> {
    DataFolder::open(folder).map_err(CommandError::unreadable)
}

fn check(folder: &DataFolder) -> Result<Status, CommandError> {
    let mut status = Status::Done;
    let in_use = folder.server().is_some();
    for (tenant, check) in folder.check().map_err(CommandError::unreadable)? {
        let mut text = format!(
            "{tenant}: {} with {}, {}, and {} in {}; {} in the log\n",
            counted(check.segments, "segment"),
            counted(check.spans, "span"),
            counted(check.samples, "sample"),
            counted(check.events, "event"),
            data_size(check.bytes),
            counted(check.log_spans, "span"),
        );
        if in_use || check.written_meanwhile > 0 {
            text.push_str(
                "  A server has it open: what it has stored since the check began, and open traces in its memory, are not checked.\n",
            );
        }
        if check.set_aside > 0 {
            text.push_str(&format!("  {} set aside earlier\n", counted(check.set_aside, "segment")));
        }
        for problem in &check.problems {
            text.push_str(&format!("  {}: {}. Lost: {}\n", problem.file, problem.text, problem.lost));
            status = Status::Suspects;
        }
        print(&text)?;
    }
    if status != Status::Done {
        print(
            "Stop the server and run `laggard store repair` before it starts again: it keeps what can be read, where a server sets \
             whole segments aside.\n",
        )?;
    }
    Ok(status)
}

fn repair(folder: &DataFolder) -> Result<Status, CommandError> {
    for (tenant, done) in folder.repair().map_err(CommandError::unreadable)? {
        let done = if done.is_empty() { vec!["Nothing was damaged.".to_owned()] } else { done };
        print(&done.iter().map(|sentence| format!("{tenant}: {sentence}\n")).collect::<String>())?;
    }
    Ok(Status::Done)
}

fn backup(folder: &DataFolder, destination: &Path) -> Result<Status, CommandError> {
    for (tenant, copied) in folder.copy_to(destination).map_err(CommandError::unreadable)? {
        let size = data_size(copied.bytes);
        print(&format!(
            "{tenant}: {}, {size}; {} are links\n",
            counted(copied.files, "file"),
            copied.linked
        ))?;
    }
    Ok(Status::Done)
}
