//! A station of a network.

use super::first_come::FirstCome;
use super::shared_cpu::SharedCpu;
use serde::{Deserialize, Serialize};

/// In which order a station serves its jobs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Discipline {
    /// All at once, at equal speed, none faster than one core allows.
    ProcessorSharing,
    /// One after the other on each server, in the order of arrival.
    FirstComeFirstServed,
    /// All at once, at full speed: a delay station.
    Delay,
}

/// A station and the jobs it holds.
#[derive(Clone, Debug)]
pub(crate) enum Station {
    Sharing(SharedCpu),
    Line(FirstCome),
}

impl Station {
    /// An empty station. Cores may be a fraction for processor sharing; lines round down to at least one server.
    pub(crate) fn new(discipline: Discipline, cores: f64) -> Station {
        match discipline {
            Discipline::ProcessorSharing => Station::Sharing(SharedCpu::new(cores)),
            Discipline::FirstComeFirstServed => Station::Line(FirstCome::new((cores as usize).max(1))),
            Discipline::Delay => Station::Line(FirstCome::new(usize::MAX)),
        }
    }

    /// A shared processor whose jobs slow each other beyond sharing it.
    pub(crate) fn contended(cores: f64, contention: f64) -> Station {
        Station::Sharing(SharedCpu::new(cores).with_contention(contention))
    }

    pub(crate) fn advance(&mut self, now: f64) {
        match self {
            Station::Sharing(station) => station.advance(now),
            Station::Line(station) => station.advance(now),
        }
    }

    pub(crate) fn arrive(&mut self, now: f64, number: u64, job: u32, work_s: f64) {
        match self {
            Station::Sharing(station) => station.arrive(now, number, job, work_s),
            Station::Line(station) => station.arrive(now, number, job, work_s),
        }
    }

    pub(crate) fn next_at(&self) -> f64 {
        match self {
            Station::Sharing(station) => station.next_at(),
            Station::Line(station) => station.next_at(),
        }
    }

    pub(crate) fn depart(&mut self, now: f64) -> u32 {
        match self {
            Station::Sharing(station) => station.depart(now),
            Station::Line(station) => station.depart(now),
        }
    }

    pub(crate) fn busy_core_s(&self) -> f64 {
        match self {
            Station::Sharing(station) => station.busy_core_s(),
            Station::Line(station) => station.busy_server_s(),
        }
    }

    /// A background load on a shared processor; lines have none.
    pub(crate) fn set_background(&mut self, now: f64, share: f64) {
        if let Station::Sharing(station) = self {
            station.set_background(now, share);
        }
    }
}
