//! The twelve components of the mail and file service, as data.

/// A component: a service with its replicas.
pub(crate) struct Component {
    /// The service name.
    pub(crate) name: &'static str,
    /// On how many of the nodes it runs.
    pub(crate) replicas: usize,
    /// Remote methods that read.
    pub(crate) reads: &'static [Method],
    /// Remote methods that write; where it has none, the reading ones serve.
    pub(crate) writes: &'static [Method],
    /// Operations inside the component.
    pub(crate) local: &'static [&'static str],
    /// The components it may call; repeated ones are called more often.
    pub(crate) calls: &'static [usize],
}

/// A method that other components call, and the operation specific to the component that does its work.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Method {
    pub(crate) name: &'static str,
    pub(crate) specific: &'static str,
}

const fn method(name: &'static str, specific: &'static str) -> Method {
    Method { name, specific }
}

pub(crate) const FRONT_END: usize = 0;
pub(crate) const SESSION: usize = 1;
pub(crate) const MAIL_LOGIC: usize = 2;
pub(crate) const METADATA: usize = 3;
pub(crate) const INDEX: usize = 4;
pub(crate) const CHUNK_STORE: usize = 5;
pub(crate) const TRANSACTION: usize = 6;
pub(crate) const CACHE: usize = 7;
pub(crate) const QUEUE: usize = 8;
pub(crate) const SPAM: usize = 9;
pub(crate) const QUOTA: usize = 10;
pub(crate) const NOTIFY: usize = 11;

/// Number of components.
pub(crate) const COUNT: usize = 12;
/// Number of nodes.
pub(crate) const NODES: usize = 100;

/// Where every component waits for a thread.
pub(crate) const QUEUE_WAIT: &str = "QueueWait";
pub(crate) const READ_CHUNK: &str = "ReadChunk";
pub(crate) const WRITE_CHUNK: &str = "WriteChunk";
pub(crate) const BEGIN: &str = "Begin";
pub(crate) const READ_ENTRY: &str = "ReadEntry";
pub(crate) const WRITE_ENTRY: &str = "WriteEntry";
/// Slow operation of one of two front ends.
pub(crate) const ROUTE_REQUEST: &str = "RouteRequest";
/// Operation slowed by the faulty upgrade.
pub(crate) const CHECK_ACCESS: &str = "CheckAccess";
/// Operation added by the faulty upgrade.
pub(crate) const SCAN_ATTACHMENTS: &str = "ScanAttachments";

/// Operations that touch a disk: their median is 2 ms instead of being drawn.
pub(crate) const STORAGE: [&str; 4] = [READ_CHUNK, WRITE_CHUNK, READ_ENTRY, WRITE_ENTRY];

pub(crate) static COMPONENTS: [Component; COUNT] = [
    Component {
        name: "front-end",
        replicas: 10,
        reads: &[],
        writes: &[],
        local: &[
            "ParseRequest",
            "CheckCredentials",
            ROUTE_REQUEST,
            "RenderPage",
            "EncodeResponse",
            "WriteAccessLog",
        ],
        calls: &[MAIL_LOGIC, MAIL_LOGIC, MAIL_LOGIC, MAIL_LOGIC, SESSION, QUOTA, SPAM, NOTIFY],
    },
    Component {
        name: "session",
        replicas: 20,
        reads: &[method("LookupSession", "VerifyToken")],
        writes: &[method("RefreshSession", "SignToken")],
        local: &["DecodeCookie", "CheckExpiry", "LoadProfile", "TouchSession", "ApplyPolicy"],
        calls: &[CACHE, CACHE, QUOTA],
    },
    Component {
        name: "mail-logic",
        replicas: 30,
        reads: &[method("ListItems", "MergeListings"), method("OpenItem", "AssembleItem")],
        writes: &[method("StoreItem", "CommitItem")],
        local: &[
            "ResolveAlias",
            CHECK_ACCESS,
            "ExpandFolders",
            "FilterRules",
            "SortResults",
            "NormalizeHeaders",
        ],
        calls: &[
            METADATA,
            METADATA,
            INDEX,
            CHUNK_STORE,
            CHUNK_STORE,
            CHUNK_STORE,
            TRANSACTION,
            CACHE,
            QUEUE,
            SPAM,
            QUOTA,
        ],
    },
    Component {
        name: "metadata",
        replicas: 40,
        reads: &[method("GetEntry", READ_ENTRY), method("ScanEntries", READ_ENTRY)],
        writes: &[method("PutEntry", WRITE_ENTRY)],
        local: &["HashPath", "PickShard", "CheckVersion", "DecodeEntry", "MergeUpdates", "EncodeEntry"],
        calls: &[CACHE, TRANSACTION],
    },
    Component {
        name: "index",
        replicas: 40,
        reads: &[method("SearchIndex", "ScanPostings")],
        writes: &[method("UpdateIndex", "AppendPostings")],
        local: &["Tokenize", "LoadSegment", "IntersectLists", "ScoreHits", "RankHits"],
        calls: &[CACHE, CHUNK_STORE],
    },
    Component {
        name: "chunk-store",
        replicas: 100,
        reads: &[method("GetChunk", READ_CHUNK)],
        writes: &[method("PutChunk", WRITE_CHUNK)],
        local: &["LocateChunk", "VerifyChecksum", "AllocateBlock", "PinBuffer", "UpdateManifest"],
        calls: &[],
    },
    Component {
        name: "transaction",
        replicas: 60,
        reads: &[method("Snapshot", BEGIN)],
        writes: &[method("ExecuteBatch", BEGIN)],
        local: &["AssignTimestamp", "AcquireLock", "CheckConflicts", "AppendLog", "ReleaseLock"],
        calls: &[QUEUE],
    },
    Component {
        name: "cache",
        replicas: 30,
        reads: &[method("GetValue", "LookupSlot")],
        writes: &[method("PutValue", "InsertSlot")],
        local: &["HashKey", "ProbeBucket", "CheckTtl", "Deserialize"],
        calls: &[],
    },
    Component {
        name: "queue",
        replicas: 20,
        reads: &[method("PeekMessage", "ReadHead")],
        writes: &[method("Enqueue", "AppendMessage")],
        local: &["SelectPartition", "FrameMessage", "CheckBacklog", "SyncOffsets"],
        calls: &[NOTIFY],
    },
    Component {
        name: "spam",
        replicas: 20,
        reads: &[method("ClassifyMessage", "ScoreMessage")],
        writes: &[],
        local: &["ExtractFeatures", "LookupSender", "HashBody", "ApplyRules"],
        calls: &[CACHE],
    },
    Component {
        name: "quota",
        replicas: 20,
        reads: &[method("CheckQuota", "ReadUsage")],
        writes: &[method("ChargeQuota", "UpdateUsage")],
        local: &["LoadPlan", "SumUsage", "CompareLimit", "RoundUsage"],
        calls: &[CACHE, METADATA],
    },
    Component {
        name: "notify",
        replicas: 20,
        reads: &[method("PollSubscriptions", "MatchSubscribers")],
        writes: &[method("PublishEvent", "FanOut")],
        local: &["BuildPayload", "SelectChannel", "SignPayload", "TrackDelivery"],
        calls: &[],
    },
];

impl Component {
    /// The remote methods for a kind of access.
    pub(crate) fn methods(&self, write: bool) -> &'static [Method] {
        if write && !self.writes.is_empty() { self.writes } else { self.reads }
    }
}

/// `chunk-store` as it appears inside an operation's name: `ChunkStore`.
pub(crate) fn camel_case(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for word in name.split('-') {
        let mut letters = word.chars();
        text.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        text.push_str(letters.as_str());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_component_table_is_valid() {
        assert_eq!(COMPONENTS[CHUNK_STORE].name, "chunk-store");
        assert_eq!(COMPONENTS[NOTIFY].name, "notify");
        assert_eq!(camel_case("chunk-store"), "ChunkStore");
        for (index, component) in COMPONENTS.iter().enumerate() {
            assert!(component.replicas <= NODES && component.local.len() >= 4);
            // Otherwise siblings would repeat for want of another name.
            assert!(index == FRONT_END || !component.reads.is_empty());
            assert!(!component.calls.contains(&index) && !component.calls.contains(&FRONT_END));
        }
    }
}
