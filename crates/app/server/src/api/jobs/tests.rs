//! Jobs: order, limits, cancellation, eviction, turns of clients.

use super::*;
use crate::api::problem::ProblemKind;
use crate::operations::ProcessMemory;
use std::sync::mpsc;
use std::time::{Duration, Instant};

fn answer() -> Answer {
    Answer::from_report(laggard_kernel_diagnose::kernel_stats(&[]))
}

fn jobs(limits: JobLimits) -> Jobs {
    with_memory(limits, 0)
}

fn new(tenant: &str) -> NewJob<'_> {
    NewJob { tenant, client: ClientId::from_number(1), question: "diagnose", size: JobSize::Long }
}

/// With so many percent of the memory in use.
fn with_memory(limits: JobLimits, percent: u64) -> Jobs {
    Jobs::new(limits, Arc::default(), Arc::new(ProcessMemory::with_resident(100, percent)))
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
fn blocked(jobs: &Jobs, new: NewJob<'_>) -> (Arc<Job>, mpsc::Sender<()>) {
    let (sender, told) = mpsc::channel();
    let job = jobs.submit(new, move |progress| {
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
    let job = jobs.submit(new("a"), |_| Ok(answer())).unwrap();
    assert_eq!(wait(&job), JobState::Done);
    assert!(jobs.get("a", job.id).unwrap().outcome().unwrap().is_ok());
    assert!(jobs.get("b", job.id).is_none() && jobs.list("b").is_empty());
    assert_eq!(jobs.list("a").len(), 1);
}

#[test]
fn the_number_of_waiting_jobs_is_limited() {
    let jobs = jobs(small_limits());
    let (_running, end) = blocked(&jobs, new("t"));
    let waiting: Vec<_> = (0..2).map(|_| jobs.submit(new("t"), |_| Ok(answer())).unwrap()).collect();
    let refused = jobs.submit(new("t"), |_| Ok(answer())).err().unwrap();
    assert_eq!(refused.kind(), ProblemKind::Busy);
    assert_eq!((jobs.counts().waiting, jobs.counts().running), (2, 1));
    end.send(()).unwrap();
    waiting.iter().for_each(|job| assert_eq!(wait(job), JobState::Done));
}

#[test]
fn waiting_and_running_jobs_can_be_canceled() {
    let jobs = jobs(small_limits());
    let (running, end) = blocked(&jobs, new("t"));
    let waiting = jobs.submit(new("t"), |_| Ok(answer())).unwrap();
    jobs.cancel(&waiting);
    assert_eq!(waiting.progress.progress().state, JobState::Canceled);
    jobs.cancel(&running);
    end.send(()).unwrap();
    assert_eq!(wait(&running), JobState::Canceled);
    assert_eq!(running.outcome().unwrap().err().unwrap().kind(), ProblemKind::Canceled);
    jobs.cancel(&running);
    let after = jobs.submit(new("t"), |_| Ok(answer())).unwrap();
    assert_eq!(wait(&after), JobState::Done, "the thread went on");
}

#[test]
fn work_ends_at_its_next_check_after_it_is_canceled() {
    let jobs = jobs(small_limits());
    let job = jobs.submit(new("t"), |_| {
        loop {
            laggard_parallel::check_canceled();
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let job = job.unwrap();
    while job.progress.progress().state == JobState::Waiting {
        std::thread::sleep(Duration::from_millis(1));
    }
    jobs.cancel(&job);
    assert_eq!(wait(&job), JobState::Canceled);
}

#[test]
fn waiting_for_the_store_is_canceled() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let handle = runtime.handle().clone();
    let jobs = jobs(small_limits());
    let forever = move |progress: &Progress| progress.wait_for(&handle, std::future::pending());
    let job = jobs.submit(new("t"), forever).unwrap();
    while job.progress.progress().state == JobState::Waiting {
        std::thread::sleep(Duration::from_millis(1));
    }
    jobs.cancel(&job);
    assert_eq!(wait(&job), JobState::Canceled);
}

#[test]
fn long_questions_run_one_at_a_time_while_memory_is_tight() {
    let jobs = with_memory(JobLimits { threads: 3, ..small_limits() }, 65);
    let question_of = |client| NewJob { client: ClientId::from_number(client), ..new("t") };
    let (first, end_first) = blocked(&jobs, question_of(1));
    let other = jobs.submit(question_of(2), |_| Ok(answer())).unwrap();
    let short = jobs.submit(NewJob { size: JobSize::Short, ..question_of(3) }, |_| Ok(answer())).unwrap();
    assert_eq!(wait(&short), JobState::Done);
    assert_eq!(other.progress.progress().state, JobState::Waiting);
    end_first.send(()).unwrap();
    assert_eq!((wait(&first), wait(&other)), (JobState::Done, JobState::Done));
}

#[test]
fn no_long_question_begins_while_memory_is_short() {
    let jobs = with_memory(small_limits(), 80);
    let job = jobs.submit(new("t"), |progress| progress.stage("reading", 0).map(|()| answer())).unwrap();
    assert_eq!(wait(&job), JobState::Failed);
    assert_eq!(job.outcome().unwrap().err().unwrap().kind(), ProblemKind::Busy);
}

#[test]
fn clients_are_served_in_turn_and_none_has_all_threads() {
    let jobs = jobs(JobLimits { threads: 2, waiting_max: 8, waiting_of_client_max: 3, ..small_limits() });
    let question_of = |client| NewJob { client: ClientId::from_number(client), ..new("t") };
    let (first, end_first) = blocked(&jobs, question_of(1));
    let waiting: Vec<_> = (0..3).map(|_| jobs.submit(question_of(1), |_| Ok(answer())).unwrap()).collect();
    let refused = jobs.submit(question_of(1), |_| Ok(answer())).err().unwrap();
    assert_eq!(refused.kind(), ProblemKind::Busy, "three of a client may wait");
    let other = jobs.submit(question_of(2), |_| Ok(answer())).unwrap();
    assert_eq!(wait(&other), JobState::Done, "a thread is left to others");
    assert!(waiting.iter().all(|job| job.progress.progress().state == JobState::Waiting));
    end_first.send(()).unwrap();
    assert_eq!(wait(&first), JobState::Done);
    waiting.iter().for_each(|job| assert_eq!(wait(job), JobState::Done));
}

#[test]
fn a_short_question_does_not_wait_for_long_ones() {
    let jobs = jobs(small_limits());
    let (_long, end) = blocked(&jobs, new("t"));
    let waiting = jobs.submit(new("t"), |_| Ok(answer())).unwrap();
    let short = NewJob { size: JobSize::Short, ..new("t") };
    assert_eq!(wait(&jobs.submit(short, |_| Ok(answer())).unwrap()), JobState::Done);
    assert_eq!(waiting.progress.progress().state, JobState::Waiting);
    end.send(()).unwrap();
    assert_eq!(wait(&waiting), JobState::Done);
}

#[test]
fn a_panic_is_a_failed_job() {
    let jobs = jobs(small_limits());
    let job = jobs.submit(new("t"), |_| panic!("on purpose")).unwrap();
    assert_eq!(wait(&job), JobState::Failed);
    let next = jobs.submit(new("t"), |_| Err(ApiError::invalid("no"))).unwrap();
    assert_eq!(wait(&next), JobState::Failed);
    assert_eq!(next.outcome().unwrap().err().unwrap().kind(), ProblemKind::Invalid);
}

#[test]
fn the_oldest_answers_are_evicted() {
    let jobs = jobs(small_limits());
    let all: Vec<_> = (0..5)
        .map(|_| {
            let job = jobs.submit(new("t"), |_| Ok(answer())).unwrap();
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
        small.submit(new("t"), |_| Ok(answer())).unwrap(),
        small.submit(new("t"), |_| Ok(answer())).unwrap(),
    );
    wait(&first);
    wait(&second);
    assert_eq!(small.list("t").len(), 1, "the latest stays");
    let brief = jobs(JobLimits { stored_ns_max: 0, ..small_limits() });
    let job = brief.submit(new("t"), |_| Ok(answer())).unwrap();
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
