//! Kernel traces as they come from real tools, and from encoders of our own.

mod same_run;
