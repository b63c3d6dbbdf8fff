package vectors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	loopguard "github.com/loopguard/loopguard/clients/go"
)

// CaseTime is how long one detection vector may take.
const CaseTime = 30 * time.Second

// runDetection plays a case of detect.jsonl over the stream.
func (r *Runner) runDetection(ctx context.Context, fields object) ([]string, error) {
	v, err := parseVector(fields)
	if err != nil {
		return nil, err
	}
	if v.needsServer {
		return nil, ErrLeftOut
	}
	if r.Client == nil {
		return nil, errors.New("detection vectors need a server: set LOOPGUARD_ADDRESS")
	}
	if err := r.checkServer(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, CaseTime)
	defer cancel()
	p := &player{client: r.Client, vector: v, runs: make(map[string]*loopguard.Run)}
	defer p.close()
	if problem := p.begin(ctx); problem != "" || v.refusedKey != nil {
		return problemsOf(problem), nil
	}
	var problems []string
	for i, s := range v.steps {
		found, err := p.play(ctx, i, s)
		problems = append(problems, found...)
		if err != nil {
			return append(problems, fmt.Sprintf("step %d: %v", i, err)), nil
		}
	}
	return problems, nil
}

// checkServer returns an error if no server answers; no case tells that as well.
func (r *Runner) checkServer(ctx context.Context) error {
	if r.answers {
		return nil
	}
	run, err := r.Client.OpenRun(ctx, "conformance")
	if err != nil {
		return err
	}
	r.answers = run.Opened() != nil
	if err := run.Close(ctx); err != nil {
		return err
	}
	if !r.answers {
		return errors.New("no server answers at LOOPGUARD_ADDRESS")
	}
	return nil
}

func problemsOf(problem string) []string {
	if problem == "" {
		return nil
	}
	return []string{problem}
}

// player plays one vector.
type player struct {
	client *loopguard.Client
	vector *vector
	runs   map[string]*loopguard.Run
}

func (p *player) close() {
	ctx, cancel := context.WithTimeout(context.Background(), CaseTime)
	defer cancel()
	for _, run := range p.runs {
		_ = run.Close(ctx) // the case has its result already
	}
}

// begin opens the vector's run, and returns what is wrong with how that went.
func (p *player) begin(ctx context.Context) string {
	_, err := p.open(ctx, p.vector.runID)
	var refused *loopguard.Error
	wanted := p.vector.refusedKey
	switch {
	case err == nil && wanted == nil:
		return ""
	case err == nil:
		return fmt.Sprintf("expected a refusal of %q, but the run was opened", *wanted)
	case wanted != nil && errors.As(err, &refused) && errors.Is(err, loopguard.ErrInvalidConfig) && refused.Key == *wanted:
		return ""
	default:
		return fmt.Sprintf("the run was not opened: %v", err)
	}
}

func (p *player) open(ctx context.Context, runID string) (*loopguard.Run, error) {
	if run := p.runs[runID]; run != nil {
		return run, nil
	}
	options := p.vector.options
	if p.vector.config != nil {
		config, err := loopguard.ParseConfig(p.vector.config)
		if err != nil {
			return nil, err
		}
		options = append(options, loopguard.WithConfig(config))
	}
	run, err := p.client.OpenRun(ctx, runID, options...)
	if err == nil {
		p.runs[runID] = run
	}
	return run, err
}

func (p *player) play(ctx context.Context, index int, s step) ([]string, error) {
	run, err := p.open(ctx, s.runID)
	if err != nil {
		return nil, err
	}
	var problems []string
	for repetition, a := range s.acts {
		got, err := a.do(ctx, run)
		if err != nil {
			return problems, err
		}
		if expected := s.expected[repetition]; expected != nil && !matches(expected, got) {
			problems = append(problems, mismatch(index, repetition, expected, got))
		}
	}
	return problems, nil
}

func mismatch(step, repetition int, expected, got any) string {
	wanted, _ := json.Marshal(expected)
	found, _ := json.Marshal(got)
	return fmt.Sprintf("step %d, repetition %d: expected %s, got %s", step, repetition, wanted, found)
}

// do does what a step says and returns the answer as a vector writes it.
func (a act) do(ctx context.Context, run *loopguard.Run) (any, error) {
	verdicts, err := a.frame.send(ctx, run)
	var refused *loopguard.Error
	if errors.As(err, &refused) && (errors.Is(err, loopguard.ErrInvalidFrame) || errors.Is(err, loopguard.ErrInvalidConfig)) {
		return map[string]any{"error": map[string]any{"reason": refused.Reason}}, nil
	}
	if err != nil {
		return nil, err
	}
	if a.outcome != nil {
		if err := a.report(ctx, run, verdicts); err != nil {
			return nil, err
		}
	}
	if a.frame.kind == "outcome" {
		return verdictFields(verdicts[0]), nil
	}
	answers := make([]any, len(verdicts))
	for i, verdict := range verdicts {
		answers[i] = verdictFields(verdict)
	}
	return answers, nil
}

// report tells the outcome of the calls that may run; of the first one only where the outcome names its call.
func (a act) report(ctx context.Context, run *loopguard.Run, verdicts []loopguard.Verdict) error {
	for _, verdict := range verdicts {
		if !verdict.Allowed() {
			continue
		}
		outcome := *a.outcome
		if outcome.CallID == "" {
			outcome.CallID = verdict.CallID
		}
		if _, err := run.Report(ctx, outcome); err != nil {
			return err
		}
		if a.outcome.CallID != "" {
			return nil
		}
	}
	return nil
}
