//! Runs a shell command again and again, as a stuck agent would, until loopguard blocks it.
//!
//! ```text
//! command_loop [HOST:PORT] COMMAND
//! ```
//!
//! It exits with 1 if nobody stopped it.

use std::error::Error;
use std::process::Command;

use loopguard::v1::LoopDetectionConfig;
use loopguard::{Call, Client, Outcome, Run, RunOptions, Status};
use serde_json::json;

/// Nobody runs a command more often than this.
const MOST: usize = 100;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let command = arguments.pop().ok_or("usage: command_loop [HOST:PORT] COMMAND")?;
    let default = || std::env::var("LOOPGUARD_ADDRESS").unwrap_or_else(|_| "127.0.0.1:50051".to_owned());
    let address = arguments.pop().unwrap_or_else(default);

    let client = Client::new(&address)?;
    let config = LoopDetectionConfig { enabled: Some(true), ..LoopDetectionConfig::default() };
    let run =
        client.open_run(format!("command-loop-{}", std::process::id()), RunOptions::default().config(config)).await?;
    if run.opened().is_none() {
        return Err(format!("no guard answers at {address}").into());
    }
    let stopped = repeat(&run, &command).await;
    run.close().await;
    stopped
}

async fn repeat(run: &Run, command: &str) -> Result<(), Box<dyn Error>> {
    let args = json!({ "command": command }).to_string();
    for n in 1..=MOST {
        let verdicts = run.judge([Call::new("exec", args.clone())]).await?;
        let verdict = verdicts.first().ok_or("no verdict")?;
        if !verdict.is_allowed() {
            println!("{n}: {}\n{}", verdict.action, verdict.note);
            return Ok(());
        }
        // The run's own task goes on meanwhile.
        let (call_id, command) = (verdict.call_id.clone(), command.to_owned());
        let outcome = tokio::task::spawn_blocking(move || execute(&call_id, &command)).await?;
        println!("{n}: {}, {} {}", verdict.action, outcome.status.as_str_name(), verdict.note);
        run.report(outcome).await?;
    }
    Err(format!("nobody stopped it in {MOST} runs").into())
}

/// Runs a shell command and returns its outcome.
fn execute(call_id: &str, command: &str) -> Outcome {
    let output = match Command::new("/bin/sh").args(["-c", command]).output() {
        Ok(output) => output,
        Err(error) => return Outcome::new(call_id, Status::Error).with_error(json!(error.to_string()).to_string()),
    };
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let result = json!({
        "content": [{ "type": "text", "text": text }],
        "details": { "status": "completed", "exitCode": output.status.code(), "aggregated": text },
    });
    Outcome::new(call_id, Status::Ok).with_result(result.to_string())
}
