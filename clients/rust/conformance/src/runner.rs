//! Runs the cases of a file, whose kind is told by their members.

use loopguard::{Client, RunOptions};
use tokio::sync::OnceCell;

use crate::json::{BadCase, Object, bad};
use crate::{canon, play, wire};

/// How the cases went.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub passed: usize,
    pub failed: usize,
    pub left_out: usize,
}

/// How one case went.
pub enum Outcome {
    /// What differs; nothing for a case that passed.
    Ran(Vec<String>),
    /// It needs a server of its own.
    LeftOut,
}

pub struct Runner {
    /// Plays the detection vectors; `None` where there is no server.
    client: Option<Client>,
    /// Set once the server has answered.
    answers: OnceCell<()>,
}

impl Runner {
    pub fn new(address: Option<&str>) -> Result<Self, loopguard::Error> {
        Ok(Self { client: address.map(play::connect).transpose()?, answers: OnceCell::new() })
    }

    /// Runs all cases of a file and says which fail. The error names file and line.
    pub async fn run(&self, path: &str, data: &[u8], count: &mut Count) -> Result<(), BadCase> {
        let mut cases = 0;
        for (index, line) in data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(data).split(|byte| *byte == b'\n').enumerate()
        {
            let line = line.trim_ascii();
            if line.is_empty() {
                continue;
            }
            cases += 1;
            let at = |BadCase(problem)| bad!("{path}:{}: {problem}", index + 1);
            self.run_line(line, count).await.map_err(at)?;
        }
        if cases == 0 { Err(bad!("{path}: no cases")) } else { Ok(()) }
    }

    /// The client, once the server has answered it.
    pub async fn client(&self) -> Result<&Client, BadCase> {
        let client =
            self.client.as_ref().ok_or_else(|| bad!("detection vectors need a server: set LOOPGUARD_ADDRESS"))?;
        let check = async || {
            let run = client.open_run("conformance", RunOptions::default()).await.map_err(|error| bad!("{error}"))?;
            let is_there = run.opened().is_some();
            run.close().await;
            if is_there { Ok(()) } else { Err(bad!("no server answers at LOOPGUARD_ADDRESS")) }
        };
        self.answers.get_or_try_init(check).await?;
        Ok(client)
    }

    async fn run_line(&self, line: &[u8], count: &mut Count) -> Result<(), BadCase> {
        let text = std::str::from_utf8(line).map_err(|_| bad!("a vector is no UTF-8"))?;
        let case = Object::parse(text, "a vector")?;
        let name = case.text("name")?.filter(|name| !name.is_empty()).ok_or_else(|| bad!("a vector needs `name`"))?;
        match self.run_case(&case).await? {
            Outcome::LeftOut => count.left_out += 1,
            Outcome::Ran(problems) if problems.is_empty() => count.passed += 1,
            Outcome::Ran(problems) => {
                count.failed += 1;
                for problem in problems {
                    println!("FAIL {name}: {problem}");
                }
            }
        }
        Ok(())
    }

    async fn run_case(&self, case: &Object<'_>) -> Result<Outcome, BadCase> {
        if case.get("steps").is_some() {
            return play::run(self, case).await;
        }
        if case.get("input").is_some() {
            return canon::run(case).map(Outcome::Ran);
        }
        if case.get("bytes").is_some() {
            return wire::run(case).map(Outcome::Ran);
        }
        Err(bad!("a case of no known kind: it has neither `steps` nor `input` nor `bytes`"))
    }
}
