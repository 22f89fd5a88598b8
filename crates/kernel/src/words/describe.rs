//! Pieces of a path to waits.

use super::losses::LossInstants;
use super::wait::{Resource, UnknownReason, Wait};
use crate::path::{CriticalPath, PathPiece, PieceState};
use crate::states::WorkerNames;
use crate::worker::WorkerId;
use laggard_model::TextId;
use std::collections::BTreeMap;

/// Share of a pre-empted time in which its CPU was idle from which the CPU is not what was missing.
const IDLE_SHARE_MIN: f64 = 0.5;
/// Mean idle time, in nanoseconds, of a pre-empted stretch from which a quota held the thread back: CPUs wake up within
/// some hundred microseconds from their deepest idle state, a quota throttles for milliseconds.
const QUOTA_NS_MIN: u64 = 500_000;

/// What pieces of a path are told with.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances<'a> {
    /// The workers.
    pub names: WorkerNames<'a>,
    /// When events were lost.
    pub losses: &'a LossInstants,
    /// Whether CPUs are missing in the trace.
    pub cpus_missing: bool,
}

/// Pieces that follow each other, by their 0-based index in the path's pieces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PieceRange {
    /// The first.
    pub first: usize,
    /// The last, included.
    pub last: usize,
}

/// What the pieces of some ranges were spent on, the longest first. Pieces outside the path are left out; ranges
/// should be in order and not overlap.
pub fn waits_of(path: &CriticalPath, ranges: &[PieceRange], circumstances: Circumstances<'_>) -> Vec<Wait> {
    let mut waits: BTreeMap<Kind, Wait> = BTreeMap::new();
    let mut before: Option<(usize, Kind)> = None;
    for range in ranges {
        for index in range.first..=range.last.min(path.pieces.len().saturating_sub(1)) {
            let Some(piece) = path.pieces.get(index) else { break };
            let kind = kind_of(path, piece, circumstances);
            let goes_on = before.as_ref().is_some_and(|(last, same)| last + 1 == index && *same == kind);
            let wait = waits.entry(kind.clone()).or_insert_with(|| empty(&kind, circumstances));
            add(wait, path, piece, goes_on);
            before = Some((index, kind));
        }
    }
    let mut waits: Vec<Wait> = waits.into_values().map(with_cpu_reason).collect();
    // Stable: of equal times the order of `Kind` stays.
    waits.sort_by_key(|wait| std::cmp::Reverse(wait.ns));
    waits
}

/// What makes pieces one wait.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    other: Option<WorkerId>,
    state: PieceState,
    resource: Resource,
}

fn kind_of(path: &CriticalPath, piece: &PathPiece, circumstances: Circumstances<'_>) -> Kind {
    Kind {
        other: (piece.worker != path.worker).then_some(piece.worker),
        state: piece.state,
        resource: resource_of(path, piece, circumstances),
    }
}

fn resource_of(path: &CriticalPath, piece: &PathPiece, circumstances: Circumstances<'_>) -> Resource {
    let qualifier = circumstances.names.texts.text(piece.qualifier);
    // A soft interrupt says of what kind the device is, which the state says already.
    let device = if qualifier.starts_with("softirq ") { String::new() } else { qualifier.to_owned() };
    match piece.state {
        PieceState::Running => Resource::Work,
        PieceState::Preempted => Resource::Cpu,
        PieceState::BlockDevice => Resource::Disk(device),
        PieceState::Network => match sender(path, piece) {
            Some(sender) => Resource::PacketOf(sender),
            None => Resource::Packet(device),
        },
        PieceState::Timer => Resource::Timer,
        PieceState::UserInput => Resource::Person(device),
        PieceState::Interrupted => Resource::Interrupt,
        PieceState::Ipi => Resource::OtherCpu,
        PieceState::Blocked if piece.qualifier == TextId::EMPTY => {
            Resource::Unknown(reason(piece, UnknownReason::NoWakeUp, circumstances))
        }
        PieceState::Blocked if device.is_empty() => Resource::Interrupt,
        PieceState::Blocked => Resource::Device(device),
        PieceState::Unknown => Resource::Unknown(reason(piece, UnknownReason::NoRecord, circumstances)),
    }
}

fn reason(piece: &PathPiece, otherwise: UnknownReason, circumstances: Circumstances<'_>) -> UnknownReason {
    if circumstances.losses.meets(piece.window) {
        return UnknownReason::LostEvents;
    }
    if circumstances.cpus_missing { UnknownReason::MissingCpu } else { otherwise }
}

/// The sender of the packet a piece waits for: the path came from it when the piece began.
fn sender(path: &CriticalPath, piece: &PathPiece) -> Option<WorkerId> {
    let links = &path.links;
    let first = links.partition_point(|link| link.from_time < piece.window.from);
    let at_begin = links[first..].iter().take_while(|link| link.from_time == piece.window.from);
    at_begin.filter(|link| link.network && link.to == piece.worker).map(|link| link.from).last()
}

/// Whoever the path comes back from when a piece of another worker ends.
fn woken_by(path: &CriticalPath, piece: &PathPiece) -> Option<WorkerId> {
    let links = &path.links;
    let first = links.partition_point(|link| link.from_time < piece.window.to);
    let at_end = links[first..].iter().take_while(|link| link.from_time == piece.window.to);
    at_end.filter(|link| link.from == piece.worker && link.to == path.worker).map(|link| link.from).next()
}

fn empty(kind: &Kind, circumstances: Circumstances<'_>) -> Wait {
    let described = |worker: Option<WorkerId>| match worker {
        Some(worker) => circumstances.names.described(worker),
        None => String::new(),
    };
    let sender = match kind.resource {
        Resource::PacketOf(sender) => Some(sender),
        _ => None,
    };
    Wait {
        other: kind.other,
        other_name: described(kind.other),
        sender_name: described(sender),
        state: kind.state,
        resource: kind.resource.clone(),
        waker: sender,
        count: 0,
        ns: 0,
        idle_ns: 0,
        inferred: 0,
    }
}

fn add(wait: &mut Wait, path: &CriticalPath, piece: &PathPiece, goes_on: bool) {
    wait.count += u64::from(!goes_on);
    wait.ns += piece.window.ns();
    wait.idle_ns += piece.idle_ns;
    wait.inferred += u64::from(piece.inferred);
    wait.waker = wait.waker.or_else(|| woken_by(path, piece));
}

/// Says why a CPU was waited for, from the whole of the time.
fn with_cpu_reason(mut wait: Wait) -> Wait {
    if wait.resource == Resource::Cpu && wait.idle_share() >= IDLE_SHARE_MIN {
        let is_long = wait.idle_ns / wait.count.max(1) >= QUOTA_NS_MIN;
        wait.resource = if is_long { Resource::CpuQuota } else { Resource::IdleWakeUp };
    }
    wait
}
