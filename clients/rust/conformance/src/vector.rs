//! Detection vectors: runs, what is done in them, and what is expected.

use loopguard::{Mode, Outcome, RunOptions};
use serde_json::Value;

use crate::expect::{check_expected, check_letters, parse_expected};
use crate::frame::{Frame, parse_outcome, parse_records};
use crate::json::{BadCase, Object, bad, parse_array};
use crate::sugar::spell_out;

const KEYS: &[&str] = &[
    "agentId",
    "config",
    "configFile",
    "digestScheme",
    "expect",
    "expectError",
    "mode",
    "name",
    "parentRunId",
    "profile",
    "rule",
    "runId",
    "steps",
];

/// A detection vector.
pub struct Vector<'a> {
    pub run_id: String,
    /// The configuration's text.
    pub config: Option<&'a str>,
    pub options: RunOptions,
    /// The key for which the run is to be refused.
    pub refused_key: Option<String>,
    /// It has a configuration file, or compares digests of records.
    pub needs_server: bool,
    pub steps: Vec<Step>,
}

/// What is done, once for each repetition, and what is expected each time; null is not asserted.
pub struct Step {
    pub run_id: String,
    pub acts: Vec<Act>,
    pub expected: Vec<Value>,
}

pub enum Act {
    Send(Frame),
    /// Calls with the outcome of those that are not blocked.
    Play(Frame, Outcome),
    /// Records are compared.
    Compare,
}

impl<'a> Vector<'a> {
    pub fn parse(fields: &Object<'a>) -> Result<Self, BadCase> {
        fields.check(KEYS)?;
        let name = fields.text("name")?.unwrap_or_default();
        let run_id = fields.text("runId")?.unwrap_or_else(|| name.clone());
        let steps = parse_steps(fields, &run_id)?;
        let refused_key = match fields.get("expectError") {
            None => None,
            Some(text) => {
                let refused = Object::parse_known(text, "`expectError`", &["key"])?;
                refused.require("key")?;
                refused.text("key")?
            }
        };
        if steps.is_empty() != refused_key.is_some() {
            return Err(bad!("a vector has either steps or `expectError`"));
        }
        let compares = steps.iter().flat_map(|step| &step.acts).any(|act| matches!(act, Act::Compare));
        Ok(Self {
            run_id,
            config: fields.get("config"),
            options: parse_options(fields)?,
            refused_key,
            needs_server: fields.get("configFile").is_some() || compares,
            steps,
        })
    }
}

/// What the runs are opened with, but for the configuration.
fn parse_options(fields: &Object<'_>) -> Result<RunOptions, BadCase> {
    let mut options = RunOptions::default()
        .agent(fields.text("agentId")?.unwrap_or_default())
        .parent_run(fields.text("parentRunId")?.unwrap_or_default())
        .profile(fields.text("profile")?.unwrap_or_default());
    if let Some(name) = fields.text("mode")? {
        let mode = Mode::from_str_name(&format!("MODE_{name}")).filter(|mode| *mode != Mode::Unspecified);
        options = options.mode(mode.ok_or_else(|| bad!("`mode` is `{name}`, which is not known"))?);
    }
    if let Some(text) = fields.get("digestScheme") {
        let scheme = text.parse().map_err(|_| bad!("`digestScheme` must be a whole number"))?;
        options = options.digest_scheme(scheme);
    }
    Ok(options)
}

fn parse_steps(fields: &Object<'_>, run_id: &str) -> Result<Vec<Step>, BadCase> {
    let steps = parse_array(fields.get("steps"), "`steps`")?;
    let expected = parse_array(fields.get("expect"), "`expect`")?;
    if steps.len() != expected.len() {
        return Err(bad!("`expect` must have one entry for each of {} steps", steps.len()));
    }
    let pairs = steps.into_iter().zip(expected).enumerate();
    pairs
        .map(|(index, (text, expected))| {
            parse_step(text, expected, run_id).map_err(|BadCase(problem)| bad!("step {index}: {problem}"))
        })
        .collect()
}

fn parse_step(text: &str, expected: &str, run_id: &str) -> Result<Step, BadCase> {
    let fields = Object::parse(text, "a step")?;
    let times: Option<usize> = match fields.get("repeat") {
        None => None,
        Some(text) => match text.parse() {
            Ok(times @ 1..) => Some(times),
            _ => return Err(bad!("`repeat` must be a whole number of at least 1")),
        },
    };
    let expected = parse_expected(expected, times)?;
    let acts: Result<Vec<Act>, BadCase> = expected
        .iter()
        .enumerate()
        .map(|(index, expected)| parse_act(&fields, times.map(|_| index), expected))
        .collect();
    Ok(Step { run_id: fields.text("runId")?.unwrap_or_else(|| run_id.to_owned()), acts: acts?, expected })
}

/// Reads what a step does, in one repetition of one that is repeated.
fn parse_act(fields: &Object<'_>, repetition: Option<usize>, expected: &Value) -> Result<Act, BadCase> {
    let own = fields.members.iter().filter(|(key, _)| key != "runId" && key != "repeat");
    let spelled: Vec<(String, String)> = own
        .map(|(key, value)| match repetition {
            Some(index) => (key.clone(), spell_out(value, index)),
            None => (key.clone(), (*value).to_owned()),
        })
        .collect();
    let members = spelled.iter().map(|(key, value)| (key.clone(), value.as_str())).collect();
    let step = Object { what: "a step", members };
    if let Some(text) = step.get("fingerprint") {
        step.check(&["fingerprint"])?;
        check_letters(expected, parse_records(text)?.len())?;
        return Ok(Act::Compare);
    }
    let Some(run) = step.get("run") else {
        let frame = Frame::parse(&step)?;
        check_expected(expected, frame.calls())?;
        return Ok(Act::Send(frame));
    };
    step.check(&["run", "outcome"])?;
    let frame = Frame::parse(&Object::parse(run, "`run`")?)?;
    if !matches!(frame, Frame::Calls(_)) {
        return Err(bad!("`run` must be a frame with `calls`"));
    }
    check_expected(expected, frame.calls())?;
    Ok(Act::Play(frame, parse_outcome(step.require("outcome")?)?))
}
