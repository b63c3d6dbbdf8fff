//! Calls, outcomes and verdicts.

use std::fmt;

use bytes::Bytes;

use crate::digest::{Digest, Flags};
pub use crate::v1::{Level, Mode, Scope, Status};

/// JSON text, or its digest in place of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payload {
    /// JSON text. What is no JSON is judged as opaque bytes.
    Json(Bytes),
    /// The digest of the canonical value.
    Digest(Digest),
}

impl<T: Into<Bytes>> From<T> for Payload {
    fn from(json: T) -> Self {
        Self::Json(json.into())
    }
}

/// A tool call about to run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Call {
    /// The tool's name.
    pub tool: String,
    /// The arguments; `None` for `{}`.
    pub args: Option<Payload>,
    /// Names the call within the run. Calls without one are numbered `c1`, `c2`, …
    pub call_id: String,
    /// Tells polls and sends apart where the arguments come as a digest.
    pub action: String,
}

impl Call {
    /// A call of a tool with arguments as JSON.
    pub fn new(tool: impl Into<String>, args: impl Into<Bytes>) -> Self {
        Self { tool: tool.into(), args: Some(Payload::Json(args.into())), ..Self::default() }
    }

    /// Names the call within the run.
    #[must_use]
    pub fn with_id(mut self, call_id: impl Into<String>) -> Self {
        self.call_id = call_id.into();
        self
    }

    /// The call with a digest in place of its arguments.
    #[must_use]
    pub fn hashed(mut self) -> Self {
        let json = match self.args {
            Some(Payload::Digest(_)) => return self,
            Some(Payload::Json(json)) => json,
            None => Bytes::new(),
        };
        if self.action.is_empty() {
            self.action = action_of(&json);
        }
        self.args = Some(Payload::Digest(Digest::of_arguments(&self.tool, &json)));
        self
    }
}

/// The argument that tells polls and sends apart.
fn action_of(args: &[u8]) -> String {
    match serde_json::from_slice(args) {
        Ok(serde_json::Value::Object(members)) => {
            members.get("action").and_then(|v| v.as_str()).unwrap_or("").to_owned()
        }
        _ => String::new(),
    }
}

/// How a call ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Names the call; empty for the oldest admitted call without outcome.
    pub call_id: String,
    /// How it ended.
    pub status: Status,
    /// What the tool returned. A digest is only compared with other such digests.
    pub result: Option<Payload>,
    /// The error as JSON; a message is a JSON string.
    pub error: Bytes,
    /// An outcome that stands for the result in comparisons, as JSON.
    pub private: Bytes,
}

impl Outcome {
    /// The outcome of a call.
    pub fn new(call_id: impl Into<String>, status: Status) -> Self {
        Self { call_id: call_id.into(), status, ..Self::default() }
    }

    /// What the tool returned, as JSON.
    #[must_use]
    pub fn with_result(mut self, json: impl Into<Bytes>) -> Self {
        self.result = Some(Payload::Json(json.into()));
        self
    }

    /// The error as JSON; a message is a JSON string.
    #[must_use]
    pub fn with_error(mut self, json: impl Into<Bytes>) -> Self {
        self.error = json.into();
        self
    }

    /// The outcome with a digest in place of its result.
    #[must_use]
    pub fn hashed(mut self) -> Self {
        if let Some(Payload::Json(json)) = &self.result
            && !json.is_empty()
        {
            self.result = Some(Payload::Digest(Digest::of(json)));
        }
        self
    }
}

/// A call that already happened, with its outcome; the call ids are not used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// The call.
    pub call: Call,
    /// How it ended.
    pub outcome: Outcome,
}

/// What to do with a call. An action that this client does not know is taken as [`Action::Allow`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Action {
    /// Run it.
    #[default]
    Allow,
    /// Run it, then append the note to its result.
    Warn,
    /// Don't run it; give the note to the model as the call's error result.
    Block,
    /// Stop the turn or the run, as the scope says.
    Abort,
}

impl Action {
    /// The action's name on the wire, without its prefix.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "ALLOW",
            Self::Warn => "WARN",
            Self::Block => "BLOCK",
            Self::Abort => "ABORT",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What the guard says of a call or of an outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    /// Names the call.
    pub call_id: String,
    /// What to do.
    pub action: Action,
    /// Why; `None` where there is nothing to say.
    pub finding: Option<Finding>,
    /// Text for the model. It never quotes arguments or results.
    pub note: String,
    /// The call for whose sake this one was blocked.
    pub blocked_by: String,
    /// What an abort ends.
    pub scope: Option<Scope>,
    /// What was odd about the JSON: of the arguments for a call, of the result for an outcome.
    pub flags: Flags,
}

impl Verdict {
    /// Whether the call may run.
    pub fn is_allowed(&self) -> bool {
        matches!(self.action, Action::Allow | Action::Warn)
    }
}

/// What a detector says, with its evidence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// Names the detector.
    pub detector: String,
    /// How sure it is.
    pub level: Level,
    /// What was counted.
    pub count: u32,
    /// The count from which on the detector speaks.
    pub threshold: u32,
    /// The other tool of a ping-pong.
    pub paired_tool: String,
    /// The calls that count, oldest first; records of a history have none.
    pub call_ids: Vec<String>,
    /// The digest of the arguments that repeat; empty where they vary.
    pub args_digest: Bytes,
    /// The digest of the outcome that repeats; empty where there is none.
    pub outcome_digest: Bytes,
    /// The kinds of volatile text that were left out to find outcomes equal.
    pub stripped: Vec<String>,
    /// What would end the finding.
    pub cleared_by: String,
}
