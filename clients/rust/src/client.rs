//! The client.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::connection::Connections;
use crate::error::Error;
use crate::options::{OnUnavailable, RunOptions, Settings};
use crate::run::Run;

/// Opens runs at one guard. Clones share its connection.
#[derive(Clone)]
pub struct Client {
    settings: Arc<Settings>,
    connections: Arc<Connections>,
}

impl Client {
    /// A client of the guard at an address: `host:port`, `https://host:port` or `unix:/path`. It does not wait for a
    /// connection; a guard that can't be reached is no error.
    ///
    /// # Errors
    ///
    /// [`Error::Setup`] for what is no address.
    pub fn new(address: impl Into<String>) -> Result<Self, Error> {
        Self::builder(address).build()
    }

    /// Sets up a client.
    pub fn builder(address: impl Into<String>) -> ClientBuilder {
        ClientBuilder { address: address.into(), settings: Settings::default() }
    }

    /// Opens a run. That the guard is away is no error.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidConfig`] or [`Error::RunRefused`] for a configuration or a run that the guard refuses.
    pub async fn open_run(&self, run_id: impl Into<String>, options: RunOptions) -> Result<Run, Error> {
        Run::open(run_id.into(), options, Arc::clone(&self.settings), Arc::clone(&self.connections)).await
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

/// Sets up a [`Client`].
#[derive(Clone)]
pub struct ClientBuilder {
    address: String,
    settings: Settings,
}

impl ClientBuilder {
    /// How long a call may wait for its verdict before [`ClientBuilder::on_unavailable`] says what to do; 250 ms unless
    /// set.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.settings.deadline = deadline;
        self
    }

    /// What happens to a call that gets no answer in time; it is allowed unless set.
    #[must_use]
    pub fn on_unavailable(mut self, policy: OnUnavailable) -> Self {
        self.settings.on_unavailable = policy;
        self
    }

    /// Limits the frames kept for a guard that loses a run, for each run: 1,000 and 8 MiB unless set.
    #[must_use]
    pub fn buffer(mut self, frames: usize, bytes: usize) -> Self {
        self.settings.buffer_frames = frames;
        self.settings.buffer_bytes = bytes;
        self
    }

    /// Sends a bearer token with every stream. Without TLS that is refused unless the guard is on this machine.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.settings.token = Some(token.into());
        self
    }

    /// Has the connection secured. An address with `https://` alone trusts the system's authorities.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self, config: tonic::transport::ClientTlsConfig) -> Self {
        self.settings.tls = Some(config);
        self
    }

    /// The client.
    ///
    /// # Errors
    ///
    /// [`Error::Setup`] for what is no address, and for a token that would travel in the open.
    pub fn build(self) -> Result<Client, Error> {
        let settings = Arc::new(self.settings);
        let connections = Arc::new(Connections::new(&self.address, Arc::clone(&settings))?);
        Ok(Client { settings, connections })
    }
}
