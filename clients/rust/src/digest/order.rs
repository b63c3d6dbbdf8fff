//! The order of an object's keys.

use std::cmp::Ordering;

/// Orders keys by their UTF-16 code units, as RFC 8785 has it.
pub(super) fn compare(a: &[u8], b: &[u8]) -> Ordering {
    // Up to U+D7FF, which begins with 0xED, UTF-8 has the same order.
    if a.iter().chain(b).all(|byte| *byte < 0xed) { a.cmp(b) } else { units(a).cmp(units(b)) }
}

/// A key's UTF-16 code units; the key is UTF-8, but that an unpaired surrogate stands in it as three bytes.
fn units(key: &[u8]) -> impl Iterator<Item = u32> {
    let mut rest = key;
    std::iter::from_fn(move || {
        let character;
        (character, rest) = first(rest)?;
        Some(character)
    })
    .flat_map(|character| match character {
        0x10000.. => [Some(0xd7c0 + (character >> 10)), Some(0xdc00 | character & 0x3ff)],
        _ => [Some(character), None],
    })
    .flatten()
}

/// The first character of a key, and what follows.
fn first(key: &[u8]) -> Option<(u32, &[u8])> {
    let lead = u32::from(*key.first()?);
    let (bits, length) = match lead {
        0..0x80 => (lead, 1),
        0x80..0xe0 => (lead & 0x1f, 2),
        0xe0..0xf0 => (lead & 0x0f, 3),
        _ => (lead & 0x07, 4),
    };
    let (character, rest) = key.split_at_checked(length)?;
    Some((character[1..].iter().fold(bits, |c, byte| c << 6 | u32::from(*byte & 0x3f)), rest))
}
