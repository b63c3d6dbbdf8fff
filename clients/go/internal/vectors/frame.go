package vectors

import (
	"context"
	"encoding/json"

	loopguard "github.com/loopguard/loopguard/clients/go"
	"github.com/loopguard/loopguard/clients/go/digest"
	"github.com/loopguard/loopguard/clients/go/loopguardv1"
)

var (
	callKeys    = []string{"action", "args", "argsDigest", "callId", "tool"}
	outcomeKeys = []string{"callId", "error", "private", "result", "resultDigest", "status"}
	recordKeys  = []string{"action", "args", "argsDigest", "error", "private", "result", "resultDigest", "status", "tool"}
	frameKinds  = []string{"calls", "check", "outcome", "history", "userMessage", "compactionRetry", "close"}
)

// frame is one frame of a run, ready to be sent.
type frame struct {
	// calls are those of a batch, nil for another frame.
	calls []loopguard.Call
	kind  string
	// send sends it and returns the verdicts that answer it, one for an outcome, none for what carries no question.
	send func(context.Context, *loopguard.Run) ([]loopguard.Verdict, error)
}

// parseFrame reads a frame as it stands in a trace; `at` is checked, the client stamps its own.
func parseFrame(fields object) (frame, error) {
	rest := make(map[string]json.RawMessage)
	for key, value := range fields.values {
		rest[key] = value
	}
	if at, ok := rest["at"]; ok {
		var seconds float64
		if json.Unmarshal(at, &seconds) != nil {
			return frame{}, bad("`at` must be a number of seconds")
		}
		delete(rest, "at")
	}
	for _, kind := range frameKinds {
		if text, ok := rest[kind]; ok && len(rest) == 1 {
			return parseKind(kind, text)
		}
	}
	return frame{}, bad("a frame has exactly one of %q; here: %q", frameKinds, fields.keys)
}

func parseKind(kind string, text json.RawMessage) (frame, error) {
	switch kind {
	case "calls", "check":
		return parseCalls(kind, text)
	case "outcome":
		outcome, err := parseOutcome(text)
		return frame{kind: kind, send: func(ctx context.Context, run *loopguard.Run) ([]loopguard.Verdict, error) {
			verdict, err := run.Report(ctx, outcome)
			return []loopguard.Verdict{verdict}, err
		}}, err
	case "history":
		records, err := parseRecords(text)
		return frame{kind: kind, send: func(ctx context.Context, run *loopguard.Run) ([]loopguard.Verdict, error) {
			return nil, run.Record(ctx, records...)
		}}, err
	}
	signals := map[string]func(*loopguard.Run, context.Context) error{
		"userMessage":     (*loopguard.Run).UserMessage,
		"compactionRetry": (*loopguard.Run).CompactionRetry,
		"close":           (*loopguard.Run).Close,
	}
	_, err := parseObject(text, "`"+kind+"`", []string{})
	return frame{kind: kind, send: func(ctx context.Context, run *loopguard.Run) ([]loopguard.Verdict, error) {
		return nil, signals[kind](run, ctx)
	}}, err
}

func parseCalls(kind string, text json.RawMessage) (frame, error) {
	items, err := parseArray(text, "`"+kind+"`")
	if err != nil {
		return frame{}, err
	}
	calls := make([]loopguard.Call, len(items))
	for i, item := range items {
		if calls[i], err = parseCall(item, "a call", callKeys); err != nil {
			return frame{}, err
		}
	}
	ask := (*loopguard.Run).Judge
	if kind == "check" {
		ask = (*loopguard.Run).Check
	}
	return frame{calls: calls, kind: kind, send: func(ctx context.Context, run *loopguard.Run) ([]loopguard.Verdict, error) {
		return ask(run, ctx, calls...)
	}}, nil
}

func parseCall(text json.RawMessage, what string, known []string) (call loopguard.Call, err error) {
	fields, err := parseObject(text, what, known)
	if err != nil {
		return call, err
	}
	if _, ok := fields.values["tool"]; !ok {
		return call, bad("`tool` is missing")
	}
	for key, field := range map[string]*string{"tool": &call.Tool, "callId": &call.CallID, "action": &call.Action} {
		if *field, err = fields.text(key); err != nil {
			return call, err
		}
	}
	call.Args = fields.values["args"]
	call.ArgsDigest, err = fields.digest("args")
	return call, err
}

func parseOutcome(text json.RawMessage) (loopguard.Outcome, error) {
	fields, err := parseObject(text, "an outcome", outcomeKeys)
	if err != nil {
		return loopguard.Outcome{}, err
	}
	return ending(fields)
}

// ending reads how a call ended, from an outcome or a record.
func ending(fields object) (outcome loopguard.Outcome, err error) {
	if outcome.CallID, err = fields.text("callId"); err != nil {
		return outcome, err
	}
	status, err := fields.text("status")
	if err != nil {
		return outcome, err
	}
	if _, ok := fields.values["status"]; ok {
		number, known := loopguardv1.Status_value["STATUS_"+status]
		if !known || number == 0 {
			return outcome, bad("`status` is `%s`, which is not known", status)
		}
		outcome.Status = loopguard.Status(number)
	}
	outcome.Result, outcome.Error, outcome.Private = fields.values["result"], fields.values["error"], fields.values["private"]
	outcome.ResultDigest, err = fields.digest("result")
	return outcome, err
}

func parseRecords(text json.RawMessage) ([]loopguard.Record, error) {
	items, err := parseArray(text, "`history`")
	if err != nil {
		return nil, err
	}
	records := make([]loopguard.Record, len(items))
	for i, item := range items {
		if records[i].Call, err = parseCall(item, "a record", recordKeys); err != nil {
			return nil, err
		}
		fields, err := parseObject(item, "a record", recordKeys)
		if err != nil {
			return nil, err
		}
		if records[i].Outcome, err = ending(fields); err != nil {
			return nil, err
		}
	}
	return records, nil
}

// digest returns the digest that stands in place of a value, nil where it is absent.
func (o object) digest(key string) (*digest.Digest, error) {
	name := key + "Digest"
	if _, ok := o.values[name]; !ok {
		return nil, nil
	}
	if _, both := o.values[key]; both {
		return nil, bad("`%s` and `%s` exclude each other", key, name)
	}
	data, err := o.hex(name)
	if err != nil {
		return nil, err
	}
	var sum digest.Digest
	if copy(sum[:], data) != len(sum) || len(data) != len(sum) {
		return nil, bad("`%s` must be %d hex digits", name, 2*len(sum))
	}
	return &sum, nil
}
