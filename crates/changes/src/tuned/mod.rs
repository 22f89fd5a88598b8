//! The default method: changes of the model found with the noise that the data show, so that no error has to be
//! allowed in advance; the signature and the regression check each other.

mod design;
mod fit;
mod noise;
mod regression;
mod relation;
mod scan;
mod segment;
mod service;
mod service_events;
mod settings;
mod shift;

pub use settings::{ChangeSettings, ChangeSettingsError};
