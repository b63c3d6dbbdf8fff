//! Strings of the canonical form.

use std::borrow::Cow;

use super::Flags;

/// Writes the string that the text starts with, with the fewest escapes, and returns its length.
pub(super) fn write(json: &[u8], out: &mut Vec<u8>) -> Option<(usize, Flags)> {
    let mut flags = Flags::empty();
    let mut at = 1;
    out.push(b'"');
    loop {
        let rest = json.get(at..)?;
        let plain = rest.iter().position(|c| *c < b' ' || *c == b'"' || *c == b'\\')?;
        out.extend_from_slice(&rest[..plain]);
        at += plain;
        match rest[plain] {
            b'"' => {
                out.push(b'"');
                return Some((at + 1, flags));
            }
            b'\\' => {
                let (character, length) = unescape(&rest[plain..])?;
                flags |= write_escaped(character, out);
                at += length;
            }
            _ => return None,
        }
    }
}

/// Writes a character that was escaped.
fn write_escaped(character: u32, out: &mut Vec<u8>) -> Flags {
    match character {
        0x22 | 0x5c => out.extend([b'\\', character as u8]),
        0x08 => out.extend(b"\\b"),
        0x09 => out.extend(b"\\t"),
        0x0a => out.extend(b"\\n"),
        0x0c => out.extend(b"\\f"),
        0x0d => out.extend(b"\\r"),
        0..0x20 | 0xd800..0xe000 => out.extend(format!("\\u{character:04x}").bytes()),
        _ => push(character, out),
    }
    if is_surrogate(character) { Flags::SURROGATE } else { Flags::empty() }
}

fn is_surrogate(character: u32) -> bool {
    (0xd800..0xe000).contains(&character)
}

/// Appends a character as UTF-8, a surrogate as the three bytes that UTF-8 would have for it.
fn push(character: u32, out: &mut Vec<u8>) {
    match char::from_u32(character) {
        Some(c) => out.extend(c.encode_utf8(&mut [0; 4]).bytes()),
        None => out.extend([
            0xe0 | (character >> 12) as u8,
            0x80 | (character >> 6 & 0x3f) as u8,
            0x80 | (character & 0x3f) as u8,
        ]),
    }
}

/// The character of the escape that the text starts with, and its length. Two escapes that are a pair of surrogates are
/// one character, one that has no other half is returned as it is.
fn unescape(text: &[u8]) -> Option<(u32, usize)> {
    let character = match text.get(1)? {
        c @ (b'"' | b'\\' | b'/') => u32::from(*c),
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => 0x0a,
        b'r' => 0x0d,
        b't' => 0x09,
        _ => return unit(text).map(|first| pair(first, unit(&text[6..]))),
    };
    Some((character, 2))
}

fn pair(first: u32, second: Option<u32>) -> (u32, usize) {
    match second {
        Some(low) if (0xd800..0xdc00).contains(&first) && (0xdc00..0xe000).contains(&low) => {
            (0x10000 + ((first - 0xd800) << 10) + (low - 0xdc00), 12)
        }
        _ => (first, 6),
    }
}

/// The code unit of the escape `\uXXXX` that the text starts with.
fn unit(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
}

/// What a valid string stands for; unpaired surrogates stand as the three bytes that UTF-8 would have for them.
pub(super) fn unescaped(text: &[u8]) -> Option<Cow<'_, [u8]>> {
    if !text.contains(&b'\\') {
        return Some(Cow::Borrowed(text));
    }
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.iter().position(|c| *c == b'\\') {
        plain.extend_from_slice(&rest[..next]);
        let (character, length) = unescape(&rest[next..])?;
        push(character, &mut plain);
        rest = &rest[next + length..];
    }
    plain.extend_from_slice(rest);
    Some(Cow::Owned(plain))
}
