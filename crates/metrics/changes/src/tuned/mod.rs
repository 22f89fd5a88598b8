//! The default method: changes of the model found with the noise that the data show, so that no error has to be
//! allowed in advance; the signature and the regression check each other.

mod answer;
mod changes;
mod design;
mod evidence;
mod fit;
mod noise;
mod online;
mod pieces;
mod regression;
mod relation;
mod scan;
mod segment;
mod service;
mod service_events;
mod settings;
mod shift;
mod timeline;
mod turning;
mod watch;

pub use changes::changes;
pub(crate) use fit::{Drift, DriftBounds};
pub use online::OnlineChanges;
pub(crate) use regression::{LinearFit, Regression, dot};
pub(crate) use scan::steps_at;
pub use settings::{ChangeSettings, ChangeSettingsError};
