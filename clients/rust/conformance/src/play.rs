//! Plays detection vectors over the stream.

use std::collections::HashMap;
use std::time::Duration;

use loopguard::{Client, Error, OnUnavailable, Outcome, Run, Verdict, parse_config};
use serde_json::{Value, json};

use crate::expect::{matches, verdict_fields};
use crate::frame::Frame;
use crate::json::{BadCase, Object};
use crate::runner::{self, Runner};
use crate::vector::{Act, Step, Vector};

/// How long one vector may take.
const CASE_TIME: Duration = Duration::from_secs(60);

/// A client. What it decides by itself is no answer that a case expects.
pub fn connect(address: &str) -> Result<Client, Error> {
    Client::builder(address).deadline(CASE_TIME).on_unavailable(OnUnavailable::Block).build()
}

/// Runs a case and returns what differs.
pub async fn run(runner: &Runner, case: &Object<'_>) -> Result<runner::Outcome, BadCase> {
    let vector = Vector::parse(case)?;
    if vector.needs_server {
        return Ok(runner::Outcome::LeftOut);
    }
    let mut player = Player { client: runner.client().await?, vector: &vector, runs: HashMap::new() };
    let problems = match tokio::time::timeout(CASE_TIME, player.play()).await {
        Ok(problems) => problems,
        Err(_) => vec![format!("no end in {} s", CASE_TIME.as_secs())],
    };
    for run in player.runs.values() {
        run.close().await;
    }
    Ok(runner::Outcome::Ran(problems))
}

struct Player<'a> {
    client: &'a Client,
    vector: &'a Vector<'a>,
    runs: HashMap<String, Run>,
}

impl Player<'_> {
    async fn play(&mut self) -> Vec<String> {
        let opened = self.open(&self.vector.run_id).await.map(drop);
        match (opened, &self.vector.refused_key) {
            (Ok(()), None) => {}
            (Ok(()), Some(key)) => return vec![format!("expected a refusal of {key:?}, but the run was opened")],
            (Err(Error::InvalidConfig(refusal)), Some(key)) if refusal.key.as_ref() == Some(key) => return Vec::new(),
            (Err(error), _) => return vec![format!("the run was not opened: {error}")],
        }
        let mut problems = Vec::new();
        for (index, step) in self.vector.steps.iter().enumerate() {
            if let Err(error) = self.step(index, step, &mut problems).await {
                problems.push(format!("step {index}: {error}"));
                break;
            }
        }
        problems
    }

    async fn open(&mut self, run_id: &str) -> Result<&Run, Error> {
        if !self.runs.contains_key(run_id) {
            let mut options = self.vector.options.clone();
            if let Some(text) = self.vector.config {
                options = options.config(parse_config(text.as_bytes())?);
            }
            let run = self.client.open_run(run_id, options).await?;
            self.runs.insert(run_id.to_owned(), run);
        }
        Ok(&self.runs[run_id])
    }

    async fn step(&mut self, index: usize, step: &Step, problems: &mut Vec<String>) -> Result<(), Error> {
        let run = self.open(&step.run_id).await?;
        for (repetition, (act, expected)) in step.acts.iter().zip(&step.expected).enumerate() {
            let got = act.play(run).await?;
            if !matches(expected, &got) {
                problems.push(format!("step {index}, repetition {repetition}: expected {expected}, got {got}"));
            }
        }
        Ok(())
    }
}

impl Act {
    /// Does what a step says and returns the answer as a vector writes it.
    async fn play(&self, run: &Run) -> Result<Value, Error> {
        let (frame, outcome) = match self {
            Self::Send(frame) => (frame, None),
            Self::Play(frame, outcome) => (frame, Some(outcome)),
            Self::Compare => return Ok(Value::Null),
        };
        let verdicts = match frame.clone().send(run).await {
            Ok(verdicts) => verdicts,
            Err(Error::InvalidFrame(refusal) | Error::InvalidConfig(refusal)) => {
                return Ok(json!({"error": {"reason": refusal.reason}}));
            }
            Err(error) => return Err(error),
        };
        if let Some(outcome) = outcome {
            report(run, outcome, &verdicts).await?;
        }
        let answers: Vec<Value> = verdicts.iter().map(verdict_fields).collect();
        match (frame, answers.as_slice()) {
            (Frame::Outcome(_), [answer]) => Ok(answer.clone()),
            _ => Ok(Value::Array(answers)),
        }
    }
}

/// Tells the outcome of the calls that may run; of the first one only where the outcome names its call.
async fn report(run: &Run, outcome: &Outcome, verdicts: &[Verdict]) -> Result<(), Error> {
    for verdict in verdicts.iter().filter(|verdict| verdict.is_allowed()) {
        if !outcome.call_id.is_empty() {
            return run.report(outcome.clone()).await.map(drop);
        }
        run.report(Outcome { call_id: verdict.call_id.clone(), ..outcome.clone() }).await?;
    }
    Ok(())
}
