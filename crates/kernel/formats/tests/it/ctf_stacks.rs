//! Call stacks in LTTng's contexts `callstack_kernel` and `callstack_user`.

use laggard_kernel_formats::{OpenOptions, open_with};
use laggard_model::EventKind;
use std::path::Path;

/// As LTTng writes it, with fewer fields.
const METADATA: &str = r#"/* CTF 1.8 */
trace {
    major = 1; minor = 8; byte_order = ORDER;
    packet.header := struct { integer { size = 32; align = 8; } magic; integer { size = 32; align = 8; } stream_id; };
};
env { domain = "kernel"; };
clock { name = "monotonic"; freq = 1000000000; };
stream {
    id = 0;
    event.header := struct {
        integer { size = 32; align = 8; } id;
        integer { size = 64; align = 8; map = clock.monotonic.value; } timestamp;
    };
    packet.context := struct {
        integer { size = 64; align = 8; } content_size;
        integer { size = 64; align = 8; } packet_size;
        integer { size = 32; align = 8; } cpu_id;
    };
    event.context := struct {
        integer { size = 32; align = 8; signed = 1; } _tid;
        integer { size = 32; align = 8; } __callstack_kernel_length;
        integer { size = 64; align = 8; base = 16; } _callstack_kernel[ __callstack_kernel_length ];
        integer { size = 32; align = 8; } __callstack_user_length;
        integer { size = 64; align = 8; base = 16; } _callstack_user[ __callstack_user_length ];
    };
};
event {
    name = "sched_waking"; id = 1; stream_id = 0;
    fields := struct { integer { size = 32; align = 8; signed = 1; } _tid; };
};
event {
    name = "sched_process_exit"; id = 2; stream_id = 0;
    fields := struct { integer { size = 32; align = 8; signed = 1; } _tid; };
};
"#;

#[derive(Clone, Copy)]
struct Writer {
    is_big: bool,
}

impl Writer {
    fn u32(self, number: u32) -> Vec<u8> {
        if self.is_big { number.to_be_bytes().to_vec() } else { number.to_le_bytes().to_vec() }
    }

    fn u64(self, number: u64) -> Vec<u8> {
        if self.is_big { number.to_be_bytes().to_vec() } else { number.to_le_bytes().to_vec() }
    }

    /// An event of thread 40 about thread 41, with the stacks of its context.
    fn event(self, class: u32, time_ns: u64, stacks: [&[u64]; 2]) -> Vec<u8> {
        let mut bytes = [self.u32(class), self.u64(time_ns), self.u32(40)].concat();
        for stack in stacks {
            bytes.extend(self.u32(stack.len() as u32));
            stack.iter().for_each(|&address| bytes.extend(self.u64(address)));
        }
        [bytes, self.u32(41)].concat()
    }

    fn trace(self, folder: &Path, events: &[Vec<u8>]) {
        let order = if self.is_big { "be" } else { "le" };
        std::fs::write(folder.join("metadata"), METADATA.replace("ORDER", order)).expect("written");
        let content = events.concat();
        let bits = 8 * (28 + content.len() as u64);
        let head = [self.u32(0xc1fc_1fc1), self.u32(0), self.u64(bits), self.u64(bits), self.u32(0)].concat();
        std::fs::write(folder.join("channel0_0"), [head, content].concat()).expect("written");
    }
}

fn stacks_in(folder: &Path) -> Vec<String> {
    let trace = open_with(folder, &OpenOptions::default()).expect("a trace");
    let mut stacks = Vec::new();
    trace.read(|event, texts| {
        if let EventKind::Stack { frames } = event.kind {
            assert_eq!(event.recorded, None);
            stacks.push(texts.text(frames).to_owned());
        }
    });
    stacks
}

#[test]
fn contexts_with_call_stacks_are_read() {
    let kernel = [0xffff_ffff_8100_0004, 0xffff_ffff_8100_1004, u64::MAX];
    let user = [0x7f00_0000_1234, 0x5500_0000_1234];
    for is_big in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let session = folder.path().join("kernel");
        std::fs::create_dir(&session).unwrap();
        let writer = Writer { is_big };
        let events = [
            writer.event(1, 10, [&kernel, &user]),
            writer.event(2, 20, [&kernel, &user]),
            writer.event(1, 30, [&kernel[..1], &[]]),
            writer.event(1, 40, [&[], &[]]),
        ];
        writer.trace(&session, &events);
        let addresses = "0xffffffff81000004 0xffffffff81001004 0x7f0000001234 0x550000001234";
        assert_eq!(stacks_in(&session), [addresses, "0xffffffff81000004"], "big endian: {is_big}");

        // LTTng's session is the folder above.
        let symbols = "ffffffff81000000 T futex_wake\nffffffff81001000 T do_futex\nffffffff81002000 T end\n";
        std::fs::write(folder.path().join("kallsyms"), symbols).unwrap();
        let named = "futex_wake do_futex 0x7f0000001234 0x550000001234";
        assert_eq!(stacks_in(folder.path()), [named, "futex_wake"]);
        std::fs::rename(folder.path().join("kallsyms"), session.join("kallsyms")).unwrap();
        assert_eq!(stacks_in(&session), [named, "futex_wake"], "a copy beside the streams is no stream");
    }
}
