// Package loopguard is a client of loopguard, the service that tells an agent gateway, call by call, whether an agent is
// stuck.
//
// A [Client] opens runs. For each model response the gateway has its tool calls judged as one batch before any of them
// runs, and reports how each one ended:
//
//	client, err := loopguard.NewClient("127.0.0.1:50051")
//	run, err := client.OpenRun(ctx, "run-1", loopguard.WithAgent("coder"))
//	verdicts, err := run.Judge(ctx, loopguard.Call{Tool: "exec", Args: []byte(`{"command": "make"}`)})
//	if verdicts[0].Allowed() {
//		_, err = run.Report(ctx, loopguard.Outcome{CallID: verdicts[0].CallID, Result: result})
//	}
//
// A client survives lost streams and servers: it connects again, resumes its runs, and sends what the guard has not
// seen. A gateway is never held up by a guard that is away: a call without an answer in time (250 ms) is decided by
// [OnUnavailable]. With [WithGuardMany] all runs share one stream and their frames travel in common messages.
package loopguard
