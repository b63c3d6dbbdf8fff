package vectors

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/loopguard/loopguard/clients/go/digest"
)

// object is a JSON object whose values keep their exact text.
type object struct {
	what   string
	keys   []string
	values map[string]json.RawMessage
}

// parseObject reads an object and refuses keys that stand there twice or are not known; nil knows all.
func parseObject(text []byte, what string, known []string) (object, error) {
	found := object{what: what, values: make(map[string]json.RawMessage)}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return found, bad("%s must be an object", what)
	}
	for decoder.More() {
		token, err := decoder.Token()
		key, isText := token.(string)
		var value json.RawMessage
		if err != nil || !isText || decoder.Decode(&value) != nil {
			return found, bad("%s is no valid JSON", what)
		}
		if _, twice := found.values[key]; twice {
			return found, bad("key `%s` stands twice in %s", key, what)
		}
		found.keys = append(found.keys, key)
		found.values[key] = value
	}
	if _, err := decoder.Token(); err != nil || len(bytes.TrimSpace(text[decoder.InputOffset():])) > 0 {
		return found, bad("%s is no valid JSON", what)
	}
	return found, found.check(known)
}

// check refuses keys that are not known.
func (o object) check(known []string) error {
	for _, key := range o.keys {
		if known != nil && !slices.Contains(known, key) {
			return bad("unknown key `%s` in %s (known: %s)", key, o.what, strings.Join(known, ", "))
		}
	}
	return nil
}

func parseArray(text json.RawMessage, what string) ([]json.RawMessage, error) {
	var items []json.RawMessage
	if len(text) == 0 || text[0] != '[' || json.Unmarshal(text, &items) != nil {
		return nil, bad("%s must be an array", what)
	}
	return items, nil
}

// text returns a member that is a string, "" where it is absent.
func (o object) text(key string) (string, error) {
	value, ok := o.values[key]
	if !ok {
		return "", nil
	}
	var text string
	if value[0] != '"' || json.Unmarshal(value, &text) != nil {
		return "", bad("`%s` must be a string", key)
	}
	if _, flags := digest.Canonical(value); flags&digest.Surrogate != 0 {
		return "", bad("`%s` holds half of a surrogate pair", key)
	}
	return text, nil
}

// names returns a member that is a list of strings.
func (o object) names(key string) ([]string, error) {
	value, ok := o.values[key]
	if !ok {
		return nil, nil
	}
	names := []string{}
	if value[0] != '[' || json.Unmarshal(value, &names) != nil {
		return nil, bad("`%s` must be a list of names", key)
	}
	return names, nil
}

func (o object) base64(key string) ([]byte, error) {
	text, err := o.text(key)
	if err != nil {
		return nil, err
	}
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") {
		return nil, bad("`%s` must be base64", key)
	}
	return data, nil
}

func (o object) hex(key string) ([]byte, error) {
	text, err := o.text(key)
	if err != nil {
		return nil, err
	}
	data, err := hex.DecodeString(text)
	if err != nil {
		return nil, bad("`%s` must be hexadecimal", key)
	}
	return data, nil
}
