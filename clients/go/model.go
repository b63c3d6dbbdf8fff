package loopguard

import (
	"encoding/json"
	"strings"

	"github.com/loopguard/loopguard/clients/go/digest"
	"github.com/loopguard/loopguard/clients/go/loopguardv1"
)

// Call is a tool call about to run.
type Call struct {
	// Tool is the tool's name.
	Tool string
	// Args are the arguments as JSON; empty for `{}`.
	Args json.RawMessage
	// ArgsDigest stands in place of Args, see [Call.Hashed].
	ArgsDigest *digest.Digest
	// CallID names the call within the run. Calls without one are numbered c1, c2, …
	CallID string
	// Action tells polls and sends apart where the arguments come as a digest.
	Action string
}

// Hashed returns the call with a digest in place of its arguments.
func (c Call) Hashed() Call {
	if c.ArgsDigest != nil {
		return c
	}
	sum, _ := digest.OfArguments(c.Tool, c.Args)
	if c.Action == "" {
		c.Action = actionOf(c.Args)
	}
	c.Args, c.ArgsDigest = nil, &sum
	return c
}

// actionOf returns the argument that tells polls and sends apart.
func actionOf(args json.RawMessage) string {
	var members map[string]json.RawMessage
	var action string
	if json.Unmarshal(args, &members) != nil || json.Unmarshal(members["action"], &action) != nil {
		return ""
	}
	return action
}

// Outcome is how a call ended.
type Outcome struct {
	// CallID names the call; empty for the oldest admitted call without outcome.
	CallID string
	// Status is how it ended.
	Status Status
	// Result is what the tool returned, as JSON.
	Result json.RawMessage
	// ResultDigest stands in place of Result, see [Outcome.Hashed]. It is only compared with other such digests.
	ResultDigest *digest.Digest
	// Error is the error as JSON; a message is a JSON string.
	Error json.RawMessage
	// Private is an outcome that stands for the result in comparisons, as JSON.
	Private json.RawMessage
}

// Hashed returns the outcome with a digest in place of its result.
func (o Outcome) Hashed() Outcome {
	if len(o.Result) == 0 || o.ResultDigest != nil {
		return o
	}
	sum, _ := digest.Of(o.Result)
	o.Result, o.ResultDigest = nil, &sum
	return o
}

// Record is a call that already happened, with its outcome; the CallIDs are not used.
type Record struct {
	Call    Call
	Outcome Outcome
}

// Verdict is what the guard says of a call or of an outcome.
type Verdict struct {
	// CallID names the call.
	CallID string
	// Action is what to do.
	Action Action
	// Finding is why; nil where there is nothing to say.
	Finding *Finding
	// Note is text for the model. It never quotes arguments or results.
	Note string
	// BlockedBy is the call for whose sake this one was blocked.
	BlockedBy string
	// Scope is what an abort ends.
	Scope Scope
	// Flags are what was odd about the JSON: of the arguments for a call, of the result for an outcome.
	Flags digest.Flags
}

// Allowed tells whether the call may run.
func (v Verdict) Allowed() bool { return v.Action == ActionAllow || v.Action == ActionWarn }

// Finding is what a detector says, with its evidence.
type Finding struct {
	// Detector names the detector.
	Detector string
	// Level is how sure it is.
	Level Level
	// Count is what was counted, Threshold the count from which on the detector speaks.
	Count, Threshold int
	// PairedTool is the other tool of a ping-pong.
	PairedTool string
	// CallIDs are the calls that count, oldest first; records of a history have none.
	CallIDs []string
	// ArgsDigest and OutcomeDigest are of what repeats; empty where it varies.
	ArgsDigest, OutcomeDigest []byte
	// Stripped are the kinds of volatile text that were left out to find outcomes equal.
	Stripped []string
	// ClearedBy says what would end the finding.
	ClearedBy string
}

// Action is what to do with a call.
type Action uint8

// The actions. One that this client does not know is taken as ActionAllow.
const (
	ActionAllow Action = iota // run it
	ActionWarn                // run it, then append the note to its result
	ActionBlock               // don't run it; give the note to the model as the call's error result
	ActionAbort               // stop the turn or the run, as Scope says
)

// String returns the action's name on the wire, without its prefix.
func (a Action) String() string {
	return strings.TrimPrefix(loopguardv1.Action(a+1).String(), "ACTION_")
}

// Status is how a call ended. Its values are those of the wire.
type Status int32

// The statuses.
const (
	StatusUnspecified      = Status(loopguardv1.Status_STATUS_UNSPECIFIED)
	StatusOK               = Status(loopguardv1.Status_STATUS_OK)
	StatusError            = Status(loopguardv1.Status_STATUS_ERROR)
	StatusUnknownTool      = Status(loopguardv1.Status_STATUS_UNKNOWN_TOOL)
	StatusInvalidArguments = Status(loopguardv1.Status_STATUS_INVALID_ARGUMENTS)
	StatusDenied           = Status(loopguardv1.Status_STATUS_DENIED)
	StatusLoopVeto         = Status(loopguardv1.Status_STATUS_LOOP_VETO)
	StatusCancelled        = Status(loopguardv1.Status_STATUS_CANCELLED)
	StatusPending          = Status(loopguardv1.Status_STATUS_PENDING) // only in records of a history
)

// String returns the status' name on the wire, without its prefix.
func (s Status) String() string {
	return strings.TrimPrefix(loopguardv1.Status(s).String(), "STATUS_")
}

// Scope is what an abort ends. Its values are those of the wire.
type Scope int32

// The scopes.
const (
	ScopeUnspecified = Scope(loopguardv1.Scope_SCOPE_UNSPECIFIED)
	ScopeTurn        = Scope(loopguardv1.Scope_SCOPE_TURN) // until the next user message
	ScopeRun         = Scope(loopguardv1.Scope_SCOPE_RUN)
)

// String returns the scope's name on the wire, without its prefix.
func (s Scope) String() string { return strings.TrimPrefix(loopguardv1.Scope(s).String(), "SCOPE_") }

// Level is how sure a detector is. Its values are those of the wire.
type Level int32

// The levels.
const (
	LevelUnspecified = Level(loopguardv1.Level_LEVEL_UNSPECIFIED)
	LevelWarning     = Level(loopguardv1.Level_LEVEL_WARNING)  // looks like a loop
	LevelCritical    = Level(loopguardv1.Level_LEVEL_CRITICAL) // is one
)

// String returns the level's name on the wire, without its prefix.
func (l Level) String() string { return strings.TrimPrefix(loopguardv1.Level(l).String(), "LEVEL_") }

// Mode says whether verdicts are held against the run. Its values are those of the wire.
type Mode int32

// The modes.
const (
	ModeUnspecified = Mode(loopguardv1.Mode_MODE_UNSPECIFIED)
	ModeEnforce     = Mode(loopguardv1.Mode_MODE_ENFORCE)
	ModeObserve     = Mode(loopguardv1.Mode_MODE_OBSERVE) // verdicts are returned, nothing is held against the run
)

// String returns the mode's name on the wire, without its prefix.
func (m Mode) String() string { return strings.TrimPrefix(loopguardv1.Mode(m).String(), "MODE_") }
