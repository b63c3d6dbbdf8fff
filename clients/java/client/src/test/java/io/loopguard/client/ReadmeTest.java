package io.loopguard.client;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class ReadmeTest {
  @Test
  void theReadmeShowsTheQuickstart() throws IOException {
    String readme = Files.readString(Path.of("../README.md"));
    String program =
        Files.readString(
            Path.of("../examples/src/main/java/io/loopguard/examples/Quickstart.java"));
    assertTrue(readme.contains("```java\n" + program + "```"));
  }
}
