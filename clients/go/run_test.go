package loopguard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/loopguard/loopguard/clients/go/loopguardv1"
)

func TestARunFromOpenToClose(t *testing.T) {
	eachWay(t, func(t *testing.T, options ...Option) {
		guard := newFake()
		var closed []string
		guard.before = func(runID string, frame *pb.GuardRequest) error {
			if frame.GetClose() != nil {
				for _, kept := range guard.runs[runID].frames {
					closed = append(closed, wordOf(kept))
				}
			}
			return nil
		}
		client := newTestClient(t, guard.serve(t), options...)
		run := openRun(t, client, "r", WithAgent("coder"), WithParentRun("p"), WithProfile("balanced"), WithMode(ModeObserve),
			WithConfig(&pb.LoopDetectionConfig{Enabled: proto.Bool(true)}))
		judge(t, run, "exec", "read")
		report(t, run, "c1")
		if _, err := run.Check(t.Context(), Call{Tool: "exec"}); err != nil {
			t.Fatal(err)
		}
		err := errors.Join(
			run.Record(t.Context(), Record{Call: Call{Tool: "old"}, Outcome: Outcome{Status: StatusPending}}),
			run.UserMessage(t.Context()), run.CompactionRetry(t.Context()), run.Close(t.Context()),
		)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"calls c1,c2", "outcome c1 OK", "check c3", "history old", "user", "compaction"}
		if !slices.Equal(closed, want) {
			t.Errorf("observed %q, want %q", closed, want)
		}
		open := guard.openings()[0]
		if open.GetAgentId() != "coder" || open.GetParentRunId() != "p" || open.GetProfile() != "balanced" ||
			open.GetMode() != pb.Mode_MODE_OBSERVE || !open.GetConfig().GetEnabled() || open.GetResume() {
			t.Errorf("opened with %v", open)
		}
		if _, err := run.Judge(t.Context(), Call{Tool: "exec"}); !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

func TestEveryFrameHasItsTime(t *testing.T) {
	guard := newFake()
	client := newTestClient(t, guard.serve(t))
	run := openRun(t, client, "r")
	judge(t, run, "exec")
	report(t, run, "")
	guard.mu.Lock()
	defer guard.mu.Unlock()
	frames := guard.runs["r"].frames
	if first, second := frames[0].GetAt(), frames[1].GetAt(); first == nil || second.AsDuration() < first.AsDuration() {
		t.Errorf("times are %v and %v", first, second)
	}
}

func TestMistakesAreErrorsAndTheRunGoesOn(t *testing.T) {
	guard := newFake()
	client := newTestClient(t, guard.serve(t))
	run := openRun(t, client, "r")
	large := []byte(`"` + strings.Repeat("x", 1<<18) + `"`)
	for reason, calls := range map[string][]Call{
		"INVALID_FRAME":  {},
		"EMPTY_TOOL":     {{Tool: " "}},
		"DUPLICATE_CALL": {{Tool: "a", CallID: "x"}, {Tool: "a", CallID: "x"}},
		"TOO_MANY_CALLS": slices.Repeat([]Call{{Tool: "a"}}, 9),
		"TOO_LARGE":      {{Tool: "a", Args: large}},
		"INVALID_FRAME ": {{Tool: "a\xff"}},
	} {
		reason = strings.TrimSpace(reason)
		_, err := run.Judge(t.Context(), calls...)
		var refused *Error
		if !errors.As(err, &refused) || !errors.Is(err, ErrInvalidFrame) || refused.Reason != reason {
			t.Errorf("%s: %v", reason, err)
		}
	}
	if _, err := client.OpenRun(t.Context(), "r\xff"); !errors.Is(err, ErrInvalidFrame) {
		t.Errorf("got %v", err)
	}
	if verdicts := judge(t, run, "exec"); verdicts[0].CallID != "c1" {
		t.Errorf("refused batches used up numbers: %v", verdicts)
	}
}

func TestARefusedFrameIsAnError(t *testing.T) {
	eachWay(t, func(t *testing.T, options ...Option) {
		guard := newFake()
		client := newTestClient(t, guard.serve(t), options...)
		run := openRun(t, client, "r")
		guard.instead = func(_ string, frame *pb.GuardRequest) *pb.GuardResponse {
			if frame.GetOutcome() == nil {
				return nil
			}
			guard.runs["r"].last = frame.GetSeq()
			refused := &pb.FrameError{Status: statusWith(codes.NotFound, "UNKNOWN_CALL")}
			return &pb.GuardResponse{Seq: frame.GetSeq(), Answer: &pb.GuardResponse_Error{Error: refused}}
		}
		_, err := run.Report(t.Context(), Outcome{CallID: "never"})
		var refused *Error
		if !errors.As(err, &refused) || refused.Reason != "UNKNOWN_CALL" || !errors.Is(err, ErrInvalidFrame) {
			t.Errorf("got %v", err)
		}
		judge(t, run, "exec")
	})
}

func TestARefusedRunIsAnError(t *testing.T) {
	eachWay(t, func(t *testing.T, options ...Option) {
		guard := newFake()
		guard.instead = func(string, *pb.GuardRequest) *pb.GuardResponse {
			refused := &pb.FrameError{Status: statusWith(codes.FailedPrecondition, "UNSUPPORTED_SCHEME")}
			return &pb.GuardResponse{Answer: &pb.GuardResponse_Error{Error: refused}}
		}
		client := newTestClient(t, guard.serve(t), options...)
		_, err := client.OpenRun(t.Context(), "r", WithDigestScheme(99))
		if !errors.Is(err, ErrRunRefused) {
			t.Errorf("got %v", err)
		}
	})
}

func TestAnUnknownActionAllowsAndIsLogged(t *testing.T) {
	guard := newFake()
	guard.verdict = func(call *pb.Call) *pb.Verdict { return &pb.Verdict{CallId: call.GetCallId(), Action: 17} }
	var log bytes.Buffer
	client := newTestClient(t, guard.serve(t), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	if verdict := judge(t, openRun(t, client, "r"), "exec")[0]; verdict.Action != ActionAllow || !verdict.Allowed() {
		t.Errorf("got %v", verdict)
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "action=17") {
		t.Errorf("logged %q", log.String())
	}
}

func TestAVerdictArrivesWhole(t *testing.T) {
	guard := newFake()
	guard.verdict = func(call *pb.Call) *pb.Verdict {
		return &pb.Verdict{
			CallId: call.GetCallId(), Action: pb.Action_ACTION_ABORT, Note: "stop", BlockedBy: "c0", Scope: pb.Scope_SCOPE_RUN,
			Flags: []pb.JsonFlag{pb.JsonFlag_JSON_FLAG_BIGINT, pb.JsonFlag_JSON_FLAG_OPAQUE, 99},
			Finding: &pb.Finding{Detector: "generic_repeat", Level: pb.Level_LEVEL_CRITICAL, Count: 20, Threshold: 20,
				CallIds: []string{"c1"}},
		}
	}
	client := newTestClient(t, guard.serve(t))
	got := judge(t, openRun(t, client, "r"), "exec")[0]
	shown := fmt.Sprintf("%s %s %s %s %s %s %d", got.CallID, got.Action, got.Note, got.BlockedBy, got.Scope, got.Flags, got.Finding.Count)
	if want := "c1 ABORT stop c0 RUN BIGINT|OPAQUE 20"; shown != want || got.Finding.Level != LevelCritical {
		t.Errorf("got %q, want %q", shown, want)
	}
}

func TestDigestsTravelInPlaceOfPayloads(t *testing.T) {
	guard := newFake()
	client := newTestClient(t, guard.serve(t))
	run := openRun(t, client, "r", WithDigests())
	_, err := run.Judge(t.Context(), Call{Tool: "bash", Args: []byte(`{"title": "x", "action": "poll", "n": 1.0}`)})
	if err != nil {
		t.Fatal(err)
	}
	report(t, run, "c1")
	guard.mu.Lock()
	defer guard.mu.Unlock()
	call := guard.runs["r"].frames[0].GetCalls().GetCalls()[0]
	want := Call{Tool: "exec", Args: []byte(`{"n":1,"action":"poll"}`)}.Hashed()
	if !bytes.Equal(call.GetArgsDigest(), want.ArgsDigest[:]) || call.GetAction() != "poll" || call.GetArgsJson() != nil {
		t.Errorf("sent %v", call)
	}
	if sum := guard.runs["r"].frames[1].GetOutcome().GetResultDigest(); len(sum) != 16 || guard.opens[0].GetDigestScheme() != 1 {
		t.Errorf("sent a digest of %d bytes", len(sum))
	}
}

func TestManyRunsShareMessages(t *testing.T) {
	guard := newFake()
	client := newTestClient(t, guard.serve(t), WithGuardMany())
	const many = 40
	runs := make([]*Run, many)
	for i := range runs {
		runs[i] = openRun(t, client, fmt.Sprint("r", i))
	}
	guard.mu.Lock()
	before := guard.messages
	release := guard.holdCalls(t)
	guard.mu.Unlock()
	var group sync.WaitGroup
	for i, run := range runs {
		group.Go(func() {
			if _, err := run.Judge(t.Context(), Call{Tool: "exec"}); err != nil {
				t.Error(i, err)
			}
		})
	}
	eventually(t, "all have asked", func() bool {
		client.mu.Lock()
		defer client.mu.Unlock()
		return !slices.ContainsFunc(runs, func(run *Run) bool { return run.session.last() == 0 })
	})
	release()
	group.Wait()
	guard.mu.Lock()
	defer guard.mu.Unlock()
	if messages := guard.messages - before; messages > messagesAhead+1 {
		t.Errorf("%d messages for %d calls", messages, many)
	}
}

func TestFramesOfOneMessageStayWithinTheLimits(t *testing.T) {
	guard := newFake()
	client := newTestClient(t, guard.serve(t), WithGuardMany())
	args := []byte(`"` + strings.Repeat("x", 200_000) + `"`)
	var group sync.WaitGroup
	for i := range 12 {
		run := openRun(t, client, fmt.Sprint("r", i))
		group.Go(func() {
			if _, err := run.Judge(t.Context(), Call{Tool: "exec", Args: args}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func TestWhatIsRefusedAsTooLargeIsSentInSmallerMessages(t *testing.T) {
	guard := newFake()
	guard.mostFrames = 3
	held, hold := make(chan struct{}), true
	guard.stream = func(context.Context) error {
		if hold {
			hold = false
			<-held
		}
		return nil
	}
	client := newTestClient(t, guard.serve(t), WithGuardMany(), WithOnUnavailable(UnavailableWait))
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			run := openRun(t, client, fmt.Sprint("r", i))
			if _, err := run.Judge(t.Context(), Call{Tool: "exec"}); err != nil {
				t.Error(i, err)
			}
		})
	}
	eventually(t, "all are to be opened", func() bool {
		client.mu.Lock()
		defer client.mu.Unlock()
		count := 0
		for link := range client.streams {
			count += len(link.sessions)
		}
		return count == 20
	})
	close(held)
	group.Wait()
}

func TestAFrameThatIsRefusedAsTooLargeIsGivenUp(t *testing.T) {
	eachWay(t, func(t *testing.T, options ...Option) {
		guard := newFake()
		guard.before = func(_ string, frame *pb.GuardRequest) error {
			if frame.GetCalls() == nil {
				return nil
			}
			return status.ErrorProto(statusWith(codes.ResourceExhausted, reasonTooLarge))
		}
		client := newTestClient(t, guard.serve(t), append(options, WithOnUnavailable(UnavailableWait))...)
		run := openRun(t, client, "r")
		var refused *Error
		if _, err := run.Judge(t.Context(), Call{Tool: "exec"}); !errors.As(err, &refused) || refused.Reason != reasonTooLarge {
			t.Errorf("got %v", err)
		}
		for range 3 {
			if err := run.UserMessage(t.Context()); err != nil {
				t.Error(err)
			}
		}
		client.mu.Lock()
		defer client.mu.Unlock()
		if count := len(run.session.link.unanswered); count > 1 {
			t.Errorf("%d messages are kept", count)
		}
	})
}

func TestTheNewestOfTwoOpeningsHasTheRun(t *testing.T) {
	guard := newFake()
	client := newTestClient(t, guard.serve(t), WithGuardMany())
	older, newer := openRun(t, client, "r"), openRun(t, client, "r")
	if _, err := older.Judge(t.Context(), Call{Tool: "exec"}); !errors.Is(err, ErrRunRefused) {
		t.Errorf("the older one: %v", err)
	}
	judge(t, newer, "exec")
}

func TestACallerThatGivesUpHasNotRunItsCalls(t *testing.T) {
	eachWay(t, func(t *testing.T, options ...Option) {
		guard := newFake()
		address := guard.serve(t)
		release := guard.holdCalls(t)
		ctx, cancel := context.WithCancel(t.Context())
		hold := guard.before
		guard.before = func(runID string, frame *pb.GuardRequest) error {
			if frame.GetCalls() != nil {
				cancel()
			}
			return hold(runID, frame)
		}
		client := newTestClient(t, address, options...)
		run := openRun(t, client, "r")
		if _, err := run.Judge(ctx, Call{Tool: "exec"}); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		release()
		judge(t, run, "read")
		if got := guard.observed("r"); !slices.Equal(got, []string{"calls c1", "outcome c1 CANCELLED", "calls c2"}) {
			t.Errorf("observed %q", got)
		}
		if _, err := run.Judge(ctx, Call{Tool: "exec"}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}
