//! Which fields of packets and event headers the reader itself needs. CTF 1.8 identifies them by reserved names.

use super::class::{Choice, ChoiceOption, Class, FieldKind, FieldRole, IntegerClass, plain};

/// Fields in one header, counted as often as they are used. More is an attack.
const FIELDS_MAX: usize = 4096;

type ByName = fn(&str, &IntegerClass) -> Option<FieldRole>;

/// The roles in a packet's header.
pub(super) fn with_packet_header_roles(class: &Class) -> Result<Class, String> {
    assigned(class, |name, _| match name {
        "magic" => Some(FieldRole::Magic),
        "stream_id" => Some(FieldRole::StreamClass),
        "stream_instance_id" => Some(FieldRole::StreamInstance),
        _ => None,
    })
}

/// The roles in a packet's context.
pub(super) fn with_packet_context_roles(class: &Class) -> Result<Class, String> {
    assigned(class, |name, _| match name {
        "timestamp_begin" => Some(FieldRole::Begin),
        "timestamp_end" => Some(FieldRole::End),
        "content_size" => Some(FieldRole::ContentBits),
        "packet_size" => Some(FieldRole::PacketBits),
        "events_discarded" => Some(FieldRole::Discarded),
        "packet_seq_num" => Some(FieldRole::Sequence),
        "cpu_id" => Some(FieldRole::Cpu),
        _ => None,
    })
}

/// The CPU in a packet's context, in addition to declared roles.
pub(super) fn with_packet_cpu_roles(class: &Class) -> Result<Class, String> {
    assigned(class, |name, _| (name == "cpu_id").then_some(FieldRole::Cpu))
}

/// The roles in an event's header.
pub(super) fn with_event_header_roles(class: &Class) -> Result<Class, String> {
    assigned(class, |name, integer| match name {
        "id" => Some(FieldRole::EventClass),
        _ if integer.clock.is_some() || name == "timestamp" => Some(FieldRole::CtfClock),
        _ => None,
    })
}

/// The name of the clock that a header's fields are bound to.
pub(super) fn clock_of(class: &Class) -> Option<String> {
    match class.kind() {
        FieldKind::Integer(integer) => integer.clock.as_ref().map(|name| name.to_string()),
        FieldKind::Struct(members) => members.iter().find_map(|member| clock_of(&member.class)),
        FieldKind::Variant { choices, .. } => choices.iter().find_map(|choice| clock_of(&choice.class)),
        FieldKind::Optional { class, .. } => clock_of(class),
        FieldKind::Float { .. } | FieldKind::Text | FieldKind::Array { .. } => None,
    }
}

/// The class with roles where `role` finds one; roles that are there already stay.
fn assigned(class: &Class, role: ByName) -> Result<Class, String> {
    let mut fields_left = FIELDS_MAX;
    visit("", class, role, &mut fields_left)
}

fn visit(name: &str, class: &Class, role: ByName, fields_left: &mut usize) -> Result<Class, String> {
    *fields_left = fields_left.checked_sub(1).ok_or("a header of too many fields")?;
    let kind = match class.kind() {
        FieldKind::Integer(integer) if integer.role.is_none() => {
            FieldKind::Integer(IntegerClass { role: role(plain(name), integer), ..integer.clone() })
        }
        FieldKind::Struct(members) => {
            let members = members.iter().map(|member| {
                visit(&member.name, &member.class, role, fields_left)
                    .map(|class| ChoiceOption { name: member.name.clone(), class })
            });
            FieldKind::Struct(members.collect::<Result<_, _>>()?)
        }
        FieldKind::Variant { selector, choices } => {
            let choices = choices.iter().map(|choice| {
                visit(&choice.name, &choice.class, role, fields_left)
                    .map(|class| Choice { class, ..choice.clone() })
            });
            FieldKind::Variant { selector: selector.clone(), choices: choices.collect::<Result<_, _>>()? }
        }
        FieldKind::Optional { selector, ranges, class } => FieldKind::Optional {
            selector: selector.clone(),
            ranges: ranges.clone(),
            class: visit(name, class, role, fields_left)?,
        },
        FieldKind::Integer(_) | FieldKind::Float { .. } | FieldKind::Text | FieldKind::Array { .. } => {
            return Ok(class.clone());
        }
    };
    Class::new(kind, class.align())
}
