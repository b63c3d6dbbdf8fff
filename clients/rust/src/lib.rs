//! A client of loopguard, the service that tells an agent gateway, call by call, whether an agent is stuck.
//!
//! It keeps runs going through lost streams and servers, and decides by itself when the guard is away.
//!
//! ```no_run
//! use loopguard::{Call, Client, Outcome, RunOptions, Status};
//!
//! # async fn run() -> Result<(), loopguard::Error> {
//! let client = Client::new("127.0.0.1:50051")?;
//! let run = client.open_run("run-1", RunOptions::default().agent("coder")).await?;
//! let verdicts = run.judge([Call::new("exec", r#"{"command": "make"}"#)]).await?;
//! if verdicts[0].is_allowed() {
//!     run.report(Outcome::new(&verdicts[0].call_id, Status::Ok).with_result(r#""done""#)).await?;
//! }
//! run.close().await;
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod backoff;
mod client;
mod codec;
mod config;
mod connection;
pub mod digest;
mod error;
mod journal;
mod model;
mod options;
mod resume;
mod run;
mod session;
mod stream;

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
