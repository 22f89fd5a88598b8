//! From sources to a sink: decompresses, opens archives, recognizes formats, names the losses.

mod document;
mod error;
mod outcome;
pub(crate) mod parallel;

pub use error::InputError;
pub use outcome::{MisnamedFormat, Outcome, SkippedInput};

use crate::format::{Format, ReaderOptions};
use crate::paths::{Source, SourceOrigin};
use crate::pump::{Pump, PumpMessage};
use document::{DocumentAction, InputDocument};
use laggard_model::{Loss, Sink};
use laggard_parallel::{SpareThreads, check_canceled};
use std::fs::File;
use std::io::Read;

/// How inputs are read.
#[derive(Clone, Default)]
pub struct InputSettings {
    /// The format of every input; `None` to recognize each by its first bytes.
    pub format: Option<&'static Format>,
    /// Settings for the readers. The source's name is filled in for each input.
    pub reader: ReaderOptions,
    /// Threads for reading one input, beside the one of the caller; `None` to read it with that one alone. Sources that are read at
    /// the same time share them. Results do not depend on them.
    pub threads: Option<SpareThreads>,
}

/// Receives the progress of reading.
pub trait Progress: Sync {
    /// This many more bytes were read, before decompression.
    fn bytes(&self, compressed_bytes: u64);
}

/// A [`Progress`] that ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn bytes(&self, _compressed_bytes: u64) {}
}

/// Reads one source to its end. A separate thread reads and decompresses; the caller's parses, or, with
/// [`InputSettings::threads`] and a sink that has parts ([`Sink::part`]), cuts the input into blocks between records that others parse.
/// Different sources may be read at the same time by different threads.
/// Examples of losses are passed to the sink with the source's name as prefix.
///
/// # Errors
/// A source that cannot be opened or read, and a source named by the user that no format recognizes or
/// whose format's reader fails. A source that was only discovered is skipped instead and listed in
/// [`Outcome::skipped`]; so are members of an archive.
pub fn read(
    source: &Source,
    settings: &InputSettings,
    sink: &mut dyn Sink,
    progress: &dyn Progress,
) -> Result<Outcome, InputError> {
    let pump = Pump::start(open(source)?);
    let mut reading = SourceImport { source, settings, sink, document: None, outcome: Outcome::default() };
    // The reading thread's last word is closing its end of the channel.
    while let Ok(message) = pump.messages.recv() {
        let PumpMessage::Bytes { buffer, compressed } = message else {
            reading.handle(message)?;
            continue;
        };
        check_canceled();
        progress.bytes(compressed);
        reading.outcome.bytes += compressed;
        let step = reading.push(&buffer)?;
        pump.recycle(buffer);
        if step == DocumentAction::Stop {
            reading.document = None;
            break;
        }
    }
    reading.finish()
}

/// Reads sources one after the other.
///
/// # Errors
/// Those of [`read`]; and sources in none of which anything was recognized.
pub fn read_all(
    sources: &[Source],
    settings: &InputSettings,
    sink: &mut dyn Sink,
    progress: &dyn Progress,
) -> Result<Outcome, InputError> {
    let mut outcome = Outcome::default();
    for source in sources {
        outcome.merge(read(source, settings, sink, progress)?);
    }
    outcome.check()?;
    Ok(outcome)
}

fn open(source: &Source) -> Result<Box<dyn Read + Send>, InputError> {
    match source {
        Source::Stdin => Ok(Box::new(std::io::stdin())),
        Source::File { path, .. } => {
            let file = File::open(path).map_err(|error| InputError::unreadable(path, &error))?;
            Ok(Box::new(file))
        }
    }
}

/// State of reading one source.
struct SourceImport<'a> {
    source: &'a Source,
    settings: &'a InputSettings,
    sink: &'a mut dyn Sink,
    document: Option<InputDocument>,
    outcome: Outcome,
}

impl SourceImport<'_> {
    fn handle(&mut self, message: PumpMessage) -> Result<(), InputError> {
        match message {
            PumpMessage::Start { member } => {
                self.document = Some(InputDocument::new(self.source, member, self.settings))
            }
            PumpMessage::End { damage } => return self.end(damage),
            PumpMessage::ArchiveDamaged { damage } => {
                let name = self.source.name();
                self.sink.lose(Loss::CorruptCompression, &|| format!("{name}: {damage}"));
            }
            PumpMessage::Failed { reason } => {
                return Err(InputError::Unreadable { name: self.source.name(), reason });
            }
            PumpMessage::Bytes { .. } => {}
        }
        Ok(())
    }

    fn push(&mut self, bytes: &[u8]) -> Result<DocumentAction, InputError> {
        self.outcome.decompressed += bytes.len() as u64;
        match &mut self.document {
            Some(document) => document.push(bytes, self.sink, &mut self.outcome),
            None => Ok(DocumentAction::Continue),
        }
    }

    fn end(&mut self, damage: Option<String>) -> Result<(), InputError> {
        match self.document.take() {
            Some(document) => document.end(damage, self.sink, &mut self.outcome),
            None => Ok(()),
        }
    }

    fn finish(self) -> Result<Outcome, InputError> {
        if self.document.is_some() {
            let reason = "the thread that reads it ended before the input did".to_owned();
            return Err(InputError::Unreadable { name: self.source.name(), reason });
        }
        if self.source.origin() == SourceOrigin::Named {
            self.outcome.check()?;
        }
        Ok(self.outcome)
    }
}
