//! The decoder of a CTF trace: for every stream and event class, a compiled plan of how to read it.

use super::class::{FieldRole, FieldScope};
use super::meaning::{EventMeaning, Meanings, PID_NS, RECORDED, STACKS, VTID};
use super::plan::{Compiler, FieldDecoder, Plan, Slot};
use super::schema::{EventClass, Schema, StreamClass};
use crate::format_text::Symbols;
use crate::options::OpenOptions;
use std::collections::HashMap;

/// Steps of all plans together. LTTng's whole kernel comes to some ten thousand.
const STEPS_MAX: usize = 4_000_000;

/// Classes with smaller numbers are found by position.
const DENSE_MAX: u64 = 16_384;

/// How to read the events of one class.
#[derive(Debug)]
pub(super) struct EventPlan {
    pub(super) what: EventMeaning,
    pub(super) context: Plan,
    pub(super) payload: Plan,
}

/// How to read the packets and events of one stream class.
#[derive(Debug)]
pub(super) struct StreamPlan {
    pub(super) packet_context: Plan,
    pub(super) event_header: Plan,
    pub(super) common_context: Plan,
    events: Vec<EventPlan>,
    /// Positions in `events`, by class number.
    dense: Vec<Option<u32>>,
    sparse: HashMap<u64, u32>,
    /// Cycles a second of its clock.
    pub(super) frequency: u64,
    /// Bits of the clock at the beginning of packets.
    pub(super) begin_bits: u32,
    /// Bits of the counter of discarded events.
    pub(super) discarded_bits: u32,
    /// Slots its plans use.
    pub(super) slots: usize,
}

impl StreamPlan {
    /// The position of a class.
    #[inline]
    pub(super) fn position(&self, class: u64) -> Option<usize> {
        match self.dense.get(usize::try_from(class).ok()?) {
            Some(position) => position.map(|position| position as usize),
            None => self.sparse.get(&class).map(|position| *position as usize),
        }
    }

    /// The plan at a position.
    #[inline]
    pub(super) fn event(&self, position: usize) -> &EventPlan {
        &self.events[position]
    }

    /// How many event classes there are.
    pub(super) fn events(&self) -> usize {
        self.events.len()
    }
}

/// How to read a trace.
#[derive(Debug)]
pub(super) struct Decoder {
    pub(super) packet_header: Plan,
    pub(super) streams: HashMap<u64, StreamPlan>,
    /// Whether packets begin with the magic number.
    pub(super) magic: bool,
    /// Whether the kernel is older than 4.14.
    pub(super) old_states: bool,
    /// Names of the kernel's functions.
    pub(super) symbols: Symbols,
    /// The most slots any stream needs.
    pub(super) slots: usize,
}

impl Decoder {
    /// Works out all plans.
    ///
    /// # Errors
    /// A message on the part of the metadata that cannot be decoded.
    pub(super) fn new(schema: &Schema, options: &OpenOptions) -> Result<Decoder, String> {
        let mut steps_left = STEPS_MAX;
        let mut compiler = Compiler::new(&schema.referenced);
        let packet_header = compiler.scope(
            FieldScope::PacketHeader,
            schema.packet_header.as_ref(),
            FieldDecoder::NONE,
            &mut steps_left,
        )?;
        let meanings = Meanings::new(schema, options);
        let mut streams = HashMap::new();
        for (&id, stream) in &schema.streams {
            let plan = stream_plan(schema, stream, compiler.clone(), &meanings, &mut steps_left)?;
            streams.insert(id, plan);
        }
        let slots = streams.values().map(|stream| stream.slots).max().unwrap_or(0).max(compiler.slots());
        Ok(Decoder {
            magic: role_bits(schema.packet_header.as_ref(), FieldRole::Magic) > 0,
            old_states: schema.fact(&["kernel_release", "release"]).is_some_and(is_before_4_14),
            packet_header,
            symbols: Symbols::default(),
            streams,
            slots,
        })
    }

    /// Whether any event has its own kind or is requested.
    pub(super) fn wants_something(&self) -> bool {
        self.streams
            .values()
            .any(|stream| stream.events.iter().any(|event| event.what != EventMeaning::Unwanted))
    }
}

fn stream_plan(
    schema: &Schema,
    stream: &StreamClass,
    mut compiler: Compiler<'_>,
    meanings: &Meanings<'_>,
    steps_left: &mut usize,
) -> Result<StreamPlan, String> {
    const THREAD: &[(&str, Slot)] = &[
        ("tid", RECORDED),
        ("pid_ns", PID_NS),
        ("vtid", VTID),
        ("callstack_kernel", STACKS[0]),
        ("callstack_user", STACKS[1]),
    ];
    let contexts = FieldDecoder { named: THREAD, printed: false };
    let packet_context = compiler.scope(
        FieldScope::PacketContext,
        stream.packet_context.as_ref(),
        FieldDecoder::NONE,
        steps_left,
    )?;
    let event_header = compiler.scope(
        FieldScope::EventHeader,
        stream.event_header.as_ref(),
        FieldDecoder::NONE,
        steps_left,
    )?;
    let common_context =
        compiler.scope(FieldScope::CommonContext, stream.common_context.as_ref(), contexts, steps_left)?;
    let clock = stream
        .clock
        .as_ref()
        .and_then(|name| schema.clocks.get(name))
        .or_else(|| schema.clocks.values().next());
    let mut plan = StreamPlan {
        packet_context,
        event_header,
        common_context,
        events: Vec::with_capacity(stream.events.len()),
        dense: Vec::new(),
        sparse: HashMap::new(),
        frequency: clock.map_or(1_000_000_000, |clock| clock.frequency),
        begin_bits: role_bits(stream.packet_context.as_ref(), FieldRole::Begin),
        discarded_bits: role_bits(stream.packet_context.as_ref(), FieldRole::Discarded),
        slots: compiler.slots(),
    };
    for (&id, event) in &stream.events {
        let mut compiler = compiler.clone();
        let event_plan = event_plan(event, &mut compiler, contexts, meanings, steps_left)
            .map_err(|reason| format!("event `{}`: {reason}", event.name))?;
        plan.slots = plan.slots.max(compiler.slots());
        plan.add(id, event_plan);
    }
    Ok(plan)
}

fn event_plan(
    event: &EventClass,
    compiler: &mut Compiler<'_>,
    contexts: FieldDecoder<'_>,
    meanings: &Meanings<'_>,
    steps_left: &mut usize,
) -> Result<EventPlan, String> {
    let what = meanings.event(&event.name);
    let named = what.wanted(event);
    let printed = matches!(what, EventMeaning::Other { .. });
    let context = compiler.scope(FieldScope::EventContext, event.context.as_ref(), contexts, steps_left)?;
    let fields = FieldDecoder { named: &named, printed };
    let payload = compiler.scope(FieldScope::Payload, event.payload.as_ref(), fields, steps_left)?;
    Ok(EventPlan { what, context, payload })
}

impl StreamPlan {
    fn add(&mut self, id: u64, event: EventPlan) {
        let position = self.events.len() as u32;
        self.events.push(event);
        if id >= DENSE_MAX {
            self.sparse.insert(id, position);
            return;
        }
        let id = id as usize;
        if self.dense.len() <= id {
            self.dense.resize(id + 1, None);
        }
        self.dense[id] = Some(position);
    }
}

/// Bits of the field with a role; 64 for one of variable size, 0 without one.
fn role_bits(class: Option<&super::class::Class>, role: FieldRole) -> u32 {
    use super::class::FieldKind;
    let Some(class) = class else { return 0 };
    match class.kind() {
        FieldKind::Integer(integer) if integer.role == Some(role) => {
            if integer.bits == 0 {
                64
            } else {
                integer.bits
            }
        }
        FieldKind::Struct(members) => {
            members.iter().map(|member| role_bits(Some(&member.class), role)).max().unwrap_or(0)
        }
        FieldKind::Variant { choices, .. } => {
            choices.iter().map(|choice| role_bits(Some(&choice.class), role)).max().unwrap_or(0)
        }
        FieldKind::Optional { class, .. } => role_bits(Some(class), role),
        FieldKind::Integer(_) | FieldKind::Float { .. } | FieldKind::Text | FieldKind::Array { .. } => 0,
    }
}

fn is_before_4_14(release: &str) -> bool {
    let mut numbers = release.split(|character: char| !character.is_ascii_digit()).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) < (4, 14),
        _ => false,
    }
}
