package loopguard

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	pb "github.com/loopguard/loopguard/clients/go/loopguardv1"
)

// soon is a deadline that nothing meets which is held back.
const soon = 5 * time.Millisecond

// holdCalls has a fake hold calls back until the returned function is called.
func (f *fakeGuard) holdCalls(t *testing.T) (release func()) {
	held := make(chan struct{})
	f.before = func(_ string, frame *pb.GuardRequest) error {
		if frame.GetCalls() != nil {
			f.mu.Unlock()
			<-held
			f.mu.Lock()
		}
		return nil
	}
	released := false
	release = func() {
		if !released {
			released = true
			close(held)
		}
	}
	t.Cleanup(release)
	return release
}

func TestACallWithoutAnswerInTimeRuns(t *testing.T) {
	eachWay(t, func(t *testing.T, options ...Option) {
		guard := newFake()
		address := guard.serve(t)
		release := guard.holdCalls(t)
		client := newTestClient(t, address, options...)
		run := openRun(t, client, "r")
		client.settings.deadline = soon
		for range 2 {
			if verdict := judge(t, run, "exec")[0]; verdict.Action != ActionAllow || verdict.Note != "" {
				t.Errorf("got %v", verdict)
			}
		}
		if run.DecidedUnavailable() != 2 {
			t.Errorf("%d calls were decided", run.DecidedUnavailable())
		}
		// The guard learns of the calls, and at the next opening of how many it did not decide.
		guard.mu.Lock()
		guard.after = once(2, nil)
		guard.mu.Unlock()
		release()
		eventually(t, "the run is resumed", func() bool { return len(guard.openings()) == 2 })
		if told := guard.openings()[1].GetDecidedUnavailable(); told != 2 {
			t.Errorf("told of %d calls", told)
		}
		if got := guard.observed("r"); !slices.Equal(got, []string{"calls c1", "calls c2"}) {
			t.Errorf("observed %q", got)
		}
	})
}

func TestACallWithoutAnswerInTimeIsBlocked(t *testing.T) {
	eachWay(t, func(t *testing.T, options ...Option) {
		guard := newFake()
		address := guard.serve(t)
		release := guard.holdCalls(t)
		client := newTestClient(t, address, append(options, WithOnUnavailable(UnavailableBlock))...)
		run := openRun(t, client, "r")
		client.settings.deadline = soon
		if verdict := judge(t, run, "exec")[0]; verdict.Action != ActionBlock || verdict.Note == "" {
			t.Errorf("got %v", verdict)
		}
		release()
		// The call did not run, and the guard is told so.
		want := []string{"calls c1", "outcome c1 CANCELLED"}
		eventually(t, "the guard hears that it did not run", func() bool { return slices.Equal(guard.observed("r"), want) })
	})
}

func TestACallWaitsForTheGuard(t *testing.T) {
	guard := newFake()
	address := guard.serve(t)
	release := guard.holdCalls(t)
	client := newTestClient(t, address, WithOnUnavailable(UnavailableWait))
	run := openRun(t, client, "r")
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	if _, err := run.Judge(ctx, Call{Tool: "exec"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	time.AfterFunc(soon, release)
	if verdict := judge(t, run, "exec")[0]; verdict.CallID != "c2" {
		t.Errorf("got %v", verdict)
	}
}

// lateDialer reaches nobody until arrive is called.
func lateDialer(address string) (dialer grpc.DialOption, arrive func()) {
	var there atomic.Bool
	return grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		if !there.Load() {
			return nil, errors.New("nobody is there")
		}
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}), func() { there.Store(true) }
}

func TestAGuardThatIsBusyIsWaitedFor(t *testing.T) {
	for _, code := range []codes.Code{codes.Canceled, codes.ResourceExhausted} {
		t.Run(code.String(), func(t *testing.T) {
			eachWay(t, func(t *testing.T, options ...Option) {
				guard := newFake()
				streams := 0
				guard.stream = func(context.Context) error {
					if streams++; streams < 4 {
						return codeError(code)
					}
					return nil
				}
				client := newTestClient(t, guard.serve(t), options...)
				run := openRun(t, client, "r")
				judge(t, run, "exec")
				if run.Opened() == nil || run.DecidedUnavailable() != 0 {
					t.Errorf("%d calls were decided", run.DecidedUnavailable())
				}
			})
		})
	}
}

func TestARunOnItsWayToAnotherNodeIsWaitedFor(t *testing.T) {
	client := newTestClient(t, newFake().serve(t), WithGuardMany())
	run := openRun(t, client, "r")
	client.mu.Lock()
	defer client.mu.Unlock()
	run.session.lost()
	run.session.link.remove(run.session)
	if patience := client.patience(run.session, false); patience != plenty {
		t.Errorf("waits %s", patience)
	}
}

func TestManyRunsTakeMoreThanOneConnection(t *testing.T) {
	conns, err := newConnections("127.0.0.1:1", newSettings(nil))
	if err != nil {
		t.Fatal(err)
	}
	var used []*connection
	for range 2 * streamsPerConnection {
		conn, err := conns.acquire("")
		if err != nil {
			t.Fatal(err)
		}
		used = append(used, conn)
	}
	// The client's own use counts too.
	if got := len(conns.open[""]); got != 3 {
		t.Errorf("%d connections", got)
	}
	for _, conn := range used {
		conns.release(conn)
	}
	if !slices.Equal(conns.open[""], []*connection{conns.home}) {
		t.Errorf("%d connections are left", len(conns.open[""]))
	}
	conns.release(conns.home)
	if len(conns.open) != 0 {
		t.Error("a connection is left")
	}
}

func TestAGuardThatIsAwayIsNotWaitedFor(t *testing.T) {
	eachWay(t, func(t *testing.T, options ...Option) {
		guard := newFake()
		address := guard.serve(t)
		dialer, arrive := lateDialer(address)
		client := newTestClient(t, "passthrough:///guard", append(options, WithDialOptions(dialer))...)
		run := openRun(t, client, "r")
		began := time.Now()
		report(t, run, judge(t, run, "exec")[0].CallID)
		if waited := time.Since(began); run.Opened() != nil || waited > plenty/2 {
			t.Errorf("waited %s", waited)
		}
		arrive()
		eventually(t, "the frames arrive", func() bool { return slices.Equal(guard.observed("r"), story[:2]) })
		if told := guard.openings()[0].GetDecidedUnavailable(); told != 1 {
			t.Errorf("told of %d calls", told)
		}
		judge(t, run, "exec")
	})
}

func TestABatchBlockedWhileTheGuardIsAwayIsOnlyAsked(t *testing.T) {
	guard := newFake()
	address := guard.serve(t)
	dialer, arrive := lateDialer(address)
	client := newTestClient(t, "passthrough:///guard", WithDialOptions(dialer), WithOnUnavailable(UnavailableBlock))
	run := openRun(t, client, "r")
	if verdict := judge(t, run, "exec")[0]; verdict.Action != ActionBlock {
		t.Errorf("got %v", verdict)
	}
	// Its caller runs it all the same.
	report(t, run, "c1")
	arrive()
	want := []string{"check c1", "history exec"}
	eventually(t, "the frames arrive", func() bool { return slices.Equal(guard.observed("r"), want) })
}

func TestAStreamThatMayNotBeIsAnError(t *testing.T) {
	eachWay(t, func(t *testing.T, options ...Option) {
		guard := newFake()
		guard.stream = func(context.Context) error { return codeError(codes.Unauthenticated) }
		client := newTestClient(t, guard.serve(t), options...)
		for range 2 {
			if _, err := client.OpenRun(t.Context(), "r"); !errors.Is(err, ErrRunRefused) {
				t.Errorf("got %v", err)
			}
		}
	})
}

func TestAClosedClientOpensNothing(t *testing.T) {
	eachWay(t, func(t *testing.T, options ...Option) {
		guard := newFake()
		client := newTestClient(t, guard.serve(t), options...)
		run := openRun(t, client, "r")
		if err := errors.Join(client.Close(), client.Close()); err != nil {
			t.Fatal(err)
		}
		_, opening := client.OpenRun(t.Context(), "r2")
		_, judging := run.Judge(t.Context(), Call{Tool: "exec"})
		if !errors.Is(opening, ErrClosed) || !errors.Is(judging, ErrClosed) || run.Close(t.Context()) != nil {
			t.Errorf("got %v, %v", opening, judging)
		}
	})
}

func TestATokenTravelsOverTLS(t *testing.T) {
	certificate, pool := selfSigned(t)
	guard := newFake()
	var token string
	guard.stream = func(ctx context.Context) error {
		incoming, _ := metadata.FromIncomingContext(ctx)
		token = strings.Join(incoming.Get("authorization"), ",")
		return nil
	}
	address := guard.serve(t, grpc.Creds(credentials.NewServerTLSFromCert(certificate)))
	client := newTestClient(t, address, WithToken("secret"), WithTLS(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}))
	judge(t, openRun(t, client, "r"), "exec")
	guard.mu.Lock()
	defer guard.mu.Unlock()
	if token != "Bearer secret" {
		t.Errorf("sent %q", token)
	}
}

func TestAStreamTellsProxiesItsRun(t *testing.T) {
	guard := newFake()
	var told []string
	guard.stream = func(ctx context.Context) error {
		incoming, _ := metadata.FromIncomingContext(ctx)
		told = append(told, incoming.Get("loopguard-run-id")...)
		return nil
	}
	address := guard.serve(t)
	openRun(t, newTestClient(t, address), " run +/é~")
	openRun(t, newTestClient(t, address), strings.Repeat("x", 300))
	openRun(t, newTestClient(t, address, WithGuardMany()), "many")
	guard.mu.Lock()
	defer guard.mu.Unlock()
	if want := []string{"run%20%2B%2F%C3%A9~", strings.Repeat("x", 256)}; !slices.Equal(told, want) {
		t.Errorf("told %q", told)
	}
}

func TestATokenDoesNotTravelInTheOpen(t *testing.T) {
	for target, fine := range map[string]bool{
		"guard.example:50051": false, "dns:///guard.example:50051": false, "10.0.0.1:50051": false,
		"127.0.0.1:50051": true, "localhost:50051": true, "[::1]:50051": true, "unix:/run/loopguard.sock": true,
	} {
		client, err := NewClient(target, WithToken("secret"))
		if (err == nil) != fine {
			t.Errorf("%s: %v", target, err)
		}
		if err == nil {
			_ = client.Close()
		}
	}
}

// selfSigned returns a certificate for 127.0.0.1 and the pool that trusts it.
func selfSigned(t *testing.T) (*tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "guard"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return &tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key, Leaf: parsed}, pool
}
