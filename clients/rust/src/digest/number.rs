//! Numbers of the canonical form.

use super::Flags;

/// The largest integer up to which all are doubles.
const LARGEST_EXACT: &[u8] = b"9007199254740991";

/// Writes the number that the text starts with and returns its length: an integer by its digits, any other as
/// ECMAScript writes the double.
pub(super) fn write(json: &[u8], out: &mut Vec<u8>) -> Option<(usize, Flags)> {
    let (length, is_integer) = token(json)?;
    let token = &json[..length];
    let flags = if is_integer { write_integer(token, out) } else { write_double(token, out)? };
    Some((length, flags))
}

fn write_integer(token: &[u8], out: &mut Vec<u8>) -> Flags {
    let digits = token.strip_prefix(b"-").unwrap_or(token);
    out.extend_from_slice(if digits == b"0" { digits } else { token });
    if (digits.len(), digits) > (LARGEST_EXACT.len(), LARGEST_EXACT) { Flags::BIGINT } else { Flags::empty() }
}

fn write_double(token: &[u8], out: &mut Vec<u8>) -> Option<Flags> {
    let double: f64 = std::str::from_utf8(token).ok()?.parse().ok()?;
    if double.is_finite() {
        out.extend_from_slice(ryu_js::Buffer::new().format_finite(double).as_bytes());
        return Some(Flags::empty());
    }
    // Its own text tells it from other numbers out of range.
    out.extend(token.iter().filter(|c| **c != b'+').map(u8::to_ascii_lowercase));
    Some(Flags::OVERFLOW)
}

/// The length of the number that the text starts with, and whether it is a mere integer. Whatever follows, a digit after
/// a leading zero too, is refused by whoever looks for a comma or the end.
fn token(json: &[u8]) -> Option<(usize, bool)> {
    let sign = usize::from(json.first() == Some(&b'-'));
    let whole = match digits(json, sign) {
        0 => return None,
        _ if json[sign] == b'0' => 1,
        count => count,
    };
    let mut at = sign + whole;
    let mut is_integer = true;
    if json.get(at) == Some(&b'.') {
        let fraction = digits(json, at + 1);
        if fraction > 0 {
            at += 1 + fraction;
            is_integer = false;
        }
    }
    if let Some(b'e' | b'E') = json.get(at) {
        let signed = usize::from(matches!(json.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits(json, at + 1 + signed);
        if exponent > 0 {
            at += 1 + signed + exponent;
            is_integer = false;
        }
    }
    Some((at, is_integer))
}

/// How many digits stand there.
fn digits(json: &[u8], at: usize) -> usize {
    json.iter().skip(at).take_while(|c| c.is_ascii_digit()).count()
}
