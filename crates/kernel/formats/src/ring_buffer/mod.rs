//! Pages of the kernel's ring buffer: a head with a time and a size, then records with time steps.

mod layout;
mod page;

pub(crate) use layout::PageLayout;
pub(crate) use page::{MissedEvents, Page, RecordsEnd};
