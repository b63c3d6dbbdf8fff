package loopguard

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"

	pb "github.com/loopguard/loopguard/clients/go/loopguardv1"
)

// unruly has a fake cut streams, lose runs and miss frames at random.
func (f *fakeGuard) unruly(random *rand.Rand) {
	cut := func(runID string, _ *pb.GuardRequest) error {
		switch random.IntN(40) {
		case 0:
			return codeError(codes.Unavailable)
		case 1:
			delete(f.runs, runID)
			return codeError(codes.Internal)
		}
		return nil
	}
	f.before, f.after = cut, cut
	f.stream = func(context.Context) error {
		if random.IntN(4) == 0 {
			return codeError(codes.Canceled)
		}
		return nil
	}
	f.instead = func(runID string, frame *pb.GuardRequest) *pb.GuardResponse {
		run := f.runs[runID]
		if random.IntN(40) > 0 || frame.GetOpen() != nil || run == nil || frame.GetSeq() != run.last+1 {
			return nil
		}
		return &pb.GuardResponse{Seq: frame.GetSeq(), AckedSeq: run.last, Answer: &pb.GuardResponse_NeedResend{
			NeedResend: &pb.NeedResend{FromSeq: run.last + 1},
		}}
	}
}

func TestNothingIsLostOrSeenTwiceWhateverHappens(t *testing.T) {
	eachWay(t, func(t *testing.T, options ...Option) {
		for seed := range uint64(4) {
			t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
				guard := newFake()
				guard.unruly(rand.New(rand.NewPCG(seed, 0)))
				client := newTestClient(t, guard.serve(t), append(options, WithOnUnavailable(UnavailableWait))...)
				var group sync.WaitGroup
				for number := range 4 {
					group.Go(func() { playUnruly(t, client, guard, fmt.Sprint("r", number)) })
				}
				group.Wait()
			})
		}
	})
}

// playUnruly plays one run, some of whose frames are under way together.
func playUnruly(t *testing.T, client *Client, guard *fakeGuard, runID string) {
	run, err := client.OpenRun(t.Context(), runID)
	if err != nil {
		t.Error(err)
		return
	}
	var want []string
	for turn := range 12 {
		verdicts, err := run.Judge(t.Context(), Call{Tool: "a"}, Call{Tool: "b"})
		if err != nil || len(verdicts) != 2 || verdicts[1].CallID != fmt.Sprint("c", 2*turn+2) {
			t.Error(runID, verdicts, err)
			return
		}
		want = append(want, "calls "+verdicts[0].CallID+","+verdicts[1].CallID)
		var together sync.WaitGroup
		for _, verdict := range verdicts {
			want = append(want, "outcome "+verdict.CallID)
			together.Go(func() {
				if answer, err := run.Report(t.Context(), Outcome{CallID: verdict.CallID}); err != nil || answer.CallID != verdict.CallID {
					t.Error(runID, answer, err)
				}
			})
		}
		together.Wait()
	}
	got := guard.observed(runID)
	// Outcomes that are reported together may come in either order.
	slices.Sort(got)
	slices.Sort(want)
	if len(got) > 0 && !slices.Equal(got, want) {
		t.Errorf("%s: observed %q", runID, got)
	}
}
