package loopguard

import (
	"bytes"
	"fmt"

	pb "github.com/loopguard/loopguard/clients/go/loopguardv1"
)

// openCalls is how many calls may be open; the oldest one is forgotten first, as the server does.
const openCalls = 1024

// told is a call with what is known of it.
type told struct {
	call    *pb.Call
	outcome *pb.Outcome // nil: not reported
	order   uint64      // of the calls, as they were asked
	vetoed  bool
	kept    bool // among the newest
	lost    bool // the server knows nothing of it
}

func (t *told) bytes() int {
	o := t.outcome
	return len(t.call.GetArgsJson()) + len(o.GetResultJson()) + len(o.GetErrorJson()) + len(o.GetSemanticJson())
}

// record returns it as a record of a history.
func (t *told) record() *pb.Record {
	outcome := t.outcome
	if outcome == nil {
		outcome = &pb.Outcome{Status: pb.Status_STATUS_PENDING}
		if t.vetoed {
			outcome.Status = pb.Status_STATUS_LOOP_VETO
		}
	}
	return recordOf(t.call, outcome)
}

// journal remembers the newest calls of a run, so that a lost run can be told again, and those still open.
type journal struct {
	size       int
	limitBytes int
	bytes      int
	newest     []*told
	open       map[string]*told
	asked      uint64
	numbered   int
}

func newJournal(size, limitBytes int) *journal {
	return &journal{size: size, limitBytes: limitBytes, open: make(map[string]*told)}
}

func (j *journal) resize(size int) {
	j.size = size
	j.trim()
}

// number gives the calls without id the next cN, and returns what numbering was at before, for unnumber.
func (j *journal) number(calls []*pb.Call) int {
	before := j.numbered
	taken := make(map[string]bool)
	for _, call := range calls {
		taken[call.GetCallId()] = true
	}
	for _, call := range calls {
		if call.GetCallId() != "" {
			continue
		}
		for call.CallId = ""; call.CallId == "" || taken[call.CallId]; {
			j.numbered++
			call.CallId = fmt.Sprint("c", j.numbered)
		}
	}
	return before
}

// unnumber gives the numbers of a refused batch back, if no later batch has taken any.
func (j *journal) unnumber(before int, calls []*pb.Call) {
	last := fmt.Sprint("c", j.numbered)
	for _, call := range calls {
		if call.GetCallId() == last {
			j.numbered = before
			return
		}
	}
}

// ask notes a batch with what was said of it.
func (j *journal) ask(calls []*pb.Call, verdicts []Verdict) {
	var trigger *pb.Call
	for i, verdict := range verdicts {
		if i < len(calls) && !verdict.Allowed() && verdict.BlockedBy == "" {
			trigger = calls[i]
			break
		}
	}
	for _, call := range calls {
		asked := &told{call: call, vetoed: trigger != nil}
		if trigger == nil || isSameCall(call, trigger) {
			j.append(asked)
		}
		j.await(asked)
	}
}

func isSameCall(a, b *pb.Call) bool {
	return a.GetTool() == b.GetTool() && bytes.Equal(a.GetArgsJson(), b.GetArgsJson()) &&
		bytes.Equal(a.GetArgsDigest(), b.GetArgsDigest())
}

// block notes a batch that did not run and that the guard must not hear of, unless it runs all the same.
func (j *journal) block(calls []*pb.Call) {
	for _, call := range calls {
		j.await(&told{call: call, vetoed: true, lost: true})
	}
}

func (j *journal) await(asked *told) {
	j.asked++
	asked.order = j.asked
	j.open[asked.call.GetCallId()] = asked
	if len(j.open) > openCalls {
		delete(j.open, j.oldest(func(*told) bool { return true }))
	}
}

// oldest returns the id of the oldest open call that fits, "" for none.
func (j *journal) oldest(fits func(*told) bool) string {
	var found *told
	for _, asked := range j.open {
		if fits(asked) && (found == nil || asked.order < found.order) {
			found = asked
		}
	}
	if found == nil {
		return ""
	}
	return found.call.GetCallId()
}

// settle notes how a call ended and returns it; nil if no such call is open.
func (j *journal) settle(outcome *pb.Outcome) *told {
	id := outcome.GetCallId()
	if id == "" {
		id = j.oldest(func(asked *told) bool { return !asked.vetoed })
	}
	call := j.open[id]
	if call == nil {
		return nil
	}
	delete(j.open, id)
	if call.vetoed {
		// It ran all the same: that is another record than the veto.
		call = &told{call: call.call, lost: call.lost}
	}
	before := call.bytes()
	call.outcome = outcome
	if call.kept {
		j.bytes += call.bytes() - before
		j.trim()
	} else {
		j.append(call)
	}
	return call
}

// lose notes that the server knows nothing of all this, and returns what it has to be told.
func (j *journal) lose() []*pb.Record {
	for _, asked := range j.open {
		asked.lost = true
	}
	var records []*pb.Record
	for _, call := range j.newest {
		if call.outcome != nil || call.vetoed {
			records = append(records, call.record())
		}
	}
	return records
}

func (j *journal) append(call *told) {
	call.kept = true
	j.newest = append(j.newest, call)
	j.bytes += call.bytes()
	j.trim()
}

func (j *journal) trim() {
	for len(j.newest) > 0 && (len(j.newest) > j.size || j.bytes > j.limitBytes) {
		oldest := j.newest[0]
		j.newest[0] = nil
		j.newest = j.newest[1:]
		oldest.kept = false
		j.bytes -= oldest.bytes()
	}
}
