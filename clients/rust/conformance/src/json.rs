//! JSON objects whose values keep their exact text.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use loopguard::digest::{Flags, canonicalize};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A case that is not understood.
#[derive(Debug, thiserror::Error)]
#[error("bad case: {0}")]
pub struct BadCase(pub String);

macro_rules! bad {
    ($($text:tt)*) => { $crate::json::BadCase(format!($($text)*)) };
}
pub(crate) use bad;

/// A JSON object with its members in order.
#[derive(Debug, Clone)]
pub struct Object<'a> {
    pub what: &'static str,
    pub members: Vec<(String, &'a str)>,
}

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

impl<'a> Object<'a> {
    /// Reads an object, and refuses a key that stands there twice.
    pub fn parse(text: &'a str, what: &'static str) -> Result<Self, BadCase> {
        let Members(members) = serde_json::from_str(text).map_err(|error| bad!("{what} must be an object: {error}"))?;
        for (i, (key, _)) in members.iter().enumerate() {
            if members[..i].iter().any(|(other, _)| other == key) {
                return Err(bad!("key `{key}` stands twice in {what}"));
            }
        }
        Ok(Self { what, members })
    }

    /// Reads an object that has no other keys than these.
    pub fn parse_known(text: &'a str, what: &'static str, known: &[&str]) -> Result<Self, BadCase> {
        let object = Self::parse(text, what)?;
        object.check(known)?;
        Ok(object)
    }

    /// Refuses keys that are not known.
    pub fn check(&self, known: &[&str]) -> Result<(), BadCase> {
        match self.members.iter().find(|(key, _)| !known.contains(&key.as_str())) {
            Some((key, _)) => Err(bad!("unknown key `{key}` in {} (known: {})", self.what, known.join(", "))),
            None => Ok(()),
        }
    }

    /// The exact text of a member.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.members.iter().find(|(name, _)| name == key).map(|(_, value)| *value)
    }

    pub fn require(&self, key: &str) -> Result<&'a str, BadCase> {
        self.get(key).ok_or_else(|| bad!("{} needs `{key}`", self.what))
    }

    /// A member that is a string.
    pub fn text(&self, key: &str) -> Result<Option<String>, BadCase> {
        let Some(value) = self.get(key) else { return Ok(None) };
        if canonicalize(value.as_bytes()).1.contains(Flags::SURROGATE) {
            return Err(bad!("`{key}` holds half of a surrogate pair"));
        }
        serde_json::from_str(value).map(Some).map_err(|_| bad!("`{key}` must be a string"))
    }

    /// A member that is a list of strings.
    pub fn names(&self, key: &str) -> Result<Vec<String>, BadCase> {
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        serde_json::from_str(value).map_err(|_| bad!("`{key}` must be a list of names"))
    }

    pub fn base64(&self, key: &str) -> Result<Vec<u8>, BadCase> {
        let text = self.text(key)?.unwrap_or_default();
        STANDARD.decode(text).map_err(|_| bad!("`{key}` must be base64"))
    }

    pub fn hex(&self, key: &str) -> Result<Vec<u8>, BadCase> {
        parse_hex(&self.text(key)?.unwrap_or_default()).ok_or_else(|| bad!("`{key}` must be hexadecimal"))
    }
}

/// The items of an array.
pub fn parse_array<'a>(text: Option<&'a str>, what: &str) -> Result<Vec<&'a str>, BadCase> {
    let items: Result<Vec<&RawValue>, _> = serde_json::from_str(text.unwrap_or_default());
    Ok(items.map_err(|_| bad!("{what} must be an array"))?.into_iter().map(RawValue::get).collect())
}

fn parse_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect::<Option<_>>()?;
    digits.len().is_multiple_of(2).then(|| digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
