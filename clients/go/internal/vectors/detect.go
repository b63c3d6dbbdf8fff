package vectors

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"

	loopguard "github.com/loopguard/loopguard/clients/go"
	"github.com/loopguard/loopguard/clients/go/loopguardv1"
)

var vectorKeys = []string{
	"agentId", "config", "configFile", "digestScheme", "expect", "expectError", "mode", "name", "parentRunId", "profile",
	"rule", "runId", "steps",
}

// vector is a detection vector.
type vector struct {
	runID   string
	config  json.RawMessage // nil: none
	options []loopguard.RunOption
	// refusedKey is the key for which the run is to be refused; nil: it is to be opened.
	refusedKey *string
	// needsServer: it has a configuration file, or compares digests of records.
	needsServer bool
	steps       []step
}

// step is what is done, once for each repetition, and what is expected each time; nil is not asserted.
type step struct {
	runID    string
	acts     []act
	expected []any
}

// act is a frame, or calls with the outcome of those that are not blocked.
type act struct {
	frame   frame
	outcome *loopguard.Outcome
	// records is how many records are compared, instead of a frame.
	records int
}

func parseVector(fields object) (*vector, error) {
	if err := fields.check(vectorKeys); err != nil {
		return nil, err
	}
	name, err := fields.text("name")
	if err != nil {
		return nil, err
	}
	v := &vector{runID: name, config: fields.values["config"]}
	_, v.needsServer = fields.values["configFile"]
	if _, ok := fields.values["runId"]; ok {
		if v.runID, err = fields.text("runId"); err != nil {
			return nil, err
		}
	}
	if err := v.parseOpen(fields); err != nil {
		return nil, err
	}
	if err := v.parseSteps(fields, name); err != nil {
		return nil, err
	}
	if text, ok := fields.values["expectError"]; ok {
		refused, err := parseObject(text, "`expectError`", []string{"key"})
		if err != nil {
			return nil, err
		}
		key, err := refused.text("key")
		if err != nil {
			return nil, err
		}
		v.refusedKey = &key
	}
	if (len(v.steps) == 0) != (v.refusedKey != nil) {
		return nil, bad("a vector has either steps or `expectError`")
	}
	return v, nil
}

// parseOpen reads what the runs are opened with.
func (v *vector) parseOpen(fields object) error {
	for key, option := range map[string]func(string) loopguard.RunOption{
		"agentId": loopguard.WithAgent, "parentRunId": loopguard.WithParentRun, "profile": loopguard.WithProfile,
	} {
		text, err := fields.text(key)
		if err != nil {
			return err
		}
		v.options = append(v.options, option(text))
	}
	mode, err := fields.text("mode")
	if err != nil {
		return err
	}
	if mode != "" {
		number, known := loopguardv1.Mode_value["MODE_"+mode]
		if !known || number == 0 {
			return bad("`mode` is `%s`, which is not known", mode)
		}
		v.options = append(v.options, loopguard.WithMode(loopguard.Mode(number)))
	}
	if text, ok := fields.values["digestScheme"]; ok {
		var scheme uint32
		if json.Unmarshal(text, &scheme) != nil {
			return bad("`digestScheme` must be a whole number")
		}
		v.options = append(v.options, loopguard.WithDigestScheme(scheme))
	}
	return nil
}

func (v *vector) parseSteps(fields object, name string) error {
	steps, err := parseArray(fields.values["steps"], "`steps`")
	if err != nil {
		return err
	}
	expected, err := parseArray(fields.values["expect"], "`expect`")
	if err != nil {
		return err
	}
	if len(steps) != len(expected) {
		return bad("`expect` must have one entry for each of %d steps", len(steps))
	}
	// Seeded by the name: fresh ids have to differ, not to be unpredictable.
	seed := fnv.New64a()
	seed.Write([]byte(name))
	ids := rand.New(rand.NewPCG(seed.Sum64(), 0))
	for i, text := range steps {
		s, err := parseStep(text, expected[i], v.runID, ids)
		if err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		v.needsServer = v.needsServer || slices.ContainsFunc(s.acts, func(a act) bool { return a.records > 0 })
		v.steps = append(v.steps, s)
	}
	return nil
}

func parseStep(text, expected json.RawMessage, runID string, ids *rand.Rand) (step, error) {
	s := step{runID: runID}
	fields, err := parseObject(text, "a step", nil)
	if err != nil {
		return s, err
	}
	if _, ok := fields.values["runId"]; ok {
		if s.runID, err = fields.text("runId"); err != nil {
			return s, err
		}
	}
	times, repeated := 1, false
	if repeat, ok := fields.values["repeat"]; ok {
		repeated = true
		if json.Unmarshal(repeat, &times) != nil || times < 1 {
			return s, bad("`repeat` must be a whole number of at least 1")
		}
	}
	if s.expected, err = parseExpected(expected, times, repeated); err != nil {
		return s, err
	}
	for index := range times {
		a, err := parseAct(fields, index, repeated, ids)
		if err != nil {
			return s, err
		}
		if err := a.check(s.expected[index]); err != nil {
			return s, err
		}
		s.acts = append(s.acts, a)
	}
	return s, nil
}

// parseAct reads what a step does in one repetition.
func parseAct(fields object, index int, repeated bool, ids *rand.Rand) (act, error) {
	spelled := object{what: "a step", values: make(map[string]json.RawMessage)}
	fresh := fmt.Sprintf("%016x", ids.Uint64())
	for _, key := range fields.keys {
		if key == "runId" || key == "repeat" {
			continue
		}
		value := fields.values[key]
		if repeated {
			value = spellOut(value, index, fresh)
		}
		spelled.keys = append(spelled.keys, key)
		spelled.values[key] = value
	}
	switch {
	case slices.Equal(spelled.keys, []string{"fingerprint"}):
		records, err := parseRecords(spelled.values["fingerprint"])
		return act{records: len(records)}, err
	case spelled.values["run"] == nil:
		f, err := parseFrame(spelled)
		return act{frame: f}, err
	}
	if err := spelled.check([]string{"run", "outcome"}); err != nil || spelled.values["outcome"] == nil {
		return act{}, bad("a step with `run` has `run` and `outcome`, and may have `repeat` and `runId`")
	}
	inner, err := parseObject(spelled.values["run"], "`run`", nil)
	if err != nil {
		return act{}, err
	}
	f, err := parseFrame(inner)
	if err == nil && f.kind != "calls" {
		err = bad("`run` must be a frame with `calls`")
	}
	if err != nil {
		return act{}, err
	}
	outcome, err := parseOutcome(spelled.values["outcome"])
	return act{frame: f, outcome: &outcome}, err
}

// sugar: a counter is written `$i`, or `$0Ni` with N digits; `"$#N"`, not as a key, is a number; `$hex16` is a fresh id.
var sugar = regexp.MustCompile(`"\$#(\d+)"(?:\s*:)?|\$hex16|\$(?:0(\d))?i`)

func spellOut(text []byte, index int, fresh string) []byte {
	var spelled []byte
	at := 0
	for _, found := range sugar.FindAllSubmatchIndex(text, -1) {
		word := text[found[0]:found[1]]
		spelled = append(spelled, text[at:found[0]]...)
		at = found[1]
		switch {
		case string(word) == "$hex16":
			spelled = append(spelled, fresh...)
		case word[0] == '$':
			digits := 1
			if found[4] >= 0 {
				digits = int(text[found[4]] - '0')
			}
			spelled = fmt.Appendf(spelled, "%0*d", digits, index)
		case word[len(word)-1] == ':' || (found[0] > 0 && text[found[0]-1] == '\\'):
			spelled = append(spelled, word...)
		default:
			number, _ := strconv.Atoi(string(text[found[2]:found[3]]))
			spelled = strconv.AppendInt(spelled, int64(number+index), 10)
		}
	}
	return append(spelled, text[at:]...)
}
