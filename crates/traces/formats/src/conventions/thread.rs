//! The thread of a span.

use laggard_model::Tid;

/// The attribute with the thread of a span (OpenTelemetry, *General thread attributes*). It is the kernel's number only where the
/// runtime takes it from there.
pub const THREAD_ATTRIBUTE: &str = "thread.id";

/// Largest number of a thread, Linux's `PID_MAX_LIMIT`: other numbers are those of a library or of another system.
const TID_MAX: u32 = 1 << 22;

/// A thread's number as text; `None` for what is no number of a thread.
pub(crate) fn read_thread(text: &str) -> Option<Tid> {
    text.trim().parse().ok().filter(|tid| (1..=TID_MAX).contains(tid)).map(Tid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_a_number_of_the_kernel() {
        assert_eq!(read_thread(" 4711 "), Some(Tid(4_711)));
        assert_eq!(read_thread("4194304"), Some(Tid(1 << 22)));
        for other in ["", "0", "-1", "4194305", "140213366798080", "main", "1.5"] {
            assert_eq!(read_thread(other), None, "{other}");
        }
    }
}
