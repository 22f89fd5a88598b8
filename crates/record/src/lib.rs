//! Records a kernel trace through tracefs: just the events a critical path needs, and everything put back at the end.
