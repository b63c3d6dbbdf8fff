package loopguard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/loopguard/loopguard/clients/go/loopguardv1"
)

// ParseConfig reads a configuration as it stands under tools.loopDetection of a configuration file, for [WithConfig]. Null
// is absent, and 10.0 is 10. The error for anything that can't be sent is an [ErrInvalidConfig] with its key; whether the
// values fit is for the guard to say.
func ParseConfig(text []byte) (*pb.LoopDetectionConfig, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	config := &pb.LoopDetectionConfig{}
	if err := parseBlock(decoder, config.ProtoReflect(), ""); err != nil {
		return nil, err
	}
	if decoder.More() {
		return nil, invalidConfig("", "more than one value")
	}
	return config, nil
}

func invalidConfig(key, message string) error {
	return &Error{Reason: "INVALID_CONFIG", Key: key, Message: message, family: ErrInvalidConfig}
}

// parseBlock reads an object into the message of the same keys; path ends with a dot unless it is empty.
func parseBlock(decoder *json.Decoder, block protoreflect.Message, path string) error {
	where := strings.TrimSuffix(path, ".")
	if open, err := decoder.Token(); err != nil {
		return invalidConfig(where, err.Error())
	} else if open != json.Delim('{') {
		return invalidConfig(where, fmt.Sprintf("`%s` is no block", where))
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return invalidConfig(where, err.Error())
		}
		if err := parseMember(decoder, block, path+fmt.Sprint(key), fmt.Sprint(key)); err != nil {
			return err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return invalidConfig(where, err.Error())
	}
	return nil
}

func parseMember(decoder *json.Decoder, block protoreflect.Message, where, key string) error {
	field := block.Descriptor().Fields().ByJSONName(key)
	if field == nil {
		return invalidConfig(where, fmt.Sprintf("unknown key `%s`", where))
	}
	var text json.RawMessage
	if err := decoder.Decode(&text); err != nil {
		return invalidConfig(where, err.Error())
	}
	if block.Has(field) {
		return invalidConfig(where, fmt.Sprintf("key `%s` stands twice", where))
	}
	if string(text) == "null" {
		return nil
	}
	if field.Message() != nil {
		inner := json.NewDecoder(bytes.NewReader(text))
		inner.UseNumber()
		return parseBlock(inner, block.Mutable(field).Message(), where+".")
	}
	value, problem := parseScalar(text, field.Kind())
	if problem != "" {
		return invalidConfig(where, fmt.Sprintf("`%s` is %s, %s", where, text, problem))
	}
	block.Set(field, value)
	return nil
}

// parseScalar returns a value of the wire, or what is wrong with it.
func parseScalar(text json.RawMessage, kind protoreflect.Kind) (value protoreflect.Value, problem string) {
	if kind == protoreflect.BoolKind {
		if yes := string(text) == "true"; yes || string(text) == "false" {
			return protoreflect.ValueOfBool(yes), ""
		}
		return value, "not true or false"
	}
	var number json.Number
	if text[0] == '"' || json.Unmarshal(text, &number) != nil {
		return value, "not an integer"
	}
	if whole, err := strconv.ParseInt(number.String(), 10, 64); err == nil {
		return protoreflect.ValueOfInt64(whole), ""
	}
	double, err := number.Float64()
	switch {
	case err == nil && double != math.Trunc(double):
		return value, "not an integer"
	case err != nil || double < math.MinInt64 || double >= math.MaxInt64:
		return value, "beyond 64 bits"
	}
	return protoreflect.ValueOfInt64(int64(double)), ""
}
