//! Field classes with their values, in both languages and in bits.

use super::Layout;
use super::bits::BitWriter;
use serde_json::{Value as Json, json};

/// A class of fields.
#[derive(Clone, Debug)]
pub(super) enum Field {
    /// A number; `network` is always big endian.
    Number { bits: u32, signed: bool, network: bool },
    /// Bits that are not aligned to bytes, big endian.
    Bits(u32),
    /// A thread's number, of variable length when the layout says so.
    Thread,
    /// 16 bytes.
    Name,
    /// Bytes up to a zero byte.
    Text,
    /// Bytes, after a field with their number.
    Counted(&'static str),
    /// An enumeration in a byte: labels from 0 on.
    Labels(&'static [&'static str]),
    /// A variant, selected by an earlier field.
    Variant { tag: &'static str, options: Vec<(&'static str, Field)> },
    /// A structure.
    Struct(Vec<(&'static str, Field)>),
}

/// A value of a class.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Number(i128),
    Text(String),
    /// The selected option and its value.
    Option(usize, Box<Value>),
    Struct(Vec<Value>),
}

impl<T: Into<i128>> From<T> for Value {
    fn from(number: T) -> Value {
        Value::Number(number.into())
    }
}

impl Field {
    pub(super) fn signed(bits: u32) -> Field {
        Field::Number { bits, signed: true, network: false }
    }

    pub(super) fn unsigned(bits: u32) -> Field {
        Field::Number { bits, signed: false, network: false }
    }

    pub(super) fn network(bits: u32) -> Field {
        Field::Number { bits, signed: false, network: true }
    }

    fn align(&self, layout: &Layout) -> u32 {
        match self {
            Field::Number { bits, .. } if layout.natural_alignment => *bits,
            Field::Thread if layout.natural_alignment && !layout.variable_length => 32,
            Field::Bits(_) | Field::Variant { .. } => 1,
            Field::Struct(fields) => fields.iter().map(|(_, field)| field.align(layout)).max().unwrap_or(1),
            _ => 8,
        }
    }

    pub(super) fn write(&self, out: &mut BitWriter, value: &Value, layout: &Layout) {
        let align = self.align(layout);
        match (self, value) {
            (Field::Number { bits, network, .. }, Value::Number(number)) => {
                out.put_in(*number as u64, *bits, align, *network || layout.big_endian);
            }
            (Field::Bits(bits), Value::Number(number)) => out.put_in(*number as u64, *bits, 1, true),
            (Field::Thread, Value::Number(number)) if layout.variable_length => {
                out.put_variable(*number as i64)
            }
            (Field::Thread, Value::Number(number)) => out.put(*number as u64, 32, align),
            (Field::Labels(_), Value::Number(number)) => out.put(*number as u64, 8, 8),
            (Field::Name, Value::Text(text)) => {
                let mut name = [0; 16];
                let length = text.len().min(15);
                name[..length].copy_from_slice(&text.as_bytes()[..length]);
                name.iter().for_each(|byte| out.put(u64::from(*byte), 8, 8));
            }
            (Field::Text, Value::Text(text)) => {
                assert!(!text.contains('\0'));
                text.bytes().chain([0]).for_each(|byte| out.put(u64::from(byte), 8, 8));
            }
            (Field::Counted(_), Value::Text(text)) => {
                out.put(text.len() as u64, 16, if layout.natural_alignment { 16 } else { 8 });
                out.align(8);
                text.bytes().for_each(|byte| out.put(u64::from(byte), 8, 8));
            }
            (Field::Variant { options, .. }, Value::Option(taken, value)) => {
                options[*taken].1.write(out, value, layout)
            }
            (Field::Struct(fields), Value::Struct(values)) => {
                out.align(align);
                assert_eq!(fields.len(), values.len());
                fields.iter().zip(values).for_each(|((_, field), value)| field.write(out, value, layout));
            }
            _ => panic!("{value:?} is no value of {self:?}"),
        }
    }

    /// The class in TSDL, with the name of its field.
    pub(super) fn tsdl(&self, name: &str, layout: &Layout) -> String {
        let align = self.align(layout);
        let byte = "integer { size = 8; align = 8; signed = 0; encoding = UTF8; base = 10; }";
        match self {
            Field::Number { bits, signed, network } => {
                let order = if *network { " byte_order = be;" } else { "" };
                format!(
                    "integer {{ size = {bits}; align = {align}; signed = {};{order} }} _{name};",
                    u8::from(*signed)
                )
            }
            Field::Bits(bits) => {
                format!("integer {{ size = {bits}; align = 1; signed = 0; byte_order = be; }} _{name};")
            }
            Field::Thread => {
                format!("integer {{ size = 32; align = {align}; signed = 1; base = 10; }} _{name};")
            }
            Field::Name => format!("{byte} _{name}[16];"),
            Field::Text => format!("string _{name};"),
            Field::Counted(count) => {
                let align = if layout.natural_alignment { 16 } else { 8 };
                format!(
                    "integer {{ size = 16; align = {align}; signed = 0; }} _{count}; {byte} _{name}[ _{count} ];"
                )
            }
            Field::Labels(labels) => {
                let labels: Vec<String> = labels.iter().map(|label| format!("\"_{label}\"")).collect();
                format!(
                    "enum : integer {{ size = 8; align = 8; signed = 0; }} {{ {} }} _{name};",
                    labels.join(", ")
                )
            }
            Field::Variant { tag, options } => {
                let options: Vec<String> =
                    options.iter().map(|(name, field)| field.tsdl(name, layout)).collect();
                format!("variant <_{tag}> {{ {} }} _{name};", options.join(" "))
            }
            Field::Struct(_) => format!("{} _{name};", self.tsdl_struct(layout)),
        }
    }

    pub(super) fn tsdl_struct(&self, layout: &Layout) -> String {
        let Field::Struct(fields) = self else { panic!("{self:?} is no structure") };
        let fields: Vec<String> = fields.iter().map(|(name, field)| field.tsdl(name, layout)).collect();
        format!("struct {{ {} }}", fields.join(" "))
    }

    /// The class in JSON.
    pub(super) fn json(&self, layout: &Layout) -> Json {
        let align = self.align(layout);
        let fixed = |bits: u32, signed: bool, big: bool, align: u32| {
            let kind = if signed { "fixed-length-signed-integer" } else { "fixed-length-unsigned-integer" };
            let order = if big { "big-endian" } else { "little-endian" };
            json!({"type": kind, "length": bits, "byte-order": order, "alignment": align})
        };
        match self {
            Field::Number { bits, signed, network } => {
                fixed(*bits, *signed, *network || layout.big_endian, align)
            }
            Field::Bits(bits) => fixed(*bits, false, true, 1),
            Field::Thread if layout.variable_length => json!({"type": "variable-length-signed-integer"}),
            Field::Thread => fixed(32, true, layout.big_endian, align),
            Field::Name => json!({"type": "static-length-string", "length": 16}),
            Field::Text => json!({"type": "null-terminated-string"}),
            Field::Counted(count) => {
                let location = json!({"path": [count]});
                json!({"type": "dynamic-length-string", "length-field-location": location})
            }
            Field::Labels(labels) => {
                let mappings: serde_json::Map<String, Json> = labels
                    .iter()
                    .enumerate()
                    .map(|(value, label)| (label.to_string(), json!([[value, value]])))
                    .collect();
                let mut class = fixed(8, false, layout.big_endian, 8);
                class["mappings"] = Json::Object(mappings);
                class
            }
            Field::Variant { tag, options } => {
                let options: Vec<Json> = options
                    .iter()
                    .enumerate()
                    .map(|(value, (name, field))| {
                        json!({"name": name, "field-class": field.json(layout), "selector-field-ranges": [[value, value]]})
                    })
                    .collect();
                let location = json!({"path": [tag]});
                json!({"type": "variant", "options": options, "selector-field-location": location})
            }
            Field::Struct(fields) => {
                let mut members = Vec::new();
                for (name, field) in fields {
                    if let Field::Counted(count) = field {
                        let align = if layout.natural_alignment { 16 } else { 8 };
                        members.push(
                            json!({"name": count, "field-class": fixed(16, false, layout.big_endian, align)}),
                        );
                    }
                    members.push(json!({"name": name, "field-class": field.json(layout)}));
                }
                json!({"type": "structure", "member-classes": members})
            }
        }
    }
}
