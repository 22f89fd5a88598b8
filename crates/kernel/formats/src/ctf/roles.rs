//! Which fields of packets and event headers the reader itself needs. CTF 1.8 tells them by reserved names.

use super::class::{Choice, Class, Integer, Kind, Member, Role, plain};

/// Fields in one header, counted as often as they are used. More is an attack.
const FIELDS_MAX: usize = 4096;

type ByName = fn(&str, &Integer) -> Option<Role>;

/// The roles in a packet's header.
pub(super) fn of_packet_header(class: &Class) -> Result<Class, String> {
    assigned(class, |name, _| match name {
        "magic" => Some(Role::Magic),
        "stream_id" => Some(Role::StreamClass),
        "stream_instance_id" => Some(Role::StreamInstance),
        _ => None,
    })
}

/// The roles in a packet's context.
pub(super) fn of_packet_context(class: &Class) -> Result<Class, String> {
    assigned(class, |name, _| match name {
        "timestamp_begin" => Some(Role::Begin),
        "timestamp_end" => Some(Role::End),
        "content_size" => Some(Role::ContentBits),
        "packet_size" => Some(Role::PacketBits),
        "events_discarded" => Some(Role::Discarded),
        "packet_seq_num" => Some(Role::Sequence),
        "cpu_id" => Some(Role::Cpu),
        _ => None,
    })
}

/// The CPU in a packet's context, beside roles told otherwise.
pub(super) fn of_packet_cpu(class: &Class) -> Result<Class, String> {
    assigned(class, |name, _| (name == "cpu_id").then_some(Role::Cpu))
}

/// The roles in an event's header.
pub(super) fn of_event_header(class: &Class) -> Result<Class, String> {
    assigned(class, |name, integer| match name {
        "id" => Some(Role::EventClass),
        _ if integer.clock.is_some() || name == "timestamp" => Some(Role::Clock),
        _ => None,
    })
}

/// The name of the clock that a header's fields are bound to.
pub(super) fn clock_of(class: &Class) -> Option<String> {
    match class.kind() {
        Kind::Integer(integer) => integer.clock.as_ref().map(|name| name.to_string()),
        Kind::Struct(members) => members.iter().find_map(|member| clock_of(&member.class)),
        Kind::Variant { choices, .. } => choices.iter().find_map(|choice| clock_of(&choice.class)),
        Kind::Optional { class, .. } => clock_of(class),
        Kind::Float { .. } | Kind::Text | Kind::Array { .. } => None,
    }
}

/// The class with roles where `role` finds one; roles that are there already stay.
fn assigned(class: &Class, role: ByName) -> Result<Class, String> {
    let mut left = FIELDS_MAX;
    visit("", class, role, &mut left)
}

fn visit(name: &str, class: &Class, role: ByName, left: &mut usize) -> Result<Class, String> {
    *left = left.checked_sub(1).ok_or("a header of too many fields")?;
    let kind = match class.kind() {
        Kind::Integer(integer) if integer.role.is_none() => {
            Kind::Integer(Integer { role: role(plain(name), integer), ..integer.clone() })
        }
        Kind::Struct(members) => {
            let members = members.iter().map(|member| {
                visit(&member.name, &member.class, role, left)
                    .map(|class| Member { name: member.name.clone(), class })
            });
            Kind::Struct(members.collect::<Result<_, _>>()?)
        }
        Kind::Variant { selector, choices } => {
            let choices = choices.iter().map(|choice| {
                visit(&choice.name, &choice.class, role, left).map(|class| Choice { class, ..choice.clone() })
            });
            Kind::Variant { selector: selector.clone(), choices: choices.collect::<Result<_, _>>()? }
        }
        Kind::Optional { selector, ranges, class } => Kind::Optional {
            selector: selector.clone(),
            ranges: ranges.clone(),
            class: visit(name, class, role, left)?,
        },
        Kind::Integer(_) | Kind::Float { .. } | Kind::Text | Kind::Array { .. } => return Ok(class.clone()),
    };
    Class::new(kind, class.align())
}
