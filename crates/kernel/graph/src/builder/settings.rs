//! What the builder may be told.

use crate::path::PieceState;

/// Which rules the graph is built by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum GraphMode {
    /// With the corrections that current kernels need.
    #[default]
    Modern,
    /// As the published reference does it, its mistakes included: for comparison.
    Compat,
}

/// Interrupts whose handler's name matches mean a wait of this state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IrqName {
    /// `*` stands for any text, `#` for one or more digits; everything else for itself.
    pub pattern: String,
    /// The state of the wait that such an interrupt ends.
    pub state: PieceState,
}

/// Settings of a [`GraphBuilder`](crate::GraphBuilder).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GraphSettings {
    /// Which rules.
    pub mode: GraphMode,
    /// Names of interrupts, the first match decides. Not used in compatible mode.
    pub irq_names: Vec<IrqName>,
    /// A thread woken at most this long (nanoseconds) before it leaves its CPU was woken while leaving. Default
    /// 50 µs; at most 2 µs have been seen.
    pub early_waking_ns_max: u64,
    /// A switch that was not recorded is dated back to the wake-up that explains it by at most this long
    /// (nanoseconds). Default 10 ms: a running CPU shows its tick, silence means it did not run.
    pub implied_back_ns_max: u64,
    /// A buffer's address means the same packet on both sides for at most this long (nanoseconds), since buffers
    /// are used again. Default 10 ms.
    pub buffer_ns_max: u64,
    /// Events that are held back at the beginning to see which wake-up events a trace has. Default 65 536.
    pub first_events_max: usize,
    /// Vertices (24 bytes each) beyond which further events are left out and counted. Default 400 million.
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
const PERSON: &[&str] = &["i8042*", "*usb*", "*hid*", "*xhci*"];
const TIMER: &[&str] = &["timer*", "rtc*"];

/// The names known by default.
fn known_irq_names() -> Vec<IrqName> {
    let groups = [
        (DISK, PieceState::BlockDevice),
        (NET, PieceState::Network),
        (PERSON, PieceState::UserInput),
        (TIMER, PieceState::Timer),
    ];
    let rows =
        groups.into_iter().flat_map(|(patterns, state)| patterns.iter().map(move |text| (text, state)));
    rows.map(|(pattern, state)| IrqName { pattern: (*pattern).to_owned(), state }).collect()
}

impl Default for GraphSettings {
    fn default() -> GraphSettings {
        GraphSettings {
            mode: GraphMode::Modern,
            irq_names: known_irq_names(),
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
