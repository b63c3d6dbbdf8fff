package loopguard

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/loopguard/loopguard/clients/go/loopguardv1"
)

func TestParseConfig(t *testing.T) {
	got, err := ParseConfig([]byte(`{"enabled": true, "historySize": 40.0, "warningThreshold": -3, "criticalThreshold": null,
		"detectors": {"pingPong": false}, "postCompactionGuard": {"windowSize": 2e0}, "failOpen": false}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &pb.LoopDetectionConfig{
		Enabled: proto.Bool(true), HistorySize: proto.Int64(40), WarningThreshold: proto.Int64(-3),
		Detectors: &pb.DetectorConfig{PingPong: proto.Bool(false)}, FailOpen: proto.Bool(false),
		PostCompactionGuard: &pb.PostCompactionGuardConfig{WindowSize: proto.Int64(2)},
	}
	if !proto.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestParseConfigNamesTheKey(t *testing.T) {
	for text, key := range map[string]string{
		`{"enabled"`:                                   "enabled",
		`{"maxLoops": 3}`:                              "maxLoops",
		`{"history_size": 3}`:                          "history_size",
		`{"detectors": {"churn": true}}`:               "detectors.churn",
		`{"detectors": true}`:                          "detectors",
		`{"enabled": "yes"}`:                           "enabled",
		`{"failOpen": 1}`:                              "failOpen",
		`{"historySize": "25"}`:                        "historySize",
		`{"historySize": true}`:                        "historySize",
		`{"historySize": 2.5}`:                         "historySize",
		`{"historySize": 1e400}`:                       "historySize",
		`{"historySize": 9223372036854775808}`:         "historySize",
		`{"postCompactionGuard": {"windowSize": [3]}}`: "postCompactionGuard.windowSize",
		`{"historySize": 3, "historySize": 4}`:         "historySize",
		`[]`:                                           "", `{`: "", `{} {}`: "", ``: "",
	} {
		_, err := ParseConfig([]byte(text))
		var refused *Error
		if !errors.As(err, &refused) || !errors.Is(err, ErrInvalidConfig) || refused.Key != key || refused.Message == "" {
			t.Errorf("%s: got %v", text, err)
		}
	}
}
