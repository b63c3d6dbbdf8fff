package loopguard

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/loopguard/loopguard/clients/go/loopguardv1"
)

// stream is a link with its goroutines: one reads and begins anew when the stream is lost, one writes.
type stream struct {
	*link
	client *Client
	// changed has a token when there may be something to write.
	changed chan struct{}
	cancel  context.CancelFunc
	done    chan struct{}
}

// startStream begins a stream that lives until it is finished or its client is closed. The client's lock is held.
func (c *Client) startStream(endpoint string) *stream {
	ctx, cancel := context.WithCancel(context.Background())
	s := &stream{
		link:    newLink(c.settings, endpoint, c.moveRun),
		client:  c,
		changed: make(chan struct{}, 1),
		cancel:  cancel,
		done:    make(chan struct{}),
	}
	c.streams[s.link] = s
	go s.run(ctx)
	return s
}

// wake has the writer look for something to write.
func (s *stream) wake() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *stream) run(ctx context.Context) {
	defer close(s.done)
	defer s.cancel()
	for s.serve(ctx) {
		s.client.mu.Lock()
		wait := s.backoff.next()
		s.client.mu.Unlock()
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
	s.client.forget(s)
}

// serve runs one stream to its end, and returns whether to begin another one.
func (s *stream) serve(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.client.mu.Lock()
	endpoint := s.endpoint
	if !s.settings.many {
		// The run goes back to its client's target after this stream.
		s.endpoint = ""
	}
	conn, err := s.client.connections.acquire(endpoint)
	ctx = metadata.AppendToOutgoingContext(ctx, s.metadata()...)
	s.client.mu.Unlock()
	if err == nil {
		defer s.client.release(conn)
		err = s.converse(ctx, cancel, conn.ClientConn)
	}
	s.client.mu.Lock()
	defer s.client.mu.Unlock()
	return s.ended(statusOf(err)) && !s.client.closed
}

// statusOf returns how a stream ended, nil for without a complaint of the server.
func statusOf(err error) *status.Status {
	if err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	if how, ok := status.FromError(err); ok {
		return how
	}
	return status.New(codes.Unavailable, err.Error())
}

// converse opens a stream, and reads until it ends or another one is wanted.
func (s *stream) converse(ctx context.Context, cancel context.CancelFunc, conn *grpc.ClientConn) error {
	open, answer := s.methods(pb.NewLoopGuardServiceClient(conn))
	raw, err := open(ctx)
	if err != nil {
		return err
	}
	s.client.mu.Lock()
	s.connected()
	s.client.mu.Unlock()
	s.wake()
	written := make(chan struct{})
	go func() {
		defer close(written)
		s.write(ctx, raw)
	}()
	// The writer uses the stream: it has to be gone before the next one begins.
	defer func() { cancel(); <-written }()
	for {
		message := answer()
		if err := raw.RecvMsg(message); err != nil {
			return err
		}
		s.client.mu.Lock()
		s.receive(message)
		again := s.wantsStream()
		s.client.mu.Unlock()
		if again {
			return nil
		}
		s.wake()
	}
}

// methods returns how to open a stream, and what its answers are.
func (s *stream) methods(service pb.LoopGuardServiceClient) (func(context.Context) (grpc.ClientStream, error), func() proto.Message) {
	if s.settings.many {
		return func(ctx context.Context) (grpc.ClientStream, error) { return service.GuardMany(ctx) },
			func() proto.Message { return &pb.GuardManyResponse{} }
	}
	return func(ctx context.Context) (grpc.ClientStream, error) { return service.Guard(ctx) },
		func() proto.Message { return &pb.GuardResponse{} }
}

// write sends what the link has, until the stream ends. That it broke, and why, the reader hears.
func (s *stream) write(ctx context.Context, raw grpc.ClientStream) {
	for {
		s.client.mu.Lock()
		message, finished := s.take(), s.finished()
		s.client.mu.Unlock()
		if message != nil {
			if raw.SendMsg(message) != nil {
				return
			}
			continue
		}
		if finished {
			_ = raw.CloseSend() // never fails
			return
		}
		select {
		case <-s.changed:
		case <-ctx.Done():
			return
		}
	}
}

// finish waits for a stream without runs to end: the server ends it once it has seen ours end.
func (s *stream) finish() {
	timer := time.NewTimer(s.settings.closeWait())
	defer timer.Stop()
	select {
	case <-s.done:
	case <-timer.C:
		s.cancel()
		<-s.done
	}
}
