//! Metadata in JSON, the language of CTF 2: fragments that each begin with a record separator.

mod fields;

use super::class::{Class, FieldRole, FieldScope};
use super::roles;
use super::schema::{CtfClock, CtfVersion, EventClass, Schema};
use fields::FieldDecoder;
use serde_json::Value;
use std::sync::Arc;

/// The byte that begins a fragment (RFC 7464).
const RECORD_SEPARATOR: u8 = 0x1e;

/// Whether metadata is JSON.
pub(super) fn is_json(text: &[u8]) -> bool {
    text.trim_ascii_start().first() == Some(&RECORD_SEPARATOR)
}

/// Parses metadata.
///
/// # Errors
/// A message with the number of the fragment.
pub(super) fn parse(text: &[u8]) -> Result<Schema, String> {
    let mut metadata = Metadata { schema: Schema::new(CtfVersion::Two), fields: FieldDecoder::default() };
    let fragments = text.split(|byte| *byte == RECORD_SEPARATOR).skip(1);
    for (number, fragment) in fragments.enumerate().filter(|(_, fragment)| !fragment.trim_ascii().is_empty())
    {
        let fail = |reason: String| format!("metadata, fragment {}: {reason}", number + 1);
        let value: Value = serde_json::from_slice(fragment).map_err(|error| fail(error.to_string()))?;
        metadata.fragment(&value).map_err(fail)?;
    }
    metadata.schema.referenced = metadata.fields.referenced;
    Ok(metadata.schema)
}

struct Metadata {
    schema: Schema,
    fields: FieldDecoder,
}

/// A property that is a number from 0 on.
fn number(value: &Value, name: &str) -> Result<Option<u64>, String> {
    match value.get(name) {
        None => Ok(None),
        Some(other) => other.as_u64().map(Some).ok_or_else(|| format!("`{name}` is {other}")),
    }
}

/// A property that is a text.
fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}

impl Metadata {
    fn fragment(&mut self, value: &Value) -> Result<(), String> {
        match text(value, "type") {
            Some("preamble") => match number(value, "version")? {
                Some(2) => Ok(()),
                other => Err(format!("version {other:?} is not read")),
            },
            Some("field-class-alias") => {
                let name = text(value, "name").ok_or("an alias without name")?.to_owned();
                let class = self.fields.class(value.get("field-class").ok_or("an alias without class")?)?;
                self.fields.aliases.insert(name, class);
                Ok(())
            }
            Some("trace-class") => self.trace(value),
            Some("clock-class") => self.clock(value),
            Some("data-stream-class") => self.stream(value),
            Some("event-record-class") => self.event(value),
            // Fragments of other types are for other readers.
            Some(_) => Ok(()),
            None => Err("without a type".to_owned()),
        }
    }

    /// The class in a property, whose timestamps have a role by where they are.
    fn scope(&mut self, value: &Value, name: &str, scope: FieldScope) -> Result<Option<Class>, String> {
        let Some(member) = value.get(name) else { return Ok(None) };
        self.fields.timestamp = match scope {
            FieldScope::PacketContext => Some(FieldRole::Begin),
            FieldScope::EventHeader => Some(FieldRole::CtfClock),
            _ => None,
        };
        self.fields.class(member).map(Some)
    }

    fn trace(&mut self, value: &Value) -> Result<(), String> {
        self.schema.packet_header =
            self.scope(value, "packet-header-field-class", FieldScope::PacketHeader)?;
        let environment = value.get("environment").and_then(Value::as_object);
        for (key, fact) in environment.into_iter().flatten() {
            let fact = fact.as_str().map_or_else(|| fact.to_string(), str::to_owned);
            self.schema.environment.insert(key.clone(), fact);
        }
        Ok(())
    }

    fn clock(&mut self, value: &Value) -> Result<(), String> {
        let offset = value.get("offset-from-origin");
        let part = |name: &str| match offset.and_then(|offset| offset.get(name)) {
            None => Ok(0),
            Some(other) => other.as_i64().ok_or_else(|| format!("the clock's offset is {other}")),
        };
        let name = text(value, "name").or_else(|| text(value, "id")).unwrap_or_default().to_owned();
        let clock = CtfClock {
            name: name.clone(),
            frequency: number(value, "frequency")?
                .filter(|frequency| *frequency > 0)
                .ok_or("a clock without frequency")?,
            offset_seconds: part("seconds")?,
            offset_cycles: part("cycles")?,
            calendar: text(value, "origin") == Some("unix-epoch"),
        };
        let id = text(value, "id").map_or(name, str::to_owned);
        self.schema.clocks.insert(id, clock);
        Ok(())
    }

    fn stream(&mut self, value: &Value) -> Result<(), String> {
        let id = number(value, "id")?.unwrap_or(0);
        let packet_context = self.scope(value, "packet-context-field-class", FieldScope::PacketContext)?;
        let event_header = self.scope(value, "event-record-header-field-class", FieldScope::EventHeader)?;
        let common_context =
            self.scope(value, "event-record-common-context-field-class", FieldScope::CommonContext)?;
        let clock = text(value, "default-clock-class-id").or_else(|| text(value, "default-clock-class-name"));
        let stream = self.schema.streams.entry(id).or_default();
        // CTF 2 has no role for the CPU: LTTng names it as in CTF 1.8.
        stream.packet_context =
            packet_context.map(|class| roles::with_packet_cpu_roles(&class)).transpose()?;
        stream.event_header = event_header;
        stream.common_context = common_context;
        stream.clock = clock.map(str::to_owned);
        Ok(())
    }

    fn event(&mut self, value: &Value) -> Result<(), String> {
        let id = number(value, "id")?.unwrap_or(0);
        let event = EventClass {
            name: text(value, "name").unwrap_or_default().to_owned(),
            context: self.scope(value, "specific-context-field-class", FieldScope::EventContext)?,
            payload: self.scope(value, "payload-field-class", FieldScope::Payload)?,
        };
        let stream = number(value, "data-stream-class-id")?.unwrap_or(0);
        let stream =
            self.schema.streams.get_mut(&stream).ok_or_else(|| format!("no data stream class {stream}"))?;
        if stream.events.insert(id, event).is_some() {
            return Err(format!("two event record classes have the number {id}"));
        }
        Ok(())
    }
}

/// Marks that a field is bound to the stream's clock, whatever its name.
fn default_clock() -> Arc<str> {
    Arc::from("")
}
