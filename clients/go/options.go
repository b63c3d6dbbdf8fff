package loopguard

import (
	"crypto/tls"
	"log/slog"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/loopguard/loopguard/clients/go/digest"
	pb "github.com/loopguard/loopguard/clients/go/loopguardv1"
)

const (
	// defaultDeadline is how long a call may wait for its verdict.
	defaultDeadline = 250 * time.Millisecond
	// closeWait is how long Close waits for the guard where everything else waits for ever.
	closeWait = 5 * time.Second
)

// OnUnavailable is what a client does with a call that gets no answer in time.
type OnUnavailable int

// The policies.
const (
	UnavailableAllow OnUnavailable = iota // the call runs
	UnavailableBlock                      // the call does not run
	UnavailableWait                       // the call waits for the guard, as long as its context lasts
)

// settings are what a client is made with.
type settings struct {
	tls           *tls.Config
	token         string
	deadline      time.Duration
	onUnavailable OnUnavailable
	many          bool
	buffer        buffer
	log           *slog.Logger
	dial          []grpc.DialOption
	now           func() time.Time
	random        func() float64
}

func newSettings(options []Option) *settings {
	s := &settings{
		deadline: defaultDeadline,
		buffer:   buffer{bufferFrames, bufferBytes},
		log:      slog.Default(),
		now:      time.Now,
		random:   rand.Float64,
	}
	for _, option := range options {
		option(s)
	}
	return s
}

func (s *settings) waits() bool { return s.onUnavailable == UnavailableWait }

func (s *settings) closeWait() time.Duration {
	if s.waits() {
		return closeWait
	}
	return s.deadline
}

// Option sets up a [Client].
type Option func(*settings)

// WithTLS has the connection secured; nil trusts the system's authorities.
func WithTLS(config *tls.Config) Option {
	return func(s *settings) {
		if config == nil {
			config = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		s.tls = config
	}
}

// WithToken sends a bearer token with every stream. Without [WithTLS] that is refused unless the guard is on this
// machine.
func WithToken(token string) Option { return func(s *settings) { s.token = token } }

// WithDeadline sets how long a call may wait for its verdict before [WithOnUnavailable] says what to do; 250 ms where it
// is not used.
func WithDeadline(deadline time.Duration) Option {
	return func(s *settings) { s.deadline = deadline }
}

// WithOnUnavailable sets what happens to a call that gets no answer in time; [UnavailableAllow] where it is not used.
func WithOnUnavailable(policy OnUnavailable) Option {
	return func(s *settings) { s.onUnavailable = policy }
}

// WithGuardMany has all runs share one stream, on which what they have to send travels in common messages. That is what
// a gateway with many runs wants: a message costs far more than a call.
func WithGuardMany() Option { return func(s *settings) { s.many = true } }

// WithBuffer limits the frames kept for a guard that loses a run, for each run: 1,000 and 8 MiB where it is not used.
func WithBuffer(frames, bytes int) Option {
	return func(s *settings) { s.buffer = buffer{frames, bytes} }
}

// WithLogger sets where the client tells of what no caller hears of; [slog.Default] where it is not used.
func WithLogger(log *slog.Logger) Option { return func(s *settings) { s.log = log } }

// WithDialOptions adds options of gRPC, after the client's own.
func WithDialOptions(options ...grpc.DialOption) Option {
	return func(s *settings) { s.dial = append(s.dial, options...) }
}

// RunOption sets up a [Run].
type RunOption func(*runSettings)

// runSettings is what a run is opened with.
type runSettings struct {
	request *pb.RunOpen
	hashes  bool
}

// WithAgent picks the agent's block of the server's configuration.
func WithAgent(agentID string) RunOption {
	return func(o *runSettings) { o.request.AgentId = agentID }
}

// WithParentRun names the run that started this one.
func WithParentRun(runID string) RunOption {
	return func(o *runSettings) { o.request.ParentRunId = runID }
}

// WithConfig overrides the agent's and the server's configuration, key by key.
func WithConfig(config *pb.LoopDetectionConfig) RunOption {
	return func(o *runSettings) { o.request.Config = proto.CloneOf(config) }
}

// WithMode says whether verdicts are held against the run.
func WithMode(mode Mode) RunOption {
	return func(o *runSettings) { o.request.Mode = pb.Mode(mode) }
}

// WithProfile names the set of detectors and thresholds.
func WithProfile(profile string) RunOption {
	return func(o *runSettings) { o.request.Profile = profile }
}

// WithDigests sends digests in place of arguments and results, see [Call.Hashed] and [Outcome.Hashed]. The guard then
// can apply none of its rules for outcomes.
func WithDigests() RunOption {
	return func(o *runSettings) { o.hashes, o.request.DigestScheme = true, digest.Scheme }
}

// WithDigestScheme names the version of the canonical scheme behind digests that the caller computes; a guard with
// another one refuses the run.
func WithDigestScheme(version uint32) RunOption {
	return func(o *runSettings) { o.request.DigestScheme = version }
}

// WithResume takes up a run that another client has left.
func WithResume() RunOption { return func(o *runSettings) { o.request.Resume = true } }
