package loopguard

import (
	"context"
	"errors"
	"fmt"

	pb "github.com/loopguard/loopguard/clients/go/loopguardv1"
)

// Run is one run of an agent, opened by [Client.OpenRun]. Its methods may be called by several goroutines.
//
// When a context ends before the answer is there, the method returns its error; calls that were asked are then taken
// not to run.
type Run struct {
	client  *Client
	session *session
	hashes  bool
}

// ID returns the run's id.
func (r *Run) ID() string { return r.session.request.GetRunId() }

// Opened returns the guard's newest answer to the opening of the run, nil while the guard was never reached. It must not
// be changed.
func (r *Run) Opened() *pb.Opened {
	r.client.mu.Lock()
	defer r.client.mu.Unlock()
	return r.session.opened
}

// DecidedUnavailable returns how many calls were decided by the client because the guard was away.
func (r *Run) DecidedUnavailable() uint64 {
	r.client.mu.Lock()
	defer r.client.mu.Unlock()
	return r.session.decided
}

// Judge asks about all calls of one model response before any of them runs, and returns one verdict a call.
//
// A block is a verdict, never an error. The errors are [ErrInvalidFrame] for a batch that is refused, and
// [ErrRunRefused] for a run that is, or that was opened elsewhere.
func (r *Run) Judge(ctx context.Context, calls ...Call) ([]Verdict, error) {
	return r.exchange(ctx, "judge", callFrame(r.hashed(calls), false))
}

// Check asks what [Run.Judge] asks, without consequences.
func (r *Run) Check(ctx context.Context, calls ...Call) ([]Verdict, error) {
	return r.exchange(ctx, "check", callFrame(r.hashed(calls), true))
}

// Report tells how a call ended; the verdict may end the turn or the run.
func (r *Run) Report(ctx context.Context, outcome Outcome) (Verdict, error) {
	if r.hashes {
		outcome = outcome.Hashed()
	}
	verdicts, err := r.exchange(ctx, "report", outcomeFrame(toOutcome(outcome)))
	if err != nil {
		return Verdict{}, err
	}
	return verdicts[0], nil
}

// Record tells of calls that already happened; they are judged by nobody.
func (r *Run) Record(ctx context.Context, records ...Record) error {
	made := make([]*pb.Record, len(records))
	for i, record := range records {
		if r.hashes {
			record = Record{record.Call.Hashed(), record.Outcome.Hashed()}
		}
		made[i] = toRecord(record)
	}
	_, err := r.exchange(ctx, "record", historyFrame(made...))
	return err
}

// UserMessage tells that the user wrote.
func (r *Run) UserMessage(ctx context.Context) error {
	frame := &pb.GuardRequest{Frame: &pb.GuardRequest_UserMessage{UserMessage: &pb.UserMessage{}}}
	_, err := r.exchange(ctx, "user message", frame)
	return err
}

// CompactionRetry tells that the context was compacted and the run retries.
func (r *Run) CompactionRetry(ctx context.Context) error {
	frame := &pb.GuardRequest{Frame: &pb.GuardRequest_CompactionRetry{CompactionRetry: &pb.CompactionRetry{}}}
	_, err := r.exchange(ctx, "compaction retry", frame)
	return err
}

// Close ends the run. It does nothing for a run that is over, and does not wait for a guard that is away.
func (r *Run) Close(ctx context.Context) error {
	_, err := r.exchange(ctx, "close", closeFrame())
	if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		// Over already, or the guard forgets the run by itself.
		err = nil
	}
	r.letGo()
	return err
}

func (r *Run) hashed(calls []Call) []Call {
	if !r.hashes {
		return calls
	}
	hashed := make([]Call, len(calls))
	for i, call := range calls {
		hashed[i] = call.Hashed()
	}
	return hashed
}

// exchange sends a frame and returns what answers it.
func (r *Run) exchange(ctx context.Context, what string, frame *pb.GuardRequest) ([]Verdict, error) {
	verdicts, err := r.ask(ctx, frame)
	if err != nil {
		return nil, fmt.Errorf("%s in run %q: %w", what, r.ID(), err)
	}
	return verdicts, nil
}

func (r *Run) ask(ctx context.Context, frame *pb.GuardRequest) ([]Verdict, error) {
	if err := errors.Join(ctx.Err(), checkText(frame)); err != nil {
		return nil, err
	}
	c, s := r.client, r.session
	waiter := make(chan reply, 1)
	c.mu.Lock()
	e, err := s.submit(frame, waiter)
	if err != nil {
		c.mu.Unlock()
		return nil, err
	}
	patience := c.patience(s, frame.GetClose() != nil)
	c.push(s)
	c.mu.Unlock()

	gone := await(ctx, waiter, patience)
	c.mu.Lock()
	defer c.mu.Unlock()
	return r.settle(e, waiter, gone)
}

// settle returns the reply to a frame, or decides without; gone is why the caller's context is done. The lock is held.
func (r *Run) settle(e *entry, waiter chan reply, gone error) ([]Verdict, error) {
	c, s := r.client, r.session
	answer := reply{}
	select {
	case answer = <-waiter:
		if answer.err == nil || !errors.Is(answer.err, ErrUnavailable) {
			return answer.verdicts, answer.err
		}
		if c.settings.waits() {
			return nil, answer.err
		}
	default:
		// What was not answered in time is no reason to wait as long for the next one.
		s.late = s.late || gone == nil
	}
	defer c.push(s)
	if gone != nil {
		s.abandon(e)
		return nil, gone
	}
	return s.decide(e, c.settings.onUnavailable == UnavailableBlock), nil
}

// push has a run's frames sent; the lock is held.
func (c *Client) push(s *session) {
	if s.link == nil {
		return
	}
	s.link.touch(s)
	if stream := c.streams[s.link]; stream != nil {
		stream.wake()
	}
}

// letGo gives the run up, and lets a stream of its own end.
func (r *Run) letGo() {
	c, s := r.client, r.session
	c.mu.Lock()
	s.end(closed(fmt.Sprintf("run %q is closed", s.id)))
	var own *stream
	if s.link != nil {
		if c.settings.many {
			s.link.remove(s)
		} else if own = c.streams[s.link]; own != nil {
			own.wake()
			if !own.streaming {
				own.cancel()
			}
		}
	}
	c.mu.Unlock()
	if own != nil {
		own.finish()
	}
}
