//! Runs the vectors of conformance/ against the client for Rust: canonical form and digests, the messages of the wire,
//! and detection over a stream to the server at `LOOPGUARD_ADDRESS`.
//!
//! ```text
//! loopguard-conformance FILE…
//! ```
//!
//! It exits with 1 if a case failed, and with 2 for a file without cases or with one that is not understood, and where no
//! server answers.

mod canon;
mod expect;
mod frame;
mod json;
mod play;
mod runner;
mod sugar;
mod vector;
mod wire;

#[cfg(test)]
mod tests;

use std::process::ExitCode;

use runner::{Count, Runner};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    match run(&paths).await {
        Ok(Count { failed: 0, .. }) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(error) => {
            eprintln!("loopguard-conformance: {error}");
            ExitCode::from(2)
        }
    }
}

async fn run(paths: &[String]) -> Result<Count, Box<dyn std::error::Error>> {
    if paths.is_empty() {
        return Err("name the files to run".into());
    }
    let runner = Runner::new(std::env::var("LOOPGUARD_ADDRESS").ok().as_deref())?;
    let mut count = Count::default();
    for path in paths {
        let text = std::fs::read(path).map_err(|error| format!("{path}: {error}"))?;
        runner.run(path, &text, &mut count).await?;
    }
    if count.left_out > 0 {
        println!("{} left out: they need a server of their own", count.left_out);
    }
    println!("{} passed, {} failed", count.passed, count.failed);
    Ok(count)
}
