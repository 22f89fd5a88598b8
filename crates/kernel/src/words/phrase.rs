//! A wait as a phrase.

use super::amounts::{Time, Times};
use super::wait::{Resource, UnknownReason, Wait};
use std::fmt;

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.other {
            None => self.own(f),
            Some(_) => self.others(f),
        }
    }
}

impl Wait {
    /// `pre-empted 14 times for 9.8 ms …`, `waited 3.1 ms for the disk (virtio1-req.0)`, `slept 5 ms on a timer`.
    fn own(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.resource {
            Resource::Work => write!(f, "ran {}", self.amount()),
            Resource::Cpu | Resource::CpuQuota | Resource::IdleWakeUp => {
                write!(f, "pre-empted {} for {}{}", Times(self.count), Time(self.ns), self.cpu_reason())
            }
            Resource::Timer => write!(f, "slept {} on a timer", self.amount()),
            Resource::Interrupt => write!(f, "waited {} for an interrupt of the kernel", self.amount()),
            Resource::OtherCpu => write!(f, "waited {} for a signal from another CPU", self.amount()),
            Resource::Unknown(UnknownReason::NoRecord) => {
                write!(f, "the trace does not tell what it did for {}", self.amount())
            }
            Resource::Unknown(reason) => {
                write!(f, "waited {}, for what is unknown: {}", self.amount(), because(*reason))
            }
            _ => write!(f, "waited {} for {}", self.amount(), self.thing()),
        }
    }

    /// `waited 12 ms for redis-server (812), which was itself waiting for a timer`.
    fn others(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "waited {} for {}, which ", self.amount(), self.other_name)?;
        match &self.resource {
            Resource::Work => f.write_str("ran meanwhile: its lock, its answer or its data"),
            Resource::Cpu | Resource::CpuQuota | Resource::IdleWakeUp => {
                write!(f, "was itself pre-empted{}", self.cpu_reason())
            }
            Resource::Timer => f.write_str("was itself waiting for a timer"),
            Resource::Interrupt => f.write_str("was itself waiting for an interrupt of the kernel"),
            Resource::OtherCpu => f.write_str("was itself waiting for a signal from another CPU"),
            Resource::Unknown(UnknownReason::NoRecord) => f.write_str("did what the trace does not tell"),
            Resource::Unknown(reason) => {
                write!(f, "was itself waiting, for what is unknown: {}", because(*reason))
            }
            _ => write!(f, "was itself waiting for {}", self.thing()),
        }
    }

    /// `3.1 ms`, or `3 times, 3.1 ms in all,`.
    fn amount(&self) -> String {
        match self.count {
            0 | 1 => Time(self.ns).to_string(),
            count => format!("{} ({} in all)", Times(count), Time(self.ns)),
        }
    }

    fn cpu_reason(&self) -> String {
        match self.resource {
            Resource::CpuQuota => " while its CPU stood idle: a CPU quota".to_owned(),
            Resource::IdleWakeUp => " while its CPU woke up from idleness".to_owned(),
            _ if self.idle_share() >= 0.1 => {
                format!(": other threads had the CPU, but for {} it stood idle", Time(self.idle_ns))
            }
            _ => ": other threads had the CPU".to_owned(),
        }
    }

    fn thing(&self) -> String {
        let with = |what: &str, name: &str| match name {
            "" => what.to_owned(),
            name => format!("{what} ({name})"),
        };
        match &self.resource {
            Resource::Disk(name) => with("the disk", name),
            Resource::PacketOf(_) => format!("a packet from {}", self.sender_name),
            Resource::Packet(name) => with("a packet whose sender is not in the trace", name),
            Resource::Person(name) => with("a person's input", name),
            Resource::Device(name) => format!("the interrupt of {name}"),
            _ => "something".to_owned(),
        }
    }
}

fn because(reason: UnknownReason) -> &'static str {
    match reason {
        UnknownReason::LostEvents => "events were lost meanwhile",
        UnknownReason::MissingCpu => "the waker may have run on a CPU that is missing in the trace",
        UnknownReason::NoWakeUp => "no wake-up in the trace explains it",
        UnknownReason::NoRecord => "the trace does not tell",
    }
}
