package loopguard

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/loopguard/loopguard/clients/go/loopguardv1"
)

const (
	// messageFrames and messageBytes are how much goes into one message of a stream of many runs, at most. So few bytes
	// never hold more calls than a server takes in one message.
	messageFrames = 512
	messageBytes  = 256 << 10
	// messagesAhead is how many messages of many runs are sent ahead of their answers. What comes up meanwhile goes into
	// the next one: the server takes one after the other, and each costs it more than a call.
	messagesAhead = 4
	// frameWrappingBytes is what goes before each frame of a run in such a message, at most.
	frameWrappingBytes = 6
)

// linkState is where a link stands.
type linkState int

const (
	connecting linkState = iota
	up
	down // the last try failed
)

// backoff says how long to wait before the next try: a random part of a span that doubles from try to try.
type backoff struct {
	random func() float64
	tries  int
}

const (
	firstWait   = 50 * time.Millisecond
	longestWait = 2 * time.Second
)

func (b *backoff) next() time.Duration {
	span := min(longestWait, firstWait<<b.tries)
	b.tries = min(b.tries+1, 16)
	return time.Duration(float64(span) * b.random())
}

// written are the frames of one run in a message that was sent.
type written struct {
	session  *session
	from, to uint64
}

// isAwaited tells whether there is no answer yet. Without numbers it is a RunOpen.
func (w written) isAwaited() bool {
	if w.to < w.from {
		return w.session.phase == opening && w.session.opensAwaited() > 0
	}
	return w.session.phase != over && w.to > w.session.confirmed && w.to < w.session.nextSend
}

// sent is a message that was sent, and how many frames it holds.
type sent struct {
	frames int
	parts  []written
}

func (s sent) isAwaited() bool { return slices.ContainsFunc(s.parts, written.isAwaited) }

// link is the runs that share one stream, of Guard (with a single run) or of GuardMany, through all its reconnects: what
// is written to it, whom an answer is for, when to try again. It does no I/O and is guarded by its client's lock.
type link struct {
	settings *settings
	// endpoint is the node that the next stream goes to; empty for the client's target.
	endpoint string
	// move takes a run to another endpoint's link.
	move func(*session, string)

	state    linkState
	backoff  backoff
	sessions map[string]*session
	ready    []*session
	// streaming: there is a stream; answered: it has said something of a run; busy: the server is there, but had no room for
	// it; leaving: it takes nothing more; restart: it is to be replaced; retired: nothing follows it.
	streaming, answered, busy, leaving, restart, retired bool
	err                                                  error
	// ahead is how many messages of many runs have no answer yet.
	ahead int
	// unanswered are the messages of this stream that have no answer yet.
	unanswered []sent
	// mostFrames is how many frames go into a message of many runs; fewer where a server refuses more.
	mostFrames int
}

func newLink(s *settings, endpoint string, move func(*session, string)) *link {
	return &link{
		settings: s,
		endpoint: endpoint,
		move:     move,
		backoff:  backoff{random: s.random},
		sessions: make(map[string]*session),

		mostFrames: messageFrames,
	}
}

// add takes a run onto the stream.
func (l *link) add(s *session) {
	if l.err != nil {
		s.end(l.err)
		return
	}
	older := l.sessions[s.id]
	if older != nil && older != s {
		older.end(&Error{Reason: reasonSuperseded, Message: "the run was opened again by this client", family: ErrRunRefused})
		l.remove(older)
	}
	l.sessions[s.id], s.link, s.ready = s, l, false
	if l.streaming {
		ahead := 0
		if older != nil {
			ahead = older.opensAwaited()
		}
		s.connected(ahead)
	}
	l.touch(s)
}

// remove drops a run.
func (l *link) remove(s *session) {
	if l.sessions[s.id] == s {
		delete(l.sessions, s.id)
	}
	if s.link != l {
		return
	}
	if s.ready {
		l.ready = slices.DeleteFunc(l.ready, func(other *session) bool { return other == s })
	}
	s.link, s.ready = nil, false
}

// touch notes that a run may have something to send.
func (l *link) touch(s *session) {
	if !s.ready && s.link == l {
		s.ready = true
		l.ready = append(l.ready, s)
	}
}

// connected begins on a new stream.
func (l *link) connected() {
	l.streaming, l.answered, l.busy, l.leaving, l.restart = true, false, false, false, false
	l.unanswered, l.ahead = nil, 0
	for _, s := range l.sessions {
		s.connected(0)
		l.touch(s)
	}
}

// runIDMetadata is by what a proxy keeps the streams of a run together, and runIDBytes how much of the id it holds.
const (
	runIDMetadata = "loopguard-run-id"
	runIDBytes    = 256
)

// metadata is what the stream tells a proxy on its way: which run it is for. A stream of many runs is for none.
func (l *link) metadata() []string {
	if l.settings.many {
		return nil
	}
	var pairs []string
	for id := range l.sessions {
		encoded := strings.ReplaceAll(url.QueryEscape(id), "+", "%20")
		pairs = append(pairs, runIDMetadata, encoded[:min(len(encoded), runIDBytes)])
	}
	return pairs
}

// lost notes that the stream is gone. A guard that was there a moment ago is waited for.
func (l *link) lost() {
	isAway := !l.answered && !l.busy && !l.leaving
	l.state, l.streaming = connecting, false
	if isAway {
		l.state = down
	}
	for _, s := range l.sessions {
		s.lost()
		if isAway && !l.settings.waits() {
			s.giveUpWaiting()
		}
		if l.settings.many && l.endpoint != "" {
			// Whoever sends runs to this node knows where they go now.
			l.remove(s)
			l.move(s, "")
			l.retired = true
		}
	}
}

// fail gives all runs up.
func (l *link) fail(err error) {
	l.state, l.streaming, l.err = down, false, err
	for _, s := range l.sessions {
		s.end(err)
	}
	clear(l.sessions)
	l.ready = nil
}

// ended notes how the stream ended, nil where this client ended it, and returns whether to try again.
func (l *link) ended(how *status.Status) bool {
	if how != nil && isFinal(how.Code()) {
		refused := refusal(how)
		refused.family = ErrRunRefused
		l.fail(refused)
		return false
	}
	if how != nil {
		l.busy = how.Code() == codes.Canceled || how.Code() == codes.ResourceExhausted
		if refusal(how).Reason == reasonTooLarge {
			l.shrink()
		}
	}
	if !l.finished() {
		l.lost()
	}
	return !l.finished()
}

// shrink has smaller messages made than the one for whose size the stream has ended. A single frame is given up; sent
// again, it would end the next stream too.
func (l *link) shrink() {
	first := slices.IndexFunc(l.unanswered, sent.isAwaited)
	if first < 0 {
		return
	}
	message := l.unanswered[first]
	if message.frames > 1 {
		l.mostFrames = message.frames / 2
		return
	}
	l.mostFrames = messageFrames
	part, tooLarge := message.parts[0], invalidFrame(reasonTooLarge, "the server takes no message of this size")
	if part.to < part.from {
		part.session.end(tooLarge)
		return
	}
	part.session.refuse(part.from, part.to, tooLarge)
}

// finished tells whether the stream has no use any more.
func (l *link) finished() bool {
	if l.retired || l.err != nil {
		return true
	}
	if l.settings.many {
		return false
	}
	for _, s := range l.sessions {
		if s.phase != over {
			return false
		}
	}
	return true
}

// wantsStream tells whether to go on with a new stream.
func (l *link) wantsStream() bool {
	if !l.leaving {
		return l.restart
	}
	for _, s := range l.sessions {
		if s.inFlight() {
			return l.restart
		}
	}
	return true
}

// take returns the next message to write, nil if there is none now.
func (l *link) take() proto.Message {
	if l.leaving || l.restart || !l.streaming {
		return nil
	}
	if l.settings.many {
		return l.takeMany()
	}
	for _, s := range l.ready {
		if s.nextBytes() > 0 {
			from := s.nextSend
			frame := s.nextFrame()
			l.note(sent{1, []written{{s, from, s.nextSend - 1}}})
			return frame
		}
		s.ready = false
	}
	l.ready = l.ready[:0]
	return nil
}

// takeMany puts what all runs have to send into one message, as far as it goes.
func (l *link) takeMany() proto.Message {
	if l.ahead >= messagesAhead {
		return nil
	}
	message := &pb.GuardManyRequest{}
	var parts []written
	room := room{frames: l.mostFrames}
	for len(l.ready) > 0 && room.used < room.frames && room.bytes < messageBytes {
		s := l.ready[0]
		from := s.nextSend
		frames, full := room.fill(s)
		if len(frames) > 0 {
			message.Runs = append(message.Runs, &pb.RunFrames{RunId: s.request.GetRunId(), Frames: frames})
			parts = append(parts, written{s, from, s.nextSend - 1})
		}
		if full {
			break
		}
		s.ready = false
		l.ready[0] = nil
		l.ready = l.ready[1:]
	}
	if len(message.GetRuns()) == 0 {
		return nil
	}
	l.note(sent{room.used, parts})
	l.ahead++
	return message
}

// note remembers what a message holds until it is answered.
func (l *link) note(message sent) {
	for len(l.unanswered) > 0 && !l.unanswered[0].isAwaited() {
		l.unanswered = l.unanswered[1:]
	}
	l.unanswered = append(l.unanswered, message)
}

// room is what still goes into a message.
type room struct{ frames, used, bytes int }

// fill takes frames of a run for the message; full: it has more than go in.
func (r *room) fill(s *session) (frames []*pb.GuardRequest, full bool) {
	r.frames = min(r.frames, int(s.limits.GetFramesPerMessage()))
	limit := int(s.limits.GetMessageBytes()) - s.wrapping()
	for size := s.nextBytes(); size > 0; size = s.nextBytes() {
		// One that doesn't fit into any message goes alone, for the server to refuse.
		if r.used >= r.frames || r.bytes >= messageBytes || (r.used > 0 && r.bytes+size > limit) {
			return frames, true
		}
		frames = append(frames, s.nextFrame())
		r.bytes += size + frameWrappingBytes
		r.used++
	}
	if len(frames) > 0 {
		r.bytes += s.wrapping()
	}
	return frames, false
}

// receive takes a message of the server.
func (l *link) receive(message proto.Message) {
	switch m := message.(type) {
	case *pb.GuardResponse:
		for _, s := range l.sessions {
			l.deliver(s, []*pb.GuardResponse{m})
		}
		l.leaving = l.leaving || m.GetGoAway() != nil
	case *pb.GuardManyResponse:
		// What the server says by itself counts too: then one more goes ahead.
		l.ahead = max(0, l.ahead-1)
		for _, answers := range m.GetRuns() {
			if s := l.sessions[strings.TrimSpace(answers.GetRunId())]; s != nil {
				l.deliver(s, answers.GetAnswers())
			}
		}
		l.leaving = l.leaving || m.GetGoAway() != nil
	}
}

func (l *link) deliver(s *session, answers []*pb.GuardResponse) {
	for _, answer := range answers {
		s.receive(answer)
	}
	l.answered = l.answered || s.phase == opened || s.wantsStream
	switch {
	case s.phase == over:
		if l.settings.many {
			l.remove(s)
		}
		return
	case s.movesTo != "":
		l.follow(s)
		return
	case s.phase == opened:
		l.state = up
		l.backoff.tries = 0
	}
	if s.wantsStream {
		if l.settings.many {
			s.connected(0)
		} else {
			l.restart = true
		}
	}
	l.touch(s)
}

// follow takes a run to the node where it belongs.
func (l *link) follow(s *session) {
	if l.settings.many {
		l.remove(s)
		l.move(s, s.movesTo)
		return
	}
	l.endpoint, l.restart = s.movesTo, true
}
