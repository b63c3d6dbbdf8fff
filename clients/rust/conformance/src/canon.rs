//! Cases of canon.jsonl: a JSON text with its canonical form, digest and flags.

use loopguard::digest::{Digest, Flags, canonicalize};

use crate::json::{BadCase, Object, bad};

const KEYS: &[&str] = &["name", "input", "mask", "canonical", "canonicalBase64", "digest", "flags"];

/// Runs a case and returns what differs.
pub fn run(case: &Object<'_>) -> Result<Vec<String>, BadCase> {
    case.check(KEYS)?;
    if !case.names("mask")?.is_empty() {
        return Err(bad!("a client's digest masks nothing, and this case has `mask`"));
    }
    let input = case.base64("input")?;
    let wanted = wanted_canonical(case)?;
    let wanted_digest = case.text("digest")?.filter(|digest| !digest.is_empty());
    let wanted_digest = wanted_digest.ok_or_else(|| bad!("a canon vector needs the string `digest`"))?;
    let wanted_flags = wanted_flags(case)?;

    let (canonical, flags) = canonicalize(&input);
    let digest = Digest::of(&input).to_string();
    let mut problems = Vec::new();
    if *canonical != wanted {
        let [wanted, got] = [&wanted, &*canonical].map(String::from_utf8_lossy);
        problems.push(format!("canonical: expected {wanted:?}, got {got:?}"));
    }
    if !digest.eq_ignore_ascii_case(&wanted_digest) {
        problems.push(format!("digest: expected {wanted_digest}, got {digest}"));
    }
    if flags != wanted_flags {
        problems.push(format!("flags: expected {wanted_flags:?}, got {flags:?}"));
    }
    Ok(problems)
}

fn wanted_canonical(case: &Object<'_>) -> Result<Vec<u8>, BadCase> {
    match (case.text("canonical")?, case.get("canonicalBase64")) {
        (Some(text), None) => Ok(text.into_bytes()),
        (None, Some(_)) => case.base64("canonicalBase64"),
        _ => Err(bad!("a canon vector needs `canonical` or `canonicalBase64`")),
    }
}

fn wanted_flags(case: &Object<'_>) -> Result<Flags, BadCase> {
    case.names("flags")?.into_iter().try_fold(Flags::empty(), |flags, name| {
        let flag = Flags::from_name(&name).ok_or_else(|| bad!("there is no flag `{name}`"))?;
        Ok(flags | flag)
    })
}
