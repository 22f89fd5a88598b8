//! Jobs: order, limits, cancellation, eviction.

use super::*;
use crate::api::problem::ProblemKind;
use std::sync::mpsc;
use std::time::{Duration, Instant};

fn answer() -> Answer {
    Answer::from_report(laggard_kernel_diagnose::kernel_stats(&[]))
}

fn jobs(limits: JobLimits) -> Jobs {
    Jobs::new(limits)
}

fn small_limits() -> JobLimits {
    JobLimits { threads: 1, waiting_max: 2, stored_max: 3, ..JobLimits::default() }
}

fn wait(job: &Job) -> JobState {
    let started = Instant::now();
    while !job.progress.progress().state.has_ended() {
        assert!(started.elapsed() < Duration::from_secs(20), "the job ends");
        std::thread::sleep(Duration::from_millis(1));
    }
    job.progress.progress().state
}

/// A job that runs until the sender signals it.
fn blocked(jobs: &Jobs) -> (Arc<Job>, mpsc::Sender<()>) {
    let (sender, told) = mpsc::channel();
    let job = jobs.submit("t", "diagnose", move |progress| {
        let _ = told.recv();
        progress.check()?;
        Ok(answer())
    });
    let job = job.unwrap();
    while job.progress.progress().state == JobState::Waiting {
        std::thread::sleep(Duration::from_millis(1));
    }
    (job, sender)
}

#[test]
fn an_answer_is_visible_only_to_its_tenant() {
    let jobs = jobs(small_limits());
    let job = jobs.submit("a", "kernel/stats", |_| Ok(answer())).unwrap();
    assert_eq!(wait(&job), JobState::Done);
    assert!(jobs.get("a", job.id).unwrap().outcome().unwrap().is_ok());
    assert!(jobs.get("b", job.id).is_none() && jobs.list("b").is_empty());
    assert_eq!(jobs.list("a").len(), 1);
}

#[test]
fn the_number_of_waiting_jobs_is_limited() {
    let jobs = jobs(small_limits());
    let (_running, end) = blocked(&jobs);
    let waiting: Vec<_> = (0..2).map(|_| jobs.submit("t", "diagnose", |_| Ok(answer())).unwrap()).collect();
    let refused = jobs.submit("t", "diagnose", |_| Ok(answer())).err().unwrap();
    assert_eq!(refused.kind(), ProblemKind::Busy);
    assert_eq!((jobs.counts().waiting, jobs.counts().running), (2, 1));
    end.send(()).unwrap();
    waiting.iter().for_each(|job| assert_eq!(wait(job), JobState::Done));
}

#[test]
fn waiting_and_running_jobs_can_be_canceled() {
    let jobs = jobs(small_limits());
    let (running, end) = blocked(&jobs);
    let waiting = jobs.submit("t", "diagnose", |_| Ok(answer())).unwrap();
    jobs.cancel(&waiting);
    assert_eq!(waiting.progress.progress().state, JobState::Canceled);
    jobs.cancel(&running);
    end.send(()).unwrap();
    assert_eq!(wait(&running), JobState::Canceled);
    assert_eq!(running.outcome().unwrap().err().unwrap().kind(), ProblemKind::Canceled);
    jobs.cancel(&running);
    let after = jobs.submit("t", "diagnose", |_| Ok(answer())).unwrap();
    assert_eq!(wait(&after), JobState::Done, "the thread went on");
}

#[test]
fn a_panic_is_a_failed_job() {
    let jobs = jobs(small_limits());
    let job = jobs.submit("t", "diagnose", |_| panic!("on purpose")).unwrap();
    assert_eq!(wait(&job), JobState::Failed);
    let next = jobs.submit("t", "diagnose", |_| Err(ApiError::invalid("no"))).unwrap();
    assert_eq!(wait(&next), JobState::Failed);
    assert_eq!(next.outcome().unwrap().err().unwrap().kind(), ProblemKind::Invalid);
}

#[test]
fn the_oldest_answers_are_evicted() {
    let jobs = jobs(small_limits());
    let all: Vec<_> = (0..5)
        .map(|_| {
            let job = jobs.submit("t", "diagnose", |_| Ok(answer())).unwrap();
            wait(&job);
            job
        })
        .collect();
    let known = jobs.list("t");
    assert_eq!(known.len(), 3);
    assert!(jobs.get("t", all[0].id).is_none() && jobs.get("t", all[4].id).is_some());
}

#[test]
fn answers_are_evicted_by_size_and_age() {
    let small = jobs(JobLimits { stored_bytes_max: 1, ..small_limits() });
    let (first, second) = (
        small.submit("t", "x", |_| Ok(answer())).unwrap(),
        small.submit("t", "x", |_| Ok(answer())).unwrap(),
    );
    wait(&first);
    wait(&second);
    assert_eq!(small.list("t").len(), 1, "the latest stays");
    let brief = jobs(JobLimits { stored_ns_max: 0, ..small_limits() });
    let job = brief.submit("t", "x", |_| Ok(answer())).unwrap();
    wait(&job);
    std::thread::sleep(Duration::from_millis(2));
    assert!(brief.get("t", job.id).is_none());
}

#[test]
fn ids_are_sixteen_hexadecimal_digits() {
    let id = JobId::new();
    assert_eq!(JobId::parse(&id.to_string()), Some(id));
    for text in ["", "1", "+123456789abcdef", "0123456789ABCDEF", "00000000000000000"] {
        assert_eq!(JobId::parse(text), None, "{text}");
    }
    assert_ne!(JobId::new(), JobId::new());
}
