//! Encrypted connections to workers.

use super::super::Running;
use super::super::roles::wait_until;
use super::super::rotation::certificates::Authority;
use super::server::{QUESTIONS, READ_BY_ITSELF, answered, settings, without_last_caution};
use super::{JSON, TestCluster, WorkerProcess, of_store, text};
use crate::outcome::{Outcome, laggard};
use serde_json::Value;
use std::fs;

/// Files of two authorities, of which workers and clients trust the first.
struct Certificates {
    roots: String,
    other_roots: String,
    /// A certificate and its key, each for a worker and for a client.
    worker: [String; 2],
    client: [String; 2],
    /// Of a client, signed by the other authority.
    stranger: [String; 2],
    /// Of a worker with another name.
    misnamed: [String; 2],
}

impl Certificates {
    fn write(cluster: &TestCluster) -> Certificates {
        let file = |name: &str, contents: String| {
            let path = cluster.folder.path().join(name);
            fs::write(&path, contents).unwrap();
            text(&path).to_owned()
        };
        let (authority, other) = (Authority::new(), Authority::new());
        let signed = |name: &str, by: &Authority, subject: &str| {
            let (certificate, key) = by.sign(subject);
            [file(&format!("{name}.crt"), certificate), file(&format!("{name}.key"), key)]
        };
        Certificates {
            worker: signed("worker", &authority, "127.0.0.1"),
            client: signed("client", &authority, "laggard"),
            stranger: signed("stranger", &other, "laggard"),
            misnamed: signed("misnamed", &authority, "worker.example"),
            roots: file("roots", authority.pem()),
            other_roots: file("other-roots", other.pem()),
        }
    }
}

/// Starts a worker that is encrypted with a certificate.
fn add(cluster: &mut TestCluster, [certificate, key]: &[String; 2], further: &[&str]) {
    let tls = [&["--tls-certificate", certificate, "--tls-key", key], further].concat();
    let worker = WorkerProcess::start(&cluster.data(), &cluster.token(), &tls);
    cluster.workers.push(worker);
}

fn client([certificate, key]: &[String; 2]) -> [&str; 4] {
    ["--worker-client-certificate", certificate, "--worker-client-key", key]
}

/// Asks the last worker; with these flags it must be refused, for this reason.
#[track_caller]
fn refused(cluster: &TestCluster, flags: &[&str], reason: &str) {
    let address = &*cluster.workers.last().unwrap().address;
    let outcome: Outcome = cluster.diagnose_at(&[address], &[JSON, flags].concat());
    outcome.fails(3, &["units did not arrive", address, reason]);
}

#[test]
fn only_workers_of_the_authority_read_the_store() {
    let mut cluster = TestCluster::start(1);
    let files = Certificates::write(&cluster);
    let trusted = ["--worker-roots", &files.roots];
    refused(&cluster, &trusted, "");
    add(&mut cluster, &files.misnamed, &[]);
    refused(&cluster, &trusted, "certificate");
    add(&mut cluster, &files.worker, &[]);
    refused(&cluster, &["--worker-roots", &files.other_roots], "certificate");
    refused(&cluster, &[], "");
    let address = &*cluster.workers[2].address;
    let found = cluster.diagnose_at(&[address], &[JSON, &trusted].concat());
    let expected = of_store(&cluster.data(), JSON);
    assert_eq!((found.status, found.stdout, found.stderr), (0, expected.stdout, String::new()));
    // The others, which it refuses, are replaced by this one.
    let all = cluster.diagnose(&[JSON, &trusted].concat());
    assert_eq!((all.status, all.stdout), (0, of_store(&cluster.data(), JSON).stdout));
}

#[test]
fn workers_with_client_roots_answer_only_their_authority() {
    let mut cluster = TestCluster::start(0);
    let files = Certificates::write(&cluster);
    add(&mut cluster, &files.worker, &["--tls-client-roots", &files.roots]);
    let trusted = ["--worker-roots", &*files.roots];
    refused(&cluster, &trusted, "");
    refused(&cluster, &[&trusted[..], &client(&files.stranger)].concat(), "");
    refused(&cluster, &[], "");
    let found = cluster.diagnose(&[JSON, &trusted, &client(&files.client)].concat());
    let expected = of_store(&cluster.data(), JSON);
    assert_eq!((found.status, found.stdout, found.stderr), (0, expected.stdout, String::new()));
}

#[test]
fn what_is_no_certificate_is_refused_at_the_start() {
    let cluster = TestCluster::start(0);
    let files = Certificates::write(&cluster);
    let (data, token) = (cluster.data(), cluster.token());
    let worker = ["worker", "--listen", "127.0.0.1:0", "--store", text(&data), "--token-file", text(&token)];
    let [certificate, key] = &files.worker;
    let (own, other) = (["--tls-certificate", certificate, "--tls-key", key], &files.client[1]);
    for (tls, problem) in [
        (&["--tls-certificate", key, "--tls-key", key][..], "worker.key: no certificate"),
        (&["--tls-certificate", certificate, "--tls-key", certificate], "worker.crt: "),
        (&["--tls-certificate", certificate, "--tls-key", other], "do not fit"),
        (&[&own[..], &["--tls-client-roots", key]].concat(), "worker.key: no certificate"),
        (&[&own[..], &["--tls-client-roots", "/none"]].concat(), "/none: "),
    ] {
        laggard(&[&worker[..], tls].concat()).fails(3, &[problem]);
    }
    laggard(&[&worker[..], &["--tls-certificate", certificate]].concat()).fails(2, &["--tls-key"]);
    let roots = ["--worker-roots", &*files.roots];
    let other = &files.client[0];
    for (tls, problem) in [
        (&["--worker-roots", key][..], "root certificates: there is none"),
        (&[&roots[..], &client(&[key.clone(), key.clone()])].concat(), "client certificate: there is none"),
        (&[&roots[..], &client(&[other.clone(), key.clone()])].concat(), "KeyMismatch"),
    ] {
        let refused = cluster.diagnose_at(&["127.0.0.1:1"], &[JSON, tls].concat());
        refused.fails(2, &["TLS to workers: ", problem]);
    }
}

fn set(name: &str, file: &str) -> [String; 2] {
    ["--set".to_owned(), format!("cluster.{name}={file}")]
}

/// A server whose workers are encrypted, if it has certificates.
fn server(cluster: &TestCluster, files: Option<&Certificates>) -> Running {
    let mut all = settings(cluster);
    if let Some(Certificates { roots, client: [certificate, key], .. }) = files {
        all.extend(
            [set("roots", roots), set("client_certificate", certificate), set("client_key", key)].concat(),
        );
    }
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    Running::start(&cluster.data(), &[&["--set", "store.keep_for=off"], &all[..]].concat())
}

#[test]
fn a_server_reaches_its_workers_encrypted() {
    let mut cluster = TestCluster::start(0);
    let files = Certificates::write(&cluster);
    add(&mut cluster, &files.worker, &["--tls-client-roots", &files.roots]);
    let encrypted = server(&cluster, Some(&files));
    let expected = answered(&encrypted, QUESTIONS[0], &[]);
    assert!(!expected.contains(READ_BY_ITSELF), "{expected}");
    encrypted.stop();
    let plain = server(&cluster, None);
    let (report, caution) = without_last_caution(&answered(&plain, QUESTIONS[0], &[]));
    assert!(caution.contains(READ_BY_ITSELF), "{caution}");
    assert_eq!(report, serde_json::from_str::<Value>(&expected).unwrap());
    for incomplete in [set("roots", &files.roots), set("client_key", &files.client[1])] {
        let words = ["serve", "--check-config", &incomplete[0], &incomplete[1]];
        laggard(&words).fails(2, &["cluster."]);
    }
}

#[test]
fn certificates_are_replaced_while_a_worker_and_a_server_run() {
    let mut cluster = TestCluster::start(0);
    let files = Certificates::write(&cluster);
    let clients = ["--tls-client-roots", &*files.roots];
    add(&mut cluster, &files.worker, &clients);
    let server = server(&cluster, Some(&files));
    let expected = answered(&server, QUESTIONS[0], &[]);
    assert!(!expected.contains(READ_BY_ITSELF), "{expected}");
    let before = cluster.folder.path().join("roots-before");
    fs::copy(&files.roots, &before).unwrap();
    // Of other authorities, in the same files.
    Certificates::write(&cluster);
    let trusted = [&["--worker-roots", &*files.roots], &client(&files.client)[..]].concat();
    wait_until("the worker has the new certificate", || {
        cluster.diagnose(&[JSON, &trusted].concat()).status == 0
    });
    let before = [&["--worker-roots", text(&before)], &client(&files.client)[..]].concat();
    refused(&cluster, &before, "certificate");
    // One that no connection from before leads to.
    cluster.kill(0);
    let [certificate, key] = &files.worker;
    let token = cluster.token();
    let words = ["--token-file", text(&token), "--tls-certificate", certificate, "--tls-key", key];
    let (address, data) = (cluster.workers[0].address.clone(), cluster.data());
    cluster.workers[0] =
        WorkerProcess::start_at(&address, text(&data), &[&words[..], &clients].concat(), &[]);
    assert_eq!(answered(&server, QUESTIONS[0], &[]), expected);
}
