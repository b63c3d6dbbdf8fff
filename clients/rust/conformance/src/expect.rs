//! What is expected of a step, and whether an answer has it.

use loopguard::{Finding, Flags, Level, Verdict};
use serde_json::{Map, Value, json};

use crate::json::{BadCase, bad, to_hex};

const VERDICT_KEYS: &[&str] = &["callId", "action", "finding", "note", "blockedBy", "scope", "flags", "error"];
const FINDING_KEYS: &[&str] = &[
    "detector",
    "level",
    "count",
    "threshold",
    "pairedTool",
    "callIds",
    "argsDigest",
    "outcomeDigest",
    "stripped",
    "clearedBy",
];

/// Reads what is expected of each repetition of a step: of a repeated one it is a list of [verdict, n].
pub fn parse_expected(text: &str, times: Option<usize>) -> Result<Vec<Value>, BadCase> {
    let entry: Value = serde_json::from_str(text).map_err(|error| bad!("`expect`: {error}"))?;
    let Some(times) = times else { return Ok(vec![entry]) };
    if entry.is_null() {
        return Ok(vec![Value::Null; times]);
    }
    let not_a_list = || bad!("what is expected of a repeated step must be a list of [verdict, n]");
    let mut expected = Vec::new();
    for run in entry.as_array().ok_or_else(not_a_list)? {
        let Some([verdict, count]) = run.as_array().map(Vec::as_slice) else { return Err(not_a_list()) };
        let count = count.as_u64().and_then(|count| usize::try_from(count).ok()).ok_or_else(not_a_list)?;
        if count < 1 || count > times {
            return Err(not_a_list());
        }
        expected.extend(std::iter::repeat_n(verdict.clone(), count));
    }
    if expected.len() == times {
        Ok(expected)
    } else {
        Err(bad!("`expect` is for {} repetitions of a step that is repeated {times} times", expected.len()))
    }
}

/// Refuses what could never be compared with an answer, to so many calls where it is calls that are asked about.
pub fn check_expected(expected: &Value, calls: Option<usize>) -> Result<(), BadCase> {
    match (expected, calls) {
        (Value::Array(entries), Some(calls)) if entries.len() == calls => entries.iter().try_for_each(check_verdict),
        (Value::Array(entries), Some(calls)) => {
            Err(bad!("`expect` has {} verdicts, the step {calls} calls", entries.len()))
        }
        _ => check_verdict(expected),
    }
}

pub fn check_letters(expected: &Value, records: usize) -> Result<(), BadCase> {
    if expected.is_null() {
        return Ok(());
    }
    let rows = expected.as_object().filter(|entry| entry.len() == 1).and_then(|entry| entry.get("equal"));
    let Some(rows) = rows.and_then(Value::as_object).filter(|rows| !rows.is_empty()) else {
        return Err(bad!("what is expected of `fingerprint` must be `equal` with `args` or `outcome`"));
    };
    for (key, row) in rows {
        let is_complete = row.as_array().is_some_and(|letters| letters.len() == records);
        if !is_complete || (key != "args" && key != "outcome") {
            return Err(bad!("`equal` must have a letter for each of {records} records under `args` or `outcome`"));
        }
    }
    Ok(())
}

fn check_verdict(expected: &Value) -> Result<(), BadCase> {
    let verdict = match expected {
        Value::Null => return Ok(()),
        Value::Object(verdict) => verdict,
        other => return Err(bad!("an expected verdict must be an object or null, not {other}")),
    };
    check_keys(verdict, VERDICT_KEYS)?;
    match verdict.get("finding") {
        None | Some(Value::Null) => {}
        Some(Value::Object(finding)) => check_keys(finding, FINDING_KEYS)?,
        Some(_) => return Err(bad!("`finding` must be an object")),
    }
    if let Some(refused) = verdict.get("error")
        && !refused.as_object().is_some_and(|refused| refused.len() == 1 && refused.contains_key("reason"))
    {
        return Err(bad!("`error` must be an object with `reason`"));
    }
    let flags = verdict.get("flags").and_then(Value::as_array).into_iter().flatten();
    match flags.into_iter().find(|flag| flag.as_str().and_then(Flags::from_name).is_none()) {
        Some(flag) => Err(bad!("an expected verdict has the flag {flag}, which is not known")),
        None => Ok(()),
    }
}

fn check_keys(fields: &Map<String, Value>, known: &[&str]) -> Result<(), BadCase> {
    match fields.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(bad!("an expected verdict has `{key}`, which is not known")),
        None => Ok(()),
    }
}

/// Whether an answer has all that is expected of it; null under a name says that the name is absent.
pub fn matches(expected: &Value, got: &Value) -> bool {
    match (expected, got) {
        (Value::Null, _) => true,
        (Value::Array(entries), Value::Array(list)) => {
            entries.len() == list.len() && entries.iter().zip(list).all(|(entry, got)| matches(entry, got))
        }
        (Value::Object(_), Value::Array(list)) if list.len() == 1 => matches(expected, &list[0]),
        (Value::Object(wanted), Value::Object(fields)) => {
            wanted.iter().all(|(key, wanted)| member_matches(key, wanted, fields.get(key).unwrap_or(&Value::Null)))
        }
        _ => false,
    }
}

fn member_matches(key: &str, wanted: &Value, got: &Value) -> bool {
    match (key, wanted) {
        (_, Value::Object(_)) => matches(wanted, got),
        ("action", Value::Array(actions)) => actions.contains(got),
        ("flags", _) => flags_of(wanted) == flags_of(got),
        _ => is_equal(wanted, got),
    }
}

/// Whether two values are the same; 20 and 20.0 are.
fn is_equal(a: &Value, b: &Value) -> bool {
    if a.is_number() && b.is_number() { a.as_f64() == b.as_f64() } else { a == b }
}

fn flags_of(names: &Value) -> Option<Flags> {
    match names {
        Value::Null => Some(Flags::empty()),
        Value::Array(names) => names.iter().map(|name| name.as_str().and_then(Flags::from_name)).collect(),
        _ => None,
    }
}

/// A verdict as a vector writes it.
pub fn verdict_fields(verdict: &Verdict) -> Value {
    let mut fields = Map::new();
    fields.insert("callId".to_owned(), json!(verdict.call_id));
    fields.insert("action".to_owned(), json!(verdict.action.as_str()));
    if let Some(finding) = &verdict.finding {
        fields.insert("finding".to_owned(), finding_fields(finding));
    }
    if let Some(scope) = verdict.scope {
        fields.insert("scope".to_owned(), json!(scope.as_str_name().trim_start_matches("SCOPE_")));
    }
    if !verdict.flags.is_empty() {
        fields.insert("flags".to_owned(), verdict.flags.names().collect());
    }
    set(&mut fields, "note", &verdict.note);
    set(&mut fields, "blockedBy", &verdict.blocked_by);
    Value::Object(fields)
}

fn finding_fields(finding: &Finding) -> Value {
    let level = match finding.level {
        Level::Warning => "warning",
        Level::Critical => "critical",
        Level::Unspecified => "",
    };
    let mut fields = Map::new();
    fields.insert("count".to_owned(), json!(finding.count));
    fields.insert("threshold".to_owned(), json!(finding.threshold));
    set(&mut fields, "detector", &finding.detector);
    set(&mut fields, "level", level);
    set(&mut fields, "pairedTool", &finding.paired_tool);
    set(&mut fields, "argsDigest", &to_hex(&finding.args_digest));
    set(&mut fields, "outcomeDigest", &to_hex(&finding.outcome_digest));
    set(&mut fields, "clearedBy", &finding.cleared_by);
    for (key, list) in [("callIds", &finding.call_ids), ("stripped", &finding.stripped)] {
        if !list.is_empty() {
            fields.insert(key.to_owned(), json!(list));
        }
    }
    Value::Object(fields)
}

fn set(fields: &mut Map<String, Value>, key: &str, text: &str) {
    if !text.is_empty() {
        fields.insert(key.to_owned(), json!(text));
    }
}
