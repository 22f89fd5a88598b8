//! A processor that all jobs share equally.

use super::schedule::ScheduledJob;
use std::collections::BinaryHeap;

/// Egalitarian processor sharing by `cores` cores, of which a background load may take a share: `k` jobs run at
/// rate `min(1, cores · (1 − background) / k)` each.
///
/// All present jobs attain service at one rate, so a job that needs `w` is done when the service attained
/// since the processor was last empty has grown by `w`: the order of departures never changes, whatever the
/// rate does, and an event costs `O(log k)`.
#[derive(Clone, Debug)]
pub(crate) struct SharedCpu {
    cores: f64,
    /// Share of the capacity that is gone, 0..1.
    background: f64,
    /// Additional cost of every further job for all: caches and locks that they share.
    contention: f64,
    /// When each job departs, in attained service.
    jobs: BinaryHeap<ScheduledJob>,
    /// Service that a job present since the last empty moment has attained, in seconds.
    attained_s: f64,
    now: f64,
    busy_core_s: f64,
}

impl SharedCpu {
    /// An empty processor at time 0; `cores` > 0, fractions allowed.
    pub(crate) fn new(cores: f64) -> SharedCpu {
        assert!(cores > 0.0, "a processor has cores");
        SharedCpu {
            cores,
            background: 0.0,
            contention: 0.0,
            jobs: BinaryHeap::new(),
            attained_s: 0.0,
            now: 0.0,
            busy_core_s: 0.0,
        }
    }

    /// With contention `a`, `k` jobs need `1 + a (k − 1)` times the CPU time of one alone.
    pub(crate) fn with_contention(self, contention: f64) -> SharedCpu {
        SharedCpu { contention, ..self }
    }

    /// Seconds of service that a job attains in a second.
    fn rate(&self) -> f64 {
        self.occupancy() / (1.0 + self.contention * self.jobs.len().saturating_sub(1) as f64)
    }

    /// CPU seconds that a job occupies in a second.
    fn occupancy(&self) -> f64 {
        match self.jobs.len() {
            0 => 0.0,
            jobs => (self.cores * (1.0 - self.background) / jobs as f64).min(1.0),
        }
    }

    /// Lets time pass.
    pub(crate) fn advance(&mut self, now: f64) {
        let passed = now - self.now;
        let used = self.occupancy() * self.jobs.len() as f64 + self.background * self.cores;
        self.busy_core_s += passed * used;
        self.attained_s += passed * self.rate();
        self.now = now;
    }

    /// A background load of this share of the capacity from now on, 0..1.
    pub(crate) fn set_background(&mut self, now: f64, share: f64) {
        assert!((0.0..1.0).contains(&share), "a background load leaves something");
        self.advance(now);
        self.background = share;
    }

    /// A job that needs `work_s` core seconds arrives.
    pub(crate) fn arrive(&mut self, now: f64, number: u64, job: u32, work_s: f64) {
        self.advance(now);
        if self.jobs.is_empty() {
            self.attained_s = 0.0;
        }
        self.jobs.push(ScheduledJob { end_s: self.attained_s + work_s, number, job });
    }

    /// When the next job departs if none arrives; infinite when there is none.
    pub(crate) fn next_at(&self) -> f64 {
        match self.jobs.peek() {
            None => f64::INFINITY,
            Some(next) => self.now + (next.end_s - self.attained_s).max(0.0) / self.rate(),
        }
    }

    /// The next job departs.
    pub(crate) fn depart(&mut self, now: f64) -> u32 {
        self.advance(now);
        let done = self.jobs.pop().expect("a job was in service");
        self.attained_s = done.end_s;
        done.job
    }

    /// Core seconds used so far, the background's included.
    pub(crate) fn busy_core_s(&self) -> f64 {
        self.busy_core_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs until empty: `(job, time)` of every departure.
    fn departures(processor: &mut SharedCpu) -> Vec<(u32, f64)> {
        let mut all = Vec::new();
        while processor.next_at().is_finite() {
            let end_s = processor.next_at();
            all.push((processor.depart(end_s), end_s));
        }
        all
    }

    #[test]
    fn two_jobs_halve_each_others_speed() {
        // 1: needs 3, alone until 1, then shares until done. 2: needs 1, arrives at 1, done at 3. 1 is done at 4.
        let mut processor = SharedCpu::new(1.0);
        processor.arrive(0.0, 0, 1, 3.0);
        processor.arrive(1.0, 1, 2, 1.0);
        assert_eq!(departures(&mut processor), [(2, 3.0), (1, 4.0)]);
        assert_eq!(processor.busy_core_s(), 4.0);
    }

    #[test]
    fn two_cores_serve_two_jobs_at_full_speed_and_a_background_slows_the_rest() {
        let mut processor = SharedCpu::new(2.0);
        processor.arrive(0.0, 0, 1, 1.0);
        processor.arrive(0.0, 1, 2, 2.0);
        processor.arrive(0.0, 2, 3, 2.0);
        // Three jobs at 2/3: the first is done at 1.5; two at 1: done at 2.5.
        assert_eq!(departures(&mut processor), [(1, 1.5), (2, 2.5), (3, 2.5)]);
        processor.set_background(10.0, 0.75);
        processor.arrive(10.0, 3, 4, 1.0);
        // Half a core is left.
        assert_eq!(departures(&mut processor), [(4, 12.0)]);
        // 5 core seconds of jobs, then 2 seconds of two busy cores.
        assert!((processor.busy_core_s() - 9.0).abs() < 1e-12);
    }

    #[test]
    fn contention_costs_cpu_time_and_not_idleness() {
        // Two jobs of 1 s at half speed, which contention divides by 1.25: both are done at 2.5, all of it busy.
        let mut processor = SharedCpu::new(1.0).with_contention(0.25);
        processor.arrive(0.0, 0, 1, 1.0);
        processor.arrive(0.0, 1, 2, 1.0);
        assert_eq!(departures(&mut processor), [(1, 2.5), (2, 2.5)]);
        assert_eq!(processor.busy_core_s(), 2.5);
    }
}
