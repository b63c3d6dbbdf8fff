package loopguard

import (
	"errors"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The families of errors, for [errors.Is].
var (
	// ErrInvalidFrame is the caller's mistake in one frame; the run goes on as if it had not come.
	ErrInvalidFrame = errors.New("invalid frame")
	// ErrInvalidConfig is a configuration that is refused; [Error.Key] names the key.
	ErrInvalidConfig = errors.New("invalid configuration")
	// ErrRunRefused says that the guard refuses the run, or has it no longer for this client.
	ErrRunRefused = errors.New("run refused")
	// ErrUnavailable says that the guard could not answer. Unless waiting is asked for, calls are decided instead.
	ErrUnavailable = errors.New("guard unavailable")
	// ErrClosed says that the run or the client was closed.
	ErrClosed = errors.New("closed")
)

// Error is what is wrong, with the guard's reason.
type Error struct {
	// Reason is the wire's ErrorReason without its prefix, such as "UNKNOWN_CALL".
	Reason string
	// Key names the mistake in a configuration.
	Key string
	// Message says what is wrong and where.
	Message string

	family error
}

// Error returns the message with its reason.
func (e *Error) Error() string {
	text := "loopguard: " + e.family.Error()
	if e.Reason != "" {
		text += " (" + e.Reason + ")"
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// Unwrap returns the family, such as [ErrRunRefused].
func (e *Error) Unwrap() error { return e.family }

// The reasons that the client looks at or gives itself.
const (
	reasonInvalidFrame  = "INVALID_FRAME"
	reasonDuplicateCall = "DUPLICATE_CALL"
	reasonEmptyTool     = "EMPTY_TOOL"
	reasonTooLarge      = "TOO_LARGE"
	reasonTooManyCalls  = "TOO_MANY_CALLS"
	reasonShuttingDown  = "SHUTTING_DOWN"
	reasonSuperseded    = "SUPERSEDED"
)

// families says which mistake a reason is; any other reason refuses the run.
var families = map[string]error{
	reasonInvalidFrame:  ErrInvalidFrame,
	"UNKNOWN_CALL":      ErrInvalidFrame,
	reasonDuplicateCall: ErrInvalidFrame,
	reasonEmptyTool:     ErrInvalidFrame,
	reasonTooLarge:      ErrInvalidFrame,
	reasonTooManyCalls:  ErrInvalidFrame,
	"INVALID_CONFIG":    ErrInvalidConfig,
	"INTERNAL":          ErrUnavailable,
	"ANSWER_EXPIRED":    ErrUnavailable,
}

func invalidFrame(reason, message string) *Error {
	return &Error{Reason: reason, Message: message, family: ErrInvalidFrame}
}

func unavailable(message string) *Error { return &Error{Message: message, family: ErrUnavailable} }

func closed(what string) *Error { return &Error{Message: what, family: ErrClosed} }

// refusal reads why a frame, a run or a stream was refused.
func refusal(s *status.Status) *Error {
	refused := &Error{Message: s.Message(), family: ErrRunRefused}
	for _, detail := range s.Details() {
		switch d := detail.(type) {
		case *errdetails.ErrorInfo:
			if d.GetDomain() == "loopguard" {
				refused.Reason = d.GetReason()
			}
		case *errdetails.BadRequest:
			for _, violation := range d.GetFieldViolations() {
				refused.Key = violation.GetField()
				break
			}
		}
	}
	if family, ok := families[refused.Reason]; ok {
		refused.family = family
	}
	if refused.Reason == "" {
		refused.Reason = codeName(s.Code())
	}
	return refused
}

func refusalOf(s *statuspb.Status) *Error { return refusal(status.FromProto(s)) }

// codeName returns how the wire calls a code.
func codeName(code codes.Code) string {
	names := map[codes.Code]string{
		codes.InvalidArgument: "INVALID_ARGUMENT", codes.PermissionDenied: "PERMISSION_DENIED",
		codes.FailedPrecondition: "FAILED_PRECONDITION", codes.Aborted: "ABORTED",
		codes.Unimplemented: "UNIMPLEMENTED", codes.Unauthenticated: "UNAUTHENTICATED",
	}
	if name, ok := names[code]; ok {
		return name
	}
	return code.String()
}

// isFinal tells whether trying again is of no use after a stream that ended so.
func isFinal(code codes.Code) bool {
	switch code {
	case codes.InvalidArgument, codes.PermissionDenied, codes.FailedPrecondition, codes.Aborted, codes.Unimplemented,
		codes.Unauthenticated:
		return true
	default:
		return false
	}
}
