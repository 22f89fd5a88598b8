//! Settings of the builder.

use crate::path::WorkerState;

/// The rules by which the graph is built.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum GraphMode {
    /// With corrections for current kernels.
    #[default]
    Modern,
    /// Identical to the published reference, including its mistakes; for comparison.
    Compat,
}

/// Maps the names of interrupt handlers to the state of the wait they end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IrqName {
    /// `*` stands for any text, `#` for one or more digits; everything else for itself.
    pub pattern: String,
    /// The state of the wait that such an interrupt ends.
    pub state: WorkerState,
}

/// Settings of a [`GraphBuilder`](crate::GraphBuilder).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GraphSettings {
    /// Which rules.
    pub mode: GraphMode,
    /// Rules for interrupt names; the first match applies. Not used in compatible mode.
    pub irq_names: Vec<IrqName>,
    /// A thread woken at most this long (nanoseconds) before it is switched out was woken during the switch. Default 50
    /// µs; at most 2 µs were observed.
    pub early_waking_ns_max: u64,
    /// Maximum time (nanoseconds) by which an unrecorded switch is dated back to the wake-up that explains it. Default
    /// 10 ms: a busy CPU records timer ticks, so without events it was idle.
    pub implied_back_ns_max: u64,
    /// Maximum time (nanoseconds) between sending and receiving for which a buffer's address identifies the same
    /// packet, since buffers are reused. Default 10 ms.
    pub buffer_ns_max: u64,
    /// Number of events buffered at the beginning to determine which wake-up events a trace has. Default 65 536.
    pub first_events_max: usize,
    /// Maximum number of vertices (24 bytes each); further events are dropped and counted. Default 400 million.
    pub vertices_max: usize,
}

const DISK: &[&str] = &["virtio#-req*", "nvme*", "*ahci*", "mmc#*", "*scsi*", "*sata*", "*sdhci*"];
const NET: &[&str] = &[
    "virtio#-rx*",
    "virtio#-tx*",
    "virtio#-input*",
    "virtio#-output*",
    "eth#*",
    "en*",
    "wl*",
    "mlx*",
    "iwlwifi*",
];
const INPUT: &[&str] = &["i8042*", "*usb*", "*hid*", "*xhci*"];
const TIMER: &[&str] = &["timer*", "rtc*"];

/// The default rules.
fn default_irq_names() -> Vec<IrqName> {
    let groups = [
        (DISK, WorkerState::BlockDevice),
        (NET, WorkerState::Network),
        (INPUT, WorkerState::UserInput),
        (TIMER, WorkerState::Timer),
    ];
    let rows =
        groups.into_iter().flat_map(|(patterns, state)| patterns.iter().map(move |text| (text, state)));
    rows.map(|(pattern, state)| IrqName { pattern: (*pattern).to_owned(), state }).collect()
}

impl Default for GraphSettings {
    fn default() -> GraphSettings {
        GraphSettings {
            mode: GraphMode::Modern,
            irq_names: default_irq_names(),
            early_waking_ns_max: 50_000,
            implied_back_ns_max: 10_000_000,
            buffer_ns_max: 10_000_000,
            first_events_max: 65_536,
            vertices_max: 400_000_000,
        }
    }
}

impl GraphSettings {
    /// The published reference's rules.
    pub fn compat() -> GraphSettings {
        GraphSettings { mode: GraphMode::Compat, ..GraphSettings::default() }
    }
}
