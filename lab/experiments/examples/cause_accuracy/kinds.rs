//! The kinds of faults, with what each kind of data shows of them.

use super::recording::Recording;
use laggard_report::CauseClass;
use laggard_simulate::DayFaultKind;
use laggard_simulate_kernel::{ExecutionKind, KernelFault};

pub(crate) const MINUTE_S: u32 = 60;
const HOUR_S: u32 = 3_600;
pub(crate) const LENGTH_S: u32 = 3 * HOUR_S;
pub(crate) const FAULT_S: u32 = LENGTH_S - HOUR_S / 2;

/// A fault, its effect on CPU and kernel events, and the expected kind of cause.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) fault: DayFaultKind,
    /// Whether the time that the fault adds is CPU.
    pub(crate) uses_cpu: bool,
    /// Share of all cores that another process uses during the fault.
    pub(crate) foreign: f64,
    pub(crate) foreign_on: ForeignOn,
    /// Kernel recordings of a slow replica and of a usual one.
    pub(crate) recording: Option<Recording>,
    /// Which operations it is about.
    pub(crate) operations: Operations,
    pub(crate) truth: CauseClass,
    /// Whether a source is falsified, so that a contradiction is to be stated.
    pub(crate) is_falsified: bool,
}

/// Where another process runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForeignOn {
    /// The slow replica.
    Culprit,
    /// Another replica.
    Elsewhere,
}

/// The operations that a kind of fault is drawn for; other systems are left out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operations {
    All,
    /// Queries of a database, which sends no spans.
    Queries,
    /// All but these.
    OwnWork,
}

const fn kind(name: &'static str, fault: DayFaultKind, truth: CauseClass) -> Kind {
    Kind {
        name,
        fault,
        uses_cpu: false,
        foreign: 0.0,
        foreign_on: ForeignOn::Culprit,
        recording: None,
        operations: Operations::All,
        truth,
        is_falsified: false,
    }
}

const fn recorded(kind: Kind, recording: Recording) -> Kind {
    Kind { recording: Some(recording), ..kind }
}

const MS: u64 = 1_000_000;
const COMPUTES: Recording = Recording::new(KernelFault::ExtraCompute { ns: 12 * MS }, ExecutionKind::Read);
const LOCKED: Recording = Recording::new(KernelFault::HeldLock { extra_ns: 5 * MS }, ExecutionKind::Append);
const SLEEPS: Recording = Recording::new(KernelFault::ExtraSleep { ns: 12 * MS }, ExecutionKind::Sort);
const SLOW_REPLY: Recording =
    Recording::new(KernelFault::SlowServer { extra_ns: 2 * MS }, ExecutionKind::Query);
const THROTTLED: Recording = Recording::new(KernelFault::CpuQuota { ns: 20 * MS }, ExecutionKind::Sort);
const SLOW_DISK: Recording = Recording::new(KernelFault::SlowDisk { extra_ns: 2 * MS }, ExecutionKind::Read);
const BUSY: Recording =
    Recording { noise_threads: 40, ..Recording::new(KernelFault::None, ExecutionKind::Sort) };

const CODE: Kind = Kind {
    uses_cpu: true,
    operations: Operations::OwnWork,
    ..kind("code", DayFaultKind::Operation, CauseClass::Code)
};
const WAITING: Kind =
    Kind { operations: Operations::OwnWork, ..kind("waiting", DayFaultKind::Operation, CauseClass::Waiting) };
const DATABASE: Kind = Kind {
    operations: Operations::Queries,
    ..kind("database", DayFaultKind::Operation, CauseClass::Dependency)
};
const REPLICA: Kind = kind("replica", DayFaultKind::Replica, CauseClass::Machine);
const FOREIGN: Kind =
    Kind { foreign: 0.25, ..kind("foreign", DayFaultKind::Replica, CauseClass::ForeignLoad) };
const NETWORK: Kind = kind("network", DayFaultKind::Edge, CauseClass::Network);
const TENANT: Kind = kind("tenant", DayFaultKind::Tenant, CauseClass::Data);

const fn named(name: &'static str, truth: CauseClass, kind: Kind) -> Kind {
    Kind { name, truth, ..kind }
}

const fn falsified(kind: Kind) -> Kind {
    Kind { is_falsified: true, ..kind }
}

/// Those with a `+` in their name have a recording of the kernel.
pub(crate) const KINDS: [Kind; 22] = [
    CODE,
    recorded(named("code+computes", CauseClass::Code, CODE), COMPUTES),
    WAITING,
    recorded(named("waiting+lock", CauseClass::Waiting, WAITING), LOCKED),
    recorded(named("waiting+timer", CauseClass::Waiting, WAITING), SLEEPS),
    recorded(named("waiting+disk", CauseClass::Waiting, WAITING), SLOW_DISK),
    recorded(named("waiting+quota", CauseClass::Configuration, WAITING), THROTTLED),
    DATABASE,
    recorded(named("database+reply", CauseClass::Dependency, DATABASE), SLOW_REPLY),
    REPLICA,
    Kind { uses_cpu: true, ..named("replica-cpu", CauseClass::Machine, REPLICA) },
    recorded(named("replica+disk", CauseClass::Machine, REPLICA), SLOW_DISK),
    recorded(named("replica+quota", CauseClass::Configuration, REPLICA), THROTTLED),
    FOREIGN,
    recorded(named("foreign+busy", CauseClass::ForeignLoad, FOREIGN), BUSY),
    NETWORK,
    TENANT,
    kind("errors", DayFaultKind::Errors, CauseClass::Errors),
    kind("early-return", DayFaultKind::EarlyReturn, CauseClass::Code),
    // The other process runs on another replica than the slow one.
    falsified(Kind {
        foreign: 0.25,
        foreign_on: ForeignOn::Elsewhere,
        ..named("foreign-elsewhere", CauseClass::Machine, REPLICA)
    }),
    // The recording is of something else that waits, or computes.
    falsified(recorded(named("code+false-lock", CauseClass::Code, CODE), LOCKED)),
    falsified(recorded(named("waiting+false-computes", CauseClass::Waiting, WAITING), COMPUTES)),
];
