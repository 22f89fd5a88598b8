//! Evidence on the kind of cause from the waits of slow executions on a suspected replica, compared with normal ones.
//!
//! A recording shows directly what a thread did while a call took longer. One kind of cause is supported if it explains at least
//! half of the additional time; where the executions are not slower one by one, the recording says nothing here.

use crate::present::kernel::phrases::call_words;
use crate::{
    AbnormalWait, CauseClass, CauseEvidence, CpuUserKind, EvidenceSource, KernelDiagnosis, KernelVerdict,
    Report, Scope, Suspect, WaitCause, names, numbers,
};
use std::collections::BTreeMap;

/// Share of the additional time that a class must explain.
const MOST: f64 = 0.5;

/// Weight of waits for the disk of one machine: more than that of everything else it does.
pub(super) const DISK: f64 = 3.0;

pub(super) fn evidence(report: &Report, kernel: &KernelDiagnosis) -> Option<CauseEvidence> {
    if kernel.verdict != KernelVerdict::Slower || !may_be_calls_of_suspect(kernel) {
        return None;
    }
    let lead = report.suspects.iter().find(|suspect| suspect.stands_out)?;
    let mut shares: BTreeMap<CauseClass, f64> = BTreeMap::new();
    for wait in &kernel.waits {
        if let Some((class, _)) = supported(wait, lead) {
            *shares.entry(class).or_default() += wait.share;
        }
    }
    let (class, share) = shares.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    if share < MOST {
        return None;
    }
    // The largest wait is the first; a class is as certain as most of its time.
    let of_class = |wait: &&AbnormalWait| supported(wait, lead).is_some_and(|found| found.0 == class);
    let main = kernel.waits.iter().find(of_class)?;
    let (_, weight) = supported(main, lead)?;
    let text = sentence(main, share.min(1.0));
    Some(CauseEvidence { class, weight, source: EvidenceSource::Kernel, text })
}

/// Share of the sample's executions that must be slower. A whole recording has many kinds of executions, and a few of the rarest
/// differ by chance: in a recording of a slow link, 4 of 897.
const SLOWER_SHARE_MIN: f64 = 0.02;

/// Whether so many executions are slower that these may be the calls of a suspect.
pub(crate) fn may_be_calls_of_suspect(kernel: &KernelDiagnosis) -> bool {
    kernel.anomalous.len() as f64 >= SLOWER_SHARE_MIN * kernel.sample.executions as f64
}

/// The class that a wait supports, with its weight. What is slow on all replicas alike is not one machine, and threads of the same
/// name that wait for each other's CPU have more to do.
fn supported(wait: &AbnormalWait, lead: &Suspect) -> Option<(CauseClass, f64)> {
    let is_everywhere = lead.scope == Scope::All;
    let is_among_equals = match wait.cpu_users.first() {
        Some(user) => {
            let waiting = wait.other.as_ref().map_or(&wait.thread, |other| &other.thread);
            user.kind == CpuUserKind::SameProcess || user.thread == *waiting
        }
        None => wait.other.is_none() && wait.waker.as_ref() == Some(&wait.thread),
    };
    // A client span without spans of its callee lasts as long as the callee needs.
    let is_for_reply = lead.kind == "client" && lead.between.is_none();
    Some(match wait.cause {
        WaitCause::OtherThread if is_for_reply && is_of_another_program(wait) => {
            (CauseClass::Dependency, 3.0)
        }
        WaitCause::OtherThread | WaitCause::Timer | WaitCause::Lock => (CauseClass::Waiting, 4.0),
        WaitCause::Unresolved => (CauseClass::Waiting, 3.0),
        WaitCause::CpuQuota => (CauseClass::Configuration, 4.0),
        WaitCause::CpuBusy if is_everywhere || is_among_equals => (CauseClass::Load, 1.5),
        WaitCause::CpuBusy => (CauseClass::ForeignLoad, 3.0),
        WaitCause::Disk if is_everywhere => (CauseClass::Waiting, 3.0),
        WaitCause::Disk => (CauseClass::Machine, DISK),
        WaitCause::CpuWakeUp | WaitCause::Interrupt => (CauseClass::Machine, 2.0),
        // A client waits for a reply, and the kernel does not show what delays it.
        WaitCause::Network if is_for_reply => (CauseClass::Dependency, 2.0),
        WaitCause::Network => (CauseClass::Network, 2.0),
        WaitCause::Computing if is_everywhere => (CauseClass::Code, 3.0),
        WaitCause::Computing => (CauseClass::Machine, 1.0),
        WaitCause::Person | WaitCause::Unknown => return None,
    })
}

/// Whether the thread that is waited for is of another program, and not the holder of a lock.
fn is_of_another_program(wait: &AbnormalWait) -> bool {
    wait.call.as_deref() != Some("futex") && wait.other.as_ref().is_some_and(|other| !other.is_namesake)
}

fn sentence(main: &AbnormalWait, share: f64) -> String {
    let (waker, resource) = (main.waker.as_ref(), main.resource.as_ref());
    // The thread that writes to a disk for others says less than the disk.
    let whom = if main.cause == WaitCause::Disk { resource.or(waker) } else { waker.or(resource) };
    let whom = whom.map_or_else(String::new, |name| format!(" ({})", names::quoted(name)));
    let call = main.call.as_ref().map_or_else(String::new, |call| format!(", in {}", call_words(call)));
    format!(
        "In the kernel, {} of the additional time of a slow execution is {}{whom}{call}.",
        numbers::share(share),
        main.cause.clause()
    )
}
