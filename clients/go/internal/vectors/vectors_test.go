package vectors

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func runText(t *testing.T, text string) ([]Result, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cases.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var results []Result
	runner := &Runner{}
	err := runner.RunFile(context.Background(), path, func(result Result) { results = append(results, result) })
	return results, err
}

func TestTheProjectsVectorsPass(t *testing.T) {
	for _, name := range []string{"canon.jsonl", "wire.jsonl"} {
		cases := 0
		err := (&Runner{}).RunFile(t.Context(), filepath.Join("../../../../conformance", name), func(result Result) {
			cases++
			for _, problem := range result.Problems {
				t.Errorf("%s: %s", result.Name, problem)
			}
		})
		if err != nil || cases < 90 {
			t.Errorf("%s: %d cases, %v", name, cases, err)
		}
	}
}

const (
	canonCase = `{"name": "n", "input": "MS4w", "canonical": "1", "digest": "df3ce784d856334d65cd25028f98f158", "flags": []}`
	wireCase  = `{"name": "n", "message": "loopguard.v1.GuardRequest", "json": {"seq": "1"}, "bytes": "0801"}`
)

func TestWrongAnswersFail(t *testing.T) {
	for _, line := range []string{
		strings.Replace(canonCase, `"1"`, `"2"`, 1),
		strings.Replace(canonCase, `df3c`, `df3d`, 1),
		strings.Replace(canonCase, `[]`, `["BIGINT"]`, 1),
		strings.Replace(wireCase, `0801`, `0802`, 1),
		strings.Replace(wireCase, `0801`, `08`, 1),
		strings.Replace(wireCase, `0801`, `08010a`, 1),
	} {
		results, err := runText(t, "\ufeff"+canonCase+"\n\n"+line+"\r\n")
		if err != nil || len(results) != 2 || len(results[0].Problems) > 0 || len(results[1].Problems) == 0 {
			t.Errorf("%s: %v, %v", line, results, err)
		}
	}
}

func TestWhatIsNotUnderstoodIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"no cases":              " \n\n",
		"no known kind":         `{"name": "n", "json": {}}`,
		"an object":             `[]`,
		"a vector is no valid":  `{"name": "n", "input": }`,
		"a vector needs `name`": `{"input": "MS4w"}`,
		"unknown key `seed`":    strings.Replace(canonCase, `"flags"`, `"seed": 1, "flags"`, 1),
		"stands twice":          strings.Replace(canonCase, `"flags"`, `"name": "m", "flags"`, 1),
		"masks nothing":         strings.Replace(canonCase, `"flags"`, `"mask": ["duration"], "flags"`, 1),
		"there is no flag":      strings.Replace(canonCase, `[]`, `["ODD"]`, 1),
		"must be base64":        strings.Replace(canonCase, `MS4w`, `MS4`, 1),
		"needs the string":      strings.Replace(canonCase, `df3ce784d856334d65cd25028f98f158`, ``, 1),
		"there is no message":   strings.Replace(wireCase, `GuardRequest`, `Nothing`, 1),
		"`json` is no":          strings.Replace(wireCase, `"seq"`, `"sequence"`, 1),
		"hexadecimal":           strings.Replace(wireCase, `0801`, `080`, 1),
		"one entry for each":    `{"name": "n", "steps": [{"close": {}}], "expect": []}`,
		"either steps or":       `{"name": "n", "steps": [], "expect": []}`,
		"unknown key `close2`":  `{"name": "n", "close2": 1, "steps": [], "expect": []}`,
		"exactly one of":        `{"name": "n", "steps": [{"cloze": {}}], "expect": [null]}`,
		"not known":             `{"name": "n", "steps": [{"outcome": {}}], "expect": [{"act": "ALLOW"}]}`,
		"is repeated 3 times":   `{"name": "n", "steps": [{"outcome": {}, "repeat": 3}], "expect": [[[null, 2]]]}`,
		"has 2 verdicts":        `{"name": "n", "steps": [{"calls": [{"tool": "a"}]}], "expect": [[null, null]]}`,
		"`tool` is missing":     `{"name": "n", "steps": [{"calls": [{}]}], "expect": [null]}`,
		"`status` is `FINE`":    `{"name": "n", "steps": [{"outcome": {"status": "FINE"}}], "expect": [null]}`,
		"`mode` is `SOFT`":      `{"name": "n", "mode": "SOFT", "steps": [{"close": {}}], "expect": [null]}`,
		"exclude each other":    `{"name": "n", "steps": [{"calls": [{"tool": "a", "args": 1, "argsDigest": "00"}]}], "expect": [null]}`,
	} {
		_, err := runText(t, text)
		if !errors.Is(err, ErrBadCase) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCasesThatNeedAServerOfTheirOwnAreLeftOut(t *testing.T) {
	results, err := runText(t, `{"name": "a", "configFile": {}, "steps": [{"close": {}}], "expect": [null]}
{"name": "b", "steps": [{"fingerprint": [{"tool": "x"}]}], "expect": [{"equal": {"args": ["a"]}}]}`)
	if err != nil || len(results) != 2 || !results[0].LeftOut || !results[1].LeftOut {
		t.Errorf("%v, %v", results, err)
	}
	if _, err := runText(t, `{"name": "a", "steps": [{"close": {}}], "expect": [null]}`); err == nil {
		t.Error("a detection vector ran without a server")
	}
}

func TestSugar(t *testing.T) {
	for text, want := range map[string]string{
		`{"n": "$#40", "$#1": 2, "s": "a$i b$03i $hex16"}`: `{"n": 42, "$#1": 2, "s": "a2 b002 f00d"}`,
		`["\"$#1"]`: `["\"$#1"]`,
	} {
		if got := string(spellOut([]byte(text), 2, "f00d")); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestMatching(t *testing.T) {
	got := []any{map[string]any{"callId": "c1", "action": "WARN", "flags": []any{"OPAQUE", "BIGINT"}, "finding": map[string]any{"count": 3.0}}}
	for _, test := range []struct {
		expected string
		matches  bool
	}{
		{`{"action": "WARN", "note": null}`, true},
		{`{"action": ["ALLOW", "WARN"]}`, true},
		{`{"action": "ALLOW"}`, false},
		{`{"note": "x"}`, false},
		{`{"callId": null}`, false},
		{`{"flags": ["BIGINT", "OPAQUE"]}`, true},
		{`{"flags": ["BIGINT"]}`, false},
		{`{"finding": {"count": 3, "pairedTool": null}}`, true},
		{`{"finding": {"count": 4}}`, false},
		{`[{"action": "WARN"}]`, true},
		{`[null]`, true},
		{`[null, null]`, false},
		{`{"error": {"reason": "UNKNOWN_CALL"}}`, false},
	} {
		expected, err := parseExpected([]byte(test.expected), 1, false)
		if err != nil || matches(expected[0], any(got)) != test.matches {
			t.Errorf("%s: %v", test.expected, err)
		}
	}
}
