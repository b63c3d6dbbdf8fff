package io.loopguard.conformance;

import io.loopguard.client.GuardClient;
import io.loopguard.client.GuardException;
import io.loopguard.client.GuardRun;
import io.loopguard.client.OnUnavailable;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * Runs vectors and prints what differs; the last line is {@code N passed, N failed}.
 *
 * <p>Canon and wire vectors are computed here. Detection vectors are played on the server at {@code
 * LOOPGUARD_ADDRESS}; those that need a server with a configuration of their own, or its digests,
 * are left out and counted. It exits with 1 if a case failed, and with 2 for a file without cases
 * or with one that is not understood, or for no server.
 */
public final class Main {
  /** A server that answers later than this is not there. */
  private static final Duration DEADLINE = Duration.ofSeconds(20);

  private Main() {}

  /**
   * Runs the files that are named.
   *
   * @param args their paths
   */
  public static void main(String[] args) {
    System.exit(exitCode(System.out, System.err, System.getenv("LOOPGUARD_ADDRESS"), args));
  }

  static int exitCode(PrintStream out, PrintStream err, String address, String... paths) {
    try {
      return run(out, address, List.of(paths)) > 0 ? 1 : 0;
    } catch (BadCaseException | GuardException e) {
      err.println("conformance: " + e.getMessage());
    } catch (IOException e) {
      err.println("conformance: " + e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return 2;
  }

  /** Runs files and returns how many of their cases failed. */
  private static long run(PrintStream out, String address, List<String> paths)
      throws IOException, InterruptedException {
    if (paths.isEmpty()) {
      throw new BadCaseException("name the files to run");
    }
    long passed = 0;
    long failed = 0;
    long leftOut = 0;
    try (Server server = new Server(address)) {
      Runner runner = new Runner(server::client);
      for (String path : paths) {
        for (Result result : runner.runFile(Path.of(path))) {
          result
              .problems()
              .forEach(problem -> out.println("FAIL " + result.name() + ": " + problem));
          passed += result.isPassed() ? 1 : 0;
          failed += result.problems().isEmpty() ? 0 : 1;
          leftOut += result.isLeftOut() ? 1 : 0;
        }
      }
    }
    if (leftOut > 0) {
      out.println(leftOut + " left out: they need a server of their own");
    }
    out.println(passed + " passed, " + failed + " failed");
    return failed;
  }

  /** The server, with a client that is made when it is first needed. */
  private static final class Server implements AutoCloseable {
    private final String address;
    private GuardClient client;

    Server(String address) {
      this.address = address;
    }

    GuardClient client() {
      if (client == null) {
        if (address == null || address.isEmpty()) {
          throw new BadCaseException(
              "detection vectors are played on a server: set LOOPGUARD_ADDRESS");
        }
        try {
          client =
              GuardClient.builder(address)
                  .deadline(DEADLINE)
                  .onUnavailable(OnUnavailable.BLOCK)
                  .build();
        } catch (IllegalArgumentException e) {
          throw new BadCaseException("no address of a service: `" + address + "`", e);
        }
        checkItAnswers();
      }
      return client;
    }

    private void checkItAnswers() {
      try (GuardRun run = client.openRun("conformance")) {
        if (run.opened().isEmpty()) {
          throw new BadCaseException("no service answers at " + address);
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new BadCaseException("interrupted", e);
      }
    }

    @Override
    public void close() {
      if (client != null) {
        client.close();
      }
    }
  }
}
