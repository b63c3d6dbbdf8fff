//! Values, arrays and objects of the canonical form.

use std::borrow::Cow;

use super::{Flags, number, order, text};

/// How many containers may stand inside one another.
const MAX_DEPTH: usize = 256;

/// Reads a JSON text once and writes its canonical form. Its methods return `None` for what is no JSON.
pub(super) struct Writer<'a> {
    json: &'a [u8],
    at: usize,
    out: Vec<u8>,
    flags: Flags,
    depth: usize,
    /// The key of the outermost object's member that is left out.
    left_out: Option<&'a [u8]>,
    /// The members of all objects that are open, the innermost one's last.
    members: Vec<Member<'a>>,
    /// Where an object's members are put in order.
    spare: Vec<u8>,
}

/// Where an object's member stands in the output.
struct Member<'a> {
    /// The key with its escapes resolved; an unpaired surrogate stands as the three bytes that UTF-8 would have for it.
    key: Cow<'a, [u8]>,
    start: usize,
    end: usize,
}

impl<'a> Writer<'a> {
    pub fn new(json: &'a str, left_out: Option<&'a str>) -> Self {
        Self {
            json: json.as_bytes(),
            at: 0,
            out: Vec::with_capacity(json.len()),
            flags: Flags::empty(),
            depth: 0,
            left_out: left_out.map(str::as_bytes),
            members: Vec::new(),
            spare: Vec::new(),
        }
    }

    pub fn document(mut self) -> Option<(Vec<u8>, Flags)> {
        self.value()?;
        self.peek().is_none().then_some((self.out, self.flags))
    }

    /// Skips white space and returns the byte that follows.
    fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.json.get(self.at) {
            self.at += 1;
        }
        self.json.get(self.at).copied()
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn value(&mut self) -> Option<()> {
        match self.peek()? {
            b'{' => self.nested(Self::object),
            b'[' => self.nested(Self::array),
            b'"' => self.text().map(drop),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.number(),
        }
    }

    fn nested(&mut self, container: fn(&mut Self) -> Option<()>) -> Option<()> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        container(self)?;
        self.depth -= 1;
        Some(())
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        if !self.json[self.at..].starts_with(word) {
            return None;
        }
        self.at += word.len();
        self.out.extend_from_slice(word);
        Some(())
    }

    fn number(&mut self) -> Option<()> {
        let (length, flags) = number::write(&self.json[self.at..], &mut self.out)?;
        self.at += length;
        self.flags |= flags;
        Some(())
    }

    /// Writes a string and returns it as it stands in the input, without its quotes.
    fn text(&mut self) -> Option<&'a [u8]> {
        let json = self.json;
        let (length, flags) = text::write(&json[self.at..], &mut self.out)?;
        let inside = &json[self.at + 1..self.at + length - 1];
        self.at += length;
        self.flags |= flags;
        Some(inside)
    }

    fn array(&mut self) -> Option<()> {
        self.at += 1;
        self.out.push(b'[');
        let mut first = true;
        while self.peek()? != b']' {
            if !first {
                self.expect(b',')?;
                self.out.push(b',');
            }
            first = false;
            self.value()?;
        }
        self.at += 1;
        self.out.push(b']');
        Some(())
    }

    fn object(&mut self) -> Option<()> {
        self.at += 1;
        self.out.push(b'{');
        let (first, start) = (self.members.len(), self.out.len());
        let mut seen = false;
        while self.peek()? != b'}' {
            if seen {
                self.expect(b',')?;
            }
            seen = true;
            self.member()?;
        }
        self.at += 1;
        self.arrange(first, start);
        self.members.truncate(first);
        self.out.push(b'}');
        Some(())
    }

    /// Writes one member, without comma.
    fn member(&mut self) -> Option<()> {
        if self.peek()? != b'"' {
            return None;
        }
        let (start, flags) = (self.out.len(), self.flags);
        let key = text::unescaped(self.text()?)?;
        self.expect(b':')?;
        self.out.push(b':');
        self.value()?;
        if self.depth == 1 && self.left_out == Some(&*key) {
            self.out.truncate(start);
            self.flags = flags;
        } else {
            self.members.push(Member { key, start, end: self.out.len() });
        }
        Some(())
    }

    /// Puts the members of the innermost object, which stand in the output from `start`, in order, with commas between.
    fn arrange(&mut self, first: usize, start: usize) {
        let members = &mut self.members[first..];
        // Stable: of equal keys the last one stays last.
        members.sort_by(|a, b| order::compare(&a.key, &b.key));
        self.spare.clear();
        for (i, member) in members.iter().enumerate() {
            if members.get(i + 1).is_some_and(|next| next.key == member.key) {
                self.flags |= Flags::DUPLICATE_KEY;
                continue;
            }
            if !self.spare.is_empty() {
                self.spare.push(b',');
            }
            self.spare.extend_from_slice(&self.out[member.start..member.end]);
        }
        self.out.truncate(start);
        self.out.extend_from_slice(&self.spare);
    }
}
