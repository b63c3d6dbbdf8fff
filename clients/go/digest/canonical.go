package digest

import (
	"bytes"
	"cmp"
	"slices"
	"unicode/utf8"
)

// maxDepth is how many containers may stand inside one another.
const maxDepth = 256

// writer reads a JSON text once and writes its canonical form. Its methods return false for what is no JSON.
type writer struct {
	in    []byte
	at    int
	out   []byte
	flags Flags
	depth int
	// left is the key of the outermost object's member that is left out; empty for none.
	left string
	// members of all objects that are open, the innermost one's last.
	members []member
	// spare is where an object's members are put in order.
	spare []byte
}

// member is where an object's member stands in out.
type member struct {
	// key has its escapes resolved; an unpaired surrogate stands as the three bytes that UTF-8 would have for it.
	key        []byte
	start, end int
}

func (w *writer) document() bool {
	if !utf8.Valid(w.in) || !w.value() {
		return false
	}
	w.space()
	return w.at == len(w.in)
}

func (w *writer) space() {
	for w.at < len(w.in) {
		switch w.in[w.at] {
		case ' ', '\t', '\r', '\n':
			w.at++
		default:
			return
		}
	}
}

// peek skips white space and returns the byte that follows, 0 at the end.
func (w *writer) peek() byte {
	w.space()
	if w.at == len(w.in) {
		return 0
	}
	return w.in[w.at]
}

func (w *writer) value() bool {
	switch w.peek() {
	case '{':
		return w.nested(w.object)
	case '[':
		return w.nested(w.array)
	case '"':
		return w.text()
	case 't':
		return w.word("true")
	case 'f':
		return w.word("false")
	case 'n':
		return w.word("null")
	default:
		return w.number()
	}
}

func (w *writer) nested(container func() bool) bool {
	if w.depth == maxDepth {
		return false
	}
	w.depth++
	ok := container()
	w.depth--
	return ok
}

func (w *writer) word(word string) bool {
	if !bytes.HasPrefix(w.in[w.at:], []byte(word)) {
		return false
	}
	w.at += len(word)
	w.out = append(w.out, word...)
	return true
}

func (w *writer) array() bool {
	w.at++
	w.out = append(w.out, '[')
	for first := true; w.peek() != ']'; first = false {
		if !first {
			if !w.comma() {
				return false
			}
			w.out = append(w.out, ',')
		}
		if !w.value() {
			return false
		}
	}
	w.at++
	w.out = append(w.out, ']')
	return true
}

func (w *writer) comma() bool {
	if w.peek() != ',' {
		return false
	}
	w.at++
	return true
}

func (w *writer) object() bool {
	w.at++
	w.out = append(w.out, '{')
	first, start := len(w.members), len(w.out)
	for seen := false; w.peek() != '}'; seen = true {
		if seen && !w.comma() || !w.member() {
			return false
		}
	}
	w.at++
	w.arrange(first, start)
	w.members = w.members[:first]
	w.out = append(w.out, '}')
	return true
}

// member writes one member, without comma.
func (w *writer) member() bool {
	if w.peek() != '"' {
		return false
	}
	start, flags := len(w.out), w.flags
	from := w.at
	if !w.text() {
		return false
	}
	key := plainKey(w.in[from:w.at])
	if w.peek() != ':' {
		return false
	}
	w.at++
	w.out = append(w.out, ':')
	if !w.value() {
		return false
	}
	if w.depth == 1 && w.left != "" && string(key) == w.left {
		w.out, w.flags = w.out[:start], flags
		return true
	}
	w.members = append(w.members, member{key, start, len(w.out)})
	return true
}

// arrange puts the members of the innermost object, which stand in out from start, in order, with commas between.
func (w *writer) arrange(first, start int) {
	members := w.members[first:]
	if len(members) < 2 {
		return
	}
	slices.SortFunc(members, func(a, b member) int {
		// Of equal keys the last one stays last.
		return cmp.Or(compareKeys(a.key, b.key), cmp.Compare(a.start, b.start))
	})
	w.spare = w.spare[:0]
	for i, m := range members {
		if i+1 < len(members) && bytes.Equal(m.key, members[i+1].key) {
			w.flags |= DuplicateKey
			continue
		}
		w.spare = append(append(w.spare, w.out[m.start:m.end]...), ',')
	}
	w.out = append(w.out[:start], w.spare[:len(w.spare)-1]...)
}
