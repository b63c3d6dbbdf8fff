//! Frames of a run as they stand in a trace.

use loopguard::{Call, Digest, Error, Outcome, Payload, Record, Run, Status, Verdict};

use crate::json::{BadCase, Object, bad, parse_array};

const CALL_KEYS: &[&str] = &["action", "args", "argsDigest", "callId", "tool"];
const OUTCOME_KEYS: &[&str] = &["callId", "error", "private", "result", "resultDigest", "status"];
const RECORD_KEYS: &[&str] =
    &["action", "args", "argsDigest", "error", "private", "result", "resultDigest", "status", "tool"];
const KINDS: &[&str] = &["calls", "check", "outcome", "history", "userMessage", "compactionRetry", "close"];

/// One frame of a run, ready to be sent.
#[derive(Debug, Clone)]
pub enum Frame {
    Calls(Vec<Call>),
    Check(Vec<Call>),
    Outcome(Outcome),
    History(Vec<Record>),
    UserMessage,
    CompactionRetry,
    Close,
}

impl Frame {
    /// Reads a frame; `at` is checked, the client stamps its own.
    pub fn parse(fields: &Object<'_>) -> Result<Self, BadCase> {
        if let Some(at) = fields.get("at")
            && serde_json::from_str::<f64>(at).is_err()
        {
            return Err(bad!("`at` must be a number of seconds"));
        }
        let mut members = fields.members.iter().filter(|(key, _)| key != "at");
        match (members.next(), members.next()) {
            (Some((kind, text)), None) if KINDS.contains(&kind.as_str()) => Self::parse_kind(kind, text),
            _ => Err(bad!("{} must have exactly one of {}", fields.what, KINDS.join(", "))),
        }
    }

    fn parse_kind(kind: &str, text: &str) -> Result<Self, BadCase> {
        match kind {
            "calls" => parse_calls(text).map(Self::Calls),
            "check" => parse_calls(text).map(Self::Check),
            "outcome" => parse_outcome(text).map(Self::Outcome),
            "history" => parse_records(text).map(Self::History),
            _ => {
                Object::parse_known(text, "a signal", &[])?;
                Ok(match kind {
                    "userMessage" => Self::UserMessage,
                    "compactionRetry" => Self::CompactionRetry,
                    _ => Self::Close,
                })
            }
        }
    }

    /// How many calls are asked about.
    pub fn calls(&self) -> Option<usize> {
        match self {
            Self::Calls(calls) | Self::Check(calls) => Some(calls.len()),
            _ => None,
        }
    }

    /// Sends the frame and returns the verdicts that answer it: none for what carries no question.
    pub async fn send(self, run: &Run) -> Result<Vec<Verdict>, Error> {
        match self {
            Self::Calls(calls) => return run.judge(calls).await,
            Self::Check(calls) => return run.check(calls).await,
            Self::Outcome(outcome) => return Ok(vec![run.report(outcome).await?]),
            Self::History(records) => run.record(records).await?,
            Self::UserMessage => run.user_message().await?,
            Self::CompactionRetry => run.compaction_retry().await?,
            Self::Close => run.close().await,
        }
        Ok(Vec::new())
    }
}

fn parse_calls(text: &str) -> Result<Vec<Call>, BadCase> {
    let items = parse_array(Some(text), "`calls`")?;
    items.into_iter().map(|item| parse_call(&Object::parse_known(item, "a call", CALL_KEYS)?)).collect()
}

fn parse_call(fields: &Object<'_>) -> Result<Call, BadCase> {
    fields.require("tool")?;
    Ok(Call {
        tool: fields.text("tool")?.unwrap_or_default(),
        args: payload(fields, "args", "argsDigest")?,
        call_id: fields.text("callId")?.unwrap_or_default(),
        action: fields.text("action")?.unwrap_or_default(),
    })
}

pub fn parse_outcome(text: &str) -> Result<Outcome, BadCase> {
    ending(&Object::parse_known(text, "an outcome", OUTCOME_KEYS)?)
}

/// Reads how a call ended, from an outcome or a record.
fn ending(fields: &Object<'_>) -> Result<Outcome, BadCase> {
    let status = match fields.text("status")? {
        None => Status::Unspecified,
        Some(name) => Status::from_str_name(&format!("STATUS_{name}"))
            .filter(|status| *status != Status::Unspecified)
            .ok_or_else(|| bad!("`status` is `{name}`, which is not known"))?,
    };
    let bytes = |key| fields.get(key).map(str::to_owned).unwrap_or_default().into();
    Ok(Outcome {
        call_id: fields.text("callId")?.unwrap_or_default(),
        status,
        result: payload(fields, "result", "resultDigest")?,
        error: bytes("error"),
        private: bytes("private"),
    })
}

pub fn parse_records(text: &str) -> Result<Vec<Record>, BadCase> {
    let items = parse_array(Some(text), "`history`")?;
    let parse = |item| {
        let fields = Object::parse_known(item, "a record", RECORD_KEYS)?;
        Ok(Record { call: parse_call(&fields)?, outcome: ending(&fields)? })
    };
    items.into_iter().map(parse).collect()
}

/// A value with its exact text, or the digest that stands in place of it.
fn payload(fields: &Object<'_>, key: &str, digest_key: &str) -> Result<Option<Payload>, BadCase> {
    match (fields.get(key), fields.get(digest_key)) {
        (Some(_), Some(_)) => Err(bad!("`{key}` and `{digest_key}` exclude each other")),
        (Some(text), None) => Ok(Some(Payload::from(text.to_owned()))),
        (None, Some(_)) => {
            let bytes = fields.hex(digest_key)?;
            let digest = bytes.try_into().map_err(|_| bad!("`{digest_key}` must be 32 hex digits"))?;
            Ok(Some(Payload::Digest(Digest(digest))))
        }
        (None, None) => Ok(None),
    }
}
