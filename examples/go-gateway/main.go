// Command go-gateway is a small agent gateway in Go. Two scripted agents run at once and share one stream to loopguard:
// one works its way through a list of files, the other asks for the same broken build over and over. The guard warns the
// second one, blocks it, and ends its run; the first one never notices.
//
//	loopguard serve &
//	cd examples/go-gateway && go run .
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"

	"google.golang.org/protobuf/proto"

	loopguard "github.com/loopguard/loopguard/clients/go"
	"github.com/loopguard/loopguard/clients/go/loopguardv1"
)

// toolCall is what a model asks for.
type toolCall struct {
	tool string
	args map[string]any
}

// model stands for a language model: it gets the results of its last calls and asks for more, for none when it is done.
type model func(turn int, results []string) []toolCall

// steady reads one file after the other, two at a time.
func steady(turn int, _ []string) []toolCall {
	if turn == 15 {
		return nil
	}
	read := func(n int) toolCall {
		return toolCall{"read", map[string]any{"path": fmt.Sprintf("src/part%02d.go", n)}}
	}
	return []toolCall{read(2 * turn), read(2*turn + 1)}
}

// stuck asks for the same build whatever it is told.
func stuck(int, []string) []toolCall {
	return []toolCall{{"exec", map[string]any{"command": "make all"}}}
}

// tools are what the gateway can do; each returns its result.
var tools = map[string]func(args map[string]any) any{
	"read": func(args map[string]any) any { return fmt.Sprint("package parts // ", args["path"]) },
	"exec": func(map[string]any) any {
		text := "make: *** No rule to make target 'all'.  Stop."
		return map[string]any{"details": map[string]any{"status": "completed", "exitCode": 2, "aggregated": text}}
	},
}

// gateway runs agents.
type gateway struct {
	client *loopguard.Client
	mu     sync.Mutex // one line at a time
}

func (g *gateway) say(agent, format string, args ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	fmt.Printf("%-6s %s\n", agent, fmt.Sprintf(format, args...))
}

// errAborted says that the guard ended the run.
var errAborted = errors.New("ended by the guard")

// runAgent runs one agent to its end.
func (g *gateway) runAgent(ctx context.Context, agent string, ask model) (err error) {
	run, err := g.client.OpenRun(ctx, fmt.Sprintf("%s-%d", agent, os.Getpid()), loopguard.WithAgent(agent),
		loopguard.WithConfig(&loopguardv1.LoopDetectionConfig{Enabled: proto.Bool(true)}))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, run.Close(ctx)) }()
	if err := run.UserMessage(ctx); err != nil {
		return err
	}
	var results []string
	for turn := 0; ; turn++ {
		asked := ask(turn, results)
		if len(asked) == 0 {
			g.say(agent, "done after %d turns", turn)
			return nil
		}
		if results, err = g.takeTurn(ctx, run, agent, asked); err != nil {
			return err
		}
	}
}

// takeTurn has the calls of one model response judged, runs those that may, and returns what the model is told.
func (g *gateway) takeTurn(ctx context.Context, run *loopguard.Run, agent string, asked []toolCall) ([]string, error) {
	calls := make([]loopguard.Call, len(asked))
	for i, call := range asked {
		args, err := json.Marshal(call.args)
		if err != nil {
			return nil, err
		}
		calls[i] = loopguard.Call{Tool: call.tool, Args: args}
	}
	verdicts, err := run.Judge(ctx, calls...)
	if err != nil {
		return nil, err
	}
	results := make([]string, len(asked))
	for i, verdict := range verdicts {
		switch verdict.Action {
		case loopguard.ActionAbort:
			g.say(agent, "%s: %s", verdict.Action, verdict.Note)
			return nil, errAborted
		case loopguard.ActionBlock:
			// A block is an error result for the model, which may do something else then.
			g.say(agent, "%s: %s", verdict.Action, verdict.Note)
			results[i] = verdict.Note
		default:
			if results[i], err = g.runTool(ctx, run, verdict.CallID, asked[i]); err != nil {
				return nil, err
			}
			if verdict.Action == loopguard.ActionWarn {
				g.say(agent, "%s: %s", verdict.Action, verdict.Note)
				results[i] += "\n\n" + verdict.Note
			}
		}
	}
	return results, nil
}

// runTool runs a call, reports its outcome, and returns its result as text.
func (g *gateway) runTool(ctx context.Context, run *loopguard.Run, callID string, call toolCall) (string, error) {
	outcome := loopguard.Outcome{CallID: callID, Status: loopguard.StatusUnknownTool}
	if tool := tools[call.tool]; tool != nil {
		result, err := json.Marshal(tool(call.args))
		if err != nil {
			return "", err
		}
		outcome.Status, outcome.Result = loopguard.StatusOK, result
	}
	verdict, err := run.Report(ctx, outcome)
	if err == nil && verdict.Action == loopguard.ActionAbort {
		err = errAborted
	}
	return string(outcome.Result), err
}

func run(ctx context.Context, address string) (err error) {
	client, err := loopguard.NewClient(address, loopguard.WithGuardMany())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	g := &gateway{client: client}
	var group sync.WaitGroup
	var steadyErr, stuckErr error
	group.Go(func() { steadyErr = g.runAgent(ctx, "steady", steady) })
	group.Go(func() { stuckErr = g.runAgent(ctx, "stuck", limited(stuck, 40)) })
	group.Wait()
	if !errors.Is(stuckErr, errAborted) {
		return errors.Join(steadyErr, stuckErr, fmt.Errorf("nobody stopped the agent that is stuck; does a guard listen at %s?", address))
	}
	return steadyErr
}

// limited ends a model that nobody stops.
func limited(ask model, turns int) model {
	return func(turn int, results []string) []toolCall {
		if turn == turns {
			return nil
		}
		return ask(turn, results)
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, cmp.Or(os.Getenv("LOOPGUARD_ADDRESS"), "127.0.0.1:50051")); err != nil {
		fmt.Fprintln(os.Stderr, "go-gateway:", err)
		os.Exit(1)
	}
}
