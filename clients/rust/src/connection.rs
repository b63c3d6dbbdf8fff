//! Connections by endpoint.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Channel, Endpoint};

use crate::error::Error;
use crate::options::Settings;

/// The client's connections: one to its own address, and those to nodes that runs were sent to, each as long as a run
/// uses it.
pub(crate) struct Connections {
    settings: Arc<Settings>,
    endpoint: Endpoint,
    /// Made by the first run, since a channel needs the run-time that it will live in.
    channel: OnceLock<Channel>,
    elsewhere: Mutex<HashMap<String, Weak<Channel>>>,
    authorization: Option<MetadataValue<Ascii>>,
}

impl Connections {
    pub fn new(address: &str, settings: Arc<Settings>) -> Result<Self, Error> {
        let authorization = settings.token.as_ref().map(|token| bearer(token)).transpose()?;
        let endpoint = endpoint_of(address, &settings)?;
        let (channel, elsewhere) = (OnceLock::new(), Mutex::default());
        Ok(Self { settings, endpoint, channel, elsewhere, authorization })
    }

    /// The connection to a node, or to the client's own address. It is closed when nobody has it any more.
    pub fn to(&self, node: Option<&str>) -> Result<Arc<Channel>, Error> {
        let Some(node) = node else {
            return Ok(Arc::new(self.channel.get_or_init(|| self.endpoint.connect_lazy()).clone()));
        };
        let mut elsewhere = self.elsewhere.lock().unwrap_or_else(PoisonError::into_inner);
        elsewhere.retain(|_, channel| channel.strong_count() > 0);
        if let Some(channel) = elsewhere.get(node).and_then(Weak::upgrade) {
            return Ok(channel);
        }
        let channel = Arc::new(endpoint_of(node, &self.settings)?.connect_lazy());
        elsewhere.insert(node.to_owned(), Arc::downgrade(&channel));
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
