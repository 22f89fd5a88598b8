//! Names that events have in several formats.

use laggard_model::{Cpu, EventKind, IpiVector, TextId, Tid};

/// Which end of an interrupt or call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EventSide {
    Entry,
    Exit,
}

impl EventSide {
    /// The side and the rest of a name that ends with `_entry` or `_exit`.
    pub(crate) fn split(name: &str) -> Option<(EventSide, &str)> {
        let entry = name.strip_suffix("_entry").map(|rest| (EventSide::Entry, rest));
        entry.or_else(|| name.strip_suffix("_exit").map(|rest| (EventSide::Exit, rest)))
    }
}

/// Which wake-up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WakeKind {
    Waking,
    Wakeup,
    WakeupNew,
    /// LTTng's `sched_ttwu`.
    TryToWakeUp,
}

impl WakeKind {
    pub(crate) fn from_name(name: &str) -> Option<WakeKind> {
        Some(match name {
            "sched_waking" => WakeKind::Waking,
            "sched_wakeup" => WakeKind::Wakeup,
            "sched_wakeup_new" => WakeKind::WakeupNew,
            "sched_ttwu" => WakeKind::TryToWakeUp,
            _ => return None,
        })
    }

    #[inline]
    pub(crate) fn event(self, tid: Tid, name: TextId, target: Option<Cpu>) -> EventKind {
        match self {
            WakeKind::Waking => EventKind::Waking { tid, name, target },
            WakeKind::Wakeup => EventKind::Wakeup { tid, name, target },
            WakeKind::WakeupNew => EventKind::WakeupNew { tid, name, target },
            WakeKind::TryToWakeUp => EventKind::TryToWakeUp { tid, name, target },
        }
    }
}

/// The vectors of `irq_vectors` that have a kind of their own.
pub(crate) fn ipi_vector(name: &str) -> Option<IpiVector> {
    Some(match name {
        "local_timer" => IpiVector::LocalTimer,
        "reschedule" => IpiVector::Reschedule,
        "call_function" | "call_function_single" => IpiVector::CallFunction,
        "irq_work" => IpiVector::IrqWork,
        _ => return None,
    })
}
