//! The default method: changes of the model found with the noise that the data show, so that no error has to be
//! allowed in advance; the signature and the regression check each other.

mod design;
mod noise;
mod regression;
mod scan;
mod segment;
mod settings;

pub use settings::{ChangeSettings, ChangeSettingsError};
