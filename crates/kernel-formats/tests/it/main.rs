//! Kernel traces as they come from real tools, and from encoders of our own.

mod encode_perfetto;
mod same_run;
