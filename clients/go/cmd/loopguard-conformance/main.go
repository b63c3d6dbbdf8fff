// Command loopguard-conformance runs the vectors of conformance/ against the Go client: canonical form and digests, the
// messages of the wire, and detection over a stream to the server at LOOPGUARD_ADDRESS.
//
//	loopguard-conformance FILE…
//
// It exits with 1 if a case failed, and with 2 for a file without cases or with one that is not understood, and where no
// server answers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	loopguard "github.com/loopguard/loopguard/clients/go"
	"github.com/loopguard/loopguard/clients/go/internal/vectors"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	flag.Usage = func() { fmt.Fprintln(flag.CommandLine.Output(), "usage: loopguard-conformance FILE…") }
	flag.Parse()
	failed, err := run(ctx, os.Stdout, os.Getenv("LOOPGUARD_ADDRESS"), flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "loopguard-conformance:", err)
		os.Exit(2)
	}
	if failed > 0 {
		os.Exit(1)
	}
}

// run runs files and returns how many of their cases failed.
func run(ctx context.Context, out io.Writer, address string, paths []string) (failed int, err error) {
	if len(paths) == 0 {
		return 0, errors.New("name the files to run")
	}
	runner := &vectors.Runner{}
	if address != "" {
		// What the client decides by itself is no answer that a case expects.
		client, err := loopguard.NewClient(address,
			loopguard.WithDeadline(vectors.CaseTime), loopguard.WithOnUnavailable(loopguard.UnavailableBlock))
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, client.Close()) }()
		runner.Client = client
	}
	passed, leftOut := 0, 0
	for _, path := range paths {
		err := runner.RunFile(ctx, path, func(result vectors.Result) {
			for _, problem := range result.Problems {
				fmt.Fprintf(out, "FAIL %s: %s\n", result.Name, problem)
			}
			switch {
			case result.LeftOut:
				leftOut++
			case len(result.Problems) > 0:
				failed++
			default:
				passed++
			}
		})
		if err != nil {
			return failed, err
		}
	}
	if leftOut > 0 {
		fmt.Fprintf(out, "%d left out: they need a server of their own\n", leftOut)
	}
	fmt.Fprintf(out, "%d passed, %d failed\n", passed, failed)
	return failed, nil
}
