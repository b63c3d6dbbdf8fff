package loopguard

import (
	"os"
	"strings"
	"testing"
)

func TestTheReadmeShowsTheQuickstart(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	quickstart, err := os.ReadFile("examples/quickstart/main.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "```go\n"+string(quickstart)+"```\n") {
		t.Error("the README's example is not examples/quickstart/main.go")
	}
}
