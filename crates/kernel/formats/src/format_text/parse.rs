//! The text of `events/SYSTEM/NAME/format`, as tracefs shows it and trace files carry it.
//!
//! ```text
//! name: sched_waking
//! ID: 317
//! format:
//!         field:unsigned short common_type;       offset:0;       size:2; signed:0;
//!
//!         field:char comm[16];    offset:8;       size:16;        signed:0;
//! print fmt: …
//! ```

use super::fields::{BytesField, NumberField};

/// Content of a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FieldShape {
    Number(NumberField),
    Text(BytesField),
    /// Numbers of a size each, or a structure (size 1).
    Numbers {
        /// All of them.
        bytes: BytesField,
        /// Bytes of one.
        size: usize,
        /// Whether they may be negative.
        signed: bool,
    },
}

/// One field of an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// Bytes from the record's start.
    pub(crate) offset: usize,
    /// Its bytes in the fixed part of the record.
    pub(crate) size: usize,
    /// Type and position of its value.
    pub(crate) shape: FieldShape,
}

/// The contents of a format text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct EventFormat {
    /// The folder it lay in (`sched`).
    pub(crate) system: String,
    /// The event's name.
    pub(crate) name: String,
    /// The number that records of this event begin with.
    pub(crate) id: u16,
    /// Its fields, those of every event (`common_…`) first.
    pub(crate) fields: Vec<Field>,
}

/// Fields beyond this many are left out: no event has that many.
const FIELDS_MAX: usize = 512;

impl EventFormat {
    /// Reads a format text; `None` when it has no name or no number.
    pub(crate) fn parse(system: &str, text: &str) -> Option<EventFormat> {
        let mut format = EventFormat { system: system.to_owned(), ..EventFormat::default() };
        let mut id = None;
        for line in text.lines().map(str::trim) {
            if let Some(name) = line.strip_prefix("name:") {
                format.name = name.trim().to_owned();
            } else if let Some(number) = line.strip_prefix("ID:") {
                id = number.trim().parse().ok();
            } else if line.starts_with("field") && format.fields.len() < FIELDS_MAX {
                format.fields.extend(field(line));
            } else if line.starts_with("print fmt:") {
                break;
            }
        }
        format.id = id?;
        if format.name.is_empty() { None } else { Some(format) }
    }

    /// The field of this name.
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The number of this name.
    pub(crate) fn number(&self, name: &str) -> Option<NumberField> {
        match self.field(name)?.shape {
            FieldShape::Number(number) => Some(number),
            FieldShape::Text(_) | FieldShape::Numbers { .. } => None,
        }
    }

    /// The text of this name.
    pub(crate) fn text(&self, name: &str) -> Option<BytesField> {
        match self.field(name)?.shape {
            FieldShape::Text(text) => Some(text),
            FieldShape::Number(_) | FieldShape::Numbers { .. } => None,
        }
    }
}

/// `field:char comm[16]; offset:8; size:16; signed:0;`
pub(crate) fn field(line: &str) -> Option<Field> {
    let (_, rest) = line.split_once(':')?;
    let mut parts = rest.split(';').map(str::trim);
    let declared = DeclaredField::parse(parts.next()?);
    let (mut offset, mut size, mut signed) = (None, None, None);
    for part in parts {
        match part.split_once(':') {
            Some(("offset", value)) => offset = value.trim().parse::<u32>().ok(),
            Some(("size", value)) => size = value.trim().parse::<u32>().ok(),
            Some(("signed", value)) => signed = Some(value.trim() != "0"),
            _ => {}
        }
    }
    let signed = signed.unwrap_or(!declared.kind.contains("unsigned"));
    let (offset, size) = (offset? as usize, size? as usize);
    Some(Field { name: declared.name.to_owned(), offset, size, shape: declared.shape(offset, size, signed) })
}

/// A declaration in C, split.
struct DeclaredField<'t> {
    /// Everything before the name.
    kind: &'t str,
    name: &'t str,
    /// The text in the brackets; `None` without brackets.
    length: Option<&'t str>,
}

impl<'t> DeclaredField<'t> {
    /// `char comm[16]`, `__data_loc char[] name`, `unsigned long args[6]`, `const char * reason`.
    fn parse(text: &'t str) -> DeclaredField<'t> {
        let cut = text
            .rfind(|letter: char| letter.is_whitespace() || letter == '*')
            .map_or(0, |position| position + 1);
        let (kind, name) = (text[..cut].trim(), &text[cut..]);
        match name.split_once('[') {
            Some((name, length)) => DeclaredField { kind, name, length: Some(length.trim_end_matches(']')) },
            None => DeclaredField {
                kind,
                name,
                length: kind.split_once('[').map(|(_, rest)| rest.trim_end_matches(']')),
            },
        }
    }

    /// Kernel types that are one letter of a text; `unsigned char` arrays are numbers.
    fn is_text(&self) -> bool {
        self.kind.split(|letter: char| letter.is_whitespace() || letter == '[').any(|word| word == "char")
            && !self.kind.contains("unsigned")
    }

    fn shape(&self, offset: usize, size: usize, signed: bool) -> FieldShape {
        let bytes = if self.kind.starts_with("__data_loc") {
            BytesField::DataLocation { offset }
        } else if self.kind.starts_with("__rel_loc") {
            BytesField::RelativeLocation { offset }
        } else if size == 0 {
            BytesField::Rest { offset }
        } else if self.length.is_none() && matches!(size, 1 | 2 | 4 | 8) {
            return FieldShape::Number(NumberField { offset, size, signed });
        } else {
            BytesField::Fixed { offset, size }
        };
        if self.is_text() {
            return FieldShape::Text(bytes);
        }
        FieldShape::Numbers { bytes, size: self.element(size), signed }
    }

    /// Bytes of one element.
    fn element(&self, size: usize) -> usize {
        let count = self.length.and_then(|length| length.parse::<usize>().ok()).filter(|&count| count > 0);
        let by_length = count.map(|count| size / count).filter(|size| matches!(size, 1 | 2 | 4 | 8));
        by_length.unwrap_or_else(|| match self.kind {
            kind if kind.contains("64") || kind.contains("long") => 8,
            kind if kind.contains("32") || kind.contains("int") => 4,
            kind if kind.contains("16") || kind.contains("short") => 2,
            _ => 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(line: &str) -> FieldShape {
        field(line).expect("a field").shape
    }

    #[test]
    fn declarations_define_the_kind_of_a_field() {
        let number = |offset, size, signed| FieldShape::Number(NumberField { offset, size, signed });
        assert_eq!(shape("field:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;"), number(24, 4, true));
        assert_eq!(shape("field:void * skbaddr;\toffset:8;\tsize:8;\tsigned:0;"), number(8, 8, false));
        assert_eq!(shape("field:const char *reason;\toffset:8;\tsize:8;\tsigned:0;"), number(8, 8, false));
        let fixed = BytesField::Fixed { offset: 8, size: 16 };
        assert_eq!(shape("field:char comm[16];\toffset:8;\tsize:16;\tsigned:0;"), FieldShape::Text(fixed));
        assert_eq!(
            shape("field:char comm[TASK_COMM_LEN];\toffset:8;\tsize:16;\tsigned:0;"),
            FieldShape::Text(fixed)
        );
        let location = BytesField::DataLocation { offset: 12 };
        assert_eq!(
            shape("field:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;"),
            FieldShape::Text(location)
        );
        let location = BytesField::RelativeLocation { offset: 12 };
        assert_eq!(
            shape("field:__rel_loc u32[] codes;\toffset:12;\tsize:4;\tsigned:0;"),
            FieldShape::Numbers { bytes: location, size: 4, signed: false }
        );
        let rest = BytesField::Rest { offset: 16 };
        assert_eq!(shape("field:char buf[];\toffset:16;\tsize:0;\tsigned:0;"), FieldShape::Text(rest));
        let six = BytesField::Fixed { offset: 16, size: 48 };
        assert_eq!(
            shape("field:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;"),
            FieldShape::Numbers { bytes: six, size: 8, signed: false }
        );
        let address = BytesField::Fixed { offset: 8, size: 16 };
        assert_eq!(
            shape("field:__u8 saddr_v6[16];\toffset:8;\tsize:16;\tsigned:0;"),
            FieldShape::Numbers { bytes: address, size: 1, signed: false }
        );
    }

    #[test]
    fn old_kernels_do_not_write_the_sign() {
        assert_eq!(
            shape("field:unsigned int vec;\toffset:8;\tsize:4;"),
            FieldShape::Number(NumberField { offset: 8, size: 4, signed: false })
        );
        assert_eq!(
            shape("field:int irq;\toffset:8;\tsize:4;"),
            FieldShape::Number(NumberField { offset: 8, size: 4, signed: true })
        );
    }

    #[test]
    fn a_format_needs_a_name_and_a_number() {
        let text = "name: sched_waking\nID: 312\nformat:\n\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n\n\
                    print fmt: \"field:int x;offset:0;size:4;\", REC->pid\n";
        let format = EventFormat::parse("sched", text).expect("a format");
        assert_eq!((format.name.as_str(), format.id, format.fields.len()), ("sched_waking", 312, 1));
        assert_eq!(format.number("pid"), Some(NumberField { offset: 24, size: 4, signed: true }));
        assert_eq!((format.text("pid"), format.number("tid")), (None, None));
        assert_eq!(EventFormat::parse("sched", "ID: 3\nformat:\n"), None);
        assert_eq!(EventFormat::parse("sched", "name: x\nID: many\n"), None);
        assert_eq!(field("field:broken"), None);
        assert_eq!(field("field:int x;\toffset:-1;\tsize:4;"), None);
    }
}
