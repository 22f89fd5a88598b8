//! Field classes of CTF 2.

use super::{default_clock, number, text};
use crate::ctf::class::{
    ByteOrder, Choice, ChoiceOption, Class, ElementCount, EnumLabel, EnumMapping, FieldKind, FieldRole,
    FieldScope, IntegerClass, Range, Reference,
};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Decodes field classes, by the names they define and refer to.
#[derive(Default)]
pub(super) struct FieldDecoder {
    pub(super) aliases: HashMap<String, Class>,
    pub(super) referenced: HashSet<String>,
    /// The role of a timestamp in the scope being read.
    pub(super) timestamp: Option<FieldRole>,
}

impl FieldDecoder {
    /// The class that a value describes.
    pub(super) fn class(&mut self, value: &Value) -> Result<Class, String> {
        if let Some(alias) = value.as_str() {
            return self.aliases.get(alias).cloned().ok_or_else(|| format!("no field class `{alias}`"));
        }
        let kind = text(value, "type").ok_or("a field class without type")?;
        match kind {
            "structure" => self.structure(value),
            "variant" => self.variant(value),
            "optional" => self.optional(value),
            "static-length-array" | "dynamic-length-array" => {
                let element =
                    self.class(value.get("element-field-class").ok_or("an array without elements")?)?;
                let count = self.count(value)?;
                let align = small(value, "minimum-alignment")?.unwrap_or(1);
                Class::new(FieldKind::Array { count, element }, align)
            }
            "static-length-blob" | "dynamic-length-blob" => self.bytes(value, false),
            "static-length-string" | "dynamic-length-string" => {
                self.bytes(value, matches!(text(value, "encoding"), None | Some("utf-8")))
            }
            "null-terminated-string" | "string" => match text(value, "encoding") {
                None | Some("utf-8") => Class::new(FieldKind::Text, 8),
                Some(other) => Err(format!("texts in {other} are not read")),
            },
            _ if kind.starts_with("fixed-length-") => self.fixed(kind, value),
            _ if kind.starts_with("variable-length-") => self.variable(kind, value),
            _ => Err(format!("a field class of type `{kind}`")),
        }
    }

    /// Bytes; as text, those of an array of characters.
    fn bytes(&mut self, value: &Value, text: bool) -> Result<Class, String> {
        let byte = IntegerClass {
            bits: 8,
            signed: false,
            order: ByteOrder::Little,
            text,
            clock: None,
            role: None,
            mapping: None,
        };
        let element = Class::new(FieldKind::Integer(byte), 8)?;
        Class::new(FieldKind::Array { count: self.count(value)?, element }, 8)
    }

    fn structure(&mut self, value: &Value) -> Result<Class, String> {
        let mut members = Vec::new();
        for member in value.get("member-classes").and_then(Value::as_array).into_iter().flatten() {
            let name = text(member, "name").ok_or("a member without name")?.to_owned();
            let class = self.class(member.get("field-class").ok_or("a member without class")?)?;
            members.push(ChoiceOption { name, class });
        }
        Class::new(FieldKind::Struct(members), small(value, "minimum-alignment")?.unwrap_or(1))
    }

    fn variant(&mut self, value: &Value) -> Result<Class, String> {
        let selector = Some(self.reference(value, "selector-field-location")?);
        let mut choices = Vec::new();
        for option in value.get("options").and_then(Value::as_array).into_iter().flatten() {
            let class = self.class(option.get("field-class").ok_or("an option without class")?)?;
            let ranges = ranges(option.get("selector-field-ranges").ok_or("an option without ranges")?)?;
            let name = text(option, "name").unwrap_or_default().to_owned();
            choices.push(Choice { name, ranges: Some(ranges), class });
        }
        Class::new(FieldKind::Variant { selector, choices }, 1)
    }

    fn optional(&mut self, value: &Value) -> Result<Class, String> {
        let selector = self.reference(value, "selector-field-location")?;
        let ranges = value.get("selector-field-ranges").map(ranges).transpose()?;
        let class = self.class(value.get("field-class").ok_or("an optional without class")?)?;
        Class::new(FieldKind::Optional { selector, ranges, class }, 1)
    }

    fn count(&mut self, value: &Value) -> Result<ElementCount, String> {
        match number(value, "length")? {
            Some(length) => Ok(ElementCount::Fixed(length)),
            None => self.reference(value, "length-field-location").map(ElementCount::Field),
        }
    }

    /// `{"origin": …, "path": […]}`, or in drafts of the specification one array that begins with the origin. A path
    /// without origin starts at the structures around the field; `null` in it, one structure further out, needs no
    /// handling since names are searched outwards.
    fn reference(&mut self, value: &Value, name: &str) -> Result<Reference, String> {
        let location = value.get(name).ok_or_else(|| format!("no `{name}`"))?;
        let (origin, path) = match location {
            Value::Array(path) => (path.first(), path.get(1..).unwrap_or_default()),
            _ => (
                location.get("origin"),
                location.get("path").and_then(Value::as_array).map_or(&[][..], Vec::as_slice),
            ),
        };
        let scope = match origin.and_then(Value::as_str) {
            None => None,
            Some("packet-header") => Some(FieldScope::PacketHeader),
            Some("packet-context") => Some(FieldScope::PacketContext),
            Some("event-record-header") => Some(FieldScope::EventHeader),
            Some("event-record-common-context") => Some(FieldScope::CommonContext),
            Some("event-record-specific-context") => Some(FieldScope::EventContext),
            Some("event-record-payload") => Some(FieldScope::Payload),
            Some(other) => return Err(format!("a field location in `{other}`")),
        };
        let path: Vec<String> = path.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        let last = path.last().ok_or("a field location without path")?;
        self.referenced.insert(last.clone());
        Ok(Reference { scope, path })
    }

    fn fixed(&mut self, kind: &str, value: &Value) -> Result<Class, String> {
        let bits = small(value, "length")?
            .filter(|bits| (1..=65_536).contains(bits))
            .ok_or("a number without length")?;
        let order = match text(value, "byte-order") {
            Some("little-endian") => ByteOrder::Little,
            Some("big-endian") => ByteOrder::Big,
            other => return Err(format!("a byte order {other:?}")),
        };
        let natural = if order == ByteOrder::Little { "first-to-last" } else { "last-to-first" };
        if text(value, "bit-order").is_some_and(|order| order != natural) {
            return Err("a bit order against the byte order is not read".to_owned());
        }
        let align = small(value, "alignment")?.unwrap_or(1);
        if kind == "fixed-length-floating-point-number" {
            return Class::new(FieldKind::Float { bits, order }, align);
        }
        let integer = IntegerClass { bits, order, ..self.integer(kind, value)? };
        Class::new(FieldKind::Integer(integer), align)
    }

    fn variable(&mut self, kind: &str, value: &Value) -> Result<Class, String> {
        let integer = self.integer(kind, value)?;
        Class::new(FieldKind::Integer(integer), 8)
    }

    /// The common part of numbers of fixed and of variable length.
    fn integer(&self, kind: &str, value: &Value) -> Result<IntegerClass, String> {
        let role = value
            .get("roles")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .find_map(|role| self.role(role));
        let mapping =
            value.get("mappings").and_then(Value::as_object).map(|labels| -> Result<EnumMapping, String> {
                let labels = labels
                    .iter()
                    .map(|(name, value)| Ok(EnumLabel { name: name.clone(), ranges: ranges(value)? }));
                Ok(EnumMapping { labels: labels.collect::<Result<_, String>>()? })
            });
        Ok(IntegerClass {
            bits: 0,
            signed: kind.contains("-signed-"),
            order: ByteOrder::Little,
            text: false,
            clock: (role == Some(FieldRole::CtfClock)).then(default_clock),
            role,
            mapping: mapping.transpose()?.map(Arc::new),
        })
    }

    fn role(&self, role: &Value) -> Option<FieldRole> {
        Some(match role.as_str()? {
            "packet-magic-number" => FieldRole::Magic,
            "data-stream-class-id" => FieldRole::StreamClass,
            "data-stream-id" => FieldRole::StreamInstance,
            "packet-total-length" => FieldRole::PacketBits,
            "packet-content-length" => FieldRole::ContentBits,
            "default-clock-timestamp" => self.timestamp?,
            "packet-end-default-clock-timestamp" => FieldRole::End,
            "discarded-event-record-counter-snapshot" => FieldRole::Discarded,
            "packet-sequence-number" => FieldRole::Sequence,
            "event-record-class-id" => FieldRole::EventClass,
            _ => return None,
        })
    }
}

fn small(value: &Value, name: &str) -> Result<Option<u32>, String> {
    number(value, name)?
        .map(|number| u32::try_from(number).map_err(|_| format!("`{name}` is {number}")))
        .transpose()
}

/// `[[0, 5], [7, 7]]`.
fn ranges(value: &Value) -> Result<Vec<Range>, String> {
    let wrong = || format!("ranges expected, found {value}");
    let end = |value: &Value| value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
    let range = |value: &Value| match value.as_array().map(Vec::as_slice) {
        Some([first, last]) => Some(Range { first: end(first)?, last: end(last)? }),
        _ => None,
    };
    value.as_array().ok_or_else(wrong)?.iter().map(|value| range(value).ok_or_else(wrong)).collect()
}
