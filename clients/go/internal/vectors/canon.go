package vectors

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/loopguard/loopguard/clients/go/digest"
)

// runCanon runs a case of canon.jsonl: a JSON text, and its canonical form, digest and flags.
func runCanon(_ context.Context, fields object) ([]string, error) {
	if err := fields.check([]string{"name", "input", "mask", "canonical", "canonicalBase64", "digest", "flags"}); err != nil {
		return nil, err
	}
	masks, err := fields.names("mask")
	if err != nil {
		return nil, err
	}
	if len(masks) > 0 {
		return nil, bad("a client's digest masks nothing, and this case has `mask`")
	}
	input, err := fields.base64("input")
	if err != nil {
		return nil, err
	}
	wanted, err := canonicalOf(fields)
	if err != nil {
		return nil, err
	}
	sum, err := fields.text("digest")
	if err != nil {
		return nil, err
	}
	if sum == "" {
		return nil, bad("a canon vector needs the string `digest`")
	}
	names, err := flagNames(fields)
	if err != nil {
		return nil, err
	}
	canonical, flags := digest.Canonical(input)
	got, gotFlags := digest.Of(input)
	var problems []string
	if !bytes.Equal(canonical, wanted) {
		problems = append(problems, fmt.Sprintf("canonical: expected %q, got %q", wanted, canonical))
	}
	if got.String() != strings.ToLower(sum) {
		problems = append(problems, fmt.Sprintf("digest: expected %s, got %s", sum, got))
	}
	found := flags.Names()
	slices.Sort(found)
	if !slices.Equal(found, names) || flags != gotFlags {
		problems = append(problems, fmt.Sprintf("flags: expected %q, got %q", names, found))
	}
	return problems, nil
}

func canonicalOf(fields object) ([]byte, error) {
	text, isText := fields.values["canonical"]
	if _, isBinary := fields.values["canonicalBase64"]; isBinary == isText {
		return nil, bad("a canon vector needs `canonical` or `canonicalBase64`")
	}
	if !isText {
		return fields.base64("canonicalBase64")
	}
	var canonical string
	if json.Unmarshal(text, &canonical) != nil {
		return nil, bad("`canonical` must be a string")
	}
	return []byte(canonical), nil
}

// flagNames returns the expected flags, sorted.
func flagNames(fields object) ([]string, error) {
	names, err := fields.names("flags")
	if err != nil {
		return nil, err
	}
	all := (digest.Opaque<<1 - 1).Names()
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, bad("there is no flag `%s`", name)
		}
	}
	slices.Sort(names)
	return names, nil
}
