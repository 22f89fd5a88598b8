//! Kernel traces of real tools and of the test encoders.

mod ctf;
mod ctf_hostile;
mod ctf_recorded;
mod ctf_stacks;
mod encode_ctf;
mod encode_perf_data;
mod encode_perfetto;
mod encode_records;
mod encode_trace_dat;
mod hostile;
mod perf_data;
mod perf_recorded;
mod same_run;
mod trace_dat;
