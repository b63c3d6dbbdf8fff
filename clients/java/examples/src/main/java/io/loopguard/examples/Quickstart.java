package io.loopguard.examples;

import io.loopguard.client.*;

class Quickstart {
  public static void main(String[] args) throws InterruptedException {
    try (GuardClient client = GuardClient.builder("127.0.0.1:50051").build();
        GuardRun run = client.openRun("run-1", RunOptions.builder().agent("coder").build())) {
      Verdict verdict = run.judge(Call.of("exec", "{\"command\": \"make\"}"));
      System.out.println(verdict.action());
      if (verdict.isAllowed()) {
        run.report(Outcome.ok("\"done\"").withCallId(verdict.callId()));
      }
    }
  }
}
