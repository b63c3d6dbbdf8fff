//! How long to wait before the next try.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(2);

/// A random part of a span that doubles from try to try.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    tries: u32,
}

impl Backoff {
    pub fn next(&mut self) -> Duration {
        let span = LONGEST.min(FIRST * 2u32.pow(self.tries));
        self.tries = (self.tries + 1).min(8);
        span.mul_f64(fastrand::f64())
    }

    pub fn reset(&mut self) {
        self.tries = 0;
    }
}
