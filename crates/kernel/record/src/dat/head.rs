//! Everything of a trace that is not its pages, and the sections that hold it.

/// The events of one system.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EventSystem {
    /// The system's name (`sched`).
    pub name: String,
    /// The `format` text of each event.
    pub formats: Vec<Vec<u8>>,
}

/// Everything of a trace that is not its pages: mostly texts, as tracefs has them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceHead {
    /// Bytes of a page of the ring buffer.
    pub page_bytes: u32,
    /// `events/header_page`.
    pub header_page: Vec<u8>,
    /// `events/header_event`.
    pub header_event: Vec<u8>,
    /// `events/ftrace/*/format`.
    pub ftrace_formats: Vec<Vec<u8>>,
    /// `events/SYSTEM/*/format` of what was recorded.
    pub systems: Vec<EventSystem>,
    /// Lines of `/proc/kallsyms`. Only the functions that texts of events refer to: all of them would be most of a small
    /// file, and no reader needs them.
    pub symbols: Vec<u8>,
    /// `printk_formats`.
    pub printk_formats: Vec<u8>,
    /// `saved_cmdlines`: a line for each thread, `PID NAME`.
    pub command_lines: Vec<u8>,
    /// Number of CPUs of the machine.
    pub cpus: u32,
    /// The clock's name.
    pub clock: String,
    /// `trace_clock`: all clocks, the one in use in brackets.
    pub clocks: String,
    /// System, host name, release and machine, separated by blanks.
    pub system: String,
    /// Name and version of the program that wrote it.
    pub version: String,
    /// `per_cpu/cpuN/stats`, each after a line `CPU: N`.
    pub cpu_stats: Vec<String>,
    /// Calendar time minus the trace clock, in nanoseconds.
    pub calendar_offset_ns: Option<i64>,
    /// The processes and control groups of threads, as [`laggard_model::HostSnapshot`] writes them; may be empty.
    pub snapshot: String,
    /// Functions of programs in call stacks, as [`laggard_model::UserFunctions`] writes them; may be empty.
    pub programs: String,
    /// A number for this recording.
    pub trace_id: u64,
}

impl TraceHead {
    pub(super) fn header_section(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (name, text) in
            [(&b"header_page\0"[..], &self.header_page), (b"header_event\0", &self.header_event)]
        {
            bytes.extend(name);
            put_long_text(&mut bytes, text);
        }
        bytes
    }

    pub(super) fn ftrace_section(&self) -> Vec<u8> {
        let mut bytes = count(self.ftrace_formats.len()).to_vec();
        self.ftrace_formats.iter().for_each(|format| put_long_text(&mut bytes, format));
        bytes
    }

    pub(super) fn events_section(&self) -> Vec<u8> {
        let mut bytes = count(self.systems.len()).to_vec();
        for system in &self.systems {
            bytes.extend(system.name.as_bytes());
            bytes.push(0);
            bytes.extend(count(system.formats.len()));
            system.formats.iter().for_each(|format| put_long_text(&mut bytes, format));
        }
        bytes
    }

    pub(super) fn symbols_section(&self) -> Vec<u8> {
        short_text(&self.symbols)
    }

    pub(super) fn printk_section(&self) -> Vec<u8> {
        short_text(&self.printk_formats)
    }

    pub(super) fn command_lines_section(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_long_text(&mut bytes, &self.command_lines);
        bytes
    }
}

/// A length of 8 bytes, and the text.
fn put_long_text(bytes: &mut Vec<u8>, text: &[u8]) {
    bytes.extend((text.len() as u64).to_ne_bytes());
    bytes.extend(text);
}

/// A length of 4 bytes, and the text.
fn short_text(text: &[u8]) -> Vec<u8> {
    let mut bytes = count(text.len()).to_vec();
    bytes.extend(text);
    bytes
}

fn count(number: usize) -> [u8; 4] {
    u32::try_from(number).expect("tracefs texts are far below 4 GiB").to_ne_bytes()
}
