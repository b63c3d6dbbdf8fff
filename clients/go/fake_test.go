package loopguard

import (
	"context"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/loopguard/loopguard/clients/go/loopguardv1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// plenty is more time than anything takes that happens at all, also on a busy machine.
const plenty = time.Minute

// fakeGuard answers as a server does, and can be told to misbehave. Its hooks are called with its lock held.
type fakeGuard struct {
	pb.UnimplementedLoopGuardServiceServer
	mu       sync.Mutex
	runs     map[string]*fakeRun
	opens    []*pb.RunOpen
	messages int

	// before is called before a frame is observed, after when its answer is still to be sent: an error ends the stream.
	before, after func(runID string, frame *pb.GuardRequest) error
	// instead replaces the answer to a frame; it is then not observed.
	instead func(runID string, frame *pb.GuardRequest) *pb.GuardResponse
	// also is said after the answer to a frame.
	also func(frame *pb.GuardRequest) *pb.GuardResponse
	// verdict answers a call.
	verdict func(call *pb.Call) *pb.Verdict
	// durable has every frame survive.
	durable bool
	// mostFrames is how many frames a message of many runs may have; 0 for any.
	mostFrames int
	// stream is called when a stream begins.
	stream func(context.Context) error
}

// fakeRun is what the fake knows of a run.
type fakeRun struct {
	epoch, last uint64
	answers     map[uint64]*pb.GuardResponse
	frames      []*pb.GuardRequest // observed, in order
}

func newFake() *fakeGuard {
	return &fakeGuard{runs: make(map[string]*fakeRun), verdict: func(call *pb.Call) *pb.Verdict {
		return &pb.Verdict{CallId: call.GetCallId(), Action: pb.Action_ACTION_ALLOW}
	}}
}

// serve starts the fake on a loopback port and returns its address.
func (f *fakeGuard) serve(t *testing.T, options ...grpc.ServerOption) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.serveOn(t, listener, options...)
	return listener.Addr().String()
}

func (f *fakeGuard) serveOn(t *testing.T, listener net.Listener, options ...grpc.ServerOption) {
	server := grpc.NewServer(options...)
	pb.RegisterLoopGuardServiceServer(server, f)
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	t.Cleanup(func() { server.Stop(); <-done })
}

func (f *fakeGuard) Guard(stream grpc.BidiStreamingServer[pb.GuardRequest, pb.GuardResponse]) error {
	if err := f.begin(stream.Context()); err != nil {
		return err
	}
	runID := ""
	for {
		frame, err := stream.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if open := frame.GetOpen(); open != nil {
			runID = open.GetRunId()
		}
		answers, err := f.take(runID, frame)
		if err != nil {
			return err
		}
		for _, answer := range answers {
			if err := stream.Send(answer); err != nil {
				return err
			}
			if answer.GetRunEnded() != nil {
				return status.Error(codes.Aborted, "superseded")
			}
		}
	}
}

func (f *fakeGuard) GuardMany(stream grpc.BidiStreamingServer[pb.GuardManyRequest, pb.GuardManyResponse]) error {
	if err := f.begin(stream.Context()); err != nil {
		return err
	}
	for {
		message, err := stream.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		frames := 0
		for _, run := range message.GetRuns() {
			frames += len(run.GetFrames())
		}
		if f.mostFrames > 0 && frames > f.mostFrames {
			return status.ErrorProto(statusWith(codes.ResourceExhausted, reasonTooLarge))
		}
		response := &pb.GuardManyResponse{}
		for _, run := range message.GetRuns() {
			answered := &pb.RunAnswers{RunId: run.GetRunId()}
			for _, frame := range run.GetFrames() {
				answers, err := f.take(run.GetRunId(), frame)
				if err != nil {
					return err
				}
				answered.Answers = append(answered.Answers, answers...)
			}
			response.Runs = append(response.Runs, answered)
			if slices.ContainsFunc(answered.GetAnswers(), func(a *pb.GuardResponse) bool { return a.GetGoAway() != nil }) {
				response.GoAway = &pb.GoAway{}
			}
		}
		f.mu.Lock()
		f.messages++
		f.mu.Unlock()
		if err := stream.Send(response); err != nil {
			return err
		}
	}
}

func (f *fakeGuard) begin(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stream == nil {
		return nil
	}
	return f.stream(ctx)
}

// take takes one frame by the protocol's rules for numbers.
func (f *fakeGuard) take(runID string, frame *pb.GuardRequest) ([]*pb.GuardResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.before != nil {
		if err := f.before(runID, frame); err != nil {
			return nil, err
		}
	}
	if f.instead != nil {
		if answer := f.instead(runID, frame); answer != nil {
			return []*pb.GuardResponse{answer}, nil
		}
	}
	if open := frame.GetOpen(); open != nil {
		return []*pb.GuardResponse{f.open(open)}, nil
	}
	run := f.runs[runID]
	var answer *pb.GuardResponse
	switch seq := frame.GetSeq(); {
	case seq <= run.last:
		answer = run.answers[seq]
	case seq > run.last+1:
		answer = &pb.GuardResponse{Seq: seq, Answer: &pb.GuardResponse_NeedResend{NeedResend: &pb.NeedResend{FromSeq: run.last + 1}}}
	default:
		answer = f.answer(frame)
		run.last = seq
		run.answers[seq] = answer
		run.frames = append(run.frames, frame)
	}
	answer.AckedSeq = run.last
	if f.durable {
		answer.DurableSeq = run.last
	}
	if frame.GetClose() != nil {
		delete(f.runs, runID)
	}
	if f.after != nil {
		if err := f.after(runID, frame); err != nil {
			return nil, err
		}
	}
	answers := []*pb.GuardResponse{answer}
	if f.also != nil {
		if more := f.also(frame); more != nil {
			answers = append(answers, more)
		}
	}
	return answers, nil
}

func (f *fakeGuard) open(open *pb.RunOpen) *pb.GuardResponse {
	f.opens = append(f.opens, open)
	run := f.runs[open.GetRunId()]
	if run == nil || !open.GetResume() {
		epoch := uint64(0)
		if run != nil {
			epoch = run.epoch
		}
		run = &fakeRun{epoch: epoch, answers: make(map[uint64]*pb.GuardResponse)}
		f.runs[open.GetRunId()] = run
	}
	run.epoch++
	return &pb.GuardResponse{Answer: &pb.GuardResponse_Opened{Opened: &pb.Opened{
		RunId: open.GetRunId(), Epoch: run.epoch, LastSeq: run.last, Rebuilt: open.GetRebuild(),
		Config: &pb.LoopDetectionConfig{HistorySize: proto.Int64(30)},
		Limits: &pb.Limits{MessageBytes: 1 << 20, FrameBytes: 1 << 18, CallsPerBatch: 8, InFlight: 4, FramesPerMessage: 64, RecordsPerHistory: 100},
	}}}
}

func (f *fakeGuard) answer(frame *pb.GuardRequest) *pb.GuardResponse {
	response := &pb.GuardResponse{Seq: frame.GetSeq()}
	switch body := frame.GetFrame().(type) {
	case *pb.GuardRequest_Calls:
		verdicts := &pb.Verdicts{}
		for _, call := range body.Calls.GetCalls() {
			verdicts.Verdicts = append(verdicts.Verdicts, f.verdict(call))
		}
		response.Answer = &pb.GuardResponse_Verdicts{Verdicts: verdicts}
	case *pb.GuardRequest_Outcome:
		response.Answer = &pb.GuardResponse_Verdict{Verdict: &pb.Verdict{CallId: body.Outcome.GetCallId(), Action: pb.Action_ACTION_ALLOW}}
	default:
		response.Answer = &pb.GuardResponse_Ack{Ack: &pb.Ack{}}
	}
	return response
}

// observed returns what the fake has seen of a run, as words.
func (f *fakeGuard) observed(runID string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.runs[runID] == nil {
		return nil
	}
	var words []string
	for _, frame := range f.runs[runID].frames {
		words = append(words, wordOf(frame))
	}
	return words
}

func wordOf(frame *pb.GuardRequest) string {
	switch body := frame.GetFrame().(type) {
	case *pb.GuardRequest_Calls:
		var ids []string
		for _, call := range body.Calls.GetCalls() {
			ids = append(ids, call.GetCallId())
		}
		kind := "calls "
		if body.Calls.GetDryRun() {
			kind = "check "
		}
		return kind + strings.Join(ids, ",")
	case *pb.GuardRequest_Outcome:
		return "outcome " + body.Outcome.GetCallId() + strings.TrimPrefix(" "+Status(body.Outcome.GetStatus()).String(), " UNSPECIFIED")
	case *pb.GuardRequest_History:
		var tools []string
		for _, record := range body.History.GetRecords() {
			tools = append(tools, record.GetTool())
		}
		return "history " + strings.Join(tools, ",")
	case *pb.GuardRequest_UserMessage:
		return "user"
	case *pb.GuardRequest_CompactionRetry:
		return "compaction"
	default:
		return "close"
	}
}

func (f *fakeGuard) openings() []*pb.RunOpen {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.opens)
}

// statusWith returns a status with a reason.
func statusWith(code codes.Code, reason string) *statuspb.Status {
	made, err := status.New(code, "said the fake").WithDetails(&errdetails.ErrorInfo{Reason: reason, Domain: "loopguard"})
	if err != nil {
		panic(err)
	}
	return made.Proto()
}

// newTestClient returns a client that tries again at once and waits long enough.
func newTestClient(t *testing.T, target string, options ...Option) *Client {
	t.Helper()
	quick := func(s *settings) {
		s.random = func() float64 { return 0.001 }
		s.deadline = plenty
		s.log = slog.New(slog.DiscardHandler)
	}
	client, err := NewClient(target, append([]Option{quick}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func openRun(t *testing.T, client *Client, runID string, options ...RunOption) *Run {
	t.Helper()
	run, err := client.OpenRun(t.Context(), runID, options...)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func judge(t *testing.T, run *Run, tools ...string) []Verdict {
	t.Helper()
	calls := make([]Call, len(tools))
	for i, tool := range tools {
		calls[i] = Call{Tool: tool, Args: []byte(`{"of": "` + tool + `"}`)}
	}
	verdicts, err := run.Judge(t.Context(), calls...)
	if err != nil {
		t.Fatal(err)
	}
	return verdicts
}

func report(t *testing.T, run *Run, callID string) Verdict {
	t.Helper()
	verdict, err := run.Report(t.Context(), Outcome{CallID: callID, Status: StatusOK, Result: []byte(`"done"`)})
	if err != nil {
		t.Fatal(err)
	}
	return verdict
}

// eachWay runs a test with a stream a run, and with one for all.
func eachWay(t *testing.T, test func(t *testing.T, options ...Option)) {
	t.Run("Guard", func(t *testing.T) { test(t) })
	t.Run("GuardMany", func(t *testing.T) { test(t, WithGuardMany()) })
}

// eventually waits until something is so that has no event to wait for.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if so() {
			return
		}
		if t.Context().Err() != nil {
			t.Fatalf("never: %s", what)
		}
	}
}
