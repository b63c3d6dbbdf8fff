//! The program of the README.

use loopguard::{Call, Client, Outcome, RunOptions, Status};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), loopguard::Error> {
    let client = Client::new("127.0.0.1:50051")?;
    let run = client.open_run("run-1", RunOptions::default().agent("coder")).await?;
    for verdict in run.judge([Call::new("exec", r#"{"command": "make"}"#)]).await? {
        println!("{}", verdict.action.as_str());
        if verdict.is_allowed() {
            run.report(Outcome::new(verdict.call_id, Status::Ok).with_result(r#""done""#)).await?;
        }
    }
    run.close().await;
    Ok(())
}
