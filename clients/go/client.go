package loopguard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	pb "github.com/loopguard/loopguard/clients/go/loopguardv1"
)

// Client opens runs at one guard. Its methods may be called by several goroutines.
type Client struct {
	settings *settings

	// mu guards everything below, and every link, session and journal.
	mu          sync.Mutex
	connections *connections
	streams     map[*link]*stream
	// shared are the streams of many runs by endpoint, "" for the client's target.
	shared map[string]*stream
	// moving are runs that wait to be taken to another endpoint.
	moving map[*session]bool
	closed bool
}

// NewClient returns a client of the guard at target, which is an address such as "127.0.0.1:50051" or any other target
// of gRPC. It does not wait for a connection; a guard that can't be reached is no error.
func NewClient(target string, options ...Option) (*Client, error) {
	s := newSettings(options)
	conns, err := newConnections(target, s)
	if err != nil {
		return nil, err
	}
	return &Client{
		settings:    s,
		connections: conns,
		streams:     make(map[*link]*stream),
		shared:      make(map[string]*stream),
		moving:      make(map[*session]bool),
	}, nil
}

// OpenRun opens a run. It returns an error for a configuration or a run that the guard refuses; that the guard is away
// is no error. The context only limits how long OpenRun itself waits.
func (c *Client) OpenRun(ctx context.Context, runID string, options ...RunOption) (*Run, error) {
	opening := &runSettings{request: &pb.RunOpen{RunId: runID}}
	for _, option := range options {
		option(opening)
	}
	frame := &pb.GuardRequest{Frame: &pb.GuardRequest_Open{Open: opening.request}}
	if err := errors.Join(ctx.Err(), checkText(frame)); err != nil {
		return nil, fmt.Errorf("open run %q: %w", runID, err)
	}
	waiter := make(chan reply, 1)
	session := newSession(opening.request, c.settings)
	session.opener = waiter
	run := &Run{client: c, session: session, hashes: opening.hashes}

	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, closed("the client is closed")
	}
	stream := c.streamFor("")
	stream.add(session)
	patience := c.patience(session, false)
	c.mu.Unlock()
	stream.wake()

	err := await(ctx, waiter, patience)
	c.mu.Lock()
	select {
	case answer := <-waiter:
		err = answer.err
	default:
		session.opener = nil
	}
	c.mu.Unlock()
	if err != nil {
		run.letGo()
		return nil, fmt.Errorf("open run %q: %w", runID, err)
	}
	return run, nil
}

// Close leaves the guard and waits for the client's goroutines. Runs that were not closed stay there for resuming.
func (c *Client) Close() error {
	c.mu.Lock()
	already := c.closed
	c.closed = true
	for moving := range c.moving {
		moving.end(closed("the client is closed"))
	}
	streams := make([]*stream, 0, len(c.streams))
	for _, s := range c.streams {
		s.fail(closed("the client is closed"))
		s.cancel()
		streams = append(streams, s)
	}
	c.mu.Unlock()
	for _, s := range streams {
		<-s.done
	}
	if !already {
		c.release(c.connections.home)
	}
	return nil
}

// streamFor returns the stream for another run at an endpoint; the lock is held.
func (c *Client) streamFor(endpoint string) *stream {
	if !c.settings.many {
		return c.startStream(endpoint)
	}
	s := c.shared[endpoint]
	if s == nil || s.link.finished() {
		s = c.startStream(endpoint)
		c.shared[endpoint] = s
	}
	return s
}

// moveRun takes a run to the stream of many runs at another endpoint; the lock is held. Nodes that send a run from one to
// the other don't get to do so at once for ever.
func (c *Client) moveRun(session *session, endpoint string) {
	if session.moves.tries == 0 {
		session.moves.tries = 1
		c.arrive(session, endpoint)
		return
	}
	c.moving[session] = true
	time.AfterFunc(session.moves.next(), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if delete(c.moving, session); !c.closed && session.phase != over {
			c.arrive(session, endpoint)
		}
	})
}

func (c *Client) arrive(session *session, endpoint string) {
	s := c.streamFor(endpoint)
	s.add(session)
	s.wake()
}

// forget drops a stream that has ended.
func (c *Client) forget(s *stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.streams, s.link)
	if c.shared[s.endpoint] == s {
		delete(c.shared, s.endpoint)
	}
}

func (c *Client) release(conn *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.connections.release(conn)
}

// forever is a patience without end.
const forever time.Duration = -1

// patience is how long to wait for an answer, 0 where there is no hope; the lock is held. A run without a link is on its
// way to another node.
func (c *Client) patience(s *session, closing bool) time.Duration {
	isDown := s.phase == away && s.link != nil && s.link.state == down
	switch {
	case closing && (s.phase == opened || c.settings.waits()):
		return c.settings.closeWait()
	case closing:
		return 0
	case c.settings.waits():
		return forever
	case s.late || isDown:
		return 0
	default:
		return c.settings.deadline
	}
}

// await waits until there is a reply, patience is at its end or ctx is done, and returns why ctx is. A reply stays in
// its channel.
func await(ctx context.Context, waiter chan reply, patience time.Duration) error {
	var over <-chan time.Time
	if patience != forever {
		if patience <= 0 {
			return nil
		}
		timer := time.NewTimer(patience)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case r := <-waiter:
		waiter <- r
		return nil
	case <-over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
