use crate::runner::{Count, Runner};

const CANON: &str =
    r#"{"name": "n", "input": "MS4w", "canonical": "1", "digest": "df3ce784d856334d65cd25028f98f158", "flags": []}"#;
const WIRE: &str = r#"{"name": "n", "message": "loopguard.v1.GuardRequest", "json": {"seq": "1"}, "bytes": "0801"}"#;

/// Runs text as a file.
fn run(text: impl AsRef<[u8]>) -> Result<Count, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut count = Count::default();
    let run = async { Runner::new(None).unwrap().run("cases", text.as_ref(), &mut count).await };
    runtime.block_on(run).map_err(|error| error.to_string())?;
    Ok(count)
}

#[test]
fn the_projects_vectors_pass() {
    for name in ["canon", "wire"] {
        let path = format!("{}/../../../conformance/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
        let count = run(std::fs::read(path).unwrap()).unwrap();
        assert!(count.failed == 0 && count.passed > 90, "{name}: {count:?}");
    }
}

#[test]
fn wrong_answers_fail() {
    let wrong = [
        CANON.replace(r#""1""#, r#""2""#),
        CANON.replace("df3c", "df3d"),
        CANON.replace("[]", r#"["BIGINT"]"#),
        WIRE.replace("0801", "0802"),
        WIRE.replace("0801", "08"),
        WIRE.replace("0801", "08010a"),
        WIRE.replace(r#""1""#, r#""2""#),
        WIRE.replace(r#""1""#, "1"),
    ];
    for line in wrong {
        let count = run(format!("\u{feff}{CANON}\n\n{line}\r\n")).unwrap();
        assert_eq!(count, Count { passed: 1, failed: 1, left_out: 0 }, "{line}");
    }
}

#[test]
fn a_server_that_is_away_is_an_error() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut count = Count::default();
    let case = format!("{CANON}\n{}", r#"{"name": "n", "steps": [{"close": {}}], "expect": [null]}"#);
    let run = async { Runner::new(Some(&address)).unwrap().run("cases", case.as_bytes(), &mut count).await };
    let said = runtime.block_on(run).unwrap_err().to_string();
    assert!(said.contains("cases:2: no server answers"), "{said}");
}

#[test]
fn what_is_not_understood_is_refused() {
    let step = |step: &str, expected: &str| format!(r#"{{"name": "n", "steps": [{step}], "expect": [{expected}]}}"#);
    let cases = [
        ("no cases", " \n\n".to_owned()),
        ("no known kind", r#"{"name": "n", "json": {}}"#.to_owned()),
        ("must be an object", "[]".to_owned()),
        ("needs `name`", r#"{"input": "MS4w"}"#.to_owned()),
        ("unknown key `seed`", CANON.replace(r#""flags""#, r#""seed": 1, "flags""#)),
        ("stands twice", CANON.replace(r#""flags""#, r#""name": "m", "flags""#)),
        ("masks nothing", CANON.replace(r#""flags""#, r#""mask": ["duration"], "flags""#)),
        ("there is no flag", CANON.replace("[]", r#"["ODD"]"#)),
        ("must be base64", CANON.replace("MS4w", "MS4")),
        ("needs the string", CANON.replace("df3ce784d856334d65cd25028f98f158", "")),
        ("there is no message", WIRE.replace("GuardRequest", "Nothing")),
        ("`json` is no", WIRE.replace(r#""seq""#, r#""sequence""#)),
        ("hexadecimal", WIRE.replace("0801", "080")),
        ("one entry for each", r#"{"name": "n", "steps": [{"close": {}}], "expect": []}"#.to_owned()),
        ("either steps or", r#"{"name": "n", "steps": [], "expect": []}"#.to_owned()),
        ("unknown key `close2`", r#"{"name": "n", "close2": 1, "steps": [], "expect": []}"#.to_owned()),
        ("exactly one of", step(r#"{"cloze": {}}"#, "null")),
        ("`act`", step(r#"{"outcome": {}}"#, r#"{"act": "ALLOW"}"#)),
        ("known: action", step(r#"{"calls": [{"tool": "a", "x": 1}]}"#, "null")),
        ("exclude each other", step(r#"{"calls": [{"tool": "a", "args": 1, "argsDigest": "00"}]}"#, "null")),
        ("2 verdicts", step(r#"{"calls": [{"tool": "a"}]}"#, r#"[null, null]"#)),
        ("a list of [verdict, n]", step(r#"{"close": {}, "repeat": 2}"#, r#"[[null, 3]]"#)),
        ("1 repetitions", step(r#"{"close": {}, "repeat": 2}"#, r#"[[null, 1]]"#)),
        ("whole number", step(r#"{"close": {}, "repeat": 0}"#, "null")),
        ("is `ODD`", step(r#"{"outcome": {"status": "ODD"}}"#, "null")),
        ("needs `outcome`", step(r#"{"run": {"calls": []}}"#, "null")),
        ("LOOPGUARD_ADDRESS", step(r#"{"close": {}}"#, "null")),
    ];
    for (problem, text) in cases {
        let error = run(&text).expect_err(&text);
        assert!(error.contains(problem), "{text}: {error}");
    }
    assert!(run(b"{\"name\": \"\xff\"}").unwrap_err().contains("UTF-8"));
}

#[test]
fn what_needs_a_server_of_its_own_is_left_out() {
    let case = r#"{"name": "n", "configFile": {}, "steps": [{"close": {}}], "expect": [null]}"#;
    assert_eq!(run(case), Ok(Count { passed: 0, failed: 0, left_out: 1 }));
}
