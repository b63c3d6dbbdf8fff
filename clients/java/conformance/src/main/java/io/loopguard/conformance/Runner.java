package io.loopguard.conformance;

import io.loopguard.client.GuardClient;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** Runs files of vectors. */
final class Runner {
  private final Supplier<GuardClient> client;

  /** The client plays the detection vectors; it is asked for when it is needed. */
  Runner(Supplier<GuardClient> client) {
    this.client = client;
  }

  /** Runs every case of a file, in order. What is not understood is told with file and line. */
  List<Result> runFile(Path path) throws IOException, InterruptedException {
    List<Result> results = new ArrayList<>();
    int number = 0;
    for (String line : read(path).split("\n", -1)) {
      number++;
      String text = line.replaceAll("^[ \t\r]+|[ \t\r]+$", "");
      if (text.isEmpty()) {
        continue;
      }
      try {
        results.add(run(text));
      } catch (BadCaseException e) {
        throw new BadCaseException(path + ":" + number + ": " + e.getMessage(), e);
      }
    }
    if (results.isEmpty()) {
      throw new BadCaseException(path + ": no cases");
    }
    return results;
  }

  private static String read(Path path) throws IOException {
    try {
      String text =
          StandardCharsets.UTF_8
              .newDecoder()
              .decode(ByteBuffer.wrap(Files.readAllBytes(path)))
              .toString();
      return text.startsWith("\ufeff") ? text.substring(1) : text;
    } catch (CharacterCodingException e) {
      throw new BadCaseException(path + ": not UTF-8", e);
    }
  }

  /** Runs one case, whose kind is told by its members. */
  private Result run(String line) throws InterruptedException {
    Fields fields = Fields.of(line, "a vector");
    String name = fields.text("name");
    if (name.isEmpty()) {
      throw new BadCaseException("a vector needs `name`");
    }
    if (fields.has("steps")) {
      return detect(name, DetectCase.of(fields));
    }
    if (fields.has("input")) {
      return Result.of(name, CanonCase.run(fields));
    }
    if (fields.has("bytes")) {
      return Result.of(name, WireCase.run(fields));
    }
    throw new BadCaseException(
        "a case of no known kind: it has neither `steps` nor `input` nor `bytes`");
  }

  private Result detect(String name, DetectCase vector) throws InterruptedException {
    if (vector.needsServer()) {
      return Result.leftOut(name);
    }
    try (Player player = new Player(client.get(), vector)) {
      return Result.of(name, player.play());
    }
  }
}
