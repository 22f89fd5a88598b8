//! Programs of simulated threads: the sequence of computing, waiting, and system calls of each role.

use super::scenario::{ExecutionKind, KernelFault, KernelScenario};
use laggard_simulate::Random;
use std::collections::VecDeque;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// One thing a thread does.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Action {
    Compute(u64),
    Disk(u64),
    Sleep(u64),
    Lock,
    Unlock,
    /// Sends a request to the server, which computes this long.
    Ask(u64),
    /// Waits for a question, answers it after computing.
    Serve,
    Reply(usize),
    Begin(usize),
    End(usize),
}

/// An execution before it is run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned {
    pub(super) kind: ExecutionKind,
    pub(super) is_hit: bool,
}

/// Role of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ThreadRole {
    /// Runs the executions whose number modulo the number of clients is this.
    Client(u32),
    Server,
    Logger,
    Noise,
}

/// A time around its usual one: log-normal with a spread of a fifth.
pub(super) fn about(random: &mut Random, ns: u64) -> u64 {
    (ns as f64 * libm::exp(0.2 * random.normal())) as u64 + 1
}

/// Chooses the executions.
pub(super) fn plan(scenario: &KernelScenario, random: &mut Random) -> Vec<Planned> {
    let hits_all = matches!(scenario.fault, KernelFault::CpuQuota { .. } | KernelFault::HeldLock { .. });
    let mut planned = |_| {
        let kind = scenario.kinds[random.index(scenario.kinds.len())];
        let drawn = random.chance(scenario.hit_share);
        let is_hit =
            scenario.fault != KernelFault::None && (hits_all || (drawn && can_hit(scenario.fault, kind)));
        Planned { kind, is_hit }
    };
    (0..scenario.executions).map(&mut planned).collect()
}

/// Whether a fault makes a difference to a kind.
fn can_hit(fault: KernelFault, kind: ExecutionKind) -> bool {
    match fault {
        KernelFault::SlowDisk { .. } => kind == ExecutionKind::Read,
        KernelFault::SlowServer { .. } => kind == ExecutionKind::Query,
        _ => true,
    }
}

/// The actions of one execution, its marks included.
pub(super) fn execution(
    number: usize,
    planned: Planned,
    fault: KernelFault,
    random: &mut Random,
) -> VecDeque<Action> {
    let mut actions = VecDeque::from([Action::Begin(number), Action::Compute(about(random, 30 * US))]);
    let rounds = rounds_of(planned.kind);
    for round in 0..rounds {
        if planned.is_hit && round == rounds / 2 {
            match fault {
                KernelFault::ExtraSleep { ns } => actions.push_back(Action::Sleep(ns)),
                KernelFault::ExtraCompute { ns } => actions.push_back(Action::Compute(ns)),
                _ => {}
            }
        }
        round_of(planned, fault, random, &mut actions);
    }
    actions.extend([Action::Compute(about(random, 20 * US)), Action::End(number)]);
    actions
}

const fn rounds_of(kind: ExecutionKind) -> usize {
    match kind {
        ExecutionKind::Read => 8,
        ExecutionKind::Query => 12,
        ExecutionKind::Sort => 5,
        ExecutionKind::Poll => 10,
        ExecutionKind::Append => 6,
    }
}

fn round_of(planned: Planned, fault: KernelFault, random: &mut Random, actions: &mut VecDeque<Action>) {
    match planned.kind {
        ExecutionKind::Read => {
            let extra = match fault {
                KernelFault::SlowDisk { extra_ns } if planned.is_hit => extra_ns,
                _ => 0,
            };
            actions.push_back(Action::Disk(about(random, 180 * US) + extra));
            actions.push_back(Action::Compute(about(random, 150 * US)));
        }
        ExecutionKind::Query => {
            let extra = match fault {
                KernelFault::SlowServer { extra_ns } if planned.is_hit => extra_ns,
                _ => 0,
            };
            actions.push_back(Action::Ask(about(random, 300 * US) + extra));
            actions.push_back(Action::Compute(about(random, 60 * US)));
        }
        ExecutionKind::Sort => actions.push_back(Action::Compute(about(random, 2 * MS))),
        ExecutionKind::Poll => {
            actions.push_back(Action::Sleep(about(random, MS)));
            actions.push_back(Action::Compute(about(random, 25 * US)));
        }
        ExecutionKind::Append => {
            actions.push_back(Action::Compute(about(random, 250 * US)));
            actions.extend([Action::Lock, Action::Compute(about(random, 60 * US)), Action::Unlock]);
        }
    }
}

/// The next step of a thread that is no client.
pub(super) fn background(role: ThreadRole, fault: KernelFault, random: &mut Random) -> VecDeque<Action> {
    match role {
        ThreadRole::Client(_) => VecDeque::new(),
        ThreadRole::Server => VecDeque::from([Action::Serve]),
        ThreadRole::Logger => {
            let extra = match fault {
                KernelFault::HeldLock { extra_ns } => extra_ns,
                _ => 0,
            };
            let idle = random.exponential(2.0 * MS as f64) as u64;
            let held = about(random, 200 * US) + extra;
            VecDeque::from([Action::Sleep(idle), Action::Lock, Action::Compute(held), Action::Unlock])
        }
        ThreadRole::Noise => {
            let idle = random.exponential(8.0 * MS as f64) as u64;
            let busy = random.exponential(MS as f64 / 2.0) as u64;
            VecDeque::from([Action::Sleep(idle), Action::Compute(busy + 1)])
        }
    }
}
