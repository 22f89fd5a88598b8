//! Settings of glibc's allocator for a process that runs for months: it must return memory that it no longer needs.
//!
//! By default glibc has eight arenas per CPU, which keep what is freed in them, and raises the size from which memory is mapped,
//! and so returned at once, up to 32 MiB. Decision 28 has the figures and the alternatives.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// Settings and their values. glibc reads them when a process starts; other allocators ignore them.
const SETTINGS: [(&str, &str); 3] =
    [("MALLOC_ARENA_MAX", "2"), ("MALLOC_MMAP_THRESHOLD_", "131072"), ("MALLOC_TRIM_THRESHOLD_", "8388608")];

/// Executes this program again, in the same process, unless the settings are there. Where that fails, it goes on without them.
pub(crate) fn return_freed_memory() {
    if cfg!(not(target_env = "gnu")) || SETTINGS.iter().all(|(name, _)| std::env::var_os(name).is_some()) {
        return;
    }
    let mut arguments = std::env::args_os();
    let (Ok(program), Some(name)) = (std::env::current_exe(), arguments.next()) else { return };
    let missing = SETTINGS.into_iter().filter(|(name, _)| std::env::var_os(name).is_none());
    let _error = Command::new(program).arg0(name).args(arguments).envs(missing).exec();
}
