//! Schedule of a simulated day: load, replicas, releases, pauses, jobs. Everything is a function of the seed and of absolute
//! time, so that two periods of one seed are periods of one system.

use super::settings::DaySettings;
use super::system::System;
use crate::random::{Random, Stream};
use std::collections::BTreeMap;

const SECOND: i64 = 1_000_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
/// The number of replicas is adjusted so often.
const SCALING: i64 = 5 * MINUTE;
/// A release replaces one replica after the other.
const ROLLOUT_STEP: i64 = 20 * SECOND;
/// A release may have been this long ago.
const RELEASE_HOURS: i64 = 48;
/// Drift of a service over that of a replica.
const SERVICE_DRIFT: f64 = 5.0 / 6.0;
/// How long requests may last after the end of the period.
const MARGIN: i64 = 2 * MINUTE;

/// The decision that a random number is for: the first step of its path below the seed, so that decisions are independent.
#[derive(Clone, Copy)]
enum Topic {
    Rate = 1,
    Release,
    ServiceLoad,
    InstanceLoad,
    Pauses,
    Clock,
    Jobs,
}

/// A replica of a service between two releases.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    pub(super) service: usize,
    /// Its number among the replicas of its service.
    pub(super) slot: usize,
    pub(super) name: String,
    /// When it started.
    born: i64,
    /// Start and length of its pauses, ascending.
    pauses: Vec<(i64, i64)>,
    /// How far its clock is ahead.
    pub(super) clock_ns: i64,
}

#[derive(Clone, Debug)]
pub(super) struct Schedule {
    seed: u64,
    rate_mean: f64,
    diurnal: f64,
    /// As [`DaySettings::drift`].
    drift: f64,
    pub(super) instances: Vec<Instance>,
    /// By service: from when on which instances are active, ascending.
    active: Vec<Vec<(i64, Vec<u32>)>>,
    /// Start and end of the times in which a job runs, ascending.
    jobs: Vec<(i64, i64)>,
}

impl Schedule {
    pub(super) fn new(settings: &DaySettings, system: &System) -> Schedule {
        let mut random = Random::new(settings.seed, Stream::DaySchedule, &[Topic::Rate as u64]);
        let [low, high] = settings.profile.requests_per_s;
        let mut schedule = Schedule {
            seed: settings.seed,
            rate_mean: random.between(low, high),
            diurnal: settings.profile.diurnal,
            drift: settings.drift,
            instances: Vec::new(),
            active: Vec::new(),
            jobs: Vec::new(),
        };
        let from = settings.start_unix_ns - MARGIN;
        let until = settings.start_unix_ns + i64::from(settings.window_s) * SECOND + MARGIN;
        for service in 0..system.services.len() {
            schedule.add_service(service, system, settings, from..until);
        }
        for &(_, period) in &system.jobs {
            let starts = (from.div_euclid(period)..=until.div_euclid(period)).map(|number| number * period);
            for start in starts {
                let length = schedule.random(Topic::Jobs, &[start as u64]).between(15.0, 45.0);
                schedule.jobs.push((start, start + (length * SECOND as f64) as i64));
            }
        }
        schedule
    }

    fn random(&self, topic: Topic, path: &[u64]) -> Random {
        let path: Vec<u64> = std::iter::once(topic as u64).chain(path.iter().copied()).collect();
        Random::new(self.seed, Stream::DaySchedule, &path)
    }

    /// Standard normal at multiples of `step`, linear in between.
    fn noise(&self, topic: Topic, key: u64, time: i64, step: i64) -> f64 {
        let number = time.div_euclid(step);
        let part = time.rem_euclid(step) as f64 / step as f64;
        let noise_at = |number: i64| self.random(topic, &[key, number as u64]).normal();
        noise_at(number) * (1.0 - part) + noise_at(number + 1) * part
    }

    /// Requests per second.
    pub(super) fn rate(&self, time: i64) -> f64 {
        let day = time as f64 / (24 * HOUR) as f64;
        let daily = 1.0 + self.diurnal * libm::sin(std::f64::consts::TAU * (day - 0.25));
        self.rate_mean * daily * libm::exp(0.08 * self.noise(Topic::Rate, 0, time, SCALING))
    }

    fn replicas(&self, service: usize, time: i64, system: &System, settings: &DaySettings) -> usize {
        let base = system.services[service].replicas;
        if !settings.profile.autoscaled || base == 1 {
            return base;
        }
        let load = self.rate(time - time.rem_euclid(SCALING)) / self.rate_mean;
        ((base as f64 * load).ceil() as usize).clamp(1, 2 * base)
    }

    /// The time of the last release before a time; 0 when it was long ago.
    fn release(&self, service: usize, time: i64, per_hour: f64) -> i64 {
        let release = |hour: i64| {
            let mut random = self.random(Topic::Release, &[service as u64, hour as u64]);
            let second = hour * HOUR + random.below(HOUR as u64) as i64;
            (random.chance(per_hour) && second <= time).then_some(second)
        };
        let hour = time.div_euclid(HOUR);
        (0..RELEASE_HOURS).find_map(|ago| release(hour - ago)).unwrap_or(0)
    }

    fn add_service(
        &mut self,
        service: usize,
        system: &System,
        settings: &DaySettings,
        period: std::ops::Range<i64>,
    ) {
        let per_hour = settings.profile.releases_per_h;
        let slots = 2 * system.services[service].replicas;
        let mut times: Vec<i64> = (period.start.div_euclid(SCALING)..=period.end.div_euclid(SCALING))
            .map(|number| number * SCALING)
            .collect();
        for hour in period.start.div_euclid(HOUR)..=period.end.div_euclid(HOUR) + 1 {
            let release = self.release(service, hour * HOUR, per_hour);
            times.extend((0..slots).map(|slot| release + slot as i64 * ROLLOUT_STEP));
        }
        times.push(period.start);
        times.retain(|time| (period.start - SCALING..period.end).contains(time));
        times.sort_unstable();
        times.dedup();
        let mut known: BTreeMap<(usize, i64), u32> = BTreeMap::new();
        let mut active: Vec<(i64, Vec<u32>)> = Vec::new();
        for time in times {
            let replicas = self.replicas(service, time, system, settings);
            // The instances at the beginning have run for long.
            let born = if active.is_empty() { time - HOUR } else { time };
            let mut instances: Vec<u32> = Vec::new();
            for slot in 0..replicas {
                let release = self.release(service, time - slot as i64 * ROLLOUT_STEP, per_hour);
                let next = self.instances.len() as u32;
                let instance = *known.entry((slot, release)).or_insert(next);
                if instance == next {
                    let instance = self.instance([service, slot], release, born, settings, &period);
                    self.instances.push(instance);
                }
                instances.push(instance);
            }
            active.push((time, instances));
        }
        self.active.push(active);
    }

    fn instance(
        &self,
        [service, slot]: [usize; 2],
        release: i64,
        born: i64,
        settings: &DaySettings,
        period: &std::ops::Range<i64>,
    ) -> Instance {
        let key = [service as u64, slot as u64, release as u64];
        let mut random = self.random(Topic::Clock, &key);
        let clock_ns = if settings.clock_skew { random.between(-20e6, 20e6) as i64 } else { 0 };
        let name =
            format!("{}-{:05x}-{slot}", super::system::service_name(service), random.bits() & 0xF_FFFF);
        let mut pauses = Vec::new();
        for minute in period.start.div_euclid(MINUTE)..=period.end.div_euclid(MINUTE) {
            let mut random = self.random(Topic::Pauses, &[key[0], key[1], key[2], minute as u64]);
            let mut remaining = random.exponential(1.0);
            while remaining < settings.profile.pauses_per_min {
                let start = minute * MINUTE + random.below(MINUTE as u64) as i64;
                pauses.push((start, (60e6 * libm::exp(0.7 * random.normal())) as i64));
                remaining += random.exponential(1.0);
            }
        }
        pauses.sort_unstable();
        Instance { service, slot, name, born, pauses, clock_ns }
    }

    /// The instances of a service that take calls at a time.
    pub(super) fn active(&self, service: usize, time: i64) -> &[u32] {
        let changes = &self.active[service];
        let next = changes.partition_point(|&(from, _)| from <= time);
        &changes[next.saturating_sub(1)].1
    }

    /// How much longer work takes on an instance than on an idle machine.
    pub(super) fn slowness(&self, instance: u32, time: i64, system: &System) -> f64 {
        let own = &self.instances[instance as usize];
        let service = &system.services[own.service];
        let active = self.active(own.service, time).len().max(1);
        let load = self.rate(time) / self.rate_mean * service.replicas as f64 / active as f64;
        let utilization = (service.utilization * load).min(0.85);
        let age = (time - own.born).max(0) as f64 / SECOND as f64;
        let cold = 1.0 + 3.0 * libm::exp(-age / 15.0);
        let noise = SERVICE_DRIFT * self.noise(Topic::ServiceLoad, own.service as u64, time, 10 * MINUTE)
            + self.noise(Topic::InstanceLoad, (own.service * 1_000 + own.slot) as u64, time, MINUTE);
        cold * libm::exp(self.drift * noise) / (1.0 - utilization)
    }

    /// When work that starts at a time ends, given that the instance pauses now and then.
    pub(super) fn end_of(&self, instance: u32, start: i64, work_ns: i64) -> i64 {
        let pauses = &self.instances[instance as usize].pauses;
        let mut end = start + work_ns;
        let first = pauses.partition_point(|&(begin, length)| begin + length <= start);
        for &(begin, length) in &pauses[first..] {
            if begin >= end {
                break;
            }
            // Pauses may overlap: this one may be over although a later one is not.
            end += (length - (start - begin).max(0)).max(0);
        }
        end
    }

    /// Whether a periodic job runs.
    pub(super) fn has_job(&self, time: i64) -> bool {
        let next = self.jobs.partition_point(|&(start, _)| start <= time);
        next > 0 && time < self.jobs[next - 1].1
    }
}
