package loopguard

import (
	"bytes"
	"fmt"
	"log/slog"
	"unicode/utf8"

	"github.com/loopguard/loopguard/clients/go/digest"
	pb "github.com/loopguard/loopguard/clients/go/loopguardv1"
)

// Frames are built with copies of the caller's bytes: they may have to be sent again long after the call returned.

func callFrame(calls []Call, dryRun bool) *pb.GuardRequest {
	batch := &pb.CallBatch{Calls: make([]*pb.Call, len(calls)), DryRun: dryRun}
	for i, call := range calls {
		batch.Calls[i] = toCall(call)
	}
	return batchFrame(batch)
}

func batchFrame(batch *pb.CallBatch) *pb.GuardRequest {
	return &pb.GuardRequest{Frame: &pb.GuardRequest_Calls{Calls: batch}}
}

func outcomeFrame(outcome *pb.Outcome) *pb.GuardRequest {
	return &pb.GuardRequest{Frame: &pb.GuardRequest_Outcome{Outcome: outcome}}
}

func historyFrame(records ...*pb.Record) *pb.GuardRequest {
	return &pb.GuardRequest{Frame: &pb.GuardRequest_History{History: &pb.History{Records: records}}}
}

func closeFrame() *pb.GuardRequest {
	return &pb.GuardRequest{Frame: &pb.GuardRequest_Close{Close: &pb.RunClose{}}}
}

func toCall(call Call) *pb.Call {
	made := &pb.Call{CallId: call.CallID, Tool: call.Tool, Action: call.Action}
	if call.ArgsDigest != nil {
		made.Arguments = &pb.Call_ArgsDigest{ArgsDigest: bytes.Clone(call.ArgsDigest[:])}
	} else if len(call.Args) > 0 {
		made.Arguments = &pb.Call_ArgsJson{ArgsJson: bytes.Clone(call.Args)}
	}
	return made
}

func toOutcome(outcome Outcome) *pb.Outcome {
	made := &pb.Outcome{
		CallId:       outcome.CallID,
		Status:       pb.Status(outcome.Status),
		ErrorJson:    bytes.Clone(outcome.Error),
		SemanticJson: bytes.Clone(outcome.Private),
	}
	if outcome.ResultDigest != nil {
		made.Output = &pb.Outcome_ResultDigest{ResultDigest: bytes.Clone(outcome.ResultDigest[:])}
	} else if len(outcome.Result) > 0 {
		made.Output = &pb.Outcome_ResultJson{ResultJson: bytes.Clone(outcome.Result)}
	}
	return made
}

func toRecord(record Record) *pb.Record {
	return recordOf(toCall(record.Call), toOutcome(record.Outcome))
}

// recordOf puts a call and its outcome together.
func recordOf(call *pb.Call, outcome *pb.Outcome) *pb.Record {
	record := &pb.Record{
		Tool:         call.GetTool(),
		Action:       call.GetAction(),
		Status:       outcome.GetStatus(),
		ErrorJson:    outcome.GetErrorJson(),
		SemanticJson: outcome.GetSemanticJson(),
	}
	switch args := call.GetArguments().(type) {
	case *pb.Call_ArgsJson:
		record.Arguments = &pb.Record_ArgsJson{ArgsJson: args.ArgsJson}
	case *pb.Call_ArgsDigest:
		record.Arguments = &pb.Record_ArgsDigest{ArgsDigest: args.ArgsDigest}
	}
	switch output := outcome.GetOutput().(type) {
	case *pb.Outcome_ResultJson:
		record.Output = &pb.Record_ResultJson{ResultJson: output.ResultJson}
	case *pb.Outcome_ResultDigest:
		record.Output = &pb.Record_ResultDigest{ResultDigest: output.ResultDigest}
	}
	return record
}

// checkText refuses a frame whose text is no UTF-8, which the wire can't carry.
func checkText(frame *pb.GuardRequest) error {
	var texts []string
	switch body := frame.GetFrame().(type) {
	case *pb.GuardRequest_Open:
		open := body.Open
		texts = []string{open.GetRunId(), open.GetAgentId(), open.GetParentRunId(), open.GetProfile()}
	case *pb.GuardRequest_Calls:
		for _, call := range body.Calls.GetCalls() {
			texts = append(texts, call.GetTool(), call.GetCallId(), call.GetAction())
		}
	case *pb.GuardRequest_Outcome:
		texts = []string{body.Outcome.GetCallId()}
	case *pb.GuardRequest_History:
		for _, record := range body.History.GetRecords() {
			texts = append(texts, record.GetTool(), record.GetAction())
		}
	}
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return invalidFrame(reasonInvalidFrame, fmt.Sprintf("%q is no UTF-8", text))
		}
	}
	return nil
}

func fromVerdicts(verdicts []*pb.Verdict, log *slog.Logger) []Verdict {
	made := make([]Verdict, len(verdicts))
	for i, verdict := range verdicts {
		made[i] = fromVerdict(verdict, log)
	}
	return made
}

func fromVerdict(verdict *pb.Verdict, log *slog.Logger) Verdict {
	return Verdict{
		CallID:    verdict.GetCallId(),
		Action:    fromAction(verdict, log),
		Finding:   fromFinding(verdict.GetFinding()),
		Note:      verdict.GetNote(),
		BlockedBy: verdict.GetBlockedBy(),
		Scope:     Scope(verdict.GetScope()),
		Flags:     fromFlags(verdict.GetFlags()),
	}
}

func fromAction(verdict *pb.Verdict, log *slog.Logger) Action {
	action := verdict.GetAction()
	if action < pb.Action_ACTION_ALLOW || action > pb.Action_ACTION_ABORT {
		log.Warn("the guard answers an action that this client does not know; the call is allowed",
			"action", int32(action), "call_id", verdict.GetCallId())
		return ActionAllow
	}
	return Action(action - pb.Action_ACTION_ALLOW)
}

func fromFinding(finding *pb.Finding) *Finding {
	if finding == nil {
		return nil
	}
	return &Finding{
		Detector:      finding.GetDetector(),
		Level:         Level(finding.GetLevel()),
		Count:         int(finding.GetCount()),
		Threshold:     int(finding.GetThreshold()),
		PairedTool:    finding.GetPairedTool(),
		CallIDs:       finding.GetCallIds(),
		ArgsDigest:    finding.GetArgsDigest(),
		OutcomeDigest: finding.GetOutcomeDigest(),
		Stripped:      finding.GetStripped(),
		ClearedBy:     finding.GetClearedBy(),
	}
}

// fromFlags leaves out flags that this client does not know.
func fromFlags(flags []pb.JsonFlag) digest.Flags {
	var bits digest.Flags
	for _, flag := range flags {
		if flag >= pb.JsonFlag_JSON_FLAG_BIGINT && flag <= pb.JsonFlag_JSON_FLAG_OPAQUE {
			bits |= 1 << (flag - pb.JsonFlag_JSON_FLAG_BIGINT)
		}
	}
	return bits
}
