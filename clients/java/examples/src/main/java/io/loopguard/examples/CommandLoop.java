package io.loopguard.examples;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import io.loopguard.client.Call;
import io.loopguard.client.GuardClient;
import io.loopguard.client.GuardRun;
import io.loopguard.client.Outcome;
import io.loopguard.client.RunOptions;
import io.loopguard.client.Verdict;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/**
 * Runs a shell command again and again, as a stuck agent would, until loopguard blocks it.
 *
 * <p>The guard is the one at {@code LOOPGUARD_ADDRESS}, or on this machine. Exits with 1 if nobody
 * stopped the command.
 */
public final class CommandLoop {
  private static final int MOST_RUNS = 100;

  /**
   * What is too slow for a gateway is fast enough here, also the first connection of a cold JVM.
   */
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private static final JsonFactory JSON = new JsonFactory();

  private CommandLoop() {}

  /**
   * Runs the program.
   *
   * @param args the command
   * @throws IOException if the command can't be run
   * @throws InterruptedException if the program is told to stop
   */
  public static void main(String[] args) throws IOException, InterruptedException {
    if (args.length != 1) {
      System.err.println("usage: commandloop COMMAND");
      System.exit(2);
    }
    String address = System.getenv().getOrDefault("LOOPGUARD_ADDRESS", "127.0.0.1:50051");
    if (!isStopped(address, args[0])) {
      System.err.println("nobody stopped it");
      System.exit(1);
    }
  }

  private static boolean isStopped(String address, String command)
      throws IOException, InterruptedException {
    RunOptions options = RunOptions.builder().config("{\"enabled\": true}").build();
    String runId = "commandloop-" + ProcessHandle.current().pid();
    try (GuardClient client = GuardClient.builder(address).deadline(PATIENCE).build();
        GuardRun run = client.openRun(runId, options)) {
      if (run.opened().isEmpty()) {
        throw new IOException("no guard answers at " + address);
      }
      for (int n = 1; n <= MOST_RUNS; n++) {
        Verdict verdict = run.judge(Call.of("exec", argumentsOf(command)));
        System.out.printf("%d: %s %s%n", n, verdict.action(), verdict.note());
        if (!verdict.isAllowed()) {
          return true;
        }
        run.report(execute(command).withCallId(verdict.callId()));
      }
      return false;
    }
  }

  private static String argumentsOf(String command) throws IOException {
    StringWriter text = new StringWriter();
    try (JsonGenerator json = JSON.createGenerator(text)) {
      json.writeStartObject();
      json.writeStringField("command", command);
      json.writeEndObject();
    }
    return text.toString();
  }

  private static Outcome execute(String command) throws IOException, InterruptedException {
    Process shell = new ProcessBuilder("/bin/sh", "-c", command).redirectErrorStream(true).start();
    String output = new String(shell.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    int exitCode = shell.waitFor();
    StringWriter text = new StringWriter();
    try (JsonGenerator json = JSON.createGenerator(text)) {
      json.writeStartObject();
      json.writeArrayFieldStart("content");
      json.writeStartObject();
      json.writeStringField("type", "text");
      json.writeStringField("text", output);
      json.writeEndObject();
      json.writeEndArray();
      json.writeObjectFieldStart("details");
      json.writeStringField("status", "completed");
      json.writeNumberField("exitCode", exitCode);
      json.writeStringField("aggregated", output);
      json.writeEndObject();
      json.writeEndObject();
    }
    return Outcome.ok(text.toString());
  }
}
