package loopguard

import (
	"fmt"
	"log/slog"
	"math"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/loopguard/loopguard/clients/go/loopguardv1"
)

const (
	// bufferFrames and bufferBytes are what the frames kept for resending may come to.
	bufferFrames = 1000
	bufferBytes  = 8 << 20
	// historySize is how many calls are remembered until Opened tells the run's own number.
	historySize = 30
	// mostRedirects is how often a run follows from node to node: two that send it to each other would do so for ever.
	mostRedirects = 5
	// numberBytes is what a frame's number takes at most.
	numberBytes = 11
	// wrappingBytes is what a message of many runs has around one run with one frame, at most, its id aside.
	wrappingBytes = 24
)

// assumed are the server's limits until Opened tells them.
var assumed = pb.Limits{
	MessageBytes:      16 << 20,
	FrameBytes:        16 << 20,
	CallsPerBatch:     256,
	InFlight:          16,
	FramesPerMessage:  4096,
	RecordsPerHistory: 1024,
}

// phase is where a run stands.
type phase int

const (
	away    phase = iota // no stream, or none that has answered
	opening              // RunOpen is to be sent or was sent
	opened
	over // closed or refused for good
)

// reply is what a frame's caller waits for.
type reply struct {
	verdicts []Verdict
	err      error
}

// entry is a frame that is kept for resending. Its request has no number, because a rebuilt run is numbered anew, and
// is never changed once it is here, because it may be on its way.
type entry struct {
	request *pb.GuardRequest
	bytes   int
	waiter  chan<- reply // nil: nobody waits
	// report is the call whose outcome this tells.
	report string
	// numberedBefore is what the numbering of calls was at before this batch.
	numberedBefore int
}

func (e *entry) resolve(r reply) {
	if e.waiter != nil {
		e.waiter <- r // has room for one
		e.waiter = nil
	}
}

// session is the protocol of one run: numbers, the frames kept for resending, resume and rebuild. It does no I/O and is
// guarded by its client's lock.
type session struct {
	request *pb.RunOpen
	id      string // as the server uses it
	many    bool
	log     *slog.Logger
	now     func() time.Time
	began   time.Time

	phase  phase
	opened *pb.Opened // the newest
	err    error      // why the run is over
	limits *pb.Limits
	opener chan<- reply // waits for Opened; nil: nobody

	// decided counts the calls decided here because the guard was away; untold those of them that it has not been told
	// of, told those that stand in the RunOpen under way.
	decided, untold, told uint64
	// late: the answer to a frame is overdue.
	late bool
	// wantsStream: the stream can't go on with this run.
	wantsStream bool
	// movesTo is the endpoint at which the run goes on, moves how long to wait where one move leads to the next, redirects
	// how often it was sent on since it was opened last.
	movesTo   string
	moves     backoff
	redirects int

	// kept are the frames kept for resending, numbered from first on.
	kept        []*entry
	first       uint64
	keptBytes   int
	bufferLimit buffer
	// nextSend is the next frame to send on this stream, confirmed the last one answered on it, answered on any.
	nextSend, confirmed, answered uint64
	abortStands                   bool
	rebuilding                    bool
	toSend                        []*pb.GuardRequest
	journal                       *journal

	// On a stream of many runs: RunOpens of this id by others that are still to be answered, whether ours is on its
	// way, and whether one more try is left after a RunEnded.
	opensAhead  int
	openingSent bool
	mayReopen   bool

	// The link's bookkeeping.
	link  *link
	ready bool
}

// buffer limits the frames kept for resending.
type buffer struct{ frames, bytes int }

func newSession(request *pb.RunOpen, s *settings) *session {
	return &session{
		request:     request,
		id:          strings.TrimSpace(request.GetRunId()),
		many:        s.many,
		log:         s.log,
		now:         s.now,
		began:       s.now(),
		moves:       backoff{random: s.random},
		limits:      &assumed,
		first:       1,
		nextSend:    1,
		bufferLimit: s.buffer,
		journal:     newJournal(historySize, s.buffer.bytes),
	}
}

// last is the number of the newest frame.
func (s *session) last() uint64 { return s.first + uint64(len(s.kept)) - 1 }

// entryAt returns the frame of that number, nil if it is not kept.
func (s *session) entryAt(seq uint64) *entry {
	if seq < s.first || seq > s.last() {
		return nil
	}
	return s.kept[seq-s.first]
}

// newEntry wraps a frame that happens now.
func (s *session) newEntry(request *pb.GuardRequest, waiter chan<- reply) *entry {
	request.At = durationpb.New(s.now().Sub(s.began))
	return &entry{request: request, bytes: proto.Size(request), waiter: waiter}
}

// submit takes a frame for sending. It returns an error for one that the server would refuse, or the one that ended the
// run.
func (s *session) submit(request *pb.GuardRequest, waiter chan<- reply) (*entry, error) {
	if s.err != nil {
		return nil, s.err
	}
	if batch := request.GetCalls(); batch != nil {
		return s.submitBatch(request, batch, waiter)
	}
	e := s.newEntry(request, waiter)
	if err := s.checkSize(e); err != nil {
		return nil, err
	}
	if outcome := request.GetOutcome(); outcome != nil {
		if call := s.journal.settle(outcome); call != nil {
			if call.lost {
				e = s.newEntry(historyFrame(call.record()), waiter)
			}
			e.report = call.call.GetCallId()
		}
	}
	s.put(e)
	return e, nil
}

func (s *session) submitBatch(request *pb.GuardRequest, batch *pb.CallBatch, waiter chan<- reply) (*entry, error) {
	before := s.journal.number(batch.GetCalls())
	e := s.newEntry(request, waiter)
	e.numberedBefore = before
	err := s.checkBatch(batch.GetCalls())
	if err == nil {
		err = s.checkSize(e)
	}
	if err != nil || batch.GetDryRun() {
		s.journal.numbered = before
	}
	if err != nil {
		return nil, err
	}
	s.put(e)
	return e, nil
}

// put gives a frame the next number, and forgets the oldest ones where there are too many.
func (s *session) put(e *entry) {
	s.kept = append(s.kept, e)
	s.keptBytes += e.bytes
	for len(s.kept) > s.bufferLimit.frames || s.keptBytes > s.bufferLimit.bytes {
		// A frame that is awaited, or is still to be sent to a guard that is there, is not given up.
		if s.kept[0].waiter != nil || (s.phase == opened && s.first >= s.nextSend) {
			return
		}
		s.forgetTo(s.first)
	}
}

func (s *session) forgetTo(seq uint64) {
	for len(s.kept) > 0 && s.first <= seq {
		s.keptBytes -= s.kept[0].bytes
		s.kept[0] = nil
		s.kept = s.kept[1:]
		s.first++
	}
}

// checkBatch refuses what the guard would refuse, so that a mistake shows also while the guard is away.
func (s *session) checkBatch(calls []*pb.Call) error {
	if len(calls) == 0 {
		return invalidFrame(reasonInvalidFrame, "a batch without calls")
	}
	ids := make(map[string]bool, len(calls))
	for _, call := range calls {
		if strings.TrimSpace(call.GetTool()) == "" {
			return invalidFrame(reasonEmptyTool, fmt.Sprintf("call %q names no tool", call.GetCallId()))
		}
		if ids[call.GetCallId()] {
			return invalidFrame(reasonDuplicateCall, fmt.Sprintf("one batch holds the call id %q twice", call.GetCallId()))
		}
		ids[call.GetCallId()] = true
	}
	if most := s.limits.GetCallsPerBatch(); s.opened != nil && len(calls) > int(most) {
		return invalidFrame(reasonTooManyCalls, fmt.Sprintf("%d calls in one batch; the server takes %d", len(calls), most))
	}
	return nil
}

func (s *session) checkSize(e *entry) error {
	if most := s.mostBytes(); e.bytes > most {
		return invalidFrame(reasonTooLarge, fmt.Sprintf("a frame of %d bytes; the server takes %d", e.bytes, most))
	}
	records, most := len(e.request.GetHistory().GetRecords()), int(s.limits.GetRecordsPerHistory())
	if records > most {
		return invalidFrame(reasonTooLarge, fmt.Sprintf("%d records; the server takes %d", records, most))
	}
	return nil
}

// mostBytes is the largest frame, without its number.
func (s *session) mostBytes() int {
	most := s.limits.GetFrameBytes()
	if s.many {
		around := uint64(s.wrapping() + numberBytes)
		most = min(most, max(s.limits.GetMessageBytes(), around)-around)
	}
	return int(min(most, math.MaxInt32))
}

// wrapping is what a message of many runs has around this run's frames, at most.
func (s *session) wrapping() int { return len(s.request.GetRunId()) + wrappingBytes }

// decide answers a frame here, because the guard is away. The frame is still sent, so that the guard learns of it.
func (s *session) decide(e *entry, block bool) []Verdict {
	e.waiter = nil
	batch := e.request.GetCalls()
	if batch == nil {
		return []Verdict{{CallID: e.outcomeOf()}}
	}
	verdicts := make([]Verdict, len(batch.GetCalls()))
	for i, call := range batch.GetCalls() {
		verdicts[i] = Verdict{CallID: call.GetCallId()}
		if block {
			verdicts[i].Action, verdicts[i].Note = ActionBlock, "The loop guard can't be reached."
		}
	}
	if batch.GetDryRun() {
		return verdicts
	}
	s.decided += uint64(len(verdicts))
	s.untold += uint64(len(verdicts))
	if block {
		s.withdraw(e)
	} else {
		s.journal.ask(batch.GetCalls(), verdicts)
	}
	return verdicts
}

// outcomeOf is the call whose outcome this tells.
func (e *entry) outcomeOf() string {
	if e.report != "" {
		return e.report
	}
	return e.request.GetOutcome().GetCallId()
}

// abandon gives up on the answer to a frame: calls that were asked are taken not to run.
func (s *session) abandon(e *entry) {
	e.waiter = nil
	if batch := e.request.GetCalls(); batch != nil && !batch.GetDryRun() && s.phase != over {
		s.withdraw(e)
	}
}

// withdraw makes the guard see that the calls of a batch did not run.
func (s *session) withdraw(e *entry) {
	calls := e.request.GetCalls().GetCalls()
	for seq := max(s.nextSend, s.first); seq <= s.last(); seq++ {
		if s.kept[seq-s.first] == e {
			s.replace(e, batchFrame(&pb.CallBatch{Calls: calls, DryRun: true}))
			s.journal.block(calls)
			return
		}
	}
	for _, call := range calls {
		cancelled := &pb.Outcome{CallId: call.GetCallId(), Status: pb.Status_STATUS_CANCELLED}
		s.put(s.newEntry(outcomeFrame(cancelled), nil))
	}
	s.journal.block(calls)
}

// replace puts another frame under the number of one that is kept.
func (s *session) replace(e *entry, request *pb.GuardRequest) {
	request.At = e.request.GetAt()
	s.keptBytes -= e.bytes
	e.request, e.bytes = request, proto.Size(request)
	s.keptBytes += e.bytes
}

// end gives the run up; everybody who waits or comes later gets err.
func (s *session) end(err error) {
	if s.phase == over {
		return
	}
	s.phase, s.err = over, err
	s.toSend = nil
	s.resolveOpen(reply{err: err})
	for _, e := range s.kept {
		e.resolve(reply{err: err})
	}
	s.kept = nil
}

func (s *session) resolveOpen(r reply) {
	if s.opener != nil {
		s.opener <- r // has room for one
		s.opener = nil
	}
}
