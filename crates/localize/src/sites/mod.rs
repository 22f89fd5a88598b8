//! Sites: where requests spend time, and how that time differs between replicas, periods and baselines.

mod blame;
mod change;
mod culprits;
mod incidents;
mod peers;
mod table;

pub use blame::{End, LinkExcess, blame_ends};
pub use change::{ChangeSettings, SiteChange, compare_sites};
pub use culprits::{Culprit, CulpritSettings, Share, find_culprits};
pub use incidents::{Bins, Incident, Onset, ScanSettings, find_incidents};
pub use peers::{UnevenSite, find_uneven_sites};
pub use table::{Observation, Site, SiteRequest, SiteTable, SiteTableBuilder, Spent};
