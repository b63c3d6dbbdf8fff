package loopguard

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	grpcbackoff "google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

// streamsPerConnection is how many streams go over one connection: fewer than the 1,000 that a server takes.
const streamsPerConnection = 900

// connections are the client's connections by endpoint, "" for its own target: one, and more where one has too many
// streams. Each is closed when nobody uses it.
type connections struct {
	target   string
	settings *settings
	open     map[string][]*connection
	// home is the one that the client itself uses until it is closed.
	home *connection
}

type connection struct {
	*grpc.ClientConn
	endpoint string
	users    int
}

func newConnections(target string, s *settings) (*connections, error) {
	c := &connections{target: target, settings: s, open: make(map[string][]*connection)}
	var err error
	c.home, err = c.acquire("")
	return c, err
}

// acquire returns a connection to an endpoint that takes one more stream, for release.
func (c *connections) acquire(endpoint string) (*connection, error) {
	for _, conn := range c.open[endpoint] {
		if conn.users < streamsPerConnection {
			conn.users++
			return conn, nil
		}
	}
	made, err := dial(cmp.Or(endpoint, c.target), c.settings)
	if err != nil {
		return nil, err
	}
	conn := &connection{ClientConn: made, endpoint: endpoint, users: 1}
	c.open[endpoint] = append(c.open[endpoint], conn)
	return conn, nil
}

func (c *connections) release(conn *connection) {
	if conn.users--; conn.users > 0 {
		return
	}
	c.open[conn.endpoint] = slices.DeleteFunc(c.open[conn.endpoint], func(other *connection) bool { return other == conn })
	if len(c.open[conn.endpoint]) == 0 {
		delete(c.open, conn.endpoint)
	}
	_ = conn.Close() // nothing is left that could fail
}

func dial(target string, s *settings) (*grpc.ClientConn, error) {
	transport := insecure.NewCredentials()
	if s.tls != nil {
		transport = credentials.NewTLS(s.tls)
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32)),
		// gRPC's own back-off goes up to two minutes; ours decides when to try again.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           grpcbackoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: 5 * time.Second,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 5 * time.Second, PermitWithoutStream: true}),
	}
	if s.token != "" {
		if s.tls == nil && !isLocal(target) {
			return nil, fmt.Errorf("loopguard: a token would travel in the open to %q: use WithTLS", target)
		}
		options = append(options, grpc.WithPerRPCCredentials(bearer{token: s.token, secure: s.tls != nil}))
	}
	conn, err := grpc.NewClient(target, append(options, s.dial...)...)
	if err != nil {
		return nil, fmt.Errorf("loopguard: connect to %q: %w", target, err)
	}
	return conn, nil
}

// isLocal tells whether a target is on this machine.
func isLocal(target string) bool {
	if strings.HasPrefix(target, "unix:") || strings.HasPrefix(target, "unix-abstract:") {
		return true
	}
	target = target[strings.LastIndex(target, "/")+1:]
	host, _, err := net.SplitHostPort(target)
	if err != nil {
		host = target
	}
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

// bearer are credentials for one stream.
type bearer struct {
	token  string
	secure bool
}

// GetRequestMetadata returns the token as metadata.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + b.token}, nil
}

// RequireTransportSecurity tells whether gRPC should refuse a plain connection.
func (b bearer) RequireTransportSecurity() bool { return b.secure }
