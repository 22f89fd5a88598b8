//! Metadata in both languages.

use super::events::Class;
use super::field::Field;
use super::{Header, Layout, UUID, Version};
use serde_json::{Value as Json, json};

/// The file's content. `context`: whether events contain their thread.
pub(super) fn metadata(layout: &Layout, classes: &[Class], context: bool) -> Vec<u8> {
    match layout.version {
        Version::One if layout.packetized => packets(&tsdl(layout, classes, context), layout.big_endian),
        Version::One => tsdl(layout, classes, context).into_bytes(),
        Version::Two => fragments(layout, classes, context),
    }
}

/// In packets of at most 4 KiB.
fn packets(text: &str, big_endian: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let number =
        |value: usize| if big_endian { (value as u32).to_be_bytes() } else { (value as u32).to_le_bytes() };
    for part in text.as_bytes().chunks(4096 - 37) {
        out.extend(number(0x75D1_1D57));
        out.extend(UUID);
        out.extend(number(0));
        out.extend(number(8 * (37 + part.len())));
        out.extend(number(8 * 4096));
        out.extend([0, 0, 0, 1, 8]);
        out.extend(part);
        out.resize(out.len().next_multiple_of(4096), 0);
    }
    out
}

const TYPES: &str = "
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = $16; signed = false; } := uint16_t;
typealias integer { size = 32; align = $32; signed = false; } := uint32_t;
typealias integer { size = 64; align = $64; signed = false; } := uint64_t;
typealias integer { size = 64; align = $64; signed = false; } := unsigned long;
typealias integer { size = 5; align = 1; signed = false; } := uint5_t;

trace {
	major = 1; minor = 8;
	uuid = \"03010401-0509-0206-0503-050809070903\";
	byte_order = $order;
	packet.header := struct {
		uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; uint64_t stream_instance_id;
	};
};

env {
	hostname = \"encoded\"; domain = \"kernel\"; sysname = \"Linux\"; kernel_release = \"6.1.0\";
	tracer_name = \"lttng-modules\"; tracer_major = 2;
};

clock {
	name = \"monotonic\"; uuid = \"e0ff1bac-aa1d-451d-a8c1-10cb8d315d45\"; description = \"Monotonic Clock\";
	freq = $freq; /* Frequency, in Hz */
	offset_s = 1457111225; offset = 0;
};

typealias integer { size = 27; align = 1; signed = false; map = clock.monotonic.value; } := uint27_clock_monotonic_t;
typealias integer { size = 32; align = $32; signed = false; map = clock.monotonic.value; } := uint32_clock_monotonic_t;
typealias integer { size = 64; align = $64; signed = false; map = clock.monotonic.value; } := uint64_clock_monotonic_t;

struct packet_context {
	uint64_clock_monotonic_t timestamp_begin; uint64_clock_monotonic_t timestamp_end;
	uint64_t content_size; uint64_t packet_size; uint64_t packet_seq_num; unsigned long events_discarded; uint32_t cpu_id;
};

struct event_header_compact {
	enum : uint5_t { compact = 0 ... 30, extended = 31 } id;
	variant <id> {
		struct { uint27_clock_monotonic_t timestamp; } compact;
		struct { uint32_t id; uint64_clock_monotonic_t timestamp; } extended;
	} v;
} align($header);

struct event_header_large {
	enum : uint16_t { compact = 0 ... 65534, extended = 65535 } id;
	variant <id> {
		struct { uint32_clock_monotonic_t timestamp; } compact;
		struct { uint32_t id; uint64_clock_monotonic_t timestamp; } extended;
	} v;
} align($header);
";

/// The contexts of every record.
fn contexts(layout: &Layout) -> impl Iterator<Item = (&'static str, Field)> {
    let all = [("tid", Field::signed(32)), ("pid_ns", Field::unsigned(32)), ("vtid", Field::signed(32))];
    all.into_iter().take(if layout.namespaces { 3 } else { 1 })
}

fn tsdl(layout: &Layout, classes: &[Class], context: bool) -> String {
    let align = |size: u32| if layout.natural_alignment { size } else { 8 }.to_string();
    let mut text = "/* CTF 1.8 */\n".to_owned();
    text += &TYPES
        .replace("$order", if layout.big_endian { "be" } else { "le" })
        .replace("$freq", &(1_000_000_000 * layout.cycles_per_ns).to_string())
        .replace("$header", &align(64))
        .replace("$16", &align(16))
        .replace("$32", &align(32))
        .replace("$64", &align(64));
    let header = if layout.header == Header::Compact { "compact" } else { "large" };
    let thread = if context {
        let fields = contexts(layout).map(|(name, field)| field.tsdl(name, layout));
        format!("event.context := struct {{ {} }};", fields.collect::<Vec<_>>().join(" "))
    } else {
        String::new()
    };
    text += &format!(
        "stream {{ id = 0; event.header := struct event_header_{header}; packet.context := struct packet_context; {thread} }};\n"
    );
    for (id, class) in classes.iter().enumerate() {
        let fields = class.fields.tsdl_struct(layout);
        text += &format!(
            "event {{ name = \"{}\"; id = {id}; stream_id = 0; fields := {fields}; }};\n",
            class.name
        );
    }
    text
}

fn fragments(layout: &Layout, classes: &[Class], context: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let mut push = |fragment: Json| {
        out.push(0x1e);
        out.extend(fragment.to_string().bytes());
        out.push(b'\n');
    };
    push(json!({"type": "preamble", "version": 2}));
    let roles = |mut class: Json, roles: &[&str]| {
        class["roles"] = json!(roles);
        class
    };
    let number = |bits: u32| Field::unsigned(bits).json(layout);
    let member = |name: &str, class: Json| json!({"name": name, "field-class": class});
    push(json!({
        "type": "trace-class",
        "environment": {"hostname": "encoded", "domain": "kernel", "kernel_release": "6.1.0", "tracer_major": 2},
        "packet-header-field-class": {"type": "structure", "member-classes": [
            member("magic", roles(number(32), &["packet-magic-number"])),
            member("uuid", json!({"type": "static-length-blob", "length": 16, "roles": ["metadata-stream-uuid"]})),
            member("stream_id", roles(number(32), &["data-stream-class-id"])),
            member("stream_instance_id", roles(number(64), &["data-stream-id"])),
        ]},
    }));
    push(json!({
        "type": "clock-class", "id": "the clock", "name": "monotonic", "frequency": 1_000_000_000 * layout.cycles_per_ns,
        "origin": "unix-epoch", "offset-from-origin": {"seconds": 1_457_111_225, "cycles": 0},
    }));
    push(json!({"type": "field-class-alias", "name": "cpu", "field-class": number(32)}));
    let mut stream = json!({
        "type": "data-stream-class", "id": 0, "default-clock-class-id": "the clock",
        "packet-context-field-class": {"type": "structure", "member-classes": [
            member("timestamp_begin", roles(number(64), &["default-clock-timestamp"])),
            member("timestamp_end", roles(number(64), &["packet-end-default-clock-timestamp"])),
            member("content_size", roles(number(64), &["packet-content-length"])),
            member("packet_size", roles(number(64), &["packet-total-length"])),
            member("packet_seq_num", roles(number(64), &["packet-sequence-number"])),
            member("events_discarded", roles(number(64), &["discarded-event-record-counter-snapshot"])),
            member("cpu_id", json!("cpu")),
        ]},
        "event-record-header-field-class": header(layout),
    });
    if context {
        let thread = json!({"type": "structure", "member-classes": contexts(layout)
                .map(|(name, field)| member(name, field.json(layout)))
                .collect::<Vec<_>>()});
        stream["event-record-common-context-field-class"] = thread;
    }
    push(stream);
    for (id, class) in classes.iter().enumerate() {
        push(json!({
            "type": "event-record-class", "id": id, "data-stream-class-id": 0, "name": class.name,
            "payload-field-class": class.fields.json(layout),
        }));
    }
    out
}

fn header(layout: &Layout) -> Json {
    let (id_bits, clock_bits, clock_align) = match (layout.header, layout.natural_alignment) {
        (Header::Compact, _) => (5, 27, 1),
        (Header::Large, true) => (16, 32, 32),
        (Header::Large, false) => (16, 32, 8),
    };
    let escape = (1 << id_bits) - 1;
    let order = if layout.big_endian { "big-endian" } else { "little-endian" };
    let bits = |bits: u32, align: u32, role: &str| json!({"type": "fixed-length-unsigned-integer", "length": bits, "byte-order": order, "alignment": align, "roles": [role]});
    let wide = |bits: u32| if layout.natural_alignment { bits } else { 8 };
    json!({"type": "structure", "minimum-alignment": wide(64), "member-classes": [
        {"name": "id", "field-class": bits(id_bits, 1, "event-record-class-id")},
        {"name": "v", "field-class": {
            "type": "variant",
            "selector-field-location": {"origin": "event-record-header", "path": ["id"]},
            "options": [
                {"name": "compact", "selector-field-ranges": [[0, escape - 1]], "field-class": {"type": "structure", "member-classes": [
                    {"name": "timestamp", "field-class": bits(clock_bits, clock_align, "default-clock-timestamp")},
                ]}},
                {"name": "extended", "selector-field-ranges": [[escape, escape]], "field-class": {"type": "structure", "member-classes": [
                    {"name": "id", "field-class": bits(32, wide(32), "event-record-class-id")},
                    {"name": "timestamp", "field-class": bits(64, wide(64), "default-clock-timestamp")},
                ]}},
            ],
        }},
    ]})
}
