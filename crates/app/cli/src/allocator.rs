//! How soon the allocator of a server returns freed memory to the system. Programs that read files return it as the settings in
//! `.cargo/config.toml` say: they do not reuse it as a server reuses what its messages need.

use tikv_jemalloc_ctl::{Access as _, AsName as _};

/// After this many milliseconds freed pages are returned. Until then they are reused, which costs less than new ones.
const USUALLY: isize = 5_000;
/// While memory is tight.
const SOON: isize = 200;

/// Has freed memory returned soon from now on, and what was freed before, or after a while again.
pub(crate) fn return_freed_memory(soon: bool) {
    let decay_ms = if soon { SOON } else { USUALLY };
    let arenas: u32 = b"arenas.narenas\0".name().read().unwrap_or(0);
    for arena in 0..arenas {
        // Arenas that are not in use yet have no such setting.
        let _ = format!("arena.{arena}.dirty_decay_ms\0").as_bytes().name().write(decay_ms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_until_freed_memory_is_returned_is_set() {
        let decay_ms = || -> isize { b"arena.0.dirty_decay_ms\0".name().read().unwrap() };
        return_freed_memory(true);
        assert_eq!(decay_ms(), SOON);
        return_freed_memory(false);
        assert_eq!(decay_ms(), USUALLY);
    }
}
