package loopguard

import (
	"fmt"
	"slices"
	"testing"

	pb "github.com/loopguard/loopguard/clients/go/loopguardv1"
)

func callsOf(tools ...string) []*pb.Call {
	calls := make([]*pb.Call, len(tools))
	for i, tool := range tools {
		calls[i] = &pb.Call{Tool: tool, CallId: tool}
	}
	return calls
}

func allowed(calls []*pb.Call) []Verdict { return make([]Verdict, len(calls)) }

// told returns the journal's records as words.
func toldOf(j *journal) []string {
	var words []string
	for _, record := range j.lose() {
		words = append(words, record.GetTool()+" "+Status(record.GetStatus()).String())
	}
	return words
}

func TestTheJournalTellsTheNewestCallsThatEnded(t *testing.T) {
	j := newJournal(2, 1<<20)
	calls := callsOf("a", "b", "c", "d")
	j.ask(calls, allowed(calls))
	for _, id := range []string{"b", "", "d"} {
		j.settle(&pb.Outcome{CallId: id, Status: pb.Status_STATUS_OK})
	}
	// Two are kept; a came back when its outcome was told, as the newest.
	if got := toldOf(j); !slices.Equal(got, []string{"a OK", "d OK"}) {
		t.Errorf("told %q", got)
	}
	if j.settle(&pb.Outcome{CallId: "a"}) != nil {
		t.Error("a call ended twice")
	}
}

func TestOfABlockedBatchTheJournalTellsTheBlockedCall(t *testing.T) {
	j := newJournal(30, 1<<20)
	calls := callsOf("fine", "loop")
	j.ask(calls, []Verdict{{Action: ActionBlock, BlockedBy: "loop"}, {Action: ActionBlock}})
	if got := toldOf(j); !slices.Equal(got, []string{"loop LOOP_VETO"}) {
		t.Errorf("told %q", got)
	}
	// It ran all the same.
	if call := j.settle(&pb.Outcome{CallId: "loop", Status: pb.Status_STATUS_ERROR}); call == nil || !call.lost {
		t.Errorf("settled %v", call)
	}
	if got := toldOf(j); !slices.Equal(got, []string{"loop LOOP_VETO", "loop ERROR"}) {
		t.Errorf("told %q", got)
	}
}

func TestTheJournalIsLimited(t *testing.T) {
	j := newJournal(30, 100)
	for i := range openCalls + 10 {
		call := &pb.Call{Tool: "t", CallId: fmt.Sprint(i), Arguments: &pb.Call_ArgsJson{ArgsJson: make([]byte, 40)}}
		j.ask([]*pb.Call{call}, make([]Verdict, 1))
	}
	if len(j.newest) != 2 || j.bytes != 80 || len(j.open) != openCalls {
		t.Errorf("%d calls of %d bytes, %d open", len(j.newest), j.bytes, len(j.open))
	}
	if call := j.settle(&pb.Outcome{}); call.call.GetCallId() != "10" {
		t.Errorf("the oldest one is %s", call.call.GetCallId())
	}
}

func TestNumbersOfCalls(t *testing.T) {
	j := newJournal(30, 100)
	calls := []*pb.Call{{}, {CallId: "c2"}, {}}
	before := j.number(calls)
	if calls[0].GetCallId() != "c1" || calls[2].GetCallId() != "c3" {
		t.Errorf("numbered %v", calls)
	}
	j.unnumber(before, calls)
	next := []*pb.Call{{}}
	j.number(next)
	if next[0].GetCallId() != "c1" {
		t.Errorf("after a refused batch: %v", next)
	}
}
