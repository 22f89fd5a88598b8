//! Which requests are one client transaction: a page and what it embeds.

use super::AccessLogSettings;
use super::names::{OBJECTS, TransactionNames, is_data, is_object};
use super::record::LogRecord;
use laggard_model::{Nanos, Timestamp};
use std::collections::HashMap;
use std::collections::hash_map::{DefaultHasher, Entry};
use std::hash::Hasher;

// Limit: clients of an access log that are remembered | `name_limit`
/// Maximum number of tracked clients.
const CLIENTS_MAX: usize = if cfg!(test) { 16 } else { 1 << 16 };
/// Pages of one client that may be open at a time: tabs, and people behind one address.
const PAGES: usize = 4;

/// Role of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RequestRole<'a> {
    /// A transaction of this name.
    Transaction(&'a str),
    /// A part of one that has begun.
    Embedded,
}

/// The page of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PageAssignment<'a> {
    pub(super) role: RequestRole<'a>,
    /// Whether the name is pooled because there are too many names, or the client could not be tracked.
    pub(super) is_pooled: bool,
}

const EMBEDDED: PageAssignment<'_> = PageAssignment { role: RequestRole::Embedded, is_pooled: false };

#[derive(Clone, Copy, Debug)]
struct Page {
    path_hash: u64,
    start: Timestamp,
    /// Objects belong to it until then.
    until: Timestamp,
}

/// The pages that clients have open.
#[derive(Debug)]
pub(super) struct Pages {
    settings: AccessLogSettings,
    names: TransactionNames,
    clients: HashMap<u64, [Option<Page>; PAGES]>,
    /// No client can expire before this time.
    purge_at: Timestamp,
}

impl Pages {
    pub(super) fn new(settings: AccessLogSettings) -> Pages {
        Pages {
            settings,
            names: TransactionNames::new(),
            clients: HashMap::new(),
            purge_at: Timestamp::from_unix_ns(i64::MIN),
        }
    }

    /// Assigns a request to a transaction, and tracks pages.
    pub(super) fn assign(&mut self, record: &LogRecord<'_>) -> PageAssignment<'_> {
        let client = stable_hash(&[record.client.as_bytes(), record.agent.as_bytes()]);
        if is_object(record.path) {
            if self.has_page(client, record, Match::Any) {
                return EMBEDDED;
            }
            return PageAssignment { role: RequestRole::Transaction(OBJECTS), is_pooled: false };
        }
        if is_data(record.path)
            && !record.referrer_path.is_empty()
            && self.has_page(client, record, Match::Referrer)
        {
            return EMBEDDED;
        }
        let name = self.names.page_name(record);
        let is_kept = self.remember(client, record);
        let is_pooled = name == TransactionNames::other() || !is_kept;
        PageAssignment { role: RequestRole::Transaction(self.names.text(name)), is_pooled }
    }

    /// Whether the client has a page open that the request may belong to.
    fn has_page(&self, client: u64, record: &LogRecord<'_>, by: Match) -> bool {
        let Some(pages) = self.clients.get(&client) else { return false };
        let path_hash = stable_hash(&[record.referrer_path.as_bytes()]);
        let mut open =
            pages.iter().flatten().filter(|page| page.start <= record.time && record.time <= page.until);
        open.any(|page| by == Match::Any || page.path_hash == path_hash)
    }

    /// Tracks a page, replacing the client's oldest; `false` when there are too many clients.
    fn remember(&mut self, client: u64, record: &LogRecord<'_>) -> bool {
        let response = Nanos::from_ns((record.response_s.unwrap_or(0.0) * 1e9) as u64);
        let page = Page {
            path_hash: stable_hash(&[record.path.as_bytes()]),
            start: record.time,
            until: record.time.plus(response).plus(self.settings.page_gap),
        };
        if self.clients.len() >= CLIENTS_MAX && !self.clients.contains_key(&client) {
            self.forget_idle(record.time);
        }
        let is_full = self.clients.len() >= CLIENTS_MAX;
        match self.clients.entry(client) {
            Entry::Vacant(_) if is_full => return false,
            Entry::Vacant(entry) => drop(entry.insert([Some(page), None, None, None])),
            Entry::Occupied(mut entry) => {
                let oldest = entry.get_mut().iter_mut().min_by_key(|page| page.map(|page| page.start));
                *oldest.expect("there is at least one slot") = Some(page);
            }
        }
        true
    }

    /// Drops clients without open pages; at most once in a page gap.
    fn forget_idle(&mut self, now: Timestamp) {
        if now < self.purge_at {
            return;
        }
        self.clients.retain(|_, pages| pages.iter().flatten().any(|page| page.until >= now));
        self.purge_at = now.plus(self.settings.page_gap);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Match {
    /// One that the request names as the page that led to it.
    Referrer,
    Any,
}

/// A hash that is the same in every run of a program.
fn stable_hash(parts: &[&[u8]]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for part in parts {
        hasher.write(part);
        hasher.write_u8(0xFF);
    }
    hasher.finish()
}
