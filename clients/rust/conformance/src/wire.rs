//! Cases of wire.jsonl: a message as protobuf JSON and as bytes, which have to mean the same.
//!
//! The JSON is read and written by the descriptors alone. Between it and the bytes stands the client's generated type of
//! each message, so that what a stub drops or mixes up shows.

use std::sync::LazyLock;

use prost::{DecodeError, Message};
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor};

use crate::json::{BadCase, Object, bad, to_hex};

const KEYS: &[&str] = &["name", "message", "json", "bytes"];

static DESCRIPTORS: LazyLock<DescriptorPool> = LazyLock::new(|| {
    DescriptorPool::decode(include_bytes!("generated/protocol.binpb").as_slice())
        .expect("the descriptors are generated")
});

/// Reads bytes as a generated message and writes them again.
type Rewrite = fn(&[u8]) -> Result<Vec<u8>, DecodeError>;

fn rewrite<M: Message + Default>(bytes: &[u8]) -> Result<Vec<u8>, DecodeError> {
    Ok(M::decode(bytes)?.encode_to_vec())
}

macro_rules! stubs {
    ($($name:ident)*) => {
        /// The messages of the protocol by name.
        const STUBS: &[(&str, Rewrite)] = &[$((stringify!($name), rewrite::<loopguard::v1::$name>)),*];
    };
}

stubs! {
    GuardRequest GuardResponse GuardManyRequest RunFrames GuardManyResponse RunAnswers RunOpen LoopDetectionConfig
    DetectorConfig PostCompactionGuardConfig CallBatch Call Outcome History Record UserMessage CompactionRetry RunClose
    Opened Limits Verdicts Verdict Finding Ack FrameError NeedResend RunEnded GoAway FingerprintRequest
    FingerprintResponse WatchRequest EventPosition WatchResponse Event RunStarted RunFinished FindingEvent
}

/// Runs a case and returns what differs.
pub fn run(case: &Object<'_>) -> Result<Vec<String>, BadCase> {
    case.check(KEYS)?;
    let kind = case.text("message")?.ok_or_else(|| bad!("a wire vector needs `message`"))?;
    let found = kind.strip_prefix("loopguard.v1.").and_then(|name| STUBS.iter().find(|(known, _)| *known == name));
    let Some(((_, rewrite), descriptor)) = found.zip(DESCRIPTORS.get_message_by_name(&kind)) else {
        return Err(bad!("there is no message `{kind}`"));
    };
    let text = case.require("json")?;
    case.require("bytes")?;
    let bytes = case.hex("bytes")?;
    let told = parse(&descriptor, text).map_err(|error| bad!("`json` is no {kind}: {error}"))?;

    let read = match rewrite(&bytes).map(|read| DynamicMessage::decode(descriptor.clone(), read.as_slice())) {
        Ok(Ok(read)) => read,
        Ok(Err(error)) | Err(error) => return Ok(vec![format!("the bytes are no {kind}: {error}")]),
    };
    let mut problems = Vec::new();
    if read != told {
        problems.push(format!("the bytes mean {read:?}, expected {text}"));
    }
    match rewrite(&told.encode_to_vec()) {
        Ok(written) if written == bytes => {}
        Ok(written) => problems.push(format!("encoded as {}, expected {}", to_hex(&written), to_hex(&bytes))),
        Err(error) => problems.push(format!("what the JSON says is no {kind}: {error}")),
    }
    let shown = serde_json::to_value(&read).map_err(|error| bad!("{kind} has no JSON: {error}"))?;
    let wanted: serde_json::Value = serde_json::from_str(text).map_err(|error| bad!("`json`: {error}"))?;
    if shown != wanted {
        problems.push(format!("written as {shown}, expected {wanted}"));
    }
    Ok(problems)
}

fn parse(descriptor: &MessageDescriptor, text: &str) -> Result<DynamicMessage, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let message = DynamicMessage::deserialize(descriptor.clone(), &mut reader)?;
    reader.end()?;
    Ok(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_has_its_stub() {
        let mut known: Vec<String> = STUBS.iter().map(|(name, _)| format!("loopguard.v1.{name}")).collect();
        let in_package = |kind: &MessageDescriptor| kind.parent_file().package_name() == "loopguard.v1";
        let mut all: Vec<String> =
            DESCRIPTORS.all_messages().filter(in_package).map(|kind| kind.full_name().to_owned()).collect();
        known.sort();
        all.sort();
        assert_eq!(known, all);
    }
}
