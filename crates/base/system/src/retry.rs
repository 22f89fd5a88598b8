//! Trying again what failed for a reason that may pass.

use std::time::Duration;

/// Longest pause between two tries, also if a server requests a longer one.
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// A try that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailedAttempt<E> {
    /// Why.
    pub error: E,
    /// Whether another try may succeed.
    pub is_passing: bool,
    /// The pause that the server requested.
    pub pause: Option<Duration>,
}

impl<E> FailedAttempt<E> {
    /// Another try may succeed.
    pub const fn passing(error: E) -> FailedAttempt<E> {
        FailedAttempt { error, is_passing: true, pause: None }
    }

    /// No other try can succeed.
    pub const fn permanent(error: E) -> FailedAttempt<E> {
        FailedAttempt { error, is_passing: false, pause: None }
    }
}

/// Tries up to `tries` times, with a pause before the second try that is twice as long before each further one.
///
/// # Errors
/// That of the last try.
pub fn with_retries<T, E>(
    tries: u32,
    first_pause: Duration,
    mut attempt: impl FnMut() -> Result<T, FailedAttempt<E>>,
) -> Result<T, E> {
    let mut pause = first_pause;
    let mut tries_left = tries.max(1);
    loop {
        tries_left -= 1;
        let failed = match attempt() {
            Ok(result) => return Ok(result),
            Err(failed) => failed,
        };
        if tries_left == 0 || !failed.is_passing {
            return Err(failed.error);
        }
        std::thread::sleep(failed.pause.unwrap_or(pause).min(PAUSE_MAX));
        pause = pause.saturating_mul(2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tries_of(failed: impl Fn(u32) -> Option<FailedAttempt<u32>>) -> (Result<u32, u32>, u32) {
        let mut count = 0;
        let result = with_retries(3, Duration::ZERO, || {
            count += 1;
            failed(count).map_or(Ok(count), Err)
        });
        (result, count)
    }

    #[test]
    fn passing_errors_are_tried_again_and_permanent_ones_are_not() {
        assert_eq!(tries_of(|_| None), (Ok(1), 1));
        assert_eq!(tries_of(|count| (count < 3).then(|| FailedAttempt::passing(count))), (Ok(3), 3));
        assert_eq!(tries_of(|count| Some(FailedAttempt::passing(count))), (Err(3), 3));
        assert_eq!(tries_of(|count| Some(FailedAttempt::permanent(count))), (Err(1), 1));
    }
}
