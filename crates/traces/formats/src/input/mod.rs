//! From sources to a sink: decompresses, opens archives, recognizes formats, names the losses.

mod document;
mod error;
mod outcome;

pub use error::InputError;
pub use outcome::{Outcome, SkippedInput};

use crate::format::{Format, ReaderOptions};
use crate::paths::{Given, Source};
use crate::pump::{Message, Pump};
use document::{Document, Step};
use laggard_model::{Loss, Sink};
use std::fs::File;
use std::io::Read;

/// How inputs are read.
#[derive(Clone, Default)]
pub struct InputSettings {
    /// The format of every input; `None` to recognize each by its first bytes.
    pub format: Option<&'static Format>,
    /// Settings for the readers. The source's name is filled in for each input.
    pub reader: ReaderOptions,
}

/// Hears how reading goes on.
pub trait Progress: Sync {
    /// This many more bytes were read, before decompression.
    fn bytes(&self, compressed_bytes: u64);
}

/// A [`Progress`] that nobody watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn bytes(&self, _compressed_bytes: u64) {}
}

/// Reads one source to its end. A thread of its own reads and decompresses while the caller's parses, so
/// one input keeps two cores busy; different sources may be read at the same time by different threads.
/// Examples of losses are given to the sink with the source's name before them.
///
/// # Errors
/// A source that cannot be opened or read, and a source named by the user that no format recognizes or
/// whose format's reader gives up. A source that was merely found is skipped instead and says so in
/// [`Outcome::skipped`]; so are members of an archive.
pub fn read(
    source: &Source,
    settings: &InputSettings,
    sink: &mut dyn Sink,
    progress: &dyn Progress,
) -> Result<Outcome, InputError> {
    let pump = Pump::start(open(source)?);
    let mut reading = Reading { source, settings, sink, document: None, outcome: Outcome::default() };
    // The reading thread's last word is closing its end of the channel.
    while let Ok(message) = pump.messages.recv() {
        let Message::Bytes { buffer, compressed } = message else {
            reading.take(message)?;
            continue;
        };
        progress.bytes(compressed);
        reading.outcome.bytes += compressed;
        let step = reading.push(&buffer)?;
        pump.recycle(buffer);
        if step == Step::Stop {
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
struct Reading<'a> {
    source: &'a Source,
    settings: &'a InputSettings,
    sink: &'a mut dyn Sink,
    document: Option<Document>,
    outcome: Outcome,
}

impl Reading<'_> {
    fn take(&mut self, message: Message) -> Result<(), InputError> {
        match message {
            Message::Start { member } => {
                self.document = Some(Document::new(self.source, member, self.settings))
            }
            Message::End { damage } => return self.end(damage),
            Message::ArchiveDamaged { damage } => {
                let name = self.source.name();
                self.sink.lose(Loss::CorruptCompression, &|| format!("{name}: {damage}"));
            }
            Message::Failed { reason } => {
                return Err(InputError::Unreadable { name: self.source.name(), reason });
            }
            Message::Bytes { .. } => {}
        }
        Ok(())
    }

    fn push(&mut self, bytes: &[u8]) -> Result<Step, InputError> {
        self.outcome.decompressed += bytes.len() as u64;
        match &mut self.document {
            Some(document) => document.push(bytes, self.sink, &mut self.outcome),
            None => Ok(Step::Continue),
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
        if self.source.given() == Given::Named {
            self.outcome.check()?;
        }
        Ok(self.outcome)
    }
}
