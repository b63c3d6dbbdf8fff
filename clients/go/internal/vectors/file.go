// Package vectors runs the language-neutral vectors of conformance/ against this client.
package vectors

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"unicode/utf8"

	loopguard "github.com/loopguard/loopguard/clients/go"
)

// ErrBadCase says that a file can't be run: it has no cases, or one that is not understood.
var ErrBadCase = errors.New("bad case")

// ErrLeftOut says that a case needs a server of its own.
var ErrLeftOut = errors.New("left out")

// Result is how one case went.
type Result struct {
	Name string
	// Problems are what differs; none for a case that passed.
	Problems []string
	// LeftOut says that the case was not run.
	LeftOut bool
}

// Runner runs vectors.
type Runner struct {
	// Client plays the detection vectors; nil where there is no server.
	Client *loopguard.Client
	// answers: the server has answered.
	answers bool
}

// RunFile calls report for every case of a file, in order. It returns an [ErrBadCase] that names file and line for one
// that is not understood.
func (r *Runner) RunFile(ctx context.Context, path string, report func(Result)) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	cases := 0
	for number, line := range bytes.Split(data, []byte("\n")) {
		if number == 0 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if line = bytes.Trim(line, " \t\r"); len(line) == 0 {
			continue
		}
		result, err := r.run(ctx, line)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", path, number+1, err)
		}
		cases++
		report(result)
	}
	if cases == 0 {
		return fmt.Errorf("%s: %w: no cases", path, ErrBadCase)
	}
	return nil
}

// run runs one case, whose kind is told by its members.
func (r *Runner) run(ctx context.Context, line []byte) (Result, error) {
	if !utf8.Valid(line) {
		return Result{}, bad("a vector is no UTF-8")
	}
	fields, err := parseObject(line, "a vector", nil)
	if err != nil {
		return Result{}, err
	}
	name, err := fields.text("name")
	if err != nil {
		return Result{}, err
	}
	if name == "" {
		return Result{}, bad("a vector needs `name`")
	}
	run := map[string]func(context.Context, object) ([]string, error){"steps": r.runDetection, "input": runCanon, "bytes": runWire}
	for _, kind := range []string{"steps", "input", "bytes"} {
		if _, ok := fields.values[kind]; ok {
			problems, err := run[kind](ctx, fields)
			if errors.Is(err, ErrLeftOut) {
				return Result{Name: name, LeftOut: true}, nil
			}
			return Result{Name: name, Problems: problems}, err
		}
	}
	return Result{}, bad("a case of no known kind: it has neither `steps` nor `input` nor `bytes`")
}

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrBadCase, fmt.Sprintf(format, args...))
}
