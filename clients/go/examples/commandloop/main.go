// Command commandloop runs a shell command again and again, as a stuck agent would, until loopguard blocks it.
//
//	commandloop [-address HOST:PORT] [-most N] COMMAND
//
// It exits with 1 if nobody stopped it.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"

	"google.golang.org/protobuf/proto"

	loopguard "github.com/loopguard/loopguard/clients/go"
	"github.com/loopguard/loopguard/clients/go/loopguardv1"
)

func main() {
	address := flag.String("address", cmp.Or(os.Getenv("LOOPGUARD_ADDRESS"), "127.0.0.1:50051"), "where loopguard listens")
	most := flag.Int("most", 100, "give up after so many runs")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: commandloop [-address HOST:PORT] [-most N] COMMAND")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *address, flag.Arg(0), *most); err != nil {
		fmt.Fprintln(os.Stderr, "commandloop:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, address, command string, most int) (err error) {
	client, err := loopguard.NewClient(address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	guarded, err := client.OpenRun(ctx, fmt.Sprintf("commandloop-%d", os.Getpid()),
		loopguard.WithConfig(&loopguardv1.LoopDetectionConfig{Enabled: proto.Bool(true)}))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, guarded.Close(ctx)) }()
	if guarded.Opened() == nil {
		return fmt.Errorf("no guard answers at %s", address)
	}
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return err
	}
	for n := 1; n <= most; n++ {
		verdicts, err := guarded.Judge(ctx, loopguard.Call{Tool: "exec", Args: args})
		if err != nil {
			return err
		}
		verdict := verdicts[0]
		if !verdict.Allowed() {
			fmt.Printf("%d: %s\n%s\n", n, verdict.Action, verdict.Note)
			return nil
		}
		outcome := execute(ctx, command)
		outcome.CallID = verdict.CallID
		if _, err := guarded.Report(ctx, outcome); err != nil {
			return err
		}
		fmt.Printf("%d: %s, %s %s\n", n, verdict.Action, outcome.Status, verdict.Note)
	}
	return fmt.Errorf("nobody stopped it in %d runs", most)
}

// execute runs a shell command and returns its outcome.
func execute(ctx context.Context, command string) loopguard.Outcome {
	shell := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	output, err := shell.CombinedOutput()
	if err != nil && shell.ProcessState == nil {
		message, _ := json.Marshal(err.Error()) // a string always can be written
		return loopguard.Outcome{Status: loopguard.StatusError, Error: message}
	}
	result, _ := json.Marshal(map[string]any{ // and so can this
		"content": []any{map[string]any{"type": "text", "text": string(output)}},
		"details": map[string]any{"status": "completed", "exitCode": shell.ProcessState.ExitCode(), "aggregated": string(output)},
	})
	return loopguard.Outcome{Status: loopguard.StatusOK, Result: result}
}
