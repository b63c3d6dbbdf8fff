package loopguard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/loopguard/loopguard/clients/go/loopguardv1"
)

func codeError(code codes.Code) error { return status.Error(code, "said the fake") }

// once returns a hook that fails for the frame of that number, one time.
func once(seq uint64, forget func()) func(string, *pb.GuardRequest) error {
	done := false
	return func(_ string, frame *pb.GuardRequest) error {
		if done || frame.GetSeq() != seq || frame.GetOpen() != nil {
			return nil
		}
		done = true
		if forget != nil {
			forget()
		}
		return codeError(codes.Unavailable)
	}
}

var story = []string{"calls c1", "outcome c1 OK", "calls c2", "outcome c2 OK", "user", "calls c3"}

// tell plays story.
func tell(t *testing.T, run *Run) {
	t.Helper()
	for range 2 {
		report(t, run, judge(t, run, "exec")[0].CallID)
	}
	if err := run.UserMessage(t.Context()); err != nil {
		t.Fatal(err)
	}
	judge(t, run, "exec")
}

func TestAStreamCutAnywhereIsResumed(t *testing.T) {
	eachWay(t, func(t *testing.T, options ...Option) {
		for seq := range uint64(len(story)) {
			for _, observed := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d, observed %t", seq+1, observed), func(t *testing.T) {
					guard := newFake()
					if observed {
						guard.after = once(seq+1, nil)
					} else {
						guard.before = once(seq+1, nil)
					}
					client := newTestClient(t, guard.serve(t), options...)
					tell(t, openRun(t, client, "r"))
					if got := guard.observed("r"); !slices.Equal(got, story) {
						t.Errorf("observed %q", got)
					}
					if opens := guard.openings(); len(opens) != 2 || !opens[1].GetResume() || opens[1].GetRebuild() {
						t.Errorf("opened %v", opens)
					}
				})
			}
		}
	})
}

func TestALostRunIsToldAgain(t *testing.T) {
	eachWay(t, func(t *testing.T, options ...Option) {
		guard := newFake()
		guard.after = once(4, func() { delete(guard.runs, "r") })
		client := newTestClient(t, guard.serve(t), options...)
		tell(t, openRun(t, client, "r"))
		if got := guard.observed("r"); !slices.Equal(got, story) {
			t.Errorf("observed %q", got)
		}
	})
}

func TestARunWhoseFramesAreGoneIsRebuilt(t *testing.T) {
	eachWay(t, func(t *testing.T, options ...Option) {
		guard := newFake()
		client := newTestClient(t, guard.serve(t), append(options, WithBuffer(2, 1<<20))...)
		run := openRun(t, client, "r")
		report(t, run, judge(t, run, "one")[0].CallID)
		open := judge(t, run, "two")[0].CallID
		judge(t, run, "three")
		guard.mu.Lock()
		guard.before = once(5, func() { delete(guard.runs, "r") })
		guard.mu.Unlock()
		judge(t, run, "four")
		// The guard does not know this call.
		report(t, run, open)
		want := []string{"history one", "calls c4", "history two"}
		if got := guard.observed("r"); !slices.Equal(got, want) {
			t.Errorf("observed %q, want %q", got, want)
		}
		last := guard.openings()[len(guard.openings())-1]
		if last.GetResume() || !last.GetRebuild() || !run.Opened().GetRebuilt() {
			t.Errorf("opened with %v", last)
		}
	})
}

func TestALostRunsCallsAreToldOnce(t *testing.T) {
	eachWay(t, func(t *testing.T, options ...Option) {
		guard := newFake()
		client := newTestClient(t, guard.serve(t), append(options, WithBuffer(2, 1<<20))...)
		run := openRun(t, client, "r")
		open := judge(t, run, "two")[0].CallID
		report(t, run, judge(t, run, "one")[0].CallID)
		lose := func(when func(*pb.GuardRequest) bool) {
			guard.mu.Lock()
			defer guard.mu.Unlock()
			guard.before = func(_ string, frame *pb.GuardRequest) error {
				if !when(frame) {
					return nil
				}
				guard.before = nil
				delete(guard.runs, "r")
				return codeError(codes.Unavailable)
			}
		}
		lose(func(frame *pb.GuardRequest) bool { return frame.GetCalls() != nil })
		judge(t, run, "three")
		report(t, run, judge(t, run, "four")[0].CallID)
		// The outcome of a call that the guard does not know is under way as a history when the run is lost once more.
		lose(func(frame *pb.GuardRequest) bool { return frame.GetHistory() != nil })
		report(t, run, open)
		judge(t, run, "five")
		want := []string{"history two,one,four", "calls c5"}
		if got := guard.observed("r"); !slices.Equal(got, want) {
			t.Errorf("observed %q, want %q", got, want)
		}
	})
}

func TestARunTakenUpLateIsRebuilt(t *testing.T) {
	eachWay(t, func(t *testing.T, options ...Option) {
		guard := newFake()
		address := guard.serve(t)
		first := newTestClient(t, address, options...)
		tell(t, openRun(t, first, "r"))
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		dialer, arrive := lateDialer(address)
		client := newTestClient(t, "passthrough:///guard", append(options, WithBuffer(2, 1<<20), WithDialOptions(dialer))...)
		run := openRun(t, client, "r", WithResume())
		// More than the buffer takes before the guard is there: the numbers that it gives tell nothing of what it lacks.
		for range 4 {
			report(t, run, judge(t, run, "late")[0].CallID)
		}
		arrive()
		eventually(t, "the run is told anew", func() bool {
			return slices.Equal(guard.observed("r"), []string{"history late,late,late,late"})
		})
	})
}

func TestDurableFramesAreForgotten(t *testing.T) {
	guard := newFake()
	guard.durable = true
	client := newTestClient(t, guard.serve(t))
	run := openRun(t, client, "r")
	tell(t, run)
	client.mu.Lock()
	defer client.mu.Unlock()
	if kept := len(run.session.kept); kept != 0 {
		t.Errorf("%d frames are kept", kept)
	}
}

func TestAnAnswerIsAskedForAgainThoughItsFrameIsDurable(t *testing.T) {
	eachWay(t, func(t *testing.T, options ...Option) {
		guard := newFake()
		guard.durable = true
		guard.after = once(3, nil)
		guard.verdict = func(call *pb.Call) *pb.Verdict {
			return &pb.Verdict{CallId: call.GetCallId(), Action: pb.Action_ACTION_WARN}
		}
		// Also the answer to RunOpen tells how far the run is durable.
		guard.instead = func(_ string, frame *pb.GuardRequest) *pb.GuardResponse {
			if open := frame.GetOpen(); open != nil && open.GetResume() {
				answer := guard.open(open)
				answer.DurableSeq = answer.GetOpened().GetLastSeq()
				return answer
			}
			return nil
		}
		client := newTestClient(t, guard.serve(t), options...)
		run := openRun(t, client, "r")
		report(t, run, judge(t, run, "exec")[0].CallID)
		if verdict := judge(t, run, "exec")[0]; verdict.Action != ActionWarn {
			t.Errorf("got %v", verdict)
		}
	})
}

func TestAFrameThatIsMissedIsSentAgain(t *testing.T) {
	eachWay(t, func(t *testing.T, options ...Option) {
		guard := newFake()
		client := newTestClient(t, guard.serve(t), options...)
		run := openRun(t, client, "r")
		missed := false
		guard.instead = func(_ string, frame *pb.GuardRequest) *pb.GuardResponse {
			if missed || frame.GetSeq() != 2 {
				return nil
			}
			missed = true
			return &pb.GuardResponse{Seq: 2, Answer: &pb.GuardResponse_NeedResend{NeedResend: &pb.NeedResend{FromSeq: 2}}}
		}
		tell(t, run)
		if got := guard.observed("r"); !slices.Equal(got, story) {
			t.Errorf("observed %q", got)
		}
	})
}

func TestARunLeftByAnotherClientIsTakenUp(t *testing.T) {
	eachWay(t, func(t *testing.T, options ...Option) {
		guard := newFake()
		address := guard.serve(t)
		first := newTestClient(t, address, options...)
		judge(t, openRun(t, first, "r"), "exec")
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		run := openRun(t, newTestClient(t, address, options...), "r", WithResume())
		report(t, run, "c1")
		if got := guard.observed("r"); !slices.Equal(got, story[:2]) || run.Opened().GetLastSeq() != 1 {
			t.Errorf("observed %q", got)
		}
	})
}

func TestAStreamThatIsCancelledBeforeOpenedIsTriedAgain(t *testing.T) {
	eachWay(t, func(t *testing.T, options ...Option) {
		guard := newFake()
		streams := 0
		guard.stream = func(context.Context) error {
			if streams++; streams < 4 {
				return codeError(codes.Canceled)
			}
			return nil
		}
		client := newTestClient(t, guard.serve(t), append(options, WithOnUnavailable(UnavailableWait))...)
		judge(t, openRun(t, client, "r"), "exec")
		if streams != 4 {
			t.Errorf("%d streams", streams)
		}
	})
}

func TestARunThatWasTakenOverIsNotTakenBack(t *testing.T) {
	eachWay(t, func(t *testing.T, options ...Option) {
		guard := newFake()
		guard.instead = func(_ string, frame *pb.GuardRequest) *pb.GuardResponse {
			if frame.GetCalls() == nil {
				return nil
			}
			return &pb.GuardResponse{Answer: &pb.GuardResponse_RunEnded{RunEnded: &pb.RunEnded{
				Reason: pb.RunEndReason_RUN_END_REASON_SUPERSEDED, Status: statusWith(codes.Aborted, "SUPERSEDED"),
			}}}
		}
		client := newTestClient(t, guard.serve(t), options...)
		run := openRun(t, client, "r")
		for range 2 {
			_, err := run.Judge(t.Context(), Call{Tool: "exec"})
			var refused *Error
			if !errors.As(err, &refused) || !errors.Is(err, ErrRunRefused) || refused.Reason != "SUPERSEDED" {
				t.Errorf("got %v", err)
			}
		}
		if err := run.Close(t.Context()); err != nil || len(guard.openings()) != 1 {
			t.Errorf("closed with %v after %d openings", err, len(guard.openings()))
		}
	})
}

func TestARunIsFollowedToItsNode(t *testing.T) {
	eachWay(t, func(t *testing.T, options ...Option) {
		home, node := newFake(), newFake()
		endpoint := node.serve(t)
		home.instead = func(_ string, frame *pb.GuardRequest) *pb.GuardResponse {
			return &pb.GuardResponse{Answer: &pb.GuardResponse_RunEnded{RunEnded: &pb.RunEnded{
				Reason: pb.RunEndReason_RUN_END_REASON_WRONG_NODE, Endpoint: endpoint,
			}}}
		}
		client := newTestClient(t, home.serve(t), options...)
		run := openRun(t, client, "r")
		// When the node is lost, whoever sends runs there is asked again.
		node.mu.Lock()
		node.before = once(2, nil)
		node.mu.Unlock()
		tell(t, run)
		if got := node.observed("r"); !slices.Equal(got, story) || len(home.openings()) != 0 {
			t.Errorf("observed %q", got)
		}
		if err := run.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestNodesThatSendARunRoundDoNotDoSoAtOnceForEver(t *testing.T) {
	eachWay(t, func(t *testing.T, options ...Option) {
		home, node := newFake(), newFake()
		homeAddress, nodeAddress := home.serve(t), node.serve(t)
		elsewhere := func(endpoint string, times int) func(string, *pb.GuardRequest) *pb.GuardResponse {
			return func(string, *pb.GuardRequest) *pb.GuardResponse {
				if times--; times < 0 {
					return nil
				}
				return &pb.GuardResponse{Answer: &pb.GuardResponse_RunEnded{RunEnded: &pb.RunEnded{
					Reason: pb.RunEndReason_RUN_END_REASON_WRONG_NODE, Endpoint: endpoint,
				}}}
			}
		}
		home.instead, node.instead = elsewhere(nodeAddress, 100), elsewhere(homeAddress, 2)
		var waits atomic.Int64
		client := newTestClient(t, homeAddress, append(options, WithOnUnavailable(UnavailableWait), func(s *settings) {
			s.random = func() float64 { waits.Add(1); return 0.001 }
		})...)
		tell(t, openRun(t, client, "r"))
		if got := node.observed("r"); !slices.Equal(got, story) || waits.Load() < 3 {
			t.Errorf("observed %q after %d waits", got, waits.Load())
		}
	})
}

func TestNodesThatSendARunRoundForEverAreGivenUp(t *testing.T) {
	eachWay(t, func(t *testing.T, options ...Option) {
		guard := newFake()
		address, asked := guard.serve(t), 0
		guard.instead = func(string, *pb.GuardRequest) *pb.GuardResponse {
			asked++
			return &pb.GuardResponse{Answer: &pb.GuardResponse_RunEnded{RunEnded: &pb.RunEnded{
				Reason: pb.RunEndReason_RUN_END_REASON_WRONG_NODE, Endpoint: address,
			}}}
		}
		client := newTestClient(t, address, append(options, WithOnUnavailable(UnavailableWait))...)
		_, err := client.OpenRun(t.Context(), "r")
		var refused *Error
		if !errors.As(err, &refused) || !errors.Is(err, ErrRunRefused) || refused.Reason != "WRONG_NODE" || asked != mostRedirects+1 {
			t.Errorf("got %v after %d tries", err, asked)
		}
	})
}

func TestACallWaitsWhileItsRunGoesElsewhere(t *testing.T) {
	eachWay(t, func(t *testing.T, options ...Option) {
		home, node := newFake(), newFake()
		endpoint := node.serve(t)
		// Home takes the run at first, sends it away at the first call, and the node sends it on to itself once.
		sent := &pb.RunEnded{Reason: pb.RunEndReason_RUN_END_REASON_WRONG_NODE, Endpoint: endpoint}
		away := func(_ string, frame *pb.GuardRequest) *pb.GuardResponse {
			if frame.GetCalls() == nil {
				return nil
			}
			return &pb.GuardResponse{Answer: &pb.GuardResponse_RunEnded{RunEnded: sent}}
		}
		home.instead = away
		times := 0
		node.instead = func(string, *pb.GuardRequest) *pb.GuardResponse {
			if times++; times > 1 {
				return nil
			}
			return &pb.GuardResponse{Answer: &pb.GuardResponse_RunEnded{RunEnded: sent}}
		}
		node.verdict = func(call *pb.Call) *pb.Verdict {
			return &pb.Verdict{CallId: call.GetCallId(), Action: pb.Action_ACTION_WARN}
		}
		client := newTestClient(t, home.serve(t), append(options, WithOnUnavailable(UnavailableBlock))...)
		run := openRun(t, client, "r")
		if verdict := judge(t, run, "exec")[0]; verdict.Action != ActionWarn || run.DecidedUnavailable() != 0 {
			t.Errorf("got %v", verdict)
		}
	})
}

func TestAClientMayBeClosedWhileARunIsSentRound(t *testing.T) {
	guard := newFake()
	moved := make(chan struct{}, 1)
	address := guard.serve(t)
	guard.instead = func(_ string, frame *pb.GuardRequest) *pb.GuardResponse {
		select {
		case moved <- struct{}{}:
		default:
		}
		return &pb.GuardResponse{Answer: &pb.GuardResponse_RunEnded{RunEnded: &pb.RunEnded{
			Reason: pb.RunEndReason_RUN_END_REASON_WRONG_NODE, Endpoint: address,
		}}}
	}
	client := newTestClient(t, address, WithGuardMany(), WithOnUnavailable(UnavailableWait))
	client.settings.random = func() float64 { return 1 }
	failed := make(chan error, 1)
	go func() {
		_, err := client.OpenRun(t.Context(), "r")
		failed <- err
	}()
	<-moved
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestARunGoesOnWhenItsServerGoesAway(t *testing.T) {
	eachWay(t, func(t *testing.T, options ...Option) {
		guard := newFake()
		guard.also = func(frame *pb.GuardRequest) *pb.GuardResponse {
			if frame.GetSeq() != 2 {
				return nil
			}
			return &pb.GuardResponse{Seq: 2, Answer: &pb.GuardResponse_GoAway{GoAway: &pb.GoAway{}}}
		}
		client := newTestClient(t, guard.serve(t), options...)
		tell(t, openRun(t, client, "r"))
		if got := guard.observed("r"); !slices.Equal(got, story) {
			t.Errorf("observed %q", got)
		}
		if opens := guard.openings(); len(opens) != 2 || !opens[1].GetResume() {
			t.Errorf("opened %v", opens)
		}
	})
}
