//! What clients and runs are set up with.

use std::time::Duration;

use crate::v1;

/// What a client does with a call that gets no answer in time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnUnavailable {
    /// The call runs.
    #[default]
    Allow,
    /// The call does not run.
    Block,
    /// The call waits for the guard.
    Wait,
}

/// How long closing a run waits for the guard where everything else waits for ever.
const CLOSE_WAIT: Duration = Duration::from_secs(5);

/// What a client is made with.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub deadline: Duration,
    pub on_unavailable: OnUnavailable,
    pub buffer_frames: usize,
    pub buffer_bytes: usize,
    pub token: Option<String>,
    #[cfg(feature = "tls")]
    pub tls: Option<tonic::transport::ClientTlsConfig>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            deadline: Duration::from_millis(250),
            on_unavailable: OnUnavailable::default(),
            buffer_frames: 1000,
            buffer_bytes: 8 << 20,
            token: None,
            #[cfg(feature = "tls")]
            tls: None,
        }
    }
}

impl Settings {
    pub fn waits(&self) -> bool {
        self.on_unavailable == OnUnavailable::Wait
    }

    pub fn close_wait(&self) -> Duration {
        if self.waits() { CLOSE_WAIT } else { self.deadline }
    }
}

/// What a run is opened with.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    pub(crate) open: v1::RunOpen,
    pub(crate) hashes: bool,
}

impl RunOptions {
    /// Picks the agent's block of the server's configuration.
    #[must_use]
    pub fn agent(mut self, agent_id: impl Into<String>) -> Self {
        self.open.agent_id = agent_id.into();
        self
    }

    /// Names the run that started this one.
    #[must_use]
    pub fn parent_run(mut self, run_id: impl Into<String>) -> Self {
        self.open.parent_run_id = run_id.into();
        self
    }

    /// Overrides the agent's and the server's configuration, key by key.
    #[must_use]
    pub fn config(mut self, config: v1::LoopDetectionConfig) -> Self {
        self.open.config = Some(config);
        self
    }

    /// Says whether verdicts are held against the run.
    #[must_use]
    pub fn mode(mut self, mode: v1::Mode) -> Self {
        self.open.set_mode(mode);
        self
    }

    /// Names the set of detectors and thresholds.
    #[must_use]
    pub fn profile(mut self, profile: impl Into<String>) -> Self {
        self.open.profile = profile.into();
        self
    }

    /// Sends digests in place of arguments and results. The guard then can apply none of its rules for outcomes.
    #[must_use]
    pub fn digests(mut self) -> Self {
        self.hashes = true;
        self.digest_scheme(crate::digest::SCHEME)
    }

    /// Names the version of the canonical scheme behind digests that the caller computes; a guard with another one
    /// refuses the run.
    #[must_use]
    pub fn digest_scheme(mut self, version: u32) -> Self {
        self.open.digest_scheme = version;
        self
    }

    /// Takes up a run that another client has left.
    #[must_use]
    pub fn resume(mut self) -> Self {
        self.open.resume = true;
        self
    }
}
