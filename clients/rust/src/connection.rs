//! Connections by endpoint.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Channel, Endpoint};

use crate::error::Error;
use crate::options::Settings;

/// How many streams go over one connection: fewer than the 1,000 that a server takes.
const STREAMS_PER_CONNECTION: usize = 900;

/// The client's connections by address, an empty one for its own: one, and more where one has too many streams. Each is
/// there as long as a run uses it.
pub(crate) struct Connections {
    settings: Arc<Settings>,
    endpoint: Endpoint,
    open: Mutex<HashMap<String, Vec<Weak<Channel>>>>,
    /// Stays. It is made by the first run, since a channel needs the run-time that it will live in.
    home: OnceLock<Arc<Channel>>,
    authorization: Option<MetadataValue<Ascii>>,
}

impl Connections {
    pub fn new(address: &str, settings: Arc<Settings>) -> Result<Self, Error> {
        let authorization = settings.token.as_ref().map(|token| bearer(token)).transpose()?;
        let endpoint = endpoint_of(address, &settings)?;
        Ok(Self { settings, endpoint, open: Mutex::default(), home: OnceLock::new(), authorization })
    }

    /// A connection to a node, or to the client's own address, that takes one more stream. It is closed when nobody has it
    /// any more.
    pub fn to(&self, node: Option<&str>) -> Result<Arc<Channel>, Error> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, channels| {
            channels.retain(|channel| channel.strong_count() > 0);
            !channels.is_empty()
        });
        let channels = open.entry(node.unwrap_or_default().to_owned()).or_default();
        let free = channels.iter().find(|channel| channel.strong_count() < STREAMS_PER_CONNECTION);
        if let Some(channel) = free.and_then(Weak::upgrade) {
            return Ok(channel);
        }
        let channel = match node {
            Some(node) => Arc::new(endpoint_of(node, &self.settings)?.connect_lazy()),
            None => Arc::new(self.endpoint.connect_lazy()),
        };
        channels.push(Arc::downgrade(&channel));
        if node.is_none() {
            self.home.get_or_init(|| Arc::clone(&channel));
        }
        Ok(channel)
    }

    pub fn authorization(&self) -> Option<&MetadataValue<Ascii>> {
        self.authorization.as_ref()
    }
}

fn bearer(token: &str) -> Result<MetadataValue<Ascii>, Error> {
    let mut value: MetadataValue<Ascii> =
        format!("Bearer {token}").parse().map_err(|_| Error::Setup("a token has to be printable ASCII".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Where and how to connect: `host:port`, `http://…`, `https://…` or `unix:/path`.
fn endpoint_of(address: &str, settings: &Settings) -> Result<Endpoint, Error> {
    let is_unix = address.starts_with("unix:");
    let is_secured = uses_tls(address, settings);
    let rest = address.trim_start_matches("http://").trim_start_matches("https://");
    let uri = match (is_unix, is_secured) {
        (true, _) => address.to_owned(),
        (false, true) => format!("https://{rest}"),
        (false, false) => format!("http://{rest}"),
    };
    let bad = |error: &dyn std::fmt::Display| Error::Setup(format!("bad address {address:?}: {error}"));
    let endpoint = Endpoint::from_shared(uri).map_err(|error| bad(&error))?;
    if !is_unix && endpoint.uri().port_u16().is_none() {
        return Err(bad(&"it has no port"));
    }
    if settings.token.is_some() && !is_secured && !is_unix && !is_local(endpoint.uri().host().unwrap_or_default()) {
        return Err(Error::Setup(format!("a token would travel in the open to {address:?}: use tls")));
    }
    let endpoint = endpoint
        .connect_timeout(Duration::from_secs(5))
        .http2_keep_alive_interval(Duration::from_secs(10))
        .keep_alive_timeout(Duration::from_secs(5))
        .keep_alive_while_idle(true);
    if is_secured { secured(endpoint, settings).map_err(|error| bad(&error)) } else { Ok(endpoint) }
}

#[cfg(feature = "tls")]
fn uses_tls(address: &str, settings: &Settings) -> bool {
    settings.tls.is_some() || address.starts_with("https://")
}

#[cfg(not(feature = "tls"))]
fn uses_tls(address: &str, _: &Settings) -> bool {
    address.starts_with("https://")
}

#[cfg(feature = "tls")]
fn secured(endpoint: Endpoint, settings: &Settings) -> Result<Endpoint, String> {
    let default = || tonic::transport::ClientTlsConfig::new().with_native_roots();
    endpoint.tls_config(settings.tls.clone().unwrap_or_else(default)).map_err(|error| error.to_string())
}

#[cfg(not(feature = "tls"))]
fn secured(_: Endpoint, _: &Settings) -> Result<Endpoint, String> {
    Err("this client was built without the feature `tls`".to_owned())
}

/// Whether a host is this machine.
fn is_local(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare == "localhost" || bare.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}
