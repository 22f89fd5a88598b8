//! Field classes: what the metadata says of a field, whichever language it is written in.

use std::sync::Arc;

/// Classes nested deeper than this are refused; decoding them recurses.
pub(super) const DEPTH_MAX: u16 = 48;

/// The largest alignment in bits. A window of a packet begins at a multiple of it.
pub(super) const ALIGN_MAX: u32 = 4096;

/// Which end of a number comes first. In a field narrower than a byte, its bits are counted from the same end.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum ByteOrder {
    /// Least significant first.
    #[default]
    Little,
    /// Most significant first.
    Big,
}

/// Role of a field for the reader itself, besides being data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FieldRole {
    /// `magic`.
    Magic,
    /// The stream class of a packet.
    StreamClass,
    /// The stream among those of its class.
    StreamInstance,
    /// Where the packet ends, in bits.
    PacketBits,
    /// Where its events end, in bits.
    ContentBits,
    /// The clock at its beginning.
    Begin,
    /// The clock at its end.
    End,
    /// Events discarded in this stream so far.
    Discarded,
    /// The packet's number in its stream.
    Sequence,
    Cpu,
    EventClass,
    /// The low bits of the clock.
    CtfClock,
}

/// Values from `first` to `last`, both included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Range {
    /// The least.
    pub(super) first: i128,
    /// The greatest.
    pub(super) last: i128,
}

/// Names of values: an enumeration.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct EnumMapping {
    /// Labels with their ranges, in order of declaration.
    pub(super) labels: Vec<EnumLabel>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct EnumLabel {
    pub(super) name: String,
    /// Its value.
    pub(super) ranges: Vec<Range>,
}

impl EnumMapping {
    /// The ranges of every label of that name; LTTng's leading underscores may be on one side only.
    pub(super) fn ranges(&self, name: &str) -> Vec<Range> {
        let ranges_of = |same: &dyn Fn(&str) -> bool| -> Vec<Range> {
            self.labels
                .iter()
                .filter(|label| same(&label.name))
                .flat_map(|label| label.ranges.clone())
                .collect()
        };
        let exact = ranges_of(&|label| label == name);
        if !exact.is_empty() {
            return exact;
        }
        ranges_of(&|label| plain(label) == plain(name))
    }
}

/// A field's name without the underscore that LTTng puts before it.
pub(super) fn plain(name: &str) -> &str {
    name.strip_prefix('_').unwrap_or(name)
}

/// A number.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct IntegerClass {
    /// Bits; 0 when each byte contains whether another follows (LEB128). Values above 64 are skipped.
    pub(super) bits: u32,
    /// Two's complement.
    pub(super) signed: bool,
    /// Byte and bit order.
    pub(super) order: ByteOrder,
    /// Arrays of it are text.
    pub(super) text: bool,
    /// The clock it is bound to.
    pub(super) clock: Option<Arc<str>>,
    /// Its role for the reader, such as the packet's length or its first timestamp.
    pub(super) role: Option<FieldRole>,
    /// Names of its values.
    pub(super) mapping: Option<Arc<EnumMapping>>,
}

/// A part of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FieldScope {
    /// The packet's header.
    PacketHeader,
    /// The packet's context.
    PacketContext,
    /// The event's header.
    EventHeader,
    /// The context all events of the stream have.
    CommonContext,
    /// The event's own context.
    EventContext,
    /// The event's fields.
    Payload,
}

/// How many scopes there are.
pub(super) const SCOPES: usize = 6;

/// Another field that is a length or selector.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Reference {
    /// Where the path starts; the innermost structure around that contains its first name if not specified.
    pub(super) scope: Option<FieldScope>,
    /// Names from there.
    pub(super) path: Vec<String>,
}

/// How many elements.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum ElementCount {
    /// Always as many.
    Fixed(u64),
    /// As an earlier field says.
    Field(Reference),
}

/// A field of a structure.
#[derive(Clone, Debug)]
pub(super) struct ChoiceOption {
    /// Its name as the metadata has it.
    pub(super) name: String,
    pub(super) class: Class,
}

/// An option of a variant.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub(super) name: String,
    /// The selector's values that choose it; none: those that the selector's enumeration gives its name.
    pub(super) ranges: Option<Vec<Range>>,
    pub(super) class: Class,
}

/// The kind of a field class.
#[derive(Clone, Debug)]
pub(super) enum FieldKind {
    /// A number, or a name of one.
    Integer(IntegerClass),
    /// An IEEE 754 number with its size in bits.
    Float { bits: u32, order: ByteOrder },
    /// Bytes up to a zero byte.
    Text,
    /// One after another.
    Struct(Vec<ChoiceOption>),
    /// One of several; without a selector it cannot be decoded (it is a name to be completed).
    Variant { selector: Option<Reference>, choices: Vec<Choice> },
    /// Many of one class.
    Array { count: ElementCount, element: Class },
    /// Present when the selector is in the ranges (without ranges: when it is not 0).
    Optional { selector: Reference, ranges: Option<Vec<Range>>, class: Class },
}

/// A class with what follows from it. Cheap to clone: classes that are used twice are shared.
#[derive(Clone, Debug)]
pub(super) struct Class(Arc<Node>);

#[derive(Debug)]
struct Node {
    kind: FieldKind,
    align: u32,
    depth: u16,
    fixed_bits: Option<u64>,
}

impl Class {
    /// A class that begins at a multiple of `align` bits (at least; its parts may ask for more).
    ///
    /// # Errors
    /// When the alignment is no power of two up to [`ALIGN_MAX`], or it is nested deeper than [`DEPTH_MAX`].
    pub(super) fn new(kind: FieldKind, align: u32) -> Result<Class, String> {
        if !align.is_power_of_two() || align > ALIGN_MAX {
            return Err(format!("an alignment of {align} bits"));
        }
        let (align, depth) = match &kind {
            FieldKind::Integer(_) | FieldKind::Float { .. } => (align, 0),
            FieldKind::Text => (align.max(8), 0),
            FieldKind::Struct(members) => members.iter().fold((align, 0), |(align, depth), member| {
                (align.max(member.class.align()), depth.max(member.class.0.depth))
            }),
            FieldKind::Variant { choices, .. } => {
                (1, choices.iter().map(|choice| choice.class.0.depth).max().unwrap_or(0))
            }
            FieldKind::Array { element, .. } => (align.max(element.align()), element.0.depth),
            FieldKind::Optional { class, .. } => (1, class.0.depth),
        };
        if depth >= DEPTH_MAX {
            return Err(format!("fields nested deeper than {DEPTH_MAX}"));
        }
        let fixed_bits = fixed_bits(&kind);
        Ok(Class(Arc::new(Node { kind, align, depth: depth + 1, fixed_bits })))
    }

    pub(super) fn kind(&self) -> &FieldKind {
        &self.0.kind
    }

    /// Alignment in bits.
    pub(super) fn align(&self) -> u32 {
        self.0.align
    }

    /// Its size in bits from its aligned beginning, when it is always the same.
    pub(super) fn fixed_bits(&self) -> Option<u64> {
        self.0.fixed_bits
    }

    /// Whether an array of it is text.
    pub(super) fn is_character(&self) -> bool {
        matches!(self.kind(), FieldKind::Integer(integer) if integer.text && integer.bits == 8)
            && self.align() == 8
    }
}

fn fixed_bits(kind: &FieldKind) -> Option<u64> {
    match kind {
        FieldKind::Integer(integer) => (integer.bits > 0).then_some(u64::from(integer.bits)),
        FieldKind::Float { bits, .. } => Some(u64::from(*bits)),
        FieldKind::Struct(members) => members.iter().try_fold(0u64, |bits, member| {
            let from = bits.checked_next_multiple_of(u64::from(member.class.align()))?;
            from.checked_add(member.class.fixed_bits()?)
        }),
        FieldKind::Array { count: ElementCount::Fixed(count), element } => array_bits(*count, element),
        FieldKind::Text
        | FieldKind::Variant { .. }
        | FieldKind::Array { .. }
        | FieldKind::Optional { .. } => None,
    }
}

/// Bits of `count` elements one after another, each aligned, when an element always has the same size.
pub(super) fn array_bits(count: u64, element: &Class) -> Option<u64> {
    let bits = element.fixed_bits()?;
    let Some(but_one) = count.checked_sub(1) else { return Some(0) };
    bits.checked_next_multiple_of(u64::from(element.align()))?.checked_mul(but_one)?.checked_add(bits)
}
