package main

import (
	"context"
	"fmt"
	"log"

	loopguard "github.com/loopguard/loopguard/clients/go"
)

func main() {
	ctx := context.Background()
	client, err := loopguard.NewClient("127.0.0.1:50051")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	run, err := client.OpenRun(ctx, "run-1", loopguard.WithAgent("coder"))
	if err != nil {
		log.Fatal(err)
	}
	defer run.Close(ctx)
	verdicts, err := run.Judge(ctx, loopguard.Call{Tool: "exec", Args: []byte(`{"command": "make"}`)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(verdicts[0].Action)
	if verdicts[0].Allowed() {
		_, err = run.Report(ctx, loopguard.Outcome{CallID: verdicts[0].CallID, Status: loopguard.StatusOK, Result: []byte(`"done"`)})
	}
	if err != nil {
		log.Print(err)
	}
}
