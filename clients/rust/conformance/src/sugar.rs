//! What stands for something else in a step that is repeated.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// A counter is written `$i`, or `$0Ni` with N digits; `"$#N"`, not as a key, is a number; `$hex16` is a fresh id.
static SUGAR: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#""\$#([0-9]+)"([ \t\r\n]*:)?|\$hex16|\$(?:0([0-9]))?i"#).expect("it is a constant"));

/// Writes a value's text as it is in one repetition.
pub fn spell_out(text: &str, index: usize) -> String {
    let spelled = SUGAR.replace_all(text, |found: &Captures<'_>| {
        let (word, start) = (&found[0], found.get(0).map_or(0, |word| word.start()));
        if word == "$hex16" {
            return format!("{:016x}", fastrand::u64(..));
        }
        if let Some(first) = found.get(1) {
            let is_quoted = start > 0 && text.as_bytes()[start - 1] == b'\\';
            return match first.as_str().parse::<u64>() {
                Ok(first) if found.get(2).is_none() && !is_quoted => (first + index as u64).to_string(),
                _ => word.to_owned(),
            };
        }
        let digits = found.get(3).and_then(|digits| digits.as_str().parse().ok()).unwrap_or(1);
        format!("{index:0digits$}")
    });
    spelled.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_and_numbers_are_spelled_out() {
        let spelled = spell_out(r#"{"$#1": "$#41", "a": "$i $03i", "b": "\"$#1\""}"#, 7);
        assert_eq!(spelled, r#"{"$#1": 48, "a": "7 007", "b": "\"$#1\""}"#);
        assert_ne!(spell_out("$hex16", 0), spell_out("$hex16", 0));
    }
}
