package vectors

import (
	"context"
	"fmt"

	// The details of a status can only be read where their types are known.
	_ "google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/loopguard/loopguard/clients/go/digest"
	"github.com/loopguard/loopguard/clients/go/loopguardv1"
)

// runWire runs a case of wire.jsonl: a message as protobuf JSON and as bytes, which have to mean the same.
func runWire(_ context.Context, fields object) ([]string, error) {
	keys := []string{"bytes", "json", "message", "name"}
	if err := fields.check(keys); err != nil {
		return nil, err
	}
	for _, key := range keys {
		if _, ok := fields.values[key]; !ok {
			return nil, bad("a wire vector needs `%s`", key)
		}
	}
	kind, err := fields.text("message")
	if err != nil {
		return nil, err
	}
	message := findMessage(kind)
	if message == nil {
		return nil, bad("there is no message `%s`", kind)
	}
	encoded, err := fields.hex("bytes")
	if err != nil {
		return nil, err
	}
	told, read := message.New().Interface(), message.New().Interface()
	if err := protojson.Unmarshal(fields.values["json"], told); err != nil {
		return nil, bad("`json` is no %s: %v", kind, err)
	}
	if err := proto.Unmarshal(encoded, read); err != nil {
		return []string{fmt.Sprintf("the bytes are no %s: %v", kind, err)}, nil
	}
	return compareMessages(told, read, encoded, fields.values["json"])
}

// findMessage returns a message of the protocol by its full name.
func findMessage(kind string) protoreflect.MessageType {
	messages := loopguardv1.File_loopguard_v1_guard_proto.Messages()
	for i := range messages.Len() {
		if string(messages.Get(i).FullName()) == kind {
			found, err := protoregistry.GlobalTypes.FindMessageByName(messages.Get(i).FullName())
			if err == nil {
				return found
			}
		}
	}
	return nil
}

func compareMessages(told, read proto.Message, encoded, text []byte) ([]string, error) {
	var problems []string
	if !proto.Equal(told, read) {
		problems = append(problems, fmt.Sprintf("the bytes mean %s, expected %s", protojson.Format(read), text))
	}
	written, err := proto.Marshal(told)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	// Fields may stand in any order, and Go writes those of a oneof last: what is written has to mean the same.
	again := read.ProtoReflect().New().Interface()
	if err := proto.Unmarshal(written, again); err != nil || !proto.Equal(again, read) || len(written) != len(encoded) {
		problems = append(problems, fmt.Sprintf("encoded as %x, expected %x", written, encoded))
	}
	shown, err := protojson.Marshal(read)
	if err != nil {
		return nil, fmt.Errorf("encode as JSON: %w", err)
	}
	// Compared as values: protojson's white space is random on purpose.
	if got, _ := digest.Of(shown); got != firstOf(digest.Of(text)) {
		problems = append(problems, fmt.Sprintf("written as %s, expected %s", shown, text))
	}
	return problems, nil
}

func firstOf(sum digest.Digest, _ digest.Flags) digest.Digest { return sum }
