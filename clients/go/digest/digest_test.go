package digest

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func TestCanonicalForm(t *testing.T) {
	for _, test := range []struct {
		name, in, want string
		flags          Flags
	}{
		{"white space", " { \"a\" : [ 1 , true ,\tnull ] }\r\n", `{"a":[1,true,null]}`, 0},
		{"exact integers", `[9007199254740991,-0,0]`, `[9007199254740991,0,0]`, 0},
		{"large integers", `[9007199254740992,-1234567890123456789]`, `[9007199254740992,-1234567890123456789]`, BigInt},
		{"doubles", `[1.0,1e3,1E-7,123e-8,1e21,1e20,0.1,5e-324,-0.0,1e-400]`,
			`[1,1000,1e-7,0.00000123,1e+21,100000000000000000000,0.1,5e-324,0,0]`, 0},
		{"shortest digits", `[4.350,9007199254740993.0,1.7976931348623157e308,0.30000000000000004]`,
			`[4.35,9007199254740992,1.7976931348623157e+308,0.30000000000000004]`, 0},
		{"overflow", `[1E+400,-1.50e400]`, `[1e400,-1.50e400]`, Overflow},
		{"duplicate keys", `{"a":1,"b":2,"\u0061":3}`, `{"a":3,"b":2}`, DuplicateKey},
		{"what a dropped value flags", `{"a":1e999,"a":1}`, `{"a":1}`, DuplicateKey | Overflow},
		{"surrogates", `["\ud83d\ude00","\uD83D","\ude00x","\ud83d\ud83d\ude00"]`, `["😀","\ud83d","\ude00x","\ud83d😀"]`, Surrogate},
		{"escapes", `"\u0041\/\"\\\b\f\n\r\t\u0001\u001F\u007f"`, `"A/\"\\\b\f\n\r\t\u0001\u001f` + "\x7f\"", 0},
		{"order by UTF-16", "{\"\uffff\":1,\"\U00010000\":2,\"\ufb33\":3,\"a\":4,\"\":5}", "{\"\":5,\"a\":4,\"\U00010000\":2,\"\ufb33\":3,\"\uffff\":1}", 0},
		{"order of lone surrogates", "{\"\\ud900\":1,\"\U00010000\":2,\"\ue000\":3,\"\\ud800\":4}", "{\"\\ud800\":4,\"\U00010000\":2,\"\\ud900\":1,\"\ue000\":3}", Surrogate},
		{"a lone surrogate is no other key", `{"\ud800":1,"\ud801":2}`, `{"\ud800":1,"\ud801":2}`, Surrogate},
		{"256 deep", strings.Repeat("[", 256) + strings.Repeat("]", 256), strings.Repeat("[", 256) + strings.Repeat("]", 256), 0},
	} {
		got, flags := Canonical([]byte(test.in))
		if string(got) != test.want || flags != test.flags {
			t.Errorf("%s: got %s (%s), want %s (%s)", test.name, got, flags, test.want, test.flags)
		}
	}
}

func TestWhatIsNoJSONIsOpaque(t *testing.T) {
	deep := strings.Repeat("[", 257) + strings.Repeat("]", 257)
	for _, in := range []string{
		"", " ", "NaN", "-Infinity", "\ufeff1", "1 2", "01", "1.", ".5", "+1", "-", "1e", "tru", "truex", "\"", "\"\x01\"",
		`"\x"`, `"\u12g4"`, `"\u123`, "\"\xff\"", "\"\xed\xa0\x80\"", "\xc0\x80", "[1,]", "[,1]", "[1", "{", `{"a"}`, `{"a":}`,
		`{"a":1,}`, `{,}`, `{1:2}`, `{"a":1 "b":2}`, "[1\u00a0]", "\x00", "1\x00", deep,
	} {
		got, flags := Canonical([]byte(in))
		if string(got) != in || flags != Opaque {
			t.Errorf("%.20q: got %.20q, %s", in, got, flags)
		}
	}
}

func TestOpaqueTextNeverHasTheDigestOfAValue(t *testing.T) {
	value, _ := Of([]byte(`{"a":1}`))
	if opaque := sumOpaque([]byte(`{"a":1}`)); value == opaque {
		t.Error("the seeds are the same")
	}
}

func sumOpaque(data []byte) Digest { d, _ := sum(data, Opaque); return d }

func TestTheDigestIsXXH3(t *testing.T) {
	// From conformance/canon.jsonl.
	if got, _ := Of([]byte("-0")); got.String() != "ce8f15881282a4001982e3a7bb241055" {
		t.Errorf("got %s", got)
	}
}

func TestTheInputStaysAsItIs(t *testing.T) {
	in := []byte(`not json`)
	out, _ := Canonical(in)
	out[0] = 'X'
	if string(in) != "not json" {
		t.Error("the result shares the input's bytes")
	}
}

func TestArguments(t *testing.T) {
	digestOf := func(tool, args string) Digest { d, _ := OfArguments(tool, []byte(args)); return d }
	empty, _ := Of([]byte("{}"))
	if digestOf("read", "") != empty || digestOf("exec", `{"title": "x"}`) != empty {
		t.Error("absent arguments are not {}")
	}
	for _, tool := range []string{"exec", " Exec\ufeff", "BASH", "\u00a0bash\n"} {
		if digestOf(tool, `{"\u0074itle":1,"b":{"title":2},"title":1e999}`) != digestOf(tool, `{"b":{"title":2}}`) {
			t.Errorf("%q: the title counts", tool)
		}
	}
	if _, flags := OfArguments("exec", []byte(`{"title":1,"title":1e999}`)); flags != 0 {
		t.Errorf("what was left out is flagged %s", flags)
	}
	if digestOf("exec2", `{"title":1}`) == empty || digestOf("exec", `{"b":{"title":1}}`) == digestOf("exec", `{"b":{}}`) {
		t.Error("too much is left out")
	}
}

func TestDoublesReadBackAsTheyWere(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		double := math.Float64frombits(random.Uint64())
		if math.IsNaN(double) || math.IsInf(double, 0) {
			continue
		}
		written := appendDouble(nil, double)
		read, err := strconv.ParseFloat(string(written), 64)
		if err != nil || read != double {
			t.Fatalf("%v was written as %s", double, written)
		}
		// JavaScript and encoding/json lay numbers out alike, but for zeros in exponents.
		if like, _ := json.Marshal(double); string(like) != string(written) && double != 0 {
			t.Fatalf("%s, but encoding/json writes %s", written, like)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"b":[1.50,"\ud83d"],"a":{}}`, `{"a":1,"\u0061":2}`, `-0.0e5`, "\"\xff\"", `[[[]]]`, `{"😀":1,"ﬀ":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		once, flags := Canonical(data)
		if valid := json.Valid(data) && flags&Opaque != 0; valid && bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) <= 256 && bytes.Equal(bytes.ToValidUTF8(data, nil), data) {
			t.Fatalf("%q is JSON", data)
		}
		if flags&Opaque != 0 {
			return
		}
		// An overflowing number and an unpaired surrogate stay what they are, duplicates are gone.
		twice, again := Canonical(once)
		if !bytes.Equal(once, twice) || again&^flags != 0 || again&DuplicateKey != 0 {
			t.Fatalf("%q becomes %q, then %q (%s)", data, once, twice, again)
		}
	})
}

func BenchmarkOf(b *testing.B) {
	small := []byte(`{"command":"make -C build test ARGS='-k fast'","workdir":"/src/app","env":{"CI":"1","LANG":"C.UTF-8"},"timeoutMs":120000,"background":false,"yieldMs":10000,"pty":false}`)
	medium := []byte(`{"details":{"status":"completed","exitCode":2,"aggregated":"` + strings.Repeat(`error: no rule to make target\n`, 130) + `"}}`)
	for name, data := range map[string][]byte{"200B": small, "4KB": medium} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				Of(data)
			}
		})
	}
}
