//! Configurations as JSON.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::error::Error;
use crate::v1::{DetectorConfig, LoopDetectionConfig, PostCompactionGuardConfig};

/// Reads a configuration as it stands under `tools.loopDetection` of a configuration file, for
/// [`RunOptions::config`](crate::RunOptions::config). Null is absent, and 10.0 is 10. Whether the values fit is for the
/// guard to say.
///
/// # Errors
///
/// [`Error::InvalidConfig`] with its key for anything that can't be sent.
pub fn parse_config(json: &[u8]) -> Result<LoopDetectionConfig, Error> {
    let text = std::str::from_utf8(json).map_err(|error| Error::invalid_config("", error.to_string()))?;
    let mut config = LoopDetectionConfig::default();
    for (path, value) in members(text, "")? {
        match path.as_str() {
            "enabled" => config.enabled = Some(boolean(&path, value)?),
            "historySize" => config.history_size = Some(integer(&path, value)?),
            "warningThreshold" => config.warning_threshold = Some(integer(&path, value)?),
            "criticalThreshold" => config.critical_threshold = Some(integer(&path, value)?),
            "unknownToolThreshold" => config.unknown_tool_threshold = Some(integer(&path, value)?),
            "globalCircuitBreakerThreshold" => config.global_circuit_breaker_threshold = Some(integer(&path, value)?),
            "detectors" => config.detectors = Some(parse_detectors(&path, value)?),
            "postCompactionGuard" => config.post_compaction_guard = Some(parse_guard(&path, value)?),
            "failOpen" => config.fail_open = Some(boolean(&path, value)?),
            _ => return Err(unknown(&path)),
        }
    }
    Ok(config)
}

fn parse_detectors(path: &str, text: &str) -> Result<DetectorConfig, Error> {
    let mut detectors = DetectorConfig::default();
    for (path, value) in members(text, path)? {
        match path.as_str() {
            "detectors.genericRepeat" => detectors.generic_repeat = Some(boolean(&path, value)?),
            "detectors.knownPollNoProgress" => detectors.known_poll_no_progress = Some(boolean(&path, value)?),
            "detectors.pingPong" => detectors.ping_pong = Some(boolean(&path, value)?),
            _ => return Err(unknown(&path)),
        }
    }
    Ok(detectors)
}

fn parse_guard(path: &str, text: &str) -> Result<PostCompactionGuardConfig, Error> {
    let mut guard = PostCompactionGuardConfig::default();
    for (path, value) in members(text, path)? {
        match path.as_str() {
            "postCompactionGuard.windowSize" => guard.window_size = Some(integer(&path, value)?),
            _ => return Err(unknown(&path)),
        }
    }
    Ok(guard)
}

fn unknown(path: &str) -> Error {
    Error::invalid_config(path, format!("unknown key `{path}`"))
}

/// An object's members that are not null, by their paths, each with its text.
fn members<'a>(text: &'a str, path: &str) -> Result<Vec<(String, &'a str)>, Error> {
    let Members(found) = serde_json::from_str(text).map_err(|error| {
        let message = if path.is_empty() { error.to_string() } else { format!("`{path}` is no block") };
        Error::invalid_config(path, message)
    })?;
    let mut members: Vec<(String, &str)> = Vec::new();
    for (key, value) in found {
        let path = if path.is_empty() { key } else { format!("{path}.{key}") };
        if members.iter().any(|(known, _)| *known == path) {
            return Err(Error::invalid_config(&path, format!("key `{path}` stands twice")));
        }
        members.push((path, value));
    }
    members.retain(|(_, value)| *value != "null");
    Ok(members)
}

fn boolean(path: &str, text: &str) -> Result<bool, Error> {
    text.parse().map_err(|_| Error::invalid_config(path, format!("`{path}` is {text}, not true or false")))
}

/// An integer, which may be written as 10.0 or 1e1.
fn integer(path: &str, text: &str) -> Result<i64, Error> {
    if let Ok(whole) = text.parse() {
        return Ok(whole);
    }
    let refuse = |what| Err(Error::invalid_config(path, format!("`{path}` is {text}, {what}")));
    match text.parse::<f64>() {
        Ok(double) if double.is_finite() && double.fract() != 0.0 => refuse("not an integer"),
        Ok(double) if !(-(2f64.powi(63))..2f64.powi(63)).contains(&double) => refuse("beyond 64 bits"),
        Ok(double) => Ok(double as i64),
        Err(_) => refuse("not an integer"),
    }
}

/// An object's members in order, also those with the same key.
struct Members<'a>(Vec<(String, &'a str)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, &RawValue>()? {
                    members.push((key, value.get()));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_is_read() {
        let text = br#"{"enabled": true, "historySize": 10.0, "warningThreshold": -3, "criticalThreshold": null,
            "detectors": {"pingPong": false}, "postCompactionGuard": {"windowSize": 2e0}}"#;
        let wanted = LoopDetectionConfig {
            enabled: Some(true),
            history_size: Some(10),
            warning_threshold: Some(-3),
            detectors: Some(DetectorConfig { ping_pong: Some(false), ..DetectorConfig::default() }),
            post_compaction_guard: Some(PostCompactionGuardConfig { window_size: Some(2) }),
            ..LoopDetectionConfig::default()
        };
        assert_eq!(parse_config(text), Ok(wanted));
    }

    #[test]
    fn a_mistake_names_its_key() {
        let cases = [
            ("[]", "", "invalid type"),
            ("{} 1", "", "trailing"),
            (r#"{"enable": 1}"#, "enable", "unknown key `enable`"),
            (r#"{"enabled": 1}"#, "enabled", "not true or false"),
            (r#"{"historySize": "5"}"#, "historySize", "not an integer"),
            (r#"{"historySize": true}"#, "historySize", "not an integer"),
            (r#"{"historySize": 1.5}"#, "historySize", "not an integer"),
            (r#"{"historySize": 9223372036854775808}"#, "historySize", "beyond 64 bits"),
            (r#"{"historySize": 1e999}"#, "historySize", "beyond 64 bits"),
            (r#"{"historySize": 1, "historySize": 2}"#, "historySize", "twice"),
            (r#"{"detectors": []}"#, "detectors", "no block"),
            (r#"{"detectors": {"x": 1}}"#, "detectors.x", "unknown key"),
            (r#"{"postCompactionGuard": {"windowSize": []}}"#, "postCompactionGuard.windowSize", "not an integer"),
        ];
        for (text, key, message) in cases {
            let Err(Error::InvalidConfig(refusal)) = parse_config(text.as_bytes()) else { panic!("{text} was taken") };
            assert_eq!(refusal.key.as_deref(), Some(key), "{text}");
            assert!(refusal.message.contains(message), "{text}: {}", refusal.message);
        }
    }
}
