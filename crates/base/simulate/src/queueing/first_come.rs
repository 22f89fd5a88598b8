//! Servers with one waiting line.

use super::schedule::ScheduledJob;
use std::collections::{BinaryHeap, VecDeque};

/// First come, first served by several servers; with as many servers as jobs, a pure delay.
#[derive(Clone, Debug)]
pub(crate) struct FirstCome {
    servers: usize,
    /// When each job in service departs.
    in_service: BinaryHeap<ScheduledJob>,
    waiting: VecDeque<WaitingJob>,
    now: f64,
    busy_server_s: f64,
}

/// A job in the line.
#[derive(Clone, Copy, Debug)]
struct WaitingJob {
    number: u64,
    job: u32,
    work_s: f64,
}

impl FirstCome {
    /// Empty servers at time 0, at least one.
    pub(crate) fn new(servers: usize) -> FirstCome {
        assert!(servers > 0, "a station has servers");
        let (in_service, waiting) = (BinaryHeap::new(), VecDeque::new());
        FirstCome { servers, in_service, waiting, now: 0.0, busy_server_s: 0.0 }
    }

    /// Lets time pass.
    pub(crate) fn advance(&mut self, now: f64) {
        self.busy_server_s += (now - self.now) * self.in_service.len() as f64;
        self.now = now;
    }

    /// A job that needs `work_s` seconds arrives.
    pub(crate) fn arrive(&mut self, now: f64, number: u64, job: u32, work_s: f64) {
        self.advance(now);
        if self.in_service.len() < self.servers {
            self.in_service.push(ScheduledJob { end_s: now + work_s, number, job });
        } else {
            self.waiting.push_back(WaitingJob { number, job, work_s });
        }
    }

    /// When the next job departs; infinite when there is none.
    pub(crate) fn next_at(&self) -> f64 {
        self.in_service.peek().map_or(f64::INFINITY, |next| next.end_s)
    }

    /// The next job departs, and the first in the queue is served.
    pub(crate) fn depart(&mut self, now: f64) -> u32 {
        self.advance(now);
        let done = self.in_service.pop().expect("a job was in service");
        if let Some(WaitingJob { number, job, work_s }) = self.waiting.pop_front() {
            self.in_service.push(ScheduledJob { end_s: now + work_s, number, job });
        }
        done.job
    }

    /// Seconds of busy servers so far.
    pub(crate) fn busy_server_s(&self) -> f64 {
        self.busy_server_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_job_waits_for_the_shorter_of_two() {
        let mut station = FirstCome::new(2);
        station.arrive(0.0, 0, 1, 3.0);
        station.arrive(0.0, 1, 2, 1.0);
        station.arrive(0.5, 2, 3, 1.0);
        let mut all = Vec::new();
        while station.next_at().is_finite() {
            let end_s = station.next_at();
            all.push((station.depart(end_s), end_s));
        }
        assert_eq!(all, [(2, 1.0), (3, 2.0), (1, 3.0)]);
        assert_eq!(station.busy_server_s(), 5.0);
    }
}
