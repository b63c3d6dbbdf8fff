package loopguard

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	pb "github.com/loopguard/loopguard/clients/go/loopguardv1"
)

// What a session does about its stream: opening, answers, resuming and rebuilding.

// connected begins on a stream, on which so many RunOpens of the same run by others are still to be answered.
func (s *session) connected(opensAhead int) {
	if s.phase == over {
		return
	}
	s.wantsStream, s.movesTo = false, ""
	s.phase = opening
	s.opensAhead, s.openingSent = opensAhead, false
	s.mayReopen = s.many
	s.toSend = []*pb.GuardRequest{s.openFrame()}
}

// lost notes that the stream is gone; the run waits for another one.
func (s *session) lost() {
	if s.phase != over {
		s.phase = away
		s.toSend = nil
	}
}

// giveUpWaiting lets those who wait decide for themselves: the guard can't be reached.
func (s *session) giveUpWaiting() {
	s.resolveOpen(reply{})
	for _, e := range s.kept {
		e.resolve(reply{err: unavailable("the guard can't be reached")})
	}
}

// opensAwaited is how many RunOpens of this run were sent on this stream and have no answer yet.
func (s *session) opensAwaited() int {
	if s.openingSent {
		return s.opensAhead + 1
	}
	return s.opensAhead
}

func (s *session) openFrame() *pb.GuardRequest {
	s.told = s.untold
	open := proto.CloneOf(s.request)
	if s.opened != nil {
		open.Resume = !s.rebuilding
	}
	open.Rebuild = s.rebuilding
	open.DecidedUnavailable = s.told
	return &pb.GuardRequest{Frame: &pb.GuardRequest_Open{Open: open}}
}

// nextBytes is how large the next frame that may be sent now is at most, 0 if there is none.
func (s *session) nextBytes() int {
	if len(s.toSend) > 0 {
		return proto.Size(s.toSend[0])
	}
	if s.phase == opened && s.nextSend <= s.last() && s.nextSend <= s.confirmed+uint64(s.limits.GetInFlight()) {
		return s.entryAt(s.nextSend).bytes + numberBytes
	}
	return 0
}

// nextFrame returns the next frame, of which nextBytes has told; it counts as sent.
func (s *session) nextFrame() *pb.GuardRequest {
	if len(s.toSend) > 0 {
		frame := s.toSend[0]
		s.toSend = s.toSend[1:]
		s.openingSent = frame.GetOpen() != nil
		return frame
	}
	seq := s.nextSend
	s.nextSend++
	kept := s.entryAt(seq).request
	return &pb.GuardRequest{Seq: seq, At: kept.At, Frame: kept.Frame}
}

// inFlight tells whether an answer is outstanding on this stream.
func (s *session) inFlight() bool { return s.phase == opening || s.nextSend-1 > s.confirmed }

// refuse gives frames up that no server takes; something without effect is sent under their numbers.
func (s *session) refuse(from, to uint64, err error) {
	for seq := from; seq <= to; seq++ {
		e := s.entryAt(seq)
		if e == nil || e.request.GetClose() != nil {
			continue
		}
		e.resolve(reply{err: err})
		s.replace(e, historyFrame())
	}
}

// receive takes an answer of the server.
func (s *session) receive(response *pb.GuardResponse) {
	if s.phase == over || s.isOfOlder(response) {
		return
	}
	switch answer := response.GetAnswer().(type) {
	case *pb.GuardResponse_Opened:
		s.takeOpened(answer.Opened)
	case *pb.GuardResponse_RunEnded:
		s.takeEnd(answer.RunEnded)
	case *pb.GuardResponse_GoAway:
	default:
		switch {
		case s.phase == opening:
			if refused := response.GetError(); refused != nil && response.GetSeq() == 0 {
				s.takeRefusedOpen(refusalOf(refused.GetStatus()))
			}
		case response.GetNeedResend() != nil:
			s.resend(response.GetNeedResend().GetFromSeq())
		case response.GetSeq() > 0:
			s.takeAnswer(response)
		}
	}
	// A frame whose answer is still to come is asked for again after a lost stream, durable or not.
	s.forgetTo(min(response.GetDurableSeq(), s.answered, s.nextSend-1))
}

// resend goes back to a frame that the server waits for.
func (s *session) resend(from uint64) {
	if from < s.first {
		s.startRebuild(from - min(from, 1))
		return
	}
	s.nextSend = min(from, s.last()+1)
}

func (s *session) takeRefusedOpen(refused *Error) {
	if refused.Reason == reasonShuttingDown {
		// GoAway has the whole stream begin anew elsewhere.
		s.lost()
		return
	}
	s.end(refused)
}

// isOfOlder sorts out what is said to those who had the run on this stream before; the newest has to have it in the end.
// The server answers a RunOpen of a run that the stream has by taking the run away, and then takes another RunOpen.
func (s *session) isOfOlder(response *pb.GuardResponse) bool {
	if !s.many || s.phase != opening {
		return false
	}
	ended := response.GetRunEnded()
	if ended != nil && ended.GetReason() != pb.RunEndReason_RUN_END_REASON_PROTOCOL {
		return s.opened == nil && (!s.openingSent || s.opensAhead > 0)
	}
	if ended == nil && response.GetOpened() == nil && (response.GetError() == nil || response.GetSeq() != 0) {
		return false
	}
	if s.opensAhead > 0 {
		s.opensAhead--
		return true
	}
	s.openingSent = false
	if ended != nil && s.mayReopen {
		s.mayReopen = false
		s.toSend = []*pb.GuardRequest{s.openFrame()}
		return true
	}
	return false
}

func (s *session) takeEnd(ended *pb.RunEnded) {
	switch ended.GetReason() {
	case pb.RunEndReason_RUN_END_REASON_SUPERSEDED, pb.RunEndReason_RUN_END_REASON_PROTOCOL:
		refused := &Error{Reason: strings.TrimPrefix(ended.GetReason().String(), "RUN_END_REASON_")}
		if ended.GetStatus() != nil {
			refused = refusalOf(ended.GetStatus())
		}
		refused.family = ErrRunRefused
		s.end(refused)
	case pb.RunEndReason_RUN_END_REASON_WRONG_NODE:
		if s.redirects == mostRedirects {
			message := fmt.Sprintf("sent from node to node %d times", s.redirects)
			s.end(&Error{Reason: "WRONG_NODE", Message: message, family: ErrRunRefused})
			return
		}
		s.redirects++
		s.movesTo = ended.GetEndpoint()
		fallthrough
	default:
		s.lost()
		s.wantsStream = true
	}
}

func (s *session) takeAnswer(response *pb.GuardResponse) {
	s.late = false
	seq := response.GetSeq()
	s.confirmed = max(s.confirmed, seq)
	if seq <= s.answered {
		return
	}
	s.answered = seq
	e := s.entryAt(seq)
	if e == nil {
		return
	}
	if refused := response.GetError(); refused != nil {
		s.takeRefusal(e, refusalOf(refused.GetStatus()))
		return
	}
	e.resolve(s.takeAccepted(e, response))
	if e.request.GetClose() != nil {
		s.end(closed(fmt.Sprintf("run %q is closed", s.id)))
	}
}

// takeAccepted notes what an answer means for the run, and returns it.
func (s *session) takeAccepted(e *entry, response *pb.GuardResponse) reply {
	switch answer := response.GetAnswer().(type) {
	case *pb.GuardResponse_Verdicts:
		verdicts := fromVerdicts(answer.Verdicts.GetVerdicts(), s.log)
		if batch := e.request.GetCalls(); batch != nil && !batch.GetDryRun() {
			if e.waiter != nil && !s.abortStands {
				s.journal.ask(batch.GetCalls(), verdicts)
			}
			for _, verdict := range verdicts {
				s.abortStands = s.abortStands || verdict.Action == ActionAbort
			}
		}
		return reply{verdicts: verdicts}
	case *pb.GuardResponse_Verdict:
		verdict := fromVerdict(answer.Verdict, s.log)
		s.abortStands = s.abortStands || verdict.Action == ActionAbort
		return reply{verdicts: []Verdict{verdict}}
	}
	if e.request.GetUserMessage() != nil {
		s.abortStands = false
	}
	return reply{verdicts: []Verdict{{CallID: e.outcomeOf()}}}
}

func (s *session) takeRefusal(e *entry, refused *Error) {
	if batch := e.request.GetCalls(); batch != nil && !batch.GetDryRun() {
		s.journal.unnumber(e.numberedBefore, batch.GetCalls())
	}
	if e.waiter == nil {
		s.log.Warn("the guard refused a frame", "run_id", s.id, "reason", refused.Reason, "message", refused.Message)
	}
	e.resolve(reply{err: refused})
}

func (s *session) takeOpened(answer *pb.Opened) {
	first := s.opened == nil
	s.opened = answer
	s.untold -= s.told
	s.told = 0
	s.limits = orAssumed(answer.GetLimits())
	if size := answer.GetConfig().GetHistorySize(); size > 0 {
		s.journal.resize(int(size))
	}
	s.phase = opened
	s.late = false
	s.moves.tries, s.redirects = 0, 0
	last := answer.GetLastSeq()
	switch {
	case first && s.first == 1:
		s.renumber(last+1, s.kept)
		s.answered = last
	case answer.GetRebuilt():
		s.rebuild()
	case first || !s.resume(last):
		// Numbers that were given before the server told its own mean nothing to a run that it knows.
		s.startRebuild(last)
		return
	}
	s.confirmed = s.nextSend - 1
	// Taken before this server told what it takes.
	for i, e := range s.kept {
		if most := s.mostBytes(); e.bytes > most {
			seq := s.first + uint64(i)
			s.refuse(seq, seq, invalidFrame(reasonTooLarge, fmt.Sprintf("a frame of over %d bytes", most)))
		}
	}
	s.resolveOpen(reply{})
}

// resume goes on after the last frame that the server has seen; false: it misses some that are not kept any more.
func (s *session) resume(last uint64) bool {
	start := min(s.answered, last) + 1
	if s.first > start {
		if s.first > last+1 {
			return false
		}
		start = s.first
	}
	s.nextSend = start
	return true
}

// startRebuild asks for an empty run in place of the one that the server doesn't have and we can't repeat.
func (s *session) startRebuild(last uint64) {
	s.rebuilding = true
	if !s.many {
		s.lost()
		s.wantsStream = true
		return
	}
	// On a stream of many runs an open run has to be closed before its id can be opened again.
	s.phase = opening
	stop := closeFrame()
	stop.Seq = last + 1
	s.toSend = []*pb.GuardRequest{stop, s.openFrame()}
}

// rebuild tells an empty run what is remembered, and numbers on from there.
func (s *session) rebuild() {
	s.rebuilding = false
	records := s.journal.lose()
	records = records[max(0, len(records)-int(s.limits.GetRecordsPerHistory())):]
	history := s.newEntry(historyFrame(records...), nil)
	for len(records) > 0 && history.bytes > s.mostBytes() {
		records = records[1:]
		history = s.newEntry(historyFrame(records...), nil)
	}
	kept := []*entry{history}
	for i, e := range s.kept {
		if s.first+uint64(i) <= s.answered {
			continue
		}
		switch {
		case e.request.GetOutcome() != nil || e.report != "":
			// Its call belongs to a lost run, and the history tells of it.
			e.resolve(reply{verdicts: []Verdict{{CallID: e.outcomeOf()}}})
		case e.waiter != nil || e.request.GetCalls() == nil:
			kept = append(kept, e)
		}
	}
	s.abortStands = false
	s.answered = 0
	s.renumber(1, kept)
}

func (s *session) renumber(first uint64, entries []*entry) {
	s.kept, s.first, s.nextSend = entries, first, first
	s.keptBytes = 0
	for _, e := range entries {
		s.keptBytes += e.bytes
	}
}

// orAssumed fills in what a server does not say.
func orAssumed(told *pb.Limits) *pb.Limits {
	limits := proto.CloneOf(&assumed)
	proto.Merge(limits, told)
	return limits
}
