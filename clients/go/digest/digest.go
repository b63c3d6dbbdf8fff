// Package digest computes loopguard's digests in the client, so that 16 bytes can travel in place of a payload.
//
// A digest is XXH3-128 of the canonical form of a JSON text: RFC 8785 with the rules that a loop guard needs. Integers
// keep their exact digits at any length, numbers too large for a double keep their text, of equal keys the last wins,
// unpaired surrogate escapes stay escapes. What is no JSON is never refused: it is taken as opaque bytes, hashed with
// another seed. Equal digests therefore mean equal values, and two different calls never look the same.
package digest

import (
	"bytes"
	"encoding/hex"
	"strings"
	"unicode"

	"github.com/zeebo/xxh3"
)

// Scheme is the version of the canonical scheme: canonical form, hash and seeds. A run whose calls or outcomes come as
// digests names it when it is opened.
const Scheme = 1

// opaqueSeed is the hash's seed for what is no JSON, so that no such text shares a digest with a value.
const opaqueSeed = 0x6c6f6f7067756172

// Digest is the 128-bit digest of a JSON value, big-endian.
type Digest [16]byte

// String returns the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// Flags are what is odd about a JSON text.
type Flags uint8

// The flags, in the order of their bits.
const (
	BigInt       Flags = 1 << iota // an integer beyond 2^53 - 1
	Overflow                       // a number beyond the range of doubles
	DuplicateKey                   // an object has a key twice
	Surrogate                      // a string has an unpaired surrogate escape
	Opaque                         // no JSON
)

var flagNames = [...]string{"BIGINT", "OVERFLOW", "DUPLICATE_KEY", "SURROGATE", "OPAQUE"}

// Names returns the flags' names in the order of their bits.
func (f Flags) Names() []string {
	var names []string
	for bit, name := range flagNames {
		if f&(1<<bit) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// String returns the flags' names, joined by "|".
func (f Flags) String() string { return strings.Join(f.Names(), "|") }

// Canonical returns the canonical form of a JSON text, or data itself, flagged [Opaque], if it is no JSON.
func Canonical(data []byte) ([]byte, Flags) {
	return canonicalWithout(data, "")
}

// Of returns the digest of a JSON text.
func Of(data []byte) (Digest, Flags) {
	return sum(Canonical(data))
}

// OfArguments returns the digest of a call's arguments as the guard computes it: absent arguments are `{}`, and the
// title of an exec call is left out, because it is prose about the call.
func OfArguments(tool string, args []byte) (Digest, Flags) {
	if len(args) == 0 {
		args = []byte("{}")
	}
	left := ""
	if isExec(tool) {
		left = "title"
	}
	return sum(canonicalWithout(args, left))
}

func sum(canonical []byte, flags Flags) (Digest, Flags) {
	seed := uint64(0)
	if flags&Opaque != 0 {
		seed = opaqueSeed
	}
	return xxh3.Hash128Seed(canonical, seed).Bytes(), flags
}

// isExec tells whether a tool is the one that the guard knows as exec.
func isExec(tool string) bool {
	name := strings.ToLower(strings.TrimFunc(tool, func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' }))
	return name == "exec" || name == "bash"
}

// canonicalWithout is Canonical without one member of the outermost object; "" for none.
func canonicalWithout(data []byte, key string) ([]byte, Flags) {
	w := writer{in: data, out: make([]byte, 0, len(data)), left: key}
	if !w.document() {
		return bytes.Clone(data), Opaque
	}
	return w.out, w.flags
}
