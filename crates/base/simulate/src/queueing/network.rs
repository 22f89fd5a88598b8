//! Stations, timers and the clock.

use super::schedule::ScheduledJob;
use super::station::Station;
use std::collections::BinaryHeap;

/// The last event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// A timer of this job rang.
    Timer { job: u32 },
    /// A job was served and left a station.
    Departure { station: usize, job: u32 },
}

/// Stations and timers. Who is where next is decided by the caller after every event.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    now: f64,
    stations: Vec<Station>,
    /// By station; cached, because most events affect one station only.
    next_at: Vec<f64>,
    timers: BinaryHeap<ScheduledJob>,
    number: u64,
}

impl Network {
    /// At time 0, without jobs.
    pub(crate) fn new(stations: Vec<Station>) -> Network {
        let next_at = vec![f64::INFINITY; stations.len()];
        Network { now: 0.0, stations, next_at, timers: BinaryHeap::new(), number: 0 }
    }

    /// Seconds since the start.
    pub(crate) fn now(&self) -> f64 {
        self.now
    }

    /// A timer for a job.
    pub(crate) fn wait(&mut self, job: u32, delay_s: f64) {
        self.number += 1;
        self.timers.push(ScheduledJob { end_s: self.now + delay_s, number: self.number, job });
    }

    /// Sends a job to a station.
    pub(crate) fn send(&mut self, job: u32, station: usize, work_s: f64) {
        self.number += 1;
        self.stations[station].arrive(self.now, self.number, job, work_s);
        self.next_at[station] = self.stations[station].next_at();
    }

    /// Sets a station's background load.
    pub(crate) fn set_background(&mut self, station: usize, share: f64) {
        self.stations[station].set_background(self.now, share);
        self.next_at[station] = self.stations[station].next_at();
    }

    /// Core (server) seconds that a station has used up to now.
    pub(crate) fn busy_core_s(&mut self, station: usize) -> f64 {
        self.stations[station].advance(self.now);
        // The next departure is computed again from here, so that rounding cannot set it before the clock.
        self.next_at[station] = self.stations[station].next_at();
        self.stations[station].busy_core_s()
    }

    /// The next event, if it happens before `until`; otherwise the clock stands at `until`. Timers go before
    /// departures at the same time, and stations by their number.
    pub(crate) fn next_before(&mut self, until: f64) -> Option<Event> {
        let timer_at = self.timers.peek().map_or(f64::INFINITY, |timer| timer.end_s);
        let (mut end_s, mut station) = (timer_at, None);
        for (index, &next_at) in self.next_at.iter().enumerate() {
            if next_at < end_s {
                (end_s, station) = (next_at, Some(index));
            }
        }
        if end_s >= until {
            self.now = until;
            return None;
        }
        self.now = end_s.max(self.now);
        match station {
            None => self.timers.pop().map(|timer| Event::Timer { job: timer.job }),
            Some(station) => {
                let job = self.stations[station].depart(self.now);
                self.next_at[station] = self.stations[station].next_at();
                Some(Event::Departure { station, job })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Discipline;
    use super::*;

    #[test]
    fn events_come_in_order_of_time_and_stop_at_the_limit() {
        let mut network = Network::new(vec![
            Station::new(Discipline::ProcessorSharing, 1.0),
            Station::new(Discipline::Delay, 1.0),
        ]);
        network.wait(7, 1.0);
        network.send(1, 0, 2.0);
        network.send(2, 1, 1.0);
        assert_eq!(network.next_before(10.0), Some(Event::Timer { job: 7 }));
        assert_eq!(network.next_before(10.0), Some(Event::Departure { station: 1, job: 2 }));
        assert_eq!(network.next_before(1.5), None);
        assert_eq!(network.busy_core_s(0), 1.5);
        assert_eq!(network.next_before(10.0), Some(Event::Departure { station: 0, job: 1 }));
        assert_eq!((network.now(), network.next_before(10.0), network.now()), (2.0, None, 10.0));
    }
}
