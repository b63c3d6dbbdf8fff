//! What can go wrong.

use std::fmt;

use tonic::Code;
use tonic_types::{ErrorDetails, RpcStatusExt, StatusExt};

/// What is wrong. A block is a verdict, never an error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The caller's mistake in one frame; the run goes on as if it had not come.
    #[error("invalid frame{0}")]
    InvalidFrame(Refusal),
    /// A configuration that is refused; [`Refusal::key`] names the key.
    #[error("invalid configuration{0}")]
    InvalidConfig(Refusal),
    /// The guard refuses the run, or has it no longer for this client.
    #[error("run refused{0}")]
    RunRefused(Refusal),
    /// The guard could not answer. Unless waiting is asked for, calls are decided instead.
    #[error("guard unavailable{0}")]
    Unavailable(Refusal),
    /// The run was closed.
    #[error("run {0:?} is closed")]
    Closed(String),
    /// A client that can't be set up: a bad address, or a token that would travel in the open.
    #[error("{0}")]
    Setup(String),
}

/// Why something was refused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// The wire's ErrorReason without its prefix, such as `UNKNOWN_CALL`.
    pub reason: String,
    /// The mistake in a configuration.
    pub key: Option<String>,
    /// What is wrong and where.
    pub message: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.reason.is_empty() {
            write!(f, " ({})", self.reason)?;
        }
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        Ok(())
    }
}

/// The reasons that the client looks at or gives itself.
pub(crate) mod reason {
    pub const INVALID_FRAME: &str = "INVALID_FRAME";
    pub const DUPLICATE_CALL: &str = "DUPLICATE_CALL";
    pub const EMPTY_TOOL: &str = "EMPTY_TOOL";
    pub const TOO_LARGE: &str = "TOO_LARGE";
    pub const TOO_MANY_CALLS: &str = "TOO_MANY_CALLS";
    pub const INVALID_CONFIG: &str = "INVALID_CONFIG";
    pub const SHUTTING_DOWN: &str = "SHUTTING_DOWN";
}

impl Error {
    /// Why, where the guard or the client told a reason.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::InvalidFrame(refusal)
            | Self::InvalidConfig(refusal)
            | Self::RunRefused(refusal)
            | Self::Unavailable(refusal) => Some(refusal),
            Self::Closed(_) | Self::Setup(_) => None,
        }
    }

    pub(crate) fn invalid_frame(reason: &str, message: impl Into<String>) -> Self {
        Self::InvalidFrame(Refusal { reason: reason.to_owned(), key: None, message: message.into() })
    }

    pub(crate) fn invalid_config(key: &str, message: impl Into<String>) -> Self {
        let reason = reason::INVALID_CONFIG.to_owned();
        Self::InvalidConfig(Refusal { reason, key: Some(key.to_owned()), message: message.into() })
    }

    pub(crate) fn unavailable(message: &str) -> Self {
        Self::Unavailable(Refusal { message: message.to_owned(), ..Refusal::default() })
    }
}

/// Which mistake a reason is; one that is not known refuses the run.
pub(crate) fn classify(refusal: Refusal) -> Error {
    match refusal.reason.as_str() {
        reason::INVALID_FRAME
        | "UNKNOWN_CALL"
        | reason::DUPLICATE_CALL
        | reason::EMPTY_TOOL
        | reason::TOO_LARGE
        | reason::TOO_MANY_CALLS => Error::InvalidFrame(refusal),
        reason::INVALID_CONFIG => Error::InvalidConfig(refusal),
        "INTERNAL" | "ANSWER_EXPIRED" => Error::Unavailable(refusal),
        _ => Error::RunRefused(refusal),
    }
}

/// Why a frame or a run was refused.
pub(crate) fn refusal_of(status: Option<&tonic_types::Status>) -> Refusal {
    let Some(status) = status else { return Refusal::default() };
    read(&status.get_error_details(), Code::from(status.code), &status.message)
}

/// Why a stream ended.
pub(crate) fn stream_refusal(status: &tonic::Status) -> Refusal {
    read(&status.get_error_details(), status.code(), status.message())
}

fn read(details: &ErrorDetails, code: Code, message: &str) -> Refusal {
    let info = details.error_info().filter(|info| info.domain == "loopguard");
    let violation = details.bad_request().and_then(|bad| bad.field_violations.first());
    Refusal {
        reason: info.map_or_else(|| code_name(code), |info| info.reason.clone()),
        key: violation.map(|violation| violation.field.clone()),
        message: message.to_owned(),
    }
}

/// How the wire calls a code.
fn code_name(code: Code) -> String {
    let mut name = String::new();
    for c in format!("{code:?}").chars() {
        if c.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(c.to_ascii_uppercase());
    }
    name
}

/// Whether trying again is of no use after a stream that ended so.
pub(crate) fn is_final(code: Code) -> bool {
    matches!(
        code,
        Code::InvalidArgument
            | Code::PermissionDenied
            | Code::FailedPrecondition
            | Code::Aborted
            | Code::Unimplemented
            | Code::Unauthenticated
    )
}
