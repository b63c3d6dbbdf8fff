//! Between the model and the wire.

use bytes::Bytes;

use crate::digest::Flags;
use crate::model::{Action, Call, Finding, Outcome, Payload, Record, Verdict};
use crate::v1::{self, call, guard_request::Frame, outcome, record};

pub(crate) fn batch(calls: Vec<Call>, dry_run: bool) -> Frame {
    Frame::Calls(v1::CallBatch { calls: calls.into_iter().map(v1::Call::from).collect(), dry_run })
}

pub(crate) fn history(records: Vec<v1::Record>) -> Frame {
    Frame::History(v1::History { records })
}

impl From<Call> for v1::Call {
    fn from(call: Call) -> Self {
        let arguments = call.args.map(|args| match args {
            Payload::Json(json) => call::Arguments::ArgsJson(json),
            Payload::Digest(digest) => call::Arguments::ArgsDigest(digest.into()),
        });
        Self { call_id: call.call_id, tool: call.tool, arguments, action: call.action }
    }
}

impl From<Outcome> for v1::Outcome {
    fn from(outcome: Outcome) -> Self {
        let output = outcome.result.map(|result| match result {
            Payload::Json(json) => outcome::Output::ResultJson(json),
            Payload::Digest(digest) => outcome::Output::ResultDigest(digest.into()),
        });
        Self {
            call_id: outcome.call_id,
            status: outcome.status.into(),
            output,
            error_json: outcome.error,
            semantic_json: outcome.private,
        }
    }
}

impl From<Record> for v1::Record {
    fn from(record: Record) -> Self {
        recorded(&record.call.into(), &record.outcome.into())
    }
}

/// A call and its outcome put together.
pub(crate) fn recorded(call: &v1::Call, outcome: &v1::Outcome) -> v1::Record {
    v1::Record {
        tool: call.tool.clone(),
        arguments: call.arguments.clone().map(|arguments| match arguments {
            call::Arguments::ArgsJson(json) => record::Arguments::ArgsJson(json),
            call::Arguments::ArgsDigest(digest) => record::Arguments::ArgsDigest(digest),
        }),
        action: call.action.clone(),
        status: outcome.status,
        output: outcome.output.clone().map(|output| match output {
            outcome::Output::ResultJson(json) => record::Output::ResultJson(json),
            outcome::Output::ResultDigest(digest) => record::Output::ResultDigest(digest),
        }),
        error_json: outcome.error_json.clone(),
        semantic_json: outcome.semantic_json.clone(),
    }
}

/// What a call and its outcome take in memory, roughly.
pub(crate) fn payload_bytes(call: &v1::Call, outcome: Option<&v1::Outcome>) -> usize {
    let args = match &call.arguments {
        Some(call::Arguments::ArgsJson(json)) => json.len(),
        _ => 0,
    };
    let Some(outcome) = outcome else { return args };
    let result = match &outcome.output {
        Some(outcome::Output::ResultJson(json)) => json.len(),
        _ => 0,
    };
    args + result + outcome.error_json.len() + outcome.semantic_json.len()
}

impl From<v1::Verdict> for Verdict {
    fn from(verdict: v1::Verdict) -> Self {
        Self {
            action: known_action(&verdict),
            scope: Some(verdict.scope()).filter(|scope| *scope != v1::Scope::Unspecified),
            flags: verdict.flags().map(flag).collect(),
            call_id: verdict.call_id,
            finding: verdict.finding.map(Finding::from),
            note: verdict.note,
            blocked_by: verdict.blocked_by,
        }
    }
}

fn known_action(verdict: &v1::Verdict) -> Action {
    match v1::Action::try_from(verdict.action) {
        Ok(v1::Action::Allow) => Action::Allow,
        Ok(v1::Action::Warn) => Action::Warn,
        Ok(v1::Action::Block) => Action::Block,
        Ok(v1::Action::Abort) => Action::Abort,
        Ok(v1::Action::Unspecified) | Err(_) => {
            let (action, call_id) = (verdict.action, &verdict.call_id);
            tracing::warn!(
                action,
                call_id,
                "the guard answers an action that this client does not know; the call is allowed"
            );
            Action::Allow
        }
    }
}

fn flag(flag: v1::JsonFlag) -> Flags {
    match flag {
        v1::JsonFlag::Unspecified => Flags::empty(),
        v1::JsonFlag::Bigint => Flags::BIGINT,
        v1::JsonFlag::Overflow => Flags::OVERFLOW,
        v1::JsonFlag::DuplicateKey => Flags::DUPLICATE_KEY,
        v1::JsonFlag::Surrogate => Flags::SURROGATE,
        v1::JsonFlag::Opaque => Flags::OPAQUE,
    }
}

impl From<v1::Finding> for Finding {
    fn from(finding: v1::Finding) -> Self {
        Self {
            level: finding.level(),
            detector: finding.detector,
            count: finding.count,
            threshold: finding.threshold,
            paired_tool: finding.paired_tool,
            call_ids: finding.call_ids,
            args_digest: finding.args_digest,
            outcome_digest: finding.outcome_digest,
            stripped: finding.stripped,
            cleared_by: finding.cleared_by,
        }
    }
}

/// The bytes of a call's arguments that tell it from another one.
pub(crate) fn arguments_of(call: &v1::Call) -> (bool, Bytes) {
    match &call.arguments {
        Some(call::Arguments::ArgsJson(json)) => (false, json.clone()),
        Some(call::Arguments::ArgsDigest(digest)) => (true, digest.clone()),
        None => (false, Bytes::new()),
    }
}
