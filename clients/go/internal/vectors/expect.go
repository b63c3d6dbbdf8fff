package vectors

import (
	"encoding/hex"
	"encoding/json"
	"reflect"
	"slices"

	loopguard "github.com/loopguard/loopguard/clients/go"
	"github.com/loopguard/loopguard/clients/go/digest"
)

var (
	verdictKeys = []string{"callId", "action", "finding", "note", "blockedBy", "scope", "flags", "error"}
	findingKeys = []string{
		"detector", "level", "count", "threshold", "pairedTool", "callIds", "argsDigest", "outcomeDigest", "stripped", "clearedBy",
	}
)

// parseExpected reads what is expected of each repetition of a step: of a repeated one it is a list of [verdict, n].
func parseExpected(text json.RawMessage, times int, repeated bool) ([]any, error) {
	var entry any
	if err := json.Unmarshal(text, &entry); err != nil {
		return nil, bad("`expect` is no valid JSON")
	}
	if !repeated {
		return []any{entry}, nil
	}
	if entry == nil {
		return make([]any, times), nil
	}
	var expected []any
	runs, _ := entry.([]any)
	for _, run := range runs {
		pair, _ := run.([]any)
		if len(pair) != 2 {
			return nil, bad("what is expected of a repeated step must be a list of [verdict, n]")
		}
		count, ok := pair[1].(float64)
		if !ok || count < 1 || count > float64(times) || count != float64(int(count)) {
			return nil, bad("what is expected of a repeated step must be a list of [verdict, n]")
		}
		expected = append(expected, slices.Repeat([]any{pair[0]}, int(count))...)
	}
	if len(expected) != times {
		return nil, bad("`expect` is for %d repetitions of a step that is repeated %d times", len(expected), times)
	}
	return expected, nil
}

// check refuses what is expected if it could never be compared with an answer to this.
func (a act) check(expected any) error {
	if expected == nil {
		return nil
	}
	if a.records > 0 {
		return checkLetters(expected, a.records)
	}
	entries, several := expected.([]any)
	if !several || a.frame.calls == nil {
		return checkVerdict(expected)
	}
	if len(entries) != len(a.frame.calls) {
		return bad("`expect` has %d verdicts, the step %d calls", len(entries), len(a.frame.calls))
	}
	for _, entry := range entries {
		if err := checkVerdict(entry); err != nil {
			return err
		}
	}
	return nil
}

func checkLetters(expected any, records int) error {
	entry, _ := expected.(map[string]any)
	rows, ok := entry["equal"].(map[string]any)
	if !ok || len(entry) != 1 || len(rows) == 0 {
		return bad("what is expected of `fingerprint` must be `equal` with `args` or `outcome`")
	}
	for key, row := range rows {
		letters, ok := row.([]any)
		if !ok || len(letters) != records || (key != "args" && key != "outcome") {
			return bad("`equal` must have a letter for each of %d records under `args` or `outcome`", records)
		}
	}
	return nil
}

func checkVerdict(expected any) error {
	if expected == nil {
		return nil
	}
	verdict, ok := expected.(map[string]any)
	if !ok {
		return bad("an expected verdict must be an object or null, not %v", expected)
	}
	finding, isFinding := verdict["finding"].(map[string]any)
	if !isFinding && verdict["finding"] != nil {
		return bad("`finding` must be an object")
	}
	if refused, ok := verdict["error"]; ok {
		if reason, ok := refused.(map[string]any); !ok || len(reason) != 1 || reason["reason"] == nil {
			return bad("`error` must be an object with `reason`")
		}
	}
	flags, _ := verdict["flags"].([]any)
	for _, flag := range flags {
		if name, _ := flag.(string); !slices.Contains((digest.Opaque<<1 - 1).Names(), name) {
			return bad("an expected verdict has `%v`, which is not known", flag)
		}
	}
	return errorsOf(unknownKey(verdict, verdictKeys), unknownKey(finding, findingKeys))
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func unknownKey(fields map[string]any, known []string) error {
	for key := range fields {
		if !slices.Contains(known, key) {
			return bad("an expected verdict has `%s`, which is not known", key)
		}
	}
	return nil
}

// matches tells whether an answer has all that is expected of it; nil under a name says that the name is absent.
func matches(expected, got any) bool {
	list, isList := got.([]any)
	if entries, ok := expected.([]any); ok {
		if !isList || len(entries) != len(list) {
			return false
		}
		for i, entry := range entries {
			if entry != nil && !matches(entry, list[i]) {
				return false
			}
		}
		return true
	}
	if isList && len(list) == 1 {
		got = list[0]
	}
	fields, ok := got.(map[string]any)
	if !ok {
		return false
	}
	for key, wanted := range expected.(map[string]any) {
		if !memberMatches(key, wanted, fields[key]) {
			return false
		}
	}
	return true
}

func memberMatches(key string, wanted, value any) bool {
	if _, ok := wanted.(map[string]any); ok {
		return matches(wanted, value)
	}
	list, isList := wanted.([]any)
	switch {
	case key == "action" && isList:
		return slices.Contains(list, value)
	case key == "flags":
		return reflect.DeepEqual(sorted(wanted), sorted(value))
	}
	return reflect.DeepEqual(wanted, value)
}

func sorted(value any) []string {
	names := []string{}
	list, _ := value.([]any)
	for _, name := range list {
		names = append(names, name.(string))
	}
	slices.Sort(names)
	return names
}

// verdictFields returns a verdict as a vector writes it.
func verdictFields(verdict loopguard.Verdict) any {
	fields := map[string]any{"callId": verdict.CallID, "action": verdict.Action.String()}
	if finding := verdict.Finding; finding != nil {
		fields["finding"] = findingFields(finding)
	}
	set(fields, "note", verdict.Note)
	set(fields, "blockedBy", verdict.BlockedBy)
	if verdict.Scope != loopguard.ScopeUnspecified {
		fields["scope"] = verdict.Scope.String()
	}
	if verdict.Flags != 0 {
		fields["flags"] = anys(verdict.Flags.Names())
	}
	return fields
}

func findingFields(finding *loopguard.Finding) map[string]any {
	levels := map[loopguard.Level]string{loopguard.LevelWarning: "warning", loopguard.LevelCritical: "critical"}
	fields := map[string]any{
		"detector":  finding.Detector,
		"level":     levels[finding.Level],
		"count":     float64(finding.Count),
		"threshold": float64(finding.Threshold),
	}
	set(fields, "pairedTool", finding.PairedTool)
	set(fields, "argsDigest", hex.EncodeToString(finding.ArgsDigest))
	set(fields, "outcomeDigest", hex.EncodeToString(finding.OutcomeDigest))
	set(fields, "clearedBy", finding.ClearedBy)
	if len(finding.CallIDs) > 0 {
		fields["callIds"] = anys(finding.CallIDs)
	}
	if len(finding.Stripped) > 0 {
		fields["stripped"] = anys(finding.Stripped)
	}
	return fields
}

func set(fields map[string]any, key, value string) {
	if value != "" {
		fields[key] = value
	}
}

func anys(names []string) []any {
	list := make([]any, len(names))
	for i, name := range names {
		list[i] = name
	}
	return list
}
