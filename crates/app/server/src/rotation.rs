//! Tokens and certificates are read again when their files change, those of a server on SIGHUP as well.

use crate::listen::Transport;
use crate::operations::{FileStamp, ServerIssueKind, ServerIssues};
use crate::security::TokenFiles;
use crate::settings::TlsSettings;
use laggard_system::now;
use rustls::ServerConfig;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::Signal;
use tokio_util::sync::CancellationToken;

/// How often the files are checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The files that clients are admitted by.
pub(crate) struct CredentialFiles {
    tokens: TokenFiles,
    transport: Transport,
    issues: Arc<ServerIssues>,
    token_stamps: Stamps,
    certificate_stamps: Stamps,
}

/// Stamps of files, to see that they changed and are not being written any more.
#[derive(Debug)]
struct Stamps {
    /// When the files were read.
    read: Vec<FileStamp>,
    /// At the last check.
    latest: Vec<FileStamp>,
}

impl Stamps {
    /// Of files that were just read.
    fn from_read(read: Vec<FileStamp>) -> Stamps {
        Stamps { latest: read.clone(), read }
    }

    /// Whether the files are to be read: they changed, and not since the last check; a file in the middle of being written
    /// might be valid, but not complete. `anyway`: whether somebody says that they are.
    fn check(&mut self, now: Vec<FileStamp>, anyway: bool) -> bool {
        let settled = self.latest == now;
        let changed = anyway || (settled && self.read != now);
        if changed {
            self.read.clone_from(&now);
        }
        self.latest = now;
        changed
    }
}

impl CredentialFiles {
    /// Files that were read at the start; those with tokens are compared with what they have now.
    pub(crate) fn new(
        tokens: TokenFiles,
        transport: Transport,
        issues: Arc<ServerIssues>,
    ) -> CredentialFiles {
        let token_stamps = Stamps { read: Vec::new(), latest: tokens.stamps() };
        let certificate_stamps = Stamps::from_read(transport.stamps());
        CredentialFiles { tokens, transport, issues, token_stamps, certificate_stamps }
    }

    /// Follows the files until the server stops.
    pub(crate) async fn follow(mut self, mut hangup: Signal, stopping: CancellationToken) {
        loop {
            let all = tokio::select! {
                () = stopping.cancelled() => return,
                _ = hangup.recv() => {
                    tracing::info!(signal = "SIGHUP", "reading tokens and certificates again");
                    true
                }
                () = tokio::time::sleep(CHECK_INTERVAL) => false,
            };
            // Files may be on a slow disk, or of another machine.
            let read = tokio::task::spawn_blocking(move || {
                self.read_changed(all);
                self
            });
            match read.await {
                Ok(read) => self = read,
                Err(error) => {
                    tracing::error!(%error, "tokens and certificates are not read again any more");
                    return;
                }
            }
        }
    }

    /// Reads what changed, or all. A change while they are read is seen the next time.
    fn read_changed(&mut self, all: bool) {
        if self.token_stamps.check(self.tokens.stamps(), all) {
            let usable = self.tokens.reload();
            self.issues.set(ServerIssueKind::Tokens, !usable, now());
        }
        if self.certificate_stamps.check(self.transport.stamps(), all) {
            let usable = self.transport.reload();
            self.issues.set(ServerIssueKind::Certificates, !usable, now());
        }
    }
}

/// Certificates of a process that is no server, read again when their files change. Clones share them.
#[derive(Clone)]
pub struct FollowedCertificates {
    transport: Transport,
    /// Before the files were read.
    stamps: Vec<FileStamp>,
}

impl FollowedCertificates {
    /// Reads the files; `None` if the settings name no certificate.
    ///
    /// # Errors
    /// Which file cannot be read, or does not match the others.
    pub fn load(settings: &TlsSettings) -> Result<Option<FollowedCertificates>, String> {
        let transport = Transport::load(settings)?;
        let stamps = transport.stamps();
        transport.read_again()?;
        Ok(transport.is_encrypted().then_some(FollowedCertificates { transport, stamps }))
    }

    /// What a new connection is encrypted with.
    pub fn config(&self) -> Arc<ServerConfig> {
        self.transport.config().expect("the transport is encrypted")
    }

    /// Checks the files each second and reads what changed, for new connections; never ends. `note` is called after each reading: with
    /// an error, the certificates from before stay.
    pub async fn follow(self, note: impl Fn(Result<(), String>)) {
        let mut stamps = Stamps::from_read(self.stamps);
        loop {
            tokio::time::sleep(CHECK_INTERVAL).await;
            let transport = self.transport.clone();
            let read = move || {
                let read = stamps.check(transport.stamps(), false).then(|| transport.read_again());
                (stamps, read)
            };
            let Ok((checked, read)) = tokio::task::spawn_blocking(read).await else { return };
            stamps = checked;
            read.into_iter().for_each(&note);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_once_they_are_complete() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        let write = |text: &str| {
            std::fs::write(&file, text).unwrap();
            vec![FileStamp::read(&file)]
        };
        let first = write("0123");
        let mut stamps = Stamps { read: first.clone(), latest: first.clone() };
        assert!(!stamps.check(first, false));
        let half = write("01234567");
        assert!(!stamps.check(half, false), "it may still be written");
        let complete = write("0123456789abcdef");
        assert!(!stamps.check(complete.clone(), false));
        assert!(stamps.check(complete.clone(), false));
        assert!(!stamps.check(complete.clone(), false), "once");
        assert!(stamps.check(complete, true), "on request");
    }
}
