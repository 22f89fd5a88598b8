//! Numbers, enumerations and texts of TSDL.

use super::lexer::Token;
use super::types::{Parser, Value};
use crate::ctf::class::{ByteOrder, Class, EnumLabel, EnumMapping, FieldKind, IntegerClass, Range};
use std::collections::HashMap;
use std::sync::Arc;

impl Parser<'_> {
    /// `{ key = value; … }`; keys and words keep their dots.
    pub(super) fn attributes(&mut self) -> Result<HashMap<String, Value>, String> {
        self.lexer.expect('{')?;
        let mut attributes = HashMap::new();
        while !self.lexer.takes('}')? {
            let key = self.dotted()?.join(".");
            self.lexer.expect('=')?;
            attributes.insert(key, self.value()?);
            self.lexer.expect(';')?;
        }
        Ok(attributes)
    }

    pub(super) fn value(&mut self) -> Result<Value, String> {
        match self.lexer.peek()?.clone() {
            Token::NumberPlan(number) => {
                self.lexer.next()?;
                Ok(Value::NumberPlan(number))
            }
            Token::Text(text) => {
                self.lexer.next()?;
                Ok(Value::Word(text))
            }
            _ => self.dotted().map(|path| Value::Word(path.join("."))),
        }
    }

    fn byte_order(&self, value: Option<&Value>) -> Result<ByteOrder, String> {
        match value.map(Value::word).as_deref() {
            None | Some("native") => Ok(self.order),
            Some("le") => Ok(ByteOrder::Little),
            Some("be" | "network") => Ok(ByteOrder::Big),
            Some(other) => Err(format!("a byte order `{other}`")),
        }
    }

    pub(super) fn integer(&mut self) -> Result<Class, String> {
        let attributes = self.attributes()?;
        let size = attributes.get("size").ok_or("an integer without size")?.number()?;
        let bits = u32::try_from(size).ok().filter(|bits| (1..=65_536).contains(bits));
        let bits = bits.ok_or_else(|| format!("an integer of {size} bits"))?;
        let word = |key: &str| attributes.get(key).map(|value| value.word().to_ascii_lowercase());
        let integer = IntegerClass {
            bits,
            signed: matches!(word("signed").as_deref(), Some("true" | "1")),
            order: self.byte_order(attributes.get("byte_order"))?,
            text: matches!(word("encoding").as_deref(), Some("utf8" | "ascii")),
            clock: attributes.get("map").and_then(|map| clock_name(&map.word())),
            role: None,
            mapping: None,
        };
        Class::new(FieldKind::Integer(integer), alignment(attributes.get("align"), bits)?)
    }

    pub(super) fn floating_point(&mut self) -> Result<Class, String> {
        let attributes = self.attributes()?;
        let digits =
            |key: &str| attributes.get(key).ok_or(format!("a floating_point without {key}"))?.number();
        let bits = digits("exp_dig")?.saturating_add(digits("mant_dig")?);
        let bits = u32::try_from(bits).ok().filter(|bits| (1..=65_536).contains(bits));
        let bits = bits.ok_or("a floating_point of a size out of range")?;
        let order = self.byte_order(attributes.get("byte_order"))?;
        Class::new(FieldKind::Float { bits, order }, alignment(attributes.get("align"), bits)?)
    }

    pub(super) fn string(&mut self) -> Result<Class, String> {
        if *self.lexer.peek()? == Token::Sign('{') {
            self.attributes()?;
        }
        Class::new(FieldKind::Text, 8)
    }

    /// `enum NAME : TYPE { … }`: name and type may be missing; `enum NAME` is one declared before.
    pub(super) fn enumeration(&mut self) -> Result<Class, String> {
        let tag = self.tag()?.map(|tag| format!("enum {tag}"));
        let base = if self.lexer.takes(':')? { Some(self.complete_type()?) } else { None };
        if !self.lexer.takes('{')? {
            return self.find(&tag.ok_or("an enumeration without name and labels")?);
        }
        let base = base.map_or_else(|| self.find("int"), Ok)?;
        let FieldKind::Integer(integer) = base.kind() else {
            return Err("an enumeration over something that is no integer".to_owned());
        };
        let mapping = Some(Arc::new(self.labels()?));
        let integer = IntegerClass { mapping, text: false, ..integer.clone() };
        let class = Class::new(FieldKind::Integer(integer), base.align())?;
        if let Some(tag) = tag {
            self.declare(tag, class.clone());
        }
        Ok(class)
    }

    fn labels(&mut self) -> Result<EnumMapping, String> {
        let mut mapping = EnumMapping::default();
        let mut implicit: i128 = 0;
        while !self.lexer.takes('}')? {
            let name = match self.lexer.next()? {
                Token::Name(name) | Token::Text(name) => name,
                other => return Err(format!("a label expected, found {other:?}")),
            };
            let mut range = Range { first: implicit, last: implicit };
            if self.lexer.takes('=')? {
                range.first = self.label_value()?;
                range.last = range.first;
                if *self.lexer.peek()? == Token::Dots {
                    self.lexer.next()?;
                    range.last = self.label_value()?;
                }
            }
            implicit = range.last + 1;
            mapping.labels.push(EnumLabel { name, ranges: vec![range] });
            if !self.lexer.takes(',')? {
                self.lexer.expect('}')?;
                break;
            }
        }
        Ok(mapping)
    }

    fn label_value(&mut self) -> Result<i128, String> {
        match self.lexer.next()? {
            Token::NumberPlan(number) => Ok(number),
            other => Err(format!("a label's value expected, found {other:?}")),
        }
    }
}

/// Bytes are aligned to bytes unless specified otherwise; bit fields are unaligned.
fn alignment(value: Option<&Value>, bits: u32) -> Result<u32, String> {
    match value {
        Some(value) => u32::try_from(value.number()?).map_err(|_| "an alignment out of range".to_owned()),
        None => Ok(if bits.is_multiple_of(8) { 8 } else { 1 }),
    }
}

/// `clock.NAME.value`.
fn clock_name(map: &str) -> Option<Arc<str>> {
    let name = map.strip_prefix("clock.")?;
    Some(Arc::from(name.strip_suffix(".value").unwrap_or(name)))
}
