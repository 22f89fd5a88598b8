//! What goes wrong around a server, and what it makes of it.

mod kill_run;
mod kills;
