//! Digests computed in the client, so that 16 bytes can travel in place of a payload.
//!
//! A digest is XXH3-128 of the canonical form of a JSON text: RFC 8785 with the rules that a loop guard needs. Integers
//! keep their exact digits at any length, numbers too large for a double keep their text, of equal keys the last wins,
//! unpaired surrogate escapes stay escapes. What is no JSON is never refused: it is taken as opaque bytes, hashed with
//! another seed. Equal digests therefore mean equal values, and two different calls never look the same.

mod canonical;
mod number;
mod order;
mod text;

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use xxhash_rust::xxh3::xxh3_128_with_seed;

/// The version of the canonical scheme: canonical form, hash and seeds.
pub const SCHEME: u32 = 1;

/// The hash's seed for what is no JSON, so that no such text shares a digest with a value.
const OPAQUE_SEED: u64 = 0x6c6f_6f70_6775_6172;

bitflags::bitflags! {
    /// What is odd about a JSON text.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
    pub struct Flags: u8 {
        /// An integer beyond 2^53 - 1; compared by its exact digits.
        const BIGINT = 1;
        /// A number beyond the range of doubles; compared by its text.
        const OVERFLOW = 2;
        /// An object has a key twice; the last one counts.
        const DUPLICATE_KEY = 4;
        /// A string has an unpaired surrogate escape.
        const SURROGATE = 8;
        /// Not JSON; compared byte by byte.
        const OPAQUE = 16;
    }
}

impl Flags {
    /// The flags' names, in the order of their bits.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        self.iter_names().map(|(name, _)| name)
    }
}

/// The 128-bit digest of a JSON value, big-endian; shown in hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 16]);

impl Digest {
    /// The digest of a JSON text.
    pub fn of(json: &[u8]) -> Self {
        Self::sum(&canonicalize(json))
    }

    /// The digest of a call's arguments as the guard computes it: absent arguments are `{}`, and the title of an exec
    /// call is left out, because it is prose about the call.
    pub fn of_arguments(tool: &str, json: &[u8]) -> Self {
        let json = if json.is_empty() { b"{}" } else { json };
        let left_out = is_exec(tool).then_some("title");
        Self::sum(&canonicalize_without(json, left_out))
    }

    fn sum((canonical, flags): &(Cow<'_, [u8]>, Flags)) -> Self {
        let seed = if flags.contains(Flags::OPAQUE) { OPAQUE_SEED } else { 0 };
        Self(xxh3_128_with_seed(canonical, seed).to_be_bytes())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl From<Digest> for Bytes {
    fn from(digest: Digest) -> Self {
        Bytes::copy_from_slice(&digest.0)
    }
}

/// The canonical form of a JSON text with what was odd about it; the text itself, flagged OPAQUE, if it is no JSON.
pub fn canonicalize(json: &[u8]) -> (Cow<'_, [u8]>, Flags) {
    canonicalize_without(json, None)
}

/// The canonical form without one member of the outermost object.
fn canonicalize_without<'a>(json: &'a [u8], left_out: Option<&str>) -> (Cow<'a, [u8]>, Flags) {
    let written = std::str::from_utf8(json).ok().and_then(|text| canonical::Writer::new(text, left_out).document());
    match written {
        Some((canonical, flags)) => (Cow::Owned(canonical), flags),
        None => (Cow::Borrowed(json), Flags::OPAQUE),
    }
}

/// Whether a tool is the one that the guard knows as exec.
fn is_exec(tool: &str) -> bool {
    let name = tool.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    ["exec", "bash"].iter().any(|known| name.to_lowercase() == *known)
}

#[cfg(test)]
mod tests;
