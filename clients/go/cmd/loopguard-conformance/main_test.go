package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const passing = `{"name": "fine", "input": "MS4w", "canonical": "1", "digest": "df3ce784d856334d65cd25028f98f158", "flags": []}`

func TestTheLastLineCountsTheCases(t *testing.T) {
	lines := strings.Join([]string{
		passing,
		strings.Replace(passing, `"1"`, `"2"`, 1),
		`{"name": "elsewhere", "configFile": {}, "steps": [{"close": {}}], "expect": [null]}`,
	}, "\n")
	path := filepath.Join(t.TempDir(), "cases.jsonl")
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	failed, err := run(t.Context(), &out, "", []string{path, path})
	if err != nil || failed != 2 {
		t.Errorf("%d failed, %v", failed, err)
	}
	if !strings.HasSuffix(out.String(), "2 left out: they need a server of their own\n2 passed, 2 failed\n") {
		t.Errorf("said %q", out.String())
	}
}

func TestAServerThatIsAwayIsAnError(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nowhere := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "cases.jsonl")
	detection := `{"name": "n", "steps": [{"close": {}}], "expect": [null]}`
	if err := os.WriteFile(path, []byte(passing+"\n"+detection), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"", nowhere, "bad address"} {
		var out bytes.Buffer
		if _, err := run(t.Context(), &out, address, []string{path}); err == nil || out.Len() > 0 {
			t.Errorf("%q: ran, and said %q", address, out.String())
		}
	}
}

func TestNothingToRunIsAnError(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.jsonl")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, paths := range [][]string{nil, {empty}, {"nowhere.jsonl"}} {
		if _, err := run(t.Context(), &bytes.Buffer{}, "", paths); err == nil {
			t.Errorf("%q ran", paths)
		}
	}
}
