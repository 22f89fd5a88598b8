//! Blocks of TSDL: trace, env, clock, stream and event.

use super::lexer::Token;
use super::types::{Parser, Value};
use crate::ctf::class::{ByteOrder, Class};
use crate::ctf::roles;
use crate::ctf::schema::{CtfClock, CtfVersion, EventClass, Schema};
use std::collections::HashMap;

/// Content of a block: values and classes by key.
#[derive(Default)]
struct Block {
    values: HashMap<String, Value>,
    classes: HashMap<String, Class>,
}

impl Block {
    fn word(&self, key: &str) -> Option<String> {
        self.values.get(key).map(Value::word)
    }

    fn number(&self, key: &str) -> Result<Option<u64>, String> {
        self.values.get(key).map(Value::number).transpose()
    }
}

/// Parses metadata as plain text.
///
/// # Errors
/// A message with the line.
pub(in crate::ctf) fn parse(text: &[u8]) -> Result<Schema, String> {
    // Types are written before the trace block says which byte order they have.
    let first = Metadata::read(text, ByteOrder::Little)?;
    match first.order {
        Some(ByteOrder::Big) => Metadata::read(text, ByteOrder::Big).map(|metadata| metadata.schema),
        Some(ByteOrder::Little) | None => Ok(first.schema),
    }
}

struct Metadata {
    schema: Schema,
    order: Option<ByteOrder>,
}

impl Metadata {
    fn read(text: &[u8], order: ByteOrder) -> Result<Metadata, String> {
        let mut parser = Parser::new(text, order);
        let mut metadata = Metadata { schema: Schema::new(CtfVersion::One), order: None };
        loop {
            match metadata.statement(&mut parser) {
                Ok(true) => {}
                Ok(false) => break,
                Err(reason) => return Err(format!("metadata, line {}: {reason}", parser.lexer.line())),
            }
        }
        metadata.schema.referenced = parser.referenced;
        Ok(metadata)
    }

    /// One statement; false at the end.
    fn statement(&mut self, parser: &mut Parser<'_>) -> Result<bool, String> {
        match parser.lexer.peek()?.clone() {
            Token::End => return Ok(false),
            Token::Sign(';') => {
                parser.lexer.next()?;
            }
            Token::Name(word) => match word.as_str() {
                "typealias" | "typedef" => {
                    parser.lexer.next()?;
                    parser.alias(&word)?;
                }
                "trace" | "env" | "clock" | "stream" | "event" | "callsite" => {
                    parser.lexer.next()?;
                    self.block(&word, parser)?;
                }
                _ => {
                    parser.member()?;
                }
            },
            other => return Err(format!("a declaration or block expected, found {other:?}")),
        }
        Ok(true)
    }

    fn block(&mut self, keyword: &str, parser: &mut Parser<'_>) -> Result<(), String> {
        let block = block(parser)?;
        match keyword {
            "trace" => self.trace(block),
            "env" => {
                let facts = block.values.into_iter().map(|(key, value)| (key, value.word()));
                self.schema.environment.extend(facts);
                Ok(())
            }
            "clock" => self.clock(&block),
            "stream" => self.stream(block),
            "event" => self.event(block),
            _ => Ok(()),
        }
    }

    fn trace(&mut self, mut block: Block) -> Result<(), String> {
        self.order = match block.word("byte_order").as_deref() {
            Some("be" | "network") => Some(ByteOrder::Big),
            Some("le") => Some(ByteOrder::Little),
            other => return Err(format!("the trace's byte order is {other:?}")),
        };
        if let Some(header) = block.classes.remove("packet.header") {
            self.schema.packet_header = Some(roles::with_packet_header_roles(&header)?);
        }
        Ok(())
    }

    fn clock(&mut self, block: &Block) -> Result<(), String> {
        let name = block.word("name").ok_or("a clock without name")?;
        let signed = |key: &str| -> Result<i64, String> {
            match block.values.get(key) {
                Some(Value::NumberPlan(number)) => {
                    i64::try_from(*number).map_err(|_| format!("a clock's {key} out of range"))
                }
                Some(Value::Word(word)) => Err(format!("a clock's {key} is `{word}`")),
                None => Ok(0),
            }
        };
        let clock = CtfClock {
            name: name.clone(),
            frequency: block.number("freq")?.unwrap_or(1_000_000_000),
            offset_seconds: signed("offset_s")?,
            offset_cycles: signed("offset")?,
            calendar: true,
        };
        if clock.frequency == 0 {
            return Err("a clock that stands still".to_owned());
        }
        self.schema.clocks.insert(name, clock);
        Ok(())
    }

    fn stream(&mut self, mut block: Block) -> Result<(), String> {
        let id = block.number("id")?.unwrap_or(0);
        let stream = self.schema.streams.entry(id).or_default();
        let (context, header) =
            (block.classes.remove("packet.context"), block.classes.remove("event.header"));
        stream.packet_context = context.map(|class| roles::with_packet_context_roles(&class)).transpose()?;
        let header = header.map(|class| roles::with_event_header_roles(&class)).transpose()?;
        stream.clock = header.as_ref().and_then(roles::clock_of);
        stream.event_header = header;
        stream.common_context = block.classes.remove("event.context");
        Ok(())
    }

    fn event(&mut self, mut block: Block) -> Result<(), String> {
        let id = block.number("id")?.unwrap_or(0);
        let stream = self.schema.streams.entry(block.number("stream_id")?.unwrap_or(0)).or_default();
        let event = EventClass {
            name: block.word("name").unwrap_or_default(),
            context: block.classes.remove("context"),
            payload: block.classes.remove("fields"),
        };
        if stream.events.insert(id, event).is_some() {
            return Err(format!("two events of one stream have the number {id}"));
        }
        Ok(())
    }
}

/// `{ … };` of any block.
fn block(parser: &mut Parser<'_>) -> Result<Block, String> {
    parser.lexer.expect('{')?;
    parser.enter()?;
    let mut block = Block::default();
    while !parser.lexer.takes('}')? {
        match parser.lexer.peek()?.clone() {
            Token::Name(word) if word == "typealias" || word == "typedef" => {
                parser.lexer.next()?;
                parser.alias(&word)?;
            }
            Token::Name(word)
                if ["struct", "enum", "variant", "integer", "floating_point"].contains(&word.as_str()) =>
            {
                parser.member()?;
            }
            Token::End => return Err("a block without end".to_owned()),
            _ => entry(parser, &mut block)?,
        }
    }
    parser.leave();
    Ok(block)
}

/// `key = value;` or `key := type;`.
fn entry(parser: &mut Parser<'_>, block: &mut Block) -> Result<(), String> {
    let key = parser.dotted()?.join(".");
    match parser.lexer.next()? {
        Token::Sign('=') => {
            block.values.insert(key, parser.value()?);
        }
        Token::Becomes => {
            let class = parser.complete_type()?;
            block.classes.insert(key, class);
        }
        other => return Err(format!("`=` or `:=` expected after `{key}`, found {other:?}")),
    }
    parser.lexer.expect(';')
}
