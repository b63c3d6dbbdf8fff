#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod backoff;
mod client;
mod codec;
mod config;
mod connection;
mod decide;
pub mod digest;
mod entry;
mod error;
mod journal;
mod model;
mod options;
mod resume;
mod run;
mod session;
mod stream;
#[cfg(test)]
mod tests;

/// The generated stubs, for `Fingerprint` and `Watch` too.
#[allow(clippy::all, missing_docs)]
#[rustfmt::skip]
#[path = "generated/loopguard.v1.rs"]
pub mod v1;

pub use client::{Client, ClientBuilder};
pub use config::parse_config;
pub use digest::{Digest, Flags};
pub use error::{Error, Refusal};
pub use model::{Action, Call, Finding, Level, Mode, Outcome, Payload, Record, Scope, Status, Verdict};
pub use options::{OnUnavailable, RunOptions};
pub use run::Run;
#[cfg(feature = "tls")]
pub use tonic::transport::{Certificate, ClientTlsConfig, Identity};
