//! One document: a file, or a member of an archive, on its way through recognition and reader.

use super::parallel::{BLOCK_BYTES, ParallelReading};
use super::{InputError, InputSettings, MisnamedFormat, Outcome, SkippedInput};
use crate::columns::format_of_mapping;
use crate::format::{Format, FormatError, Reader, ReaderOptions};
use crate::paths::{Source, SourceOrigin};
use crate::recognize::find_format;
use crate::recognize::{PREFIX_MAX, Recognition, looks_like, recognize, recognize_all};
use laggard_model::{CallRecord, Loss, SampleRecord, Sink, SinkPart, SpanEvent, SpanRecord};
use laggard_parallel::SpareThreads;

/// Whether the rest of a source is of interest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DocumentAction {
    Continue,
    Stop,
}

pub(super) struct InputDocument {
    /// Name for messages: the source's, with the member's behind it.
    name: String,
    options: ReaderOptions,
    /// Trouble with it is the user's business, not just a line in the summary.
    is_named: bool,
    is_member: bool,
    /// The format was named by the user, and nothing has been read yet.
    is_unchecked: bool,
    /// For reading by several threads, as long as that is possible.
    threads: Option<SpareThreads>,
    stage: DocumentStage,
}

enum DocumentStage {
    /// Not recognized yet; the bytes so far, and the number at which it is worth asking again.
    Sniffing {
        prefix: Vec<u8>,
        retry_at: usize,
    },
    Reading(&'static Format, Box<dyn Reader>),
    ReadingInParallel(&'static Format, Box<ParallelReading>),
    Skipping,
}

/// Fewer bytes are not worth asking the formats about, unless they are all there is.
const FIRST_TRY: usize = 1 << 10;

impl InputDocument {
    pub(super) fn new(source: &Source, member: Option<String>, settings: &InputSettings) -> InputDocument {
        let is_member = member.is_some();
        let path = (*source != Source::Stdin).then(|| source.name());
        let source_name = member.clone().or(path);
        let name = match member {
            Some(member) => format!("{}:{member}", source.name()),
            None => source.name(),
        };
        let mut document = InputDocument {
            name,
            options: ReaderOptions { source_name, ..settings.reader.clone() },
            is_named: source.origin() == SourceOrigin::Named && !is_member,
            is_member,
            is_unchecked: settings.format.is_some(),
            threads: settings.threads.clone().filter(|_| !is_small(source)),
            stage: DocumentStage::Sniffing { prefix: Vec::new(), retry_at: 0 },
        };
        if let Some(format) = settings.format {
            document.stage = DocumentStage::Reading(format, (format.open)(&document.options));
        }
        document
    }

    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        sink: &mut dyn Sink,
        outcome: &mut Outcome,
    ) -> Result<DocumentAction, InputError> {
        self.check_format(bytes, outcome);
        let (prefix, retry_at) = match &mut self.stage {
            DocumentStage::Reading(..) | DocumentStage::ReadingInParallel(..) => {
                return self.feed(bytes, sink, outcome);
            }
            DocumentStage::Skipping => return Ok(self.skipping_step()),
            DocumentStage::Sniffing { prefix, retry_at } => (prefix, retry_at),
        };
        prefix.extend_from_slice(bytes);
        if prefix.len() < *retry_at {
            return Ok(DocumentAction::Continue);
        }
        *retry_at = FIRST_TRY.max(prefix.len() * 2).min(PREFIX_MAX);
        let head = &prefix[..prefix.len().min(PREFIX_MAX)];
        let format = match recognize(head) {
            Recognition::Known(format) => Some(format),
            Recognition::NeedMore if head.len() < PREFIX_MAX => return Ok(DocumentAction::Continue),
            Recognition::NeedMore => recognize_all(head),
            Recognition::Unknown => None,
        };
        self.start(format, None, sink, outcome)
    }

    /// Whether the first bytes look like the format that the user named.
    fn check_format(&mut self, bytes: &[u8], outcome: &mut Outcome) {
        let DocumentStage::Reading(format, _) = &self.stage else { return };
        if !std::mem::take(&mut self.is_unchecked) || outcome.misnamed.is_some() {
            return;
        }
        if let Recognition::Known(other) = recognize(&bytes[..bytes.len().min(PREFIX_MAX)])
            && other.name != format.name
        {
            let (name, read_as, looks_like) = (self.name.clone(), format.name, other.name);
            outcome.misnamed = Some(MisnamedFormat { name, read_as, looks_like });
        }
    }

    /// The document has ended; `damage` is the reason if it ended early.
    pub(super) fn end(
        mut self,
        damage: Option<String>,
        sink: &mut dyn Sink,
        outcome: &mut Outcome,
    ) -> Result<(), InputError> {
        if let DocumentStage::Sniffing { prefix, .. } = &self.stage {
            let format = recognize_all(&prefix[..prefix.len().min(PREFIX_MAX)]);
            self.start(format, damage.as_deref(), sink, outcome)?;
        }
        let mut named = NamedSink { name: &self.name, sink };
        let (format, reader) = match std::mem::replace(&mut self.stage, DocumentStage::Skipping) {
            DocumentStage::Reading(format, reader) => (format, Ok(Some(reader))),
            DocumentStage::ReadingInParallel(format, mut reading) => (format, reading.join(&mut named)),
            DocumentStage::Sniffing { .. } | DocumentStage::Skipping => return Ok(()),
        };
        let finished = reader.and_then(|reader| {
            if let Some(damage) = damage {
                named.lose(Loss::CorruptCompression, &|| damage.clone());
            }
            reader.map_or(Ok(()), |mut reader| reader.finish(&mut named))
        });
        match finished {
            Ok(()) => outcome.count(format.name),
            Err(error) => drop(self.abandon(error, outcome)?),
        }
        Ok(())
    }

    /// Opens the reader and passes it the bytes buffered for recognition.
    fn start(
        &mut self,
        format: Option<&'static Format>,
        damage: Option<&str>,
        sink: &mut dyn Sink,
        outcome: &mut Outcome,
    ) -> Result<DocumentAction, InputError> {
        let DocumentStage::Sniffing { prefix, .. } =
            std::mem::replace(&mut self.stage, DocumentStage::Skipping)
        else {
            return Ok(DocumentAction::Continue);
        };
        let mapped = || format_of_mapping(&self.options.columns).and_then(find_format);
        let from_file_name = || {
            let is_told = crate::sample_csv::is_named_by_file(&prefix, &self.options);
            is_told.then(|| find_format("sample-csv")).flatten()
        };
        let Some(format) = format.or_else(mapped).or_else(from_file_name) else {
            return self.reject(&prefix, damage, sink, outcome);
        };
        self.stage = DocumentStage::Reading(format, (format.open)(&self.options));
        self.feed(&prefix, sink, outcome)
    }

    fn feed(
        &mut self,
        bytes: &[u8],
        sink: &mut dyn Sink,
        outcome: &mut Outcome,
    ) -> Result<DocumentAction, InputError> {
        // Some formats can be split from their first byte on only, some not before their header.
        self.split(sink);
        let mut named = NamedSink { name: &self.name, sink };
        let read = match &mut self.stage {
            DocumentStage::Reading(_, reader) => reader.push(bytes, &mut named),
            DocumentStage::ReadingInParallel(_, reading) => reading.push(bytes, &mut named),
            DocumentStage::Sniffing { .. } | DocumentStage::Skipping => Ok(()),
        };
        match read {
            Ok(()) => Ok(DocumentAction::Continue),
            Err(error) => self.abandon(error, outcome),
        }
    }

    /// Reads on with several threads, if that is possible.
    fn split(&mut self, sink: &dyn Sink) {
        let DocumentStage::Reading(format, reader) = &mut self.stage else { return };
        let Some(threads) = &self.threads else { return };
        if sink.part().is_none() {
            self.threads = None;
            return;
        }
        if let Some(splitter) = reader.split(BLOCK_BYTES) {
            let reading = ParallelReading::new(splitter, Some(&self.name), threads);
            self.stage = DocumentStage::ReadingInParallel(format, Box::new(reading));
        }
    }

    fn abandon(&mut self, error: FormatError, outcome: &mut Outcome) -> Result<DocumentAction, InputError> {
        if self.is_named {
            return Err(InputError::Format { name: self.name.clone(), error });
        }
        self.skip(error.to_string(), outcome)
    }

    /// No format recognizes the document. A damaged one may have been a trace, so it counts as lost.
    fn reject(
        &mut self,
        prefix: &[u8],
        damage: Option<&str>,
        sink: &mut dyn Sink,
        outcome: &mut Outcome,
    ) -> Result<DocumentAction, InputError> {
        let looks_like =
            damage.map_or_else(|| looks_like(prefix), |damage| format!("it is damaged ({damage})"));
        if self.is_named {
            return Err(InputError::Unrecognized { name: self.name.clone(), looks_like });
        }
        if let Some(damage) = damage {
            sink.lose(Loss::CorruptCompression, &|| format!("{}: {damage}", self.name));
        }
        self.skip(looks_like, outcome)
    }

    fn skip(&mut self, reason: String, outcome: &mut Outcome) -> Result<DocumentAction, InputError> {
        self.stage = DocumentStage::Skipping;
        outcome.skip(SkippedInput { name: self.name.clone(), reason });
        Ok(self.skipping_step())
    }

    /// After a skipped member others may follow; after a skipped file nothing does.
    const fn skipping_step(&self) -> DocumentAction {
        if self.is_member { DocumentAction::Continue } else { DocumentAction::Stop }
    }
}

/// Whether a source is too small for several threads, even if it is compressed well.
fn is_small(source: &Source) -> bool {
    matches!(source, Source::File { size: Some(size), .. } if *size < BLOCK_BYTES as u64 / 8)
}

/// Puts the source's name before the examples of losses.
pub(super) struct NamedSink<'a> {
    pub(super) name: &'a str,
    pub(super) sink: &'a mut dyn Sink,
}

impl Sink for NamedSink<'_> {
    fn span(&mut self, span: &SpanRecord<'_>) {
        self.sink.span(span);
    }

    fn call(&mut self, call: &CallRecord<'_>) {
        self.sink.call(call);
    }

    fn sample(&mut self, sample: &SampleRecord<'_>) {
        self.sink.sample(sample);
    }

    fn wants_events(&self) -> bool {
        self.sink.wants_events()
    }

    fn event(&mut self, event: SpanEvent) {
        self.sink.event(event);
    }

    fn lose(&mut self, loss: Loss, example: &dyn Fn() -> String) {
        self.sink.lose(loss, &|| format!("{}: {}", self.name, example()));
    }

    fn part(&self) -> Option<Box<dyn SinkPart>> {
        self.sink.part()
    }

    /// The thread of the part puts the name before its examples.
    fn add_part(&mut self, part: &mut dyn SinkPart) {
        self.sink.add_part(part);
    }
}
